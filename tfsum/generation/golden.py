"""The requests that verify and warm up an exported writer."""

from typing import Any

from tfsum.export import golden

requests, warmup = golden.requests, golden.warmup
SEARCHED = ("summary", "log_probability", "ended")
"""The parts of an answer that the search found, see `tfsum.export.golden.record`."""


def signatures(description: dict) -> dict[str, dict[str, str]]:
    """The signatures of an export, by name, with the types of their inputs.

    Args:
        description: Content of assets.extra/tfsum.json.
    """
    read = {"source_ids": "int32"}
    if description["config"].get("model_type") != "transformer":  # a BERT reads segments too
        read["segment_ids"] = "int32"

    return {
        "serving_default": {"text": "string"},
        "generate_ids": read,
        "attend": {"text": "string"},
    }


def ask(model: Any, requests: list[dict]) -> list[dict]:
    """Returns the answers of a loaded model as plain Python values."""
    outputs = model.call("serving_default", {"text": golden.column(requests, "text")})
    return [
        {
            "summary": outputs["summary"][i].decode("utf-8"),
            "log_probability": float(outputs["log_probability"][i]),
            "coverage": float(outputs["coverage"][i]),
            "ended": bool(outputs["ended"][i]),
        }
        for i in range(len(requests))
    ]
