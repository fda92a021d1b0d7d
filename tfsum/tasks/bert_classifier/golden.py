"""The requests that verify and warm up an exported classifier."""

from typing import Any

from tfsum.export.golden import TEXTS, column


def signatures(description: dict) -> dict[str, dict[str, str]]:
    """The signatures of an export, by name, with the types of their inputs."""
    names = ("text", "text_pair")[: 1 + description["text"]["pair"]]
    return {"serving_default": dict.fromkeys(names, "string")}


def requests(description: dict) -> list[dict]:
    """The golden requests to an export of this description (assets.extra/tfsum.json)."""
    names = signatures(description)["serving_default"]
    return [dict(zip(names, texts)) for texts in zip(TEXTS, reversed(TEXTS))]


def ask(model: Any, requests: list[dict]) -> list[dict]:
    """Returns the answers of a loaded model as plain Python values."""
    given = model.call("serving_default", {name: column(requests, name) for name in requests[0]})
    columns = (given[name].tolist() for name in ("label", "probability", "coverage"))
    return [
        {"label": label.decode("utf-8"), "probability": probability, "coverage": coverage}
        for label, probability, coverage in zip(*columns, strict=True)
    ]


def warmup(description: dict, texts: list[str]) -> list[tuple[str, dict]]:
    """The warm-up requests of some texts: (signature, inputs) each."""
    return [("serving_default", dict.fromkeys(signatures(description)["serving_default"], texts))]
