"""Requests of TensorFlow Serving's REST API: JSON to arrays.

Source: tensorflow/serving, util/json_tensor.cc, whose messages these are.
"""

import base64
import binascii
import contextlib
import dataclasses
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from tfsum.serving.request_error import RequestError
from tfsum.serving.signature import NUMPY, PREDICT, Signature, TensorInfo

Arrays = dict[str, np.ndarray]

DEPTH = 64  # levels of brackets that are looked at in a body that is nested too deeply for Python's reader
SHOWN = 256  # characters of a value that a message repeats
BRACKET = re.compile(r'[\[\]{}]|"(?:[^"\\]|\\.)*"?', re.DOTALL)
INTEGERS = {name: np.iinfo(name) for name in NUMPY if "int" in name}


@dataclasses.dataclass(frozen=True)
class PredictRequest:
    """A body of `:predict`.

    Attributes:
        signature: the signature it asks.
        inputs: name -> array.
        rows: whether it was in row form (`instances`), in which its answer is written too.

    Example:
        >>> PredictRequest(Signature("serving_default", {}, {}), {}, rows=True).rows
        True
    """

    signature: Signature
    inputs: Arrays
    rows: bool


def read_predict(body: bytes, signature_of: Callable[[str], Signature]) -> PredictRequest:
    """Reads a body of `:predict`, in row form (`instances`) or column form (`inputs`).

    Args:
        body: of the request.
        signature_of: gives the signature of a name; the name is "" where the body has none.

    Raises:
        RequestError: it is not as the signature wants it; the message has a body that is. Where it is not known which
            signature is meant, it has one of serving_default.

    Example:
        >>> from tfsum.serving.signature import TensorInfo
        >>> text = TensorInfo("string", (None,))
        >>> signature = Signature("serving_default", {"text": text}, {"summary": text})
        >>> read_predict(b'{"instances": ["It rained."]}', lambda name: signature).inputs
        {'text': array([b'It rained.'], dtype=object)}
    """
    with sample_shown(signature_of) as known:
        document = read_object(body)
        known.append(signature_of(signature_name(document)))
        return _read(document, known[0])


@contextlib.contextmanager
def sample_shown(signature_of: Callable[[str], Signature]) -> Iterator[list[Signature]]:
    """Adds a correct body to the errors of a request, where its body may be at fault.

    Args:
        signature_of: gives the signature of a name; the name is "" for serving_default.

    Yields:
        A list; the signature that is asked is put into it as soon as it is known.

    Raises:
        RequestError: the error, with the body.

    Example:
        >>> from tfsum.serving.signature import TensorInfo
        >>> half = Signature("serving_default", {"x": TensorInfo("float", (None,))}, {})
        >>> with sample_shown(lambda name: half):
        ...     raise invalid("no numbers")
        Traceback (most recent call last):
        tfsum.serving.request_error.RequestError: no numbers; a correct body is {"instances": [0.5]}
    """
    known: list[Signature] = []
    try:
        yield known
    except RequestError as error:
        if error.http_status != 400:
            raise
        with contextlib.suppress(RequestError):
            known = known or [signature_of("")]
        shown = f"; {known[0].correct_body()}" if known else ""
        raise RequestError(error.code, f"{error.message}{shown}") from None


def _read(document: dict, signature: Signature) -> PredictRequest:
    if signature.method != PREDICT:
        raise invalid(
            f"Expected predict signature method_name to be {PREDICT}. Was: {signature.method}"
        )
    rows = "instances" in document
    if rows and "inputs" in document:
        raise wrong(
            document,
            "Not formatted correctly expecting only one of 'inputs' or 'instances' keys to exist",
        )
    if not rows and "inputs" not in document:
        raise invalid("Missing 'inputs' or 'instances' key")
    inputs = (
        _from_rows(document, signature)
        if rows
        else _from_columns(document["inputs"], signature.inputs)
    )
    check_inputs(inputs, signature)
    return PredictRequest(signature, inputs, rows)


def read_object(body: bytes) -> dict:
    """Reads the JSON object that a body begins with; what stands after it is not read.

    NaN, Infinity and -Infinity are numbers.

    Raises:
        RequestError: there is none.

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
    if not text:
        raise invalid("JSON Parse error: The document is empty")
    decoder = json.JSONDecoder(parse_float=_finite)
    try:
        try:
            document, _ = decoder.raw_decode(text)
        except RecursionError:
            document, _ = decoder.raw_decode("".join(_shallow(text)))
    except json.JSONDecodeError as error:
        what = "Invalid value." if error.msg.startswith("Expecting value") else f"{error.msg}."
        raise invalid(f"JSON Parse error: {what} at offset: {error.pos}") from None
    except ValueError as error:  # of a number, or an integer of more digits than Python converts
        raise invalid(f"JSON Parse error: {error}") from None
    if not isinstance(document, dict):
        raise wrong(document, "Is not object")
    return document


def signature_name(document: dict) -> str:
    """The name of the signature that a body asks; "" where it has none.

    Raises:
        RequestError: it is no string.

    Example:
        >>> signature_name({"signature_name": "score"})
        'score'
    """
    name = document.get("signature_name", "")
    if not isinstance(name, str):
        raise wrong(
            document, "not formatted correctly. 'signature_name' key must be a string value."
        )
    return name


def invalid(message: str) -> RequestError:
    """The error of a request that is wrong.

    Example:
        >>> invalid("no text").code
        'INVALID_ARGUMENT'
    """
    return RequestError("INVALID_ARGUMENT", message)


def check_inputs(inputs: Arrays, signature: Signature) -> None:
    """Checks that arrays have the shapes that a signature takes, and as many rows each.

    Raises:
        RequestError: one has not.

    Example:
        >>> from tfsum.serving.signature import TensorInfo
        >>> signature = Signature("s", {"text": TensorInfo("string", (None,))}, {})
        >>> check_inputs({"text": np.array(b"x", object)}, signature)
        Traceback (most recent call last):
        tfsum.serving.request_error.RequestError: input text has the shape [], expected [-1]
    """
    for name, array in inputs.items():
        if not signature.inputs[name].holds(array.shape):
            raise invalid(
                f"input {name} has the shape {_shape(array.shape)}, expected "
                f"{_shape(signature.inputs[name].shape or ())}"
            )
    sizes = {
        name: len(array)
        for name, array in inputs.items()
        if signature.inputs[name].batched and array.ndim
    }
    if len(set(sizes.values())) > 1:
        found = ", ".join(f"{name} has {size}" for name, size in sorted(sizes.items()))
        raise invalid(
            f"inputs differ in their number of rows: {found}; expected a value of each for every row"
        )


def _from_rows(document: dict, signature: Signature) -> Arrays:
    rows, infos = document["instances"], signature.inputs
    if not isinstance(rows, list):
        raise wrong(document, "Expecting 'instances' to be an list/array")
    if not rows:
        raise wrong(document, "No values in 'instances' array")
    if not isinstance(rows[0], dict) and len(infos) > 1:
        raise invalid(
            "instances is a plain list, but expecting list of objects as multiple input tensors required as "
            "per tensorinfo_map"
        )
    named = _names_inputs(rows[0])
    only = next(iter(infos))
    arrays: dict[str, list[np.ndarray]] = {name: [] for name in infos}
    for place, row in enumerate(rows):
        if _names_inputs(row) != named:
            expected, found = ("object", "list") if named else ("value/list", "object")
            raise invalid(f"Expecting {expected} but got {found} at item {place} of input list")
        for name, value in row.items() if named else ((only, row),):
            try:
                if name not in infos:
                    raise invalid(f"JSON object: does not have named input: {name}")
                arrays[name].append(_same_shape(_array(value, infos[name]), arrays[name]))
            except RequestError as error:
                key = f" key: {name}" if named else ""
                raise invalid(
                    f"Failed to process element: {place}{key} of 'instances' list. Error: "
                    f"INVALID_ARGUMENT: {error.message}"
                ) from None
        if named and len(row) != len(infos):
            raise invalid(
                f"Failed to process element: {place} of 'instances' list. JSON object: {shown(row)} keys "
                f"must be equal to: {','.join(sorted(infos))}"
            )
    return {name: np.stack(found) for name, found in arrays.items()}


def _from_columns(value: Any, infos: Mapping[str, TensorInfo]) -> Arrays:
    if not _names_inputs(value):
        if len(infos) > 1:
            raise invalid(
                "inputs is a plain value/list, but expecting an object as multiple input tensors required as "
                "per tensorinfo_map"
            )
        return {name: _array(value, info) for name, info in infos.items()}
    for name in infos:
        if name not in value:
            raise invalid(f"Missing named input: {name} in 'inputs' object.")
    return {name: _array(value[name], info) for name, info in infos.items()}


def _array(value: Any, info: TensorInfo) -> np.ndarray:
    """A JSON value as the array whose shape its first elements have."""
    shape, first = [], value
    while isinstance(first, list):
        shape.append(len(first))
        first = first[0] if first else None
    flat = [value]
    for level, size in enumerate(shape):
        for item in flat:
            if not isinstance(item, list):
                raise invalid(
                    f"JSON Value: {shown(item)} found at incorrect level: {level + 1} in the JSON DOM. "
                    f"Expected at level: {len(shape)}"
                )
            if len(item) != size:
                raise invalid(
                    f"Encountered list at unexpected size: {len(item)} at level: {level} expected size: "
                    f"{size}; Expecting tensor size: {size} but got: {len(item)}"
                )
        flat = [inner for item in flat for inner in item]
    if any(isinstance(item, list) for item in flat):
        raise invalid(f"Encountered list at unexpected level: {len(shape)} expected < {len(shape)}")
    array = np.empty(len(flat), NUMPY.get(info.dtype, "object"))
    for place, item in enumerate(flat):
        array[place] = _element(item, info.dtype)
    return array.reshape(shape)


def _same_shape(array: np.ndarray, before: list[np.ndarray]) -> np.ndarray:
    """An array, checked to have the shape of those before it."""
    if before and array.size != before[0].size:
        raise invalid(f"Expecting tensor size: {before[0].size} but got: {array.size}")
    if before and array.shape != before[0].shape:
        raise invalid(f"Expecting shape {_shape(before[0].shape)} but got: {_shape(array.shape)}")
    return array


def _element(value: Any, dtype: str) -> Any:
    if dtype == "string":
        if isinstance(value, str | dict):
            return element_bytes(value)
    elif dtype == "bool":
        if isinstance(value, bool):
            return value
    elif dtype in INTEGERS:
        if isinstance(value, float) and value.is_integer():  # 2.0 is an integer of JSON Schema
            value = int(value)
        if (
            isinstance(value, int)
            and not isinstance(value, bool)
            and (INTEGERS[dtype].min <= value <= INTEGERS[dtype].max)
        ):
            return value
    elif dtype in NUMPY:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return value
    else:
        raise RequestError(
            "UNIMPLEMENTED", f"Conversion of JSON Value: {shown(value)} to type: {dtype}"
        )
    raise invalid(
        f"JSON Value: {shown(value)} Type: {_kind(value)} is not of expected type: {dtype}"
    )


def element_bytes(value: str | dict) -> bytes:
    """The bytes of a string, or of {"b64": string in base64}.

    Raises:
        RequestError: a surrogate alone, or no base64.

    Example:
        >>> element_bytes("a"), element_bytes({"b64": "aGVsbG8="})
        (b'a', b'hello')
    """
    return _base64(value) if isinstance(value, dict) else _utf8(value)


def _utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise invalid(
            "JSON Parse error: The surrogate pair in string is invalid. Found "
            f"\\u{ord(text[error.start]):04x} alone"
        ) from None


def _base64(value: dict) -> bytes:
    if not _is_base64(value):
        raise wrong(value, "not formatted correctly for base64 data")
    text = "".join(value["b64"].split()).rstrip("=")
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError):
        raise invalid("Unable to base64 decode") from None


def _is_base64(value: Any) -> bool:
    return isinstance(value, dict) and len(value) == 1 and isinstance(value.get("b64"), str)


def _names_inputs(value: Any) -> bool:
    """Whether a JSON object is one of inputs by name, and not a string in base64."""
    return isinstance(value, dict) and not _is_base64(value)


def _finite(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise ValueError(f"Number too big to be stored in double: {text[:40]}")
    return value


def _shallow(text: str) -> Iterator[str]:
    """The parts of a JSON text with `null` in place of what is nested too deeply."""
    depth = kept = 0
    for found in BRACKET.finditer(text):
        if found[0] in "[{":
            depth += 1
            if depth == DEPTH:
                yield text[kept : found.start()] + "null"
        elif found[0] in "]}":
            if depth == DEPTH:
                kept = found.end()
            depth -= 1
            if not depth:
                yield text[kept : found.end()]
                return
    raise json.JSONDecodeError("Missing a comma or ] after an array element", text, len(text))


def wrong(value: Any, why: str) -> RequestError:
    """The error of a JSON value.

    Example:
        >>> wrong([1], "Is not object").message
        'JSON Value: [1] Is not object'
    """
    return invalid(f"JSON Value: {shown(value)} {why}")


def shown(value: Any) -> str:
    """The beginning of a value's JSON.

    Example:
        >>> shown("a" * 1000)[-5:]
        'aa...'
    """
    text = ""
    for part in json.JSONEncoder(ensure_ascii=False).iterencode(value):
        text += part[:SHOWN]
        if len(text) > SHOWN:
            return f"{text[:SHOWN]}..."
    return text


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return str(value)
    if value is None:
        return "Null"
    kinds: dict[type, str] = {dict: "Object", list: "Array", str: "String"}
    return kinds.get(type(value), "Number")


def _shape(shape: tuple[int | None, ...]) -> str:
    return f"[{','.join(str(-1 if size is None else size) for size in shape)}]"
