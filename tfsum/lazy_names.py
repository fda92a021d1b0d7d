"""Public names of a package whose modules are imported at the first use of a name (PEP 562)."""

import contextlib
import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any

from tfsum.errors import needs_extra
from tfsum.quiet_tensorflow import quiet


def lazy_names(package: str, modules: Mapping[str, str], extra: str = "") -> Callable[[str], Any]:
    """Makes the function `__getattr__` of a package.

    TensorFlow is loaded without the log lines of its libraries.

    Args:
        package: Name of the package.
        modules: Public name -> the module that holds it.
        extra: Extra of tfsum that the package needs.

    Returns:
        Function from a name to its value; the value becomes an attribute of the package.

    Example:
        >>> lazy_names("tfsum", {"Error": "tfsum.errors"})("Error").__name__
        'Error'
    """

    def value_of(name: str) -> Any:
        if name not in modules:
            known = ", ".join(modules)
            raise AttributeError(f"module {package!r} has no attribute {name!r}; it offers {known}")
        loading = contextlib.nullcontext() if "tensorflow" in sys.modules else quiet()
        with needs_extra(extra, package), loading:
            value = getattr(importlib.import_module(modules[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    return value_of
