"""The shape of an array, as a file or a message describes it."""

import math

MAX_RANK = 64  # dimensions of an array of numpy
MAX_ELEMENTS = 1 << 60  # more than fit into any memory


def element_count(shape: object) -> int:
    """The number of elements of an array; whole numbers are multiplied when they are known small.

    Args:
        shape: Sizes of the dimensions, which nobody has checked.

    Raises:
        ValueError: No array has the shape.

    Example:
        >>> element_count([2, 3]), element_count([]), element_count([7, 0])
        (6, 1, 0)
        >>> element_count([1 << 40, 1 << 40, 0])
        Traceback (most recent call last):
        ValueError: expected a shape, at most 64 sizes from 0 of less than 2^60 elements
    """
    if (
        isinstance(shape, list | tuple)
        and len(shape) <= MAX_RANK
        and all(type(size) is int and 0 <= size < MAX_ELEMENTS for size in shape)
        # numpy multiplies the sizes other than 0
        and math.prod(filter(None, shape)) < MAX_ELEMENTS
    ):
        return math.prod(shape)
    raise ValueError(
        f"expected a shape, at most {MAX_RANK} sizes from 0 of less than 2^60 elements"
    )
