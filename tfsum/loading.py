"""Loads what is heavy late and quietly: public names at their first use (PEP 562), and TensorFlow
without the log lines that its libraries write before any log level is read."""

import contextlib
import importlib
import os
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tfsum.errors import Error, needs_extra

REDIRECTING = threading.RLock()  # a process has one standard error, for all of its threads


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Inside the block nothing that is written to standard error is shown, unless the block fails.

    The lines (oneDNN, CUDA's stub) come from C++ and bypass `sys.stderr`, so the descriptor itself
    is redirected. They are shown when an import fails, since they may then explain why; an `Error`
    of tfsum explains itself.

    Example:
        >>> with quiet():
        ...     _ = os.write(2, b"noise")
    """
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # read when TensorFlow is loaded
    sys.stderr.flush()
    with REDIRECTING, tempfile.TemporaryFile() as held:
        aside = os.dup(2)
        os.dup2(held.fileno(), 2)
        try:
            yield
        except BaseException as error:
            if not isinstance(error, Error):
                held.seek(0)
                os.write(aside, held.read())
            raise
        finally:
            os.dup2(aside, 2)
            os.close(aside)


def load_tensorflow() -> None:
    """Imports TensorFlow and, where it is installed, TF Text, suppressing what they write to
    standard error.

    Raises:
        ImportError: TensorFlow or TF Text cannot be imported.

    Example:
        >>> load_tensorflow()
        >>> import sys
        >>> "tensorflow_text" in sys.modules
        True
    """
    with quiet():
        import tensorflow  # noqa: F401

        with contextlib.suppress(ModuleNotFoundError):  # there is none for Windows
            import tensorflow_text  # noqa: F401


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
