"""`tensorflow.TensorProto` and numpy, without TensorFlow."""

from typing import Any

import numpy as np

from tfsum.serving.json_tensor import invalid
from tfsum.serving.protocol import message
from tfsum.serving.signature import NUMPY

# TensorFlow's name of a type -> (its number in types.proto, the field with its values).
TYPES = {
    "float": (1, "float_val"),
    "double": (2, "double_val"),
    "int32": (3, "int_val"),
    "uint8": (4, "int_val"),
    "int16": (5, "int_val"),
    "int8": (6, "int_val"),
    "string": (7, "string_val"),
    "int64": (9, "int64_val"),
    "bool": (10, "bool_val"),
    "uint16": (17, "int_val"),
    "half": (19, "half_val"),
    "uint32": (22, "uint32_val"),
    "uint64": (23, "uint64_val"),
}
OF_NUMBER = {number: name for name, (number, _) in TYPES.items()}
OF_NUMPY = {kind: name for name, kind in NUMPY.items()}


def to_proto(array: np.ndarray) -> Any:
    """An array as a `TensorProto`.

    Args:
        array: numbers, or bytes as objects.

    Example:
        >>> from_proto(to_proto(np.array([b"It rained."], object)))
        array([b'It rained.'], dtype=object)
    """
    proto = message("TensorProto")(dtype=TYPES[OF_NUMPY[array.dtype.name]][0])
    for size in array.shape:
        proto.tensor_shape.dim.add(size=size)
    if array.dtype == object:
        proto.string_val.extend(array.ravel().tolist())
    else:
        proto.tensor_content = (
            np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<")).tobytes()
        )
    return proto


def type_name(proto: Any) -> str:
    """TensorFlow's name of a tensor's type.

    Raises:
        RequestError: tfsum does not take it.

    Example:
        >>> type_name(to_proto(np.zeros(2, np.float32)))
        'float'
    """
    if proto.dtype not in OF_NUMBER:
        raise invalid(
            f"a tensor of the type number {proto.dtype}; expected one of {', '.join(sorted(TYPES))}"
        )
    return OF_NUMBER[proto.dtype]


def from_proto(proto: Any) -> np.ndarray:
    """The array of a `TensorProto`, whether it has bytes or a list of values.

    A list that is shorter than the shape is continued with its last value, as in TensorFlow.

    Raises:
        RequestError: its values do not fit its shape, or its type is not taken.

    Example:
        >>> from_proto(message("TensorProto")(dtype=3, int_val=[7]))
        array(7, dtype=int32)
    """
    name = type_name(proto)
    shape = [dim.size for dim in proto.tensor_shape.dim]
    size = int(np.prod(shape, dtype=object)) if shape else 1
    kind = NUMPY[name]
    if any(dim < 0 for dim in shape) or proto.tensor_shape.unknown_rank:
        raise invalid(f"a tensor of the shape {shape}; expected a size for each dimension")
    if proto.tensor_content:
        if name == "string" or len(proto.tensor_content) != size * np.dtype(kind).itemsize:
            raise invalid(
                f"a tensor of the shape {shape} and type {name} has {len(proto.tensor_content)} bytes"
            )
        return (
            np.frombuffer(proto.tensor_content, np.dtype(kind).newbyteorder("<"))
            .astype(kind)
            .reshape(shape)
        )
    values = list(getattr(proto, TYPES[name][1]))
    if len(values) > size or (size and not values) or size - len(values) > 1 << 20:
        raise invalid(f"a tensor of the shape {shape} has {len(values)} values")
    values += values[-1:] * (size - len(values))
    if name == "half":
        return np.array(values, np.uint16).view(np.float16).reshape(shape)
    array = np.empty(size, kind)
    try:
        array[:] = values
    except OverflowError:
        raise invalid(f"a tensor of the type {name} has a value beyond it") from None
    return array.reshape(shape)
