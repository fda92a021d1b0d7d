"""The error of a request, with the status code that gRPC and TensorFlow Serving give it."""

import itertools
import json

from tfsum.errors import Error

LOADING = "models are still being loaded"  # of a server that will soon answer
MAX_QUOTED = 200  # characters of a value that a message quotes
MAX_MESSAGE = 2000  # characters of a message, which may quote what a stranger sent

# Code -> (number in gRPC, status in HTTP), as TensorFlow Serving's http_server.cc maps them.
CODES = {
    "OK": (0, 200),
    "CANCELLED": (1, 499),
    "UNKNOWN": (2, 500),
    "INVALID_ARGUMENT": (3, 400),
    "DEADLINE_EXCEEDED": (4, 504),
    "NOT_FOUND": (5, 404),
    "ALREADY_EXISTS": (6, 409),
    "PERMISSION_DENIED": (7, 403),
    "RESOURCE_EXHAUSTED": (8, 429),
    "FAILED_PRECONDITION": (9, 400),
    "ABORTED": (10, 409),
    "OUT_OF_RANGE": (11, 400),
    "UNIMPLEMENTED": (12, 501),
    "INTERNAL": (13, 500),
    "UNAVAILABLE": (14, 503),
    "DATA_LOSS": (15, 500),
    "UNAUTHENTICATED": (16, 401),
}


class RequestError(Error):
    """A request that was not answered.

    Args:
        code: Name of the status, a key of `CODES`, such as "INVALID_ARGUMENT".
        message: What is wrong, what was expected, and how to mend it; of a long one the middle is
            left out.
        http_status: Status in HTTP; that of the code where None.
        retry_after: Seconds after which to send the request again; None where it would fail again.

    Attributes:
        code, message, http_status, retry_after: The arguments.

    Example:
        >>> error = RequestError("RESOURCE_EXHAUSTED", "the queue is full", retry_after=1)
        >>> error.http_status, str(error)
        (429, 'the queue is full')
    """

    def __init__(
        self,
        code: str,
        message: str,
        http_status: int | None = None,
        retry_after: float | None = None,
    ) -> None:
        if len(message) > MAX_MESSAGE:  # it ends with what to do
            message = f"{message[: MAX_MESSAGE // 2]} ... {message[-MAX_MESSAGE // 2 :]}"
        super().__init__(message)
        self.code, self.message, self.retry_after = code, message, retry_after
        self.http_status = http_status or CODES[code][1]


def headers_of(error: RequestError) -> dict[str, str]:
    """The headers of HTTP that go with an error.

    Args:
        error: The error.

    Example:
        >>> headers_of(RequestError("RESOURCE_EXHAUSTED", "the queue is full", retry_after=1))
        {'Retry-After': '1'}
    """
    headers = {} if error.retry_after is None else {"Retry-After": f"{error.retry_after:g}"}
    if error.code == "UNAUTHENTICATED":
        headers["WWW-Authenticate"] = "Bearer"
    if error.http_status in (408, 413):
        headers["Connection"] = "close"  # the rest of the body is not read
    return headers


def invalid(message: str) -> RequestError:
    """The error of a request with a wrong argument.

    Args:
        message: What is wrong, and what was expected.

    Example:
        >>> invalid("no text").code
        'INVALID_ARGUMENT'
    """
    return RequestError("INVALID_ARGUMENT", message)


def require(
    condition: object,
    message: str,
    code: str = "INVALID_ARGUMENT",
    http_status: int | None = None,
    retry_after: float | None = None,
) -> None:
    """Raises an error unless a condition is true.

    Args:
        condition: Value that is true where the request is right.
        message: What is wrong, and what was expected.
        code: Name of the status.
        http_status: Status in HTTP; that of the code where None.
        retry_after: Seconds after which to send the request again; None where it would fail again.

    Raises:
        RequestError: The condition is false.

    Example:
        >>> require(["a text"], "no texts")
    """
    if not condition:
        raise RequestError(code, message, http_status, retry_after)


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
