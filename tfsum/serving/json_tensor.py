"""Requests and responses of TensorFlow Serving's REST API: JSON to arrays, and back.

Source: tensorflow/serving, util/json_tensor.cc, whose messages and forms of numbers these are.
"""

import base64
import itertools
import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from tfsum.serving.request_error import RequestError, invalid, require
from tfsum.serving.signature import NUMPY, Arrays, Signature, TensorInfo

MAX_DEPTH = 64  # levels of brackets that are kept of a body too deep for Python's reader
MAX_QUOTED = 200  # characters of a value that a message quotes
MAX_RANK = 63  # dimensions of a row: numpy takes 64, and rows are stacked
BRACKET = re.compile(r'[\[\]{}]|"(?:[^"\\]++|\\.)*+"?', re.DOTALL)
# Type -> its numbers.
INTEGERS = {
    name: range(np.iinfo(name).min, np.iinfo(name).max + 1) for name in NUMPY if "int" in name
}
FLOATS = {"float", "double", "half"}
JSON_TYPES = {dict: "Object", list: "Array", str: "String", type(None): "Null"}
DIGITS = {np.float16: 5, np.float32: 9}  # that tell any two numbers of the type apart


def read_object(body: bytes) -> dict:
    """Reads the JSON object at the beginning of a body; the rest of the body is not read.

    NaN, Infinity and -Infinity are numbers.

    Args:
        body: Body of the request, JSON in UTF-8.

    Raises:
        RequestError: The body does not begin with a JSON object.

    Example:
        >>> read_object(b'{"inputs": ["x"]} rubbish')
        {'inputs': ['x']}
        >>> read_object(b"")
        Traceback (most recent call last):
        tfsum.serving.request_error.RequestError: JSON Parse error: The document is empty
    """
    try:
        text = body.decode("utf-8-sig").lstrip(" \t\r\n")
    except UnicodeDecodeError as error:
        raise invalid(
            f"JSON Parse error: Invalid encoding in string. at offset: {error.start}; "
            "expected UTF-8"
        ) from None
    require(text, "JSON Parse error: The document is empty")

    decoder = json.JSONDecoder(parse_float=_finite, parse_int=_integer)
    try:
        try:
            document, _ = decoder.raw_decode(text)
        except RecursionError:
            document, _ = decoder.raw_decode("".join(_shallow(text)))
    except json.JSONDecodeError as error:
        reason = "Invalid value" if error.msg.startswith("Expecting value") else error.msg
        raise invalid(f"JSON Parse error: {reason}. at offset: {error.pos}") from None
    except ValueError as error:  # a number is too large
        raise invalid(f"JSON Parse error: {error}") from None

    if not isinstance(document, dict):
        raise invalid_value(document, "Is not object")
    return document


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
    if not isinstance(name, str):
        raise invalid_value(
            document, "not formatted correctly. 'signature_name' key must be a string value."
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
    if "instances" in document and "inputs" in document:
        raise invalid_value(
            document,
            "Not formatted correctly expecting only one of 'inputs' or 'instances' keys to exist",
        )

    if "instances" in document:
        return check_inputs(_from_rows(document, signature.inputs), signature)
    if "inputs" in document:
        return check_inputs(_from_columns(document["inputs"], signature.inputs), signature)
    raise invalid("Missing 'inputs' or 'instances' key")


def check_inputs(inputs: Arrays, signature: Signature) -> Arrays:
    """Checks that arrays have the shapes of a signature, and the same number of rows.

    Args:
        inputs: Name -> array.
        signature: Signature that is to be called.

    Returns:
        The inputs.

    Raises:
        RequestError: The shape or the number of rows of an array is wrong.

    Example:
        >>> signature = Signature("s", {"text": TensorInfo("string", (None,))}, {})
        >>> check_inputs({"text": np.array(b"x", object)}, signature)
        Traceback (most recent call last):
        tfsum.serving.request_error.RequestError: input text has the shape [], expected [-1]
    """
    sizes = {}
    for name, array in sorted(inputs.items()):
        info = signature.inputs[name]
        require(
            info.accepts(array.shape),
            f"input {name} has the shape {_shape(array.shape)}, expected "
            f"{_shape(info.shape or ())}",
        )
        if info.batched and array.ndim:
            sizes[name] = len(array)

    counts = ", ".join(f"{name} has {size}" for name, size in sizes.items())
    require(
        len(set(sizes.values())) < 2,
        f"inputs differ in their number of rows: {counts}; expected a value of each for every row",
    )
    return inputs


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
        values = [_write(name, outputs[name]) for name in names]
        return f'{{"outputs": {_object(names, values)}}}'.encode()

    size = None
    for name in names:
        require(outputs[name].ndim, f"Tensor name: {name} has no shape information ")
        require(
            size in (None, len(outputs[name])),
            f"Tensor name: {name} has inconsistent batch size: {len(outputs[name])} expecting:"
            f' {size}; ask in column form, with "inputs" in place of "instances"',
        )
        size = len(outputs[name])

    columns = [[_write(name, row) for row in outputs[name]] for name in names]
    lines = ",\n    ".join(_object(names, row) for row in zip(*columns))
    if not lines:
        return b'{"predictions": []}'
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


def invalid_value(value: Any, reason: str) -> RequestError:
    """The error of a JSON value.

    Args:
        value: Value, of which the message quotes the beginning.
        reason: What is wrong with it.

    Example:
        >>> invalid_value([1], "Is not object").message
        'JSON Value: [1] Is not object'
    """
    return invalid(f"JSON Value: {_quote(value)} {reason}")


def _from_rows(document: dict, infos: Mapping[str, TensorInfo]) -> Arrays:
    rows = document["instances"]
    if not isinstance(rows, list):
        raise invalid_value(document, "Expecting 'instances' to be an list/array")
    if not rows:
        raise invalid_value(document, "No values in 'instances' array")
    require(
        isinstance(rows[0], dict) or len(infos) == 1,
        "instances is a plain list, but expecting list of objects as multiple input tensors"
        " required as per tensorinfo_map",
    )

    named = _names_inputs(rows[0])
    arrays: dict[str, list[np.ndarray]] = {name: [] for name in infos}
    for index, row in enumerate(rows):
        if named != _names_inputs(row):
            kinds = "object but got list" if named else "value/list but got object"
            raise invalid(f"Expecting {kinds} at item {index} of input list")

        values = row if named else dict.fromkeys(infos, row)
        for name, value in values.items():
            try:
                require(name in infos, f"JSON object: does not have named input: {name}")
                arrays[name].append(array := _array(value, infos[name]))
                size, shape = arrays[name][0].size, arrays[name][0].shape
                require(array.size == size, f"Expecting tensor size: {size} but got: {array.size}")
                require(
                    array.shape == shape,
                    f"Expecting shape {_shape(shape)} but got: {_shape(array.shape)}",
                )
            except RequestError as error:
                place = f"{index} key: {name}" if named else index
                raise invalid(
                    f"Failed to process element: {place} of 'instances' list. Error: "
                    f"INVALID_ARGUMENT: {error.message}"
                ) from None

        if len(values) != len(infos):
            raise invalid(
                f"Failed to process element: {index} of 'instances' list. JSON object: "
                f"{_quote(row)} keys must be equal to: {','.join(sorted(infos))}"
            )
    return {name: np.stack(values) for name, values in arrays.items()}


def _from_columns(value: Any, infos: Mapping[str, TensorInfo]) -> Arrays:
    if not _names_inputs(value):
        require(
            len(infos) == 1,
            "inputs is a plain value/list, but expecting an object as multiple input tensors"
            " required as per tensorinfo_map",
        )
        value = dict.fromkeys(infos, value)

    for name in infos:
        require(name in value, f"Missing named input: {name} in 'inputs' object.")
    return {name: _array(value[name], info) for name, info in infos.items()}


def _array(value: Any, info: TensorInfo) -> np.ndarray:
    """Converts nested lists to an array; the first element of each level gives the shape."""
    shape, first = [], value
    while isinstance(first, list):
        shape.append(len(first))
        first = next(iter(first), None)
    require(len(shape) <= MAX_RANK, f"an array of {len(shape)} dimensions; at most {MAX_RANK}")

    elements = [value]
    for level, size in enumerate(shape):
        for item in elements:
            if not isinstance(item, list):
                raise invalid(
                    f"JSON Value: {_quote(item)} found at incorrect level: {level + 1} in the JSON"
                    f" DOM. Expected at level: {len(shape)}"
                )
            if len(item) != size:
                raise invalid(
                    f"Encountered list at unexpected size: {len(item)} at level: {level} expected"
                    f" size: {size}; Expecting tensor size: {size} but got: {len(item)}"
                )
        elements = [*itertools.chain.from_iterable(elements)]
    require(
        not any(isinstance(item, list) for item in elements),
        f"Encountered list at unexpected level: {len(shape)} expected < {len(shape)}",
    )

    array = np.empty(len(elements), NUMPY.get(info.dtype, "object"))
    array[:] = [_element(item, info.dtype) for item in elements]
    return array.reshape(shape)


def _element(value: Any, dtype: str) -> Any:
    """Converts a JSON value to an element of an array."""
    if dtype not in NUMPY:
        raise RequestError(
            "UNIMPLEMENTED", f"Conversion of JSON Value: {_quote(value)} to type: {dtype}"
        )
    match dtype, value:
        case "string", str() | dict():
            return _bytes(value)
        case "bool", bool():
            return value
        case _, int() | float() if not isinstance(value, bool):
            if dtype in FLOATS:
                return value
            # 2.0 is an integer in JSON Schema
            if dtype in INTEGERS and value % 1 == 0 and int(value) in INTEGERS[dtype]:
                return int(value)

    kind = str(value) if isinstance(value, bool) else JSON_TYPES.get(type(value), "Number")
    raise invalid(f"JSON Value: {_quote(value)} Type: {kind} is not of expected type: {dtype}")


def _bytes(value: str | dict) -> bytes:
    """The bytes of a string, or of {"b64": string in base64}."""
    if isinstance(value, str):
        try:
            return value.encode()
        except UnicodeEncodeError as error:
            raise invalid(
                "JSON Parse error: The surrogate pair in string is invalid. Found "
                f"\\u{ord(value[error.start]):04x} alone"
            ) from None

    if not _is_base64(value):
        raise invalid_value(value, "not formatted correctly for base64 data")
    text = "".join(value["b64"].split()).rstrip("=")
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except ValueError:
        raise invalid("Unable to base64 decode") from None


def _is_base64(value: Any) -> bool:
    return isinstance(value, dict) and len(value) == 1 and isinstance(value.get("b64"), str)


def _names_inputs(value: Any) -> bool:
    """Whether a JSON value is an object of inputs by name, and not a string in base64."""
    return isinstance(value, dict) and not _is_base64(value)


def _finite(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise ValueError(f"Number too big to be stored in double: {text[:40]}")
    return value


def _integer(text: str) -> int:
    _finite(text)
    return int(text)


def _shallow(text: str) -> Iterator[str]:
    """Yields the parts of a JSON text, with `null` for each value below `MAX_DEPTH`."""
    depth = start = 0
    for match in BRACKET.finditer(text):
        if match[0] in "[{":
            depth += 1
            if depth == MAX_DEPTH:
                yield text[start : match.start()] + "null"
        elif match[0] in "]}":
            if depth == MAX_DEPTH:
                start = match.end()
            depth -= 1
            if not depth:
                yield text[start : match.end()]
                return

    raise json.JSONDecodeError("Missing a comma or ] after an array element", text, len(text))


def _quote(value: Any) -> str:
    """The beginning of a value's JSON; it may be large, and is not written whole."""
    parts = json.JSONEncoder(ensure_ascii=False).iterencode(value)
    text = "".join(part[:MAX_QUOTED] for part in itertools.islice(parts, MAX_QUOTED + 1))
    if len(text) > MAX_QUOTED:
        return f"{text[:MAX_QUOTED]}..."
    return text


def _shape(shape: tuple[int | None, ...]) -> str:
    """A shape as TensorFlow Serving writes it, -1 for a dimension of any size."""
    return str([-1 if size is None else size for size in shape]).replace(" ", "")


def _write(name: str, value: Any) -> str:
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


def _object(names: list[str], values: Any) -> str:
    """An object with a value for each name; a value that is alone stands without its name."""
    if len(names) == 1:
        return values[0]
    return "{" + ", ".join(f"{json.dumps(name)}: {v}" for name, v in zip(names, values)) + "}"
