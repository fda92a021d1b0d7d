"""Answers of TensorFlow Serving's REST API: arrays to JSON.

Source: tensorflow/serving, util/json_tensor.cc, whose messages and forms of numbers these are.
"""

import base64
import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from tfsum.serving.json_tensor import invalid


def write_predict(outputs: Mapping[str, np.ndarray], rows: bool) -> bytes:
    """Writes the answer to a request, in the form that it had.

    Args:
        outputs: name -> array; in row form all of the same first dimension.
        rows: whether the request was in row form.

    Raises:
        RequestError: row form, and the first dimensions differ.

    Example:
        >>> print(write_predict({"summary": np.array([b"It rained."], object)}, rows=True).decode())
        {"predictions": [
            "It rained."
        ]}
    """
    names = sorted(outputs)
    if not rows:
        columns = {name: _written(name, outputs[name]) for name in names}
        value = columns[names[0]] if len(names) == 1 else _object(columns)
        return f'{{"outputs": {value}}}'.encode()
    size = -1
    for name in names:
        if not outputs[name].ndim:
            raise invalid(f"Tensor name: {name} has no shape information ")
        if size not in (-1, len(outputs[name])):
            raise invalid(
                f"Tensor name: {name} has inconsistent batch size: {len(outputs[name])} expecting: {size}; "
                'ask in column form, with "inputs" in place of "instances"'
            )
        size = len(outputs[name])
    written = [[_written(name, row) for row in outputs[name]] for name in names]
    lines = (
        values[0] if len(names) == 1 else _object(dict(zip(names, values)))
        for values in zip(*written)
    )
    body = ",\n    ".join(lines)
    return (f'{{"predictions": [\n    {body}\n]}}' if body else '{"predictions": []}').encode()


def write_rows(key: str, rows: Any) -> bytes:
    """A body with one list, of arrays or lists of numbers and bytes.

    Example:
        >>> write_rows("results", [[b"yes", np.float32(0.5)]])
        b'{"results": [["yes", 0.5]]}'
    """
    return f'{{"{key}": {_written("", list(rows))}}}'.encode()


def write_error(message: str) -> bytes:
    """The body of an error.

    Example:
        >>> write_error('Bad key: "key"')
        b'{"error": "Bad key: \\\\"key\\\\""}'
    """
    return json.dumps({"error": message}, ensure_ascii=False).encode("utf-8", "replace")


def number(value: np.floating | float) -> str:
    """A floating-point number: six digits, as many as its type needs where six are too few.

    Whole numbers end in .0, so that a list of numbers is one of one type.

    Example:
        >>> [number(np.float32(x)) for x in (9000000, 999999, 0.5, 0.00003, 1 / 3, float("nan"))]
        ['9e+06', '999999.0', '0.5', '3e-05', '0.333333343', 'NaN']
    """
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    text = f"{value:g}"
    kind = type(value)
    if kind(text) != value:
        text = f"{value:.{ {np.float16: 5, np.float32: 9}.get(kind, 17) }g}"
    return text if "." in text or "e" in text else f"{text}.0"


def _written(name: str, value: Any) -> str:
    """The JSON of an array or a list, or of one element of it."""
    if isinstance(value, list):
        return f"[{', '.join([_written(name, item) for item in value])}]"
    if isinstance(value, np.ndarray):
        return (
            f"[{', '.join([_written(name, item) for item in value])}]"
            if value.ndim
            else _written(name, value[()])
        )
    if isinstance(value, bytes):
        if name.endswith("_bytes"):
            return json.dumps({"b64": base64.b64encode(value).decode()})
        return json.dumps(value.decode("utf-8", errors="replace"), ensure_ascii=False)
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    return number(value) if isinstance(value, np.floating) else str(value)


def _object(values: Mapping[str, str]) -> str:
    return f"{{{', '.join(f'{json.dumps(name)}: {value}' for name, value in values.items())}}}"
