"""The requests that verify and warm up an exported writer."""

from typing import Any

import tensorflow as tf

from tfsum.export import golden

requests, warmup = golden.requests, golden.warmup
SEARCHED = ("summary", "log_probability", "ended")
"""The parts of an answer that the search found, see `tfsum.export.golden.record`."""


def signatures(description: dict) -> dict[str, dict[str, tf.DType]]:
    """The signatures of an export, by name, with the types of their inputs.

    Args:
        description: Content of assets.extra/tfsum.json.
    """
    read = {"source_ids": tf.int32}
    if description["config"].get("model_type") != "transformer":  # a BERT reads segments too
        read["segment_ids"] = tf.int32

    return {
        "serving_default": {"text": tf.string},
        "generate_ids": read,
        "attend": {"text": tf.string},
    }


def ask(model: Any, requests: list[dict]) -> list[dict]:
    """Returns the answers of a loaded model as plain Python values."""
    outputs = model.signatures["serving_default"](
        text=tf.constant([request["text"] for request in requests], tf.string)
    )
    outputs = {name: value.numpy().tolist() for name, value in outputs.items()}
    names = ("summary", "log_probability", "coverage", "ended")
    rows = [dict(zip(names, row)) for row in zip(*(outputs[name] for name in names), strict=True)]

    return [{**row, "summary": row["summary"].decode("utf-8")} for row in rows]
