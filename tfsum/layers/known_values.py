"""What the values of a tensor must be, where they are known: they are not in a graph."""

from collections.abc import Mapping

import numpy as np
from keras import ops

from tfsum.errors import Error
from tfsum.tensor import Tensor


def known_values(tensor: Tensor) -> np.ndarray | None:
    """The values of a tensor; None in a graph, where there are none yet.

    Args:
        tensor: A tensor of any shape.

    Example:
        >>> known_values(ops.arange(3)).tolist()
        [0, 1, 2]
    """
    try:
        return ops.convert_to_numpy(tensor)
    except (NotImplementedError, TypeError):  # of TensorFlow and of JAX
        return None


def check_ids(model: str, inputs: Mapping[str, Tensor | None], sizes: Mapping[str, int]) -> None:
    """Checks that a model has an embedding for each id.

    Args:
        model: Name of the model.
        inputs: Name of an input -> its tensor.
        sizes: Name of an input of ids -> the number of embeddings.

    Raises:
        Error: An id is below 0, or not below the number.

    Example:
        >>> check_ids("Bert", {"token_ids": np.array([[2, 9]])}, {"token_ids": 8})
        Traceback (most recent call last):
        tfsum.errors.Error: Bert: token_ids has the id 9; expected ids from 0 to 7, of which the \
model has embeddings. Take the vocabulary that the model was made for
    """
    for name, size in sizes.items():
        values = None if inputs.get(name) is None else known_values(inputs[name])
        if values is None:
            continue
        unknown = values[(values < 0) | (values >= size)]
        if unknown.size:
            raise Error(
                f"{model}: {name} has the id {unknown[0]}; expected ids from 0 to {size - 1}, of"
                " which the model has embeddings. Take the vocabulary that the model was made for"
            )
