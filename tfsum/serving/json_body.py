"""The JSON of a request's body, and the errors of what is wrong in it.

Source: tensorflow/serving, util/json_tensor.cc, whose messages these are.
"""

import itertools
import json
import math
import re
from collections.abc import Iterator

from tfsum.serving.request_error import invalid, require

MAX_DEPTH = 64  # levels of brackets that are kept of a body too deep for Python's reader
MAX_QUOTED = 200  # characters of a value that a message quotes
BRACKET = re.compile(r'[\[\]{}]|"(?:[^"\\]++|\\.)*+"?', re.DOTALL)


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
    decoder = json.JSONDecoder(parse_float=_number, parse_int=_number)
    try:
        text = body.decode("utf-8-sig").lstrip(" \t\r\n")
        require(text, "JSON Parse error: The document is empty")
        try:
            document, _ = decoder.raw_decode(text)
        except RecursionError:
            document, _ = decoder.raw_decode("".join(_shallow(text)))
    except UnicodeDecodeError as error:
        raise invalid(
            f"JSON Parse error: Invalid encoding in string. at offset: {error.start}; "
            "expected UTF-8"
        ) from None
    except json.JSONDecodeError as error:
        reason = re.sub("^Expecting value.*", "Invalid value", error.msg)
        raise invalid(f"JSON Parse error: {reason}. at offset: {error.pos}") from None
    except ValueError as error:  # a number is too large
        raise invalid(f"JSON Parse error: {error}") from None

    require_value(isinstance(document, dict), document, "Is not object")
    return document


def require_value(condition: object, value: object, reason: str) -> None:
    """Raises an error about a JSON value unless a condition is true.

    Args:
        condition: Value that is true where the JSON value is right.
        value: JSON value, of which the message quotes the beginning.
        reason: What is wrong with it.

    Raises:
        RequestError: The condition is false.

    Example:
        >>> require_value(False, [1], "Is not object")
        Traceback (most recent call last):
        tfsum.serving.request_error.RequestError: JSON Value: [1] Is not object
    """
    if not condition:
        raise invalid(f"JSON Value: {quote(value)} {reason}")


def quote(value: object) -> str:
    """The beginning of a value's JSON; it may be large, and is not written whole.

    Args:
        value: JSON value.

    Example:
        >>> quote(["It rained."]), len(quote(["It rained."] * 1000))
        ('["It rained."]', 203)
    """
    parts = json.JSONEncoder(ensure_ascii=False).iterencode(value)
    text = "".join(part[:MAX_QUOTED] for part in itertools.islice(parts, MAX_QUOTED + 1))
    if len(text) > MAX_QUOTED:
        return f"{text[:MAX_QUOTED]}..."
    return text


def _number(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise ValueError(f"Number too big to be stored in double: {text[:40]}")
    if text.lstrip("-").isdecimal():
        return int(text)
    return value


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
