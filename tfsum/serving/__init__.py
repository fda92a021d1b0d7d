"""A server of exported models over TensorFlow Serving's protocols, and a client of both.

Importing it loads neither TensorFlow nor a package of the extras; each name is imported at its
first use.

Example:
    >>> from tfsum.serving import RequestError
    >>> RequestError("NOT_FOUND", "no such model").http_status
    404
"""

from tfsum.loading import lazy_names

_LAZY = {
    "AsyncClient": "tfsum.serving.client",
    "Client": "tfsum.serving.blocking_client",
    "RequestError": "tfsum.serving.request_error",
    "Server": "tfsum.serving.server",
    "ServerSettings": "tfsum.serving.settings",
}

__all__ = [*_LAZY]
__getattr__ = lazy_names(__name__, _LAZY)
