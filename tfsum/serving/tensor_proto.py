"""`tensorflow.TensorProto` and numpy, without TensorFlow."""

import numpy as np

from tfsum.formats.shapes import element_count
from tfsum.serving.request_error import invalid, require
from tfsum.tensorflow_messages import DATA_TYPES, Fields, data_type_name, message

# TensorFlow's name of a type -> numpy's; a string is an object array of bytes.
NUMPY = {
    "string": "object",
    "float": "float32",
    "double": "float64",
    "half": "float16",
    "bool": "bool",
    "int8": "int8",
    "int16": "int16",
    "int32": "int32",
    "int64": "int64",
    "uint8": "uint8",
    "uint16": "uint16",
    "uint32": "uint32",
    "uint64": "uint64",
}
# TensorFlow's name of a type -> the field with its values.
VALUE_FIELDS = {
    "float": "float_val",
    "double": "double_val",
    "int32": "int_val",
    "uint8": "int_val",
    "int16": "int_val",
    "int8": "int_val",
    "string": "string_val",
    "int64": "int64_val",
    "bool": "bool_val",
    "uint16": "int_val",
    "half": "half_val",
    "uint32": "uint32_val",
    "uint64": "uint64_val",
}
NAME_OF_NUMPY = {dtype: name for name, dtype in NUMPY.items()}
BITS = {"half": np.uint16}  # the type of the values, where they are the bits of a number
MAX_REPEATED = 1 << 20  # values that a short list may stand for


def to_proto(array: np.ndarray) -> Fields:
    """Converts an array to a `TensorProto`.

    Args:
        array: Numbers, or bytes as objects.

    Example:
        >>> from_proto(to_proto(np.array([b"It rained."], object)))
        array([b'It rained.'], dtype=object)
    """
    values: dict[str, object] = {"string_val": array.ravel().tolist()}
    if array.dtype != object:
        values = {"tensor_content": array.astype(array.dtype.newbyteorder("<")).tobytes()}
    return message("TensorProto")(
        dtype=DATA_TYPES.index(NAME_OF_NUMPY[array.dtype.name].upper()),
        tensor_shape={"dim": [{"size": size} for size in array.shape]},
        **values,
    )


def type_name(proto: Fields) -> str:
    """TensorFlow's name of the type of a tensor.

    Args:
        proto: `TensorProto`.

    Raises:
        RequestError: The type is none that tfsum takes.

    Example:
        >>> type_name(to_proto(np.zeros(2, np.float32)))
        'float'
    """
    name = data_type_name(proto.dtype)
    require(
        name in VALUE_FIELDS,
        f"a tensor of the type number {proto.dtype}; expected one of"
        f" {', '.join(sorted(VALUE_FIELDS))}",
    )
    return name


def from_proto(proto: Fields) -> np.ndarray:
    """Converts a `TensorProto`, with its bytes or a list of values, to an array.

    A list that is shorter than the shape is continued with its last value, as in TensorFlow.

    Args:
        proto: `TensorProto`.

    Raises:
        RequestError: The values do not fit the shape, or tfsum does not take the type.

    Example:
        >>> from_proto(message("TensorProto")(dtype=3, int_val=[7]))
        array(7, dtype=int32)
    """
    name = type_name(proto)
    dtype = np.dtype(NUMPY[name])
    require(not proto.tensor_shape.unknown_rank, "a tensor of unknown rank; expected its shape")
    shape = [dim.size for dim in proto.tensor_shape.dim]
    try:
        size = element_count(shape)
    except ValueError as error:
        raise invalid(f"a tensor: {error}") from None

    content = proto.tensor_content
    if content:
        require(
            name != "string" and len(content) == size * dtype.itemsize,
            f"a tensor of the shape {shape} and type {name} has {len(content)} bytes",
        )
        return np.frombuffer(content, dtype.newbyteorder("<")).astype(dtype).reshape(shape)

    values = getattr(proto, VALUE_FIELDS[name])
    missing = size - len(values)
    require(
        0 <= missing <= MAX_REPEATED and (values or not size),
        f"a tensor of the shape {shape} has {len(values)} values",
    )
    values = [*values, *values[-1:] * missing]
    try:
        return np.array(values, BITS.get(name, dtype)).view(dtype).reshape(shape)
    except OverflowError:
        raise invalid(f"a tensor of the type {name} has a value beyond it") from None
