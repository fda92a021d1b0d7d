"""The type of a tensor in annotations: an array of whichever backend Keras runs on, or a numpy
array."""

from typing import Any, TypeAlias

Tensor: TypeAlias = Any
