"""JSON values as tensors and back, in the forms of TensorFlow Serving's REST API.

Source: tensorflow/serving, util/json_tensor.cc, whose messages and forms of numbers these are.
"""

import base64
import json
import math
from collections.abc import Mapping, Sequence
from typing import TypeGuard

import numpy as np

from tfsum.serving.request_error import RequestError, invalid, quote, require, require_value
from tfsum.serving.servable import Arrays, Signature, TensorInfo, written
from tfsum.serving.tensor_proto import NUMPY

MAX_RANK = 63  # dimensions of a row: numpy takes 64, and rows are stacked
# Type -> its numbers.
INTEGERS = {
    name: range(np.iinfo(name).min, np.iinfo(name).max + 1) for name in NUMPY if "int" in name
}
FLOATS = {"float", "double", "half"}
JSON_TYPES = {
    bool: "{}",
    dict: "Object",
    float: "Number",
    int: "Number",
    list: "Array",
    str: "String",
    type(None): "Null",
}
DIGITS = {np.float16: 5, np.float32: 9}  # that tell any two numbers of the type apart


def signature_name(document: dict) -> str:
    """The name of the signature that a request names; "" where it names none.

    Args:
        document: JSON object of the request.

    Raises:
        RequestError: The name is not a string.

    Example:
        >>> signature_name({"signature_name": "score"})
        'score'
    """
    name = document.get("signature_name", "")
    require_value(
        isinstance(name, str),
        document,
        "not formatted correctly. 'signature_name' key must be a string value.",
    )
    return name


def row_count(document: dict) -> int:
    """The number of rows that a request has, before arrays are made of them.

    Args:
        document: JSON object of the request.

    Example:
        >>> row_count({"instances": ["It rained.", ""]}), row_count({"inputs": {"text": [""]}})
        (2, 1)
    """
    rows = document.get("instances", document.get("inputs"))
    columns = rows.values() if isinstance(rows, dict) else [rows]
    return max((len(column) for column in columns if isinstance(column, list)), default=0)


def read_inputs(document: dict, signature: Signature) -> Arrays:
    """The inputs of a request, in row form (`instances`) or column form (`inputs`).

    Args:
        document: JSON object of the request.
        signature: Signature that the request names.

    Returns:
        Name -> array.

    Raises:
        RequestError: The signature does not accept the inputs.

    Example:
        >>> text = TensorInfo("string", (None,))
        >>> signature = Signature("serving_default", {"text": text}, {"summary": text})
        >>> read_inputs({"instances": ["It rained."]}, signature)
        {'text': array([b'It rained.'], dtype=object)}
    """
    require_value(
        not {"instances", "inputs"} <= set(document),
        document,
        "Not formatted correctly expecting only one of 'inputs' or 'instances' keys to exist",
    )
    if "instances" in document:
        inputs = _from_rows(document, signature.inputs)
    else:
        require("inputs" in document, "Missing 'inputs' or 'instances' key")
        inputs = _from_columns(document["inputs"], signature.inputs)

    signature.check_inputs(inputs)
    return inputs


def read_array(value: object, dtype: str) -> np.ndarray:
    """Converts nested lists to an array.

    Args:
        value: JSON value.
        dtype: TensorFlow's name of the type.

    Raises:
        RequestError: The lists are uneven, or an element is none of the type.

    Example:
        >>> read_array([[1, 2], [3, 4]], "float").tolist()
        [[1.0, 2.0], [3.0, 4.0]]
    """
    values = np.array(value, object)  # of uneven or very deep lists, an array of lists
    require_value(
        values.ndim <= MAX_RANK and not any(isinstance(item, list) for item in values.flat),
        value,
        f"is no array; expected lists of one length at each level, and at most {MAX_RANK} levels",
    )
    array = np.empty(values.size, NUMPY.get(dtype, "object"))
    array[:] = [_element(item, dtype) for item in values.flat]
    return array.reshape(values.shape)


def write_outputs(outputs: Mapping[str, np.ndarray], rows: bool) -> bytes:
    """Writes the outputs of a signature, in the form of the request.

    Args:
        outputs: Name -> array; in row form all have the same first dimension.
        rows: Whether the request was in row form.

    Raises:
        RequestError: The request was in row form, and the first dimensions differ.

    Example:
        >>> print(write_outputs({"summary": np.array([b"It rained."], object)}, rows=True).decode())
        {"predictions": [
            "It rained."
        ]}
    """
    names = sorted(outputs)
    if not rows:
        written_outputs = _object(names, [_write(name, outputs[name]) for name in names])
        return f'{{"outputs": {written_outputs}}}'.encode()

    for name in names:
        array, first = outputs[name], outputs[names[0]]
        require(array.ndim, f"Tensor name: {name} has no shape information ")
        require(
            len(array) == len(first),
            f"Tensor name: {name} has inconsistent batch size: {len(array)} expecting:"
            f' {len(first)}; ask in column form, with "inputs" in place of "instances"',
        )

    columns = ([_write(name, row) for row in outputs[name]] for name in names)
    lines = ",\n    ".join(_object(names, row) for row in zip(*columns))
    return f'{{"predictions": [\n    {lines}\n]}}'.encode()


def write_number(value: np.floating | float) -> str:
    """Writes a floating-point number: six digits, or as many as its type needs.

    Whole numbers end in .0, so that the numbers of a list have one type.

    Args:
        value: Number.

    Example:
        >>> numbers = (9000000, 999999, 0.5, 0.00003, 1 / 3, float("nan"))
        >>> [write_number(np.float32(number)) for number in numbers]
        ['9e+06', '999999.0', '0.5', '3e-05', '0.333333343', 'NaN']
    """
    if not math.isfinite(value):
        return json.dumps(float(value))

    text = f"{value:g}"
    kind = type(value)
    if kind(text) != value:
        text = f"{value:.{DIGITS.get(kind, 17)}g}"
    if "." in text or "e" in text:
        return text
    return f"{text}.0"


def _from_rows(document: dict, infos: Mapping[str, TensorInfo]) -> Arrays:
    rows = document["instances"]
    require_value(isinstance(rows, list), document, "Expecting 'instances' to be an list/array")
    require_value(rows, document, "No values in 'instances' array")
    require(
        isinstance(rows[0], dict) or len(infos) == 1,
        "instances is a plain list, but expecting list of objects as multiple input tensors"
        " required as per tensorinfo_map",
    )

    named = _names_inputs(rows[0])
    expected = "object but got list" if named else "value/list but got object"
    arrays: dict[str, list[np.ndarray]] = {name: [] for name in infos}
    for index, row in enumerate(rows):
        require(named == _names_inputs(row), f"Expecting {expected} at item {index} of input list")
        values = row if named else dict.fromkeys(infos, row)
        for name, value in values.items():
            try:
                require(name in infos, f"JSON object: does not have named input: {name}")
                arrays[name].append(read_array(value, infos[name].dtype))
                _check_alike(arrays[name][0], arrays[name][-1])
            except RequestError as error:
                place = f"{index} key: {name}" if named else index
                raise invalid(
                    f"Failed to process element: {place} of 'instances' list. Error: "
                    f"INVALID_ARGUMENT: {error.message}"
                ) from None

        if len(values) != len(infos):
            raise invalid(
                f"Failed to process element: {index} of 'instances' list. JSON object: "
                f"{quote(row)} keys must be equal to: {','.join(sorted(infos))}"
            )
    return {name: np.stack(values) for name, values in arrays.items()}


def _check_alike(first: np.ndarray, array: np.ndarray) -> None:
    """Checks that a row has the shape of the first."""
    require(array.size == first.size, f"Expecting tensor size: {first.size} but got: {array.size}")
    require(
        array.shape == first.shape,
        f"Expecting shape {written(first.shape)} but got: {written(array.shape)}",
    )


def _from_columns(value: object, infos: Mapping[str, TensorInfo]) -> Arrays:
    if not _names_inputs(value):
        require(
            len(infos) == 1,
            "inputs is a plain value/list, but expecting an object as multiple input tensors"
            " required as per tensorinfo_map",
        )
        value = dict.fromkeys(infos, value)

    for name in infos:
        require(name in value, f"Missing named input: {name} in 'inputs' object.")
    return {name: read_array(value[name], info.dtype) for name, info in infos.items()}


def _element(value: object, dtype: str) -> str | bytes | float:
    """Converts a JSON value to an element of an array."""
    if dtype not in NUMPY:
        raise RequestError(
            "UNIMPLEMENTED", f"Conversion of JSON Value: {quote(value)} to type: {dtype}"
        )
    match dtype, value:
        case "string", str():
            return _utf8(value)
        case "string", dict():
            return _from_base64(value)
        case "bool", bool():
            return value
        case _, int() | float() if not isinstance(value, bool):
            if dtype in FLOATS:
                return value
            # 2.0 is an integer in JSON Schema
            if dtype in INTEGERS and value % 1 == 0 and int(value) in INTEGERS[dtype]:
                return int(value)

    kind = JSON_TYPES[type(value)].format(value)
    raise invalid(f"JSON Value: {quote(value)} Type: {kind} is not of expected type: {dtype}")


def _utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise invalid(
            "JSON Parse error: The surrogate pair in string is invalid. Found "
            f"\\u{ord(text[error.start]):04x} alone"
        ) from None


def _from_base64(value: dict) -> bytes:
    """The bytes of {"b64": string in base64}."""
    require_value(_is_base64(value), value, "not formatted correctly for base64 data")
    text = "".join(value["b64"].split()).rstrip("=")
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except ValueError:
        raise invalid("Unable to base64 decode") from None


def _is_base64(value: object) -> bool:
    return isinstance(value, dict) and len(value) == 1 and isinstance(value.get("b64"), str)


def _names_inputs(value: object) -> TypeGuard[dict]:
    """Whether a JSON value is an object of inputs by name, and not a string in base64."""
    return isinstance(value, dict) and not _is_base64(value)


def _write(name: str, value: np.ndarray | np.generic | bytes) -> str:
    """The JSON of an array, or of one element of it."""
    match value:
        case np.ndarray(ndim=0):
            return _write(name, value[()])
        case np.ndarray():
            return f"[{', '.join([_write(name, item) for item in value])}]"
        case bytes() if name.endswith("_bytes"):
            return json.dumps({"b64": base64.b64encode(value).decode()})
        case bytes():
            return json.dumps(value.decode("utf-8", errors="replace"), ensure_ascii=False)
        case np.floating():
            return write_number(value)
    return str(value).lower()  # an integer or a bool


def _object(names: Sequence[str], values: Sequence[str]) -> str:
    """An object with a value for each name; a value that is alone stands without its name."""
    if len(names) == 1:
        return values[0]
    return "{" + ", ".join(f"{json.dumps(name)}: {v}" for name, v in zip(names, values)) + "}"
