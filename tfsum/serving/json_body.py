"""Bodies over HTTP: the JSON of a request, received and read, and that of an answer.

Source: tensorflow/serving, util/json_tensor.cc, whose messages these are.
"""

import asyncio
import itertools
import json
import math
import re
import zlib
from collections.abc import Awaitable
from typing import TypeVar

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from tfsum.serving.predictor import Predictor
from tfsum.serving.request_error import RequestError, invalid, require, require_value

T = TypeVar("T")

MAX_VALUES = 1 << 21  # texts, commas and brackets of a body
_MARKS = re.compile(rb'"(?:[^"\\]++|\\.)*+"?|[\[{,]', re.DOTALL)


class JsonResponse(Response):
    """A response in JSON, readable by people; a character that UTF-8 does not have becomes "?".

    Example:
        >>> JsonResponse({"error": "no text"}, 400).body
        b'{"error": "no text"}'
    """

    media_type = "application/json"

    def render(self, content: object) -> bytes:
        """The body of the response."""
        return json.dumps(content, ensure_ascii=False).encode("utf-8", "replace")


async def received(request: Request, predictor: Predictor) -> bytes:
    """Reads the body of a request.

    Args:
        request: Request over HTTP; its body may be packed by gzip.
        predictor: Predictor with the settings: `max_body` limits the unpacked body, `timeout` the
            time in which it arrives.

    Returns:
        The unpacked body.

    Raises:
        RequestError: The body is too large (413), or too large beside others (429), too slow
            (408), packed otherwise than by gzip (415), or broken (400); or too many requests wait
            (429).
    """
    encoding = request.headers.get("content-encoding", "").strip().lower()
    require(
        encoding in ("", "identity", "gzip", "x-gzip"),
        f"Content-Encoding is {encoding!r}; expected gzip or none",
        http_status=415,
    )

    predictor.batcher.check_queue()
    gzip = zlib.decompressobj(zlib.MAX_WBITS | 16) if "gzip" in encoding else None
    limit, timeout = predictor.settings.max_body, predictor.settings.timeout
    body = bytearray()
    try:
        async with asyncio.timeout(timeout):
            async for chunk in request.stream():
                part = gzip.decompress(chunk, limit + 1 - len(body)) if gzip else chunk
                request.scope["take"](len(part))
                body += part
                require(
                    len(body) <= limit,
                    f"the body has more than {limit} bytes; send fewer documents, or start the"
                    " server with a larger --max-body",
                    http_status=413,
                )
    except TimeoutError:
        raise RequestError(
            "DEADLINE_EXCEEDED",
            f"the body did not arrive in {timeout:g} s",
            http_status=408,
        ) from None
    except zlib.error as error:
        raise invalid(f"the body is not in gzip's format ({error})") from None

    require(gzip is None or gzip.eof, "the body in gzip's format is cut off")
    return bytes(body)


async def unless_gone(request: Request, answer: Awaitable[T]) -> T:
    """Waits for an answer as long as its client does.

    Args:
        request: Request whose body was read.
        answer: Answer, cancelled when the client is gone.

    Raises:
        ClientDisconnect: The client is gone.

    Example:
        >>> async def answer():
        ...     return "It rained."
        >>> async def ask():
        ...     request = Request({"type": "http"}, asyncio.Event().wait)
        ...     return await unless_gone(request, answer())
        >>> asyncio.run(ask())
        'It rained.'
    """
    answered, gone = asyncio.ensure_future(answer), asyncio.ensure_future(request.receive())
    try:
        await asyncio.wait((answered, gone), return_when=asyncio.FIRST_COMPLETED)
        if not answered.done():
            raise ClientDisconnect
        return answered.result()
    finally:
        answered.cancel()
        gone.cancel()


def read_object(body: bytes) -> dict:
    """Reads the JSON object at the beginning of a body; the rest of the body is not read.

    NaN, Infinity and -Infinity are numbers.

    Args:
        body: Body of the request, JSON in UTF-8.

    Raises:
        RequestError: The body does not begin with a JSON object, or has very many values (413).

    Example:
        >>> read_object(b'{"inputs": ["x"]} rubbish')
        {'inputs': ['x']}
        >>> read_object(b"")
        Traceback (most recent call last):
        tfsum.serving.request_error.RequestError: JSON Parse error: The document is empty
    """
    _check_values(body)
    decoder = json.JSONDecoder(parse_float=_number, parse_int=_number)
    try:
        text = body.decode("utf-8-sig").lstrip(" \t\r\n")
        require(text, "JSON Parse error: The document is empty")
        document, _ = decoder.raw_decode(text)
    except UnicodeDecodeError as error:
        raise invalid(
            f"JSON Parse error: Invalid encoding in string. at offset: {error.start}; "
            "expected UTF-8"
        ) from None
    except json.JSONDecodeError as error:
        reason = re.sub("^Expecting value.*", "Invalid value", error.msg)
        raise invalid(f"JSON Parse error: {reason}. at offset: {error.pos}") from None
    except RecursionError:
        raise invalid("JSON Parse error: lists and objects are nested too deep") from None
    except ValueError as error:  # a number is too large
        raise invalid(f"JSON Parse error: {error}") from None

    require_value(isinstance(document, dict), document, "Is not object")
    return document


def _check_values(body: bytes) -> None:
    """Counts the values of a body before Python objects are made of them, at two bytes each."""
    marks = sum(map(body.count, (b",", b"[", b"{")))
    if marks > MAX_VALUES:  # most of them may be in texts
        marks = sum(1 for _ in itertools.islice(_MARKS.finditer(body), MAX_VALUES + 1))
    require(
        marks <= MAX_VALUES,
        f"the body has more than {MAX_VALUES} texts, commas and brackets; send several requests",
        http_status=413,
    )


def _number(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise ValueError(f"Number too big to be stored in double: {text[:40]}")
    if text.lstrip("-").isdecimal():
        return int(text)
    return value
