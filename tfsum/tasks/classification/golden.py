"""The requests that verify and warm up an exported classifier."""

from typing import Any

import tensorflow as tf

from tfsum.export.golden import TEXTS


def signatures(description: dict) -> dict[str, dict[str, tf.DType]]:
    """The signatures of an export, by name, with the types of their inputs."""
    names = ("text", "text_pair") if description["text"]["pair"] else ("text",)
    return {"serving_default": dict.fromkeys(names, tf.string)}


def requests(description: dict) -> list[dict]:
    """The golden requests to an export of this description (assets.extra/tfsum.json)."""
    if description["text"]["pair"]:
        return [{"text": text, "text_pair": second} for text, second in zip(TEXTS, reversed(TEXTS))]
    return [{"text": text} for text in TEXTS]


def ask(model: Any, requests: list[dict]) -> list[dict]:
    """Returns the answers of a loaded model as plain Python values."""
    given = model.signatures["serving_default"](
        **{
            name: tf.constant([request[name] for request in requests], tf.string)
            for name in requests[0]
        }
    )
    given = {name: given[name].numpy().tolist() for name in ("label", "probability", "coverage")}
    rows = [dict(zip(given, row)) for row in zip(*given.values(), strict=True)]
    return [{**row, "label": row["label"].decode("utf-8")} for row in rows]


def warmup(description: dict, texts: list[str]) -> list[tuple[str, dict]]:
    """The warm-up requests of some texts: (signature, inputs) each."""
    return [("serving_default", dict.fromkeys(signatures(description)["serving_default"], texts))]
