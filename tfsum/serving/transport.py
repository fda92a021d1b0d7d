"""The transport of a client: HTTP or gRPC, by the scheme of an address."""

import importlib
import urllib.parse
from typing import TYPE_CHECKING

from tfsum.errors import Error, install_extra

if TYPE_CHECKING:  # each needs a package that a client of the other does not
    from tfsum.serving.grpc_transport import GrpcTransport
    from tfsum.serving.http_transport import HttpTransport

# Scheme of an address -> module and class that sends the requests.
TRANSPORTS = {
    "http": ("tfsum.serving.http_transport", "HttpTransport"),
    "https": ("tfsum.serving.http_transport", "HttpTransport"),
    "grpc": ("tfsum.serving.grpc_transport", "GrpcTransport"),
}


def connect(
    url: str, model: str, version: int | None, token: str | None, timeout: float
) -> "HttpTransport | GrpcTransport":
    """The transport for an address.

    Args:
        url: "http://HOST:PORT", "https://HOST:PORT" or "grpc://HOST:PORT".
        model: Name of the model on the server.
        version: Version of the model; the newest where None.
        token: Token that the server needs, or None.
        timeout: Seconds for a request.

    Raises:
        Error: The address has another form, or the package for it is not installed.

    Example:
        >>> connect("localhost:8501", "news", None, None, 30.0)  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        tfsum.errors.Error: 'localhost:8501': expected http://HOST:PORT, https://HOST:PORT or ...
    """
    parts = urllib.parse.urlsplit(url)
    if parts.scheme not in TRANSPORTS or not parts.hostname:
        raise Error(f"{url!r}: expected http://HOST:PORT, https://HOST:PORT or grpc://HOST:PORT")

    module, name = TRANSPORTS[parts.scheme]
    try:
        transport = getattr(importlib.import_module(module), name)
    except ModuleNotFoundError as error:
        raise Error(
            f"a client of {parts.scheme}:// needs the package {error.name};"
            f" {install_extra('client')}"
        ) from None
    return transport(url, model, version, token, timeout)
