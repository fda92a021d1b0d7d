"""The exceptions of tfsum: one base class and a subclass for each area."""

import contextlib
from collections.abc import Iterator


class Error(Exception):
    """The base class of tfsum's errors.

    A message says what was found, what was expected, and how to fix it.

    Example:
        >>> import tfsum
        >>> try:
        ...     tfsum.load("no/such/model")
        ... except tfsum.Error as error:
        ...     print(type(error).__name__)
        ExportError
    """


def require(condition: object, message: str, kind: type[Error] = Error) -> None:
    """Raises an error unless a condition is true.

    Args:
        condition: Value that is true where all is right.
        message: What was found, what was expected, and how to fix it.
        kind: Class of the error.

    Raises:
        Error: The condition is false; of the class `kind`.

    Example:
        >>> require([], "found no texts; expected one or more")
        Traceback (most recent call last):
        tfsum.errors.Error: found no texts; expected one or more
    """
    if not condition:
        raise kind(message)


@contextlib.contextmanager
def as_error(
    what: str, *causes: type[Exception], kind: type[Error] = Error, cure: str = ""
) -> Iterator[None]:
    """A block whose exceptions of some classes become an error that says why.

    Args:
        what: What could not be done, such as "a.txt: cannot be read".
        *causes: Classes of the exceptions.
        kind: Class of the error.
        cure: End of the message, behind the reason.

    Raises:
        Error: One of them was raised; of the class `kind`.

    Example:
        >>> with as_error("no_such_file.txt: cannot be read", OSError):
        ...     open("no_such_file.txt")
        Traceback (most recent call last):
        tfsum.errors.Error: no_such_file.txt: cannot be read (No such file or directory)
    """
    try:
        yield
    except causes as error:
        raise kind(f"{what} ({getattr(error, 'strerror', None) or error}){cure}") from None


def install_extra(extra: str) -> str:
    """The command that installs one of tfsum's extras, for error messages.

    Args:
        extra: Name of the extra, as in setup.cfg.

    Returns:
        The command.

    Example:
        >>> install_extra("plots")
        "pip install 'tfsum[plots]'"
    """
    return f"pip install 'tfsum[{extra}]'"


@contextlib.contextmanager
def needs_extra(extra: str, who: str) -> Iterator[None]:
    """A block with imports of an extra's packages.

    Args:
        extra: Name of the extra; "" for none, whose packages are required anyway.
        who: What needs them, for the message.

    Raises:
        Error: A package is not installed.

    Example:
        >>> with needs_extra("plots", "a figure"):
        ...     import no_such_library
        Traceback (most recent call last):
        tfsum.errors.Error: a figure needs the package no_such_library; pip install 'tfsum[plots]'
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if not extra or str(error.name).startswith("tfsum"):
            raise
        raise Error(f"{who} needs the package {error.name}; {install_extra(extra)}") from None


class DataError(Error):
    """A corpus, a record or a text is missing or malformed.

    Example:
        >>> from tfsum.data.readers import read_corpus
        >>> list(read_corpus("no_such_corpus.jsonl"))  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        tfsum.errors.DataError: no_such_corpus.jsonl: ...
    """


class CheckpointError(Error):
    """Weights, a configuration or a vocabulary are missing, broken or do not match.

    Example:
        >>> import tfsum
        >>> tfsum.BertSumExt.from_pretrained("no/such/folder")  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        tfsum.errors.CheckpointError: no/such/folder: no such folder; expected ...
    """


class RecipeError(Error):
    """A recipe has an unknown key, an invalid value or a missing section.

    Example:
        >>> import tfsum
        >>> tfsum.train("no_such_recipe.toml")  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        tfsum.errors.RecipeError: no_such_recipe.toml: no such recipe; ...
    """


class ExportError(Error):
    """A SavedModel cannot be written, loaded or verified.

    Example:
        >>> import tfsum
        >>> tfsum.verify("no/such/model")  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        tfsum.errors.ExportError: no/such/model: no such folder; ...
    """


class Stopped(Error):
    """A run was asked to stop, and has saved its state.

    Example:
        >>> import tfsum
        >>> try:  # doctest: +SKIP
        ...     tfsum.train("news.toml")
        ... except tfsum.Stopped:
        ...     print("run it again to resume")
    """
