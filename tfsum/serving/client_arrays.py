"""The inputs of a client's request as arrays, and the rows of several answers as one."""

from typing import Any

import numpy as np

from tfsum.errors import Error
from tfsum.inference.texts import as_bytes

FILLS = {"O": b"", "i": -1}  # kind of an array -> what fills up narrower rows; 0 in others


def as_array(name: str, values: Any) -> np.ndarray:
    """Converts the values of an input to an array; texts become bytes."""
    try:
        array = np.asarray(values)
    except ValueError:
        raise Error(
            f"the rows of input {name} differ in their lengths; expected rows of one length: pad"
            " the shorter ones, or send them in requests of their own"
        ) from None
    if array.dtype.kind not in "USO":
        return array

    texts = np.array(values, object)  # as they are: numpy converts numbers beside texts
    for index, text in enumerate(texts.flat):
        if not isinstance(text, str | bytes):
            raise Error(
                f"row {index} of input {name} is {type(text).__name__}; expected a text, as the"
                " other rows"
            )
        texts.flat[index] = text if isinstance(text, bytes) else as_bytes(text)
    return texts


def join_rows(arrays: list[np.ndarray]) -> np.ndarray:
    """Joins the rows of several answers; narrower ones are filled up as exports do."""
    width = np.max([array.shape[1:] for array in arrays], axis=0)
    fill: Any = FILLS.get(arrays[0].dtype.kind, 0)
    missing = [[(0, 0), *((0, size) for size in width - array.shape[1:])] for array in arrays]
    return np.concatenate(
        [np.pad(array, sizes, constant_values=fill) for array, sizes in zip(arrays, missing)]
    )
