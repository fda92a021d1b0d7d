"""The error of a request, with the status code that gRPC and TensorFlow Serving give it."""

from tfsum.errors import Error

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
        message: What is wrong, what was expected, and how to mend it.
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
        super().__init__(message)
        self.code, self.message, self.retry_after = code, message, retry_after
        self.http_status = http_status or CODES[code][1]


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
