"""A server of exported models over TensorFlow Serving's protocols, and a client of both.

Importing it loads neither TensorFlow nor a package of the extras; each name is imported at its first use.

Example:
    >>> from tfsum.serving import RequestError
    >>> RequestError("NOT_FOUND", "no such model").http_status
    404
"""

import importlib
from typing import Any

_LAZY = {
    "AsyncClient": "tfsum.serving.client",
    "Client": "tfsum.serving.client",
    "RequestError": "tfsum.serving.request_error",
    "Server": "tfsum.serving.server",
    "ServerSettings": "tfsum.serving.settings",
}

__all__ = [*_LAZY]


def __getattr__(name: str) -> Any:
    """Imports the module behind a public name at its first use."""
    if name not in _LAZY:
        raise AttributeError(
            f"module 'tfsum.serving' has no attribute {name!r}; it offers {', '.join(__all__)}"
        )
    value = getattr(importlib.import_module(_LAZY[name]), name)
    globals()[name] = value
    return value
