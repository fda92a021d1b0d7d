"""Files written atomically: complete or not at all."""

import contextlib
import os
import pathlib
import stat
from collections.abc import Iterator

_parts: set[pathlib.Path] = set()  # the temporary files of the writes in progress


def write_atomically(path: str | pathlib.Path, content: str | bytes) -> None:
    """Writes a file under a temporary name in the same folder and renames it.

    Args:
        path: see `atomic_path`; its folder must exist.
        content: bytes, or text, which is written as UTF-8 with line ends as they are.

    Raises:
        OSError: the file cannot be written; the old one is left unchanged.

    Example:
        >>> import pathlib, tempfile
        >>> file = pathlib.Path(tempfile.mkdtemp()) / "scores.json"
        >>> write_atomically(file, "{}")
        >>> file.read_text(), len(list(file.parent.iterdir()))
        ('{}', 1)
    """
    with atomic_path(path) as part:
        part.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)


@contextlib.contextmanager
def atomic_path(path: str | pathlib.Path) -> Iterator[pathlib.Path]:
    """Context manager of a temporary path, renamed to `path` at the end of the block or removed if the block fails.

    An existing regular file is replaced, and keeps its permissions; a symbolic link stays, and the file that it points
    to is replaced. A device, a pipe or a socket is no file to replace: the block gets its own path and writes into it.

    Args:
        path: the file that the block writes under the temporary name.

    Yields:
        The temporary path, hidden and in the same folder.

    Example:
        >>> import pathlib, tempfile
        >>> file = pathlib.Path(tempfile.mkdtemp()) / "data.bin"
        >>> with atomic_path(file) as part:
        ...     _ = part.write_bytes(b"abc")
        >>> file.read_bytes()
        b'abc'
    """
    path = pathlib.Path(os.path.realpath(path))
    mode = path.stat().st_mode if path.exists() else None
    if mode is not None and not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        yield path
        return
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    _parts.add(part)
    try:
        yield part
        if mode is not None:
            part.chmod(stat.S_IMODE(mode))
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)
        _parts.discard(part)


def remove_unfinished() -> None:
    """Removes the temporary files of this process's writes in progress, before a process that ends at once.

    Example:
        >>> remove_unfinished()
    """
    for part in list(_parts):
        part.unlink(missing_ok=True)


def remove_parts(path: str | pathlib.Path) -> None:
    """Removes the temporary files that a killed process left of an atomic write.

    Args:
        path: the file that was to be written.

    Example:
        >>> remove_parts("no_such_file.bin")
    """
    path = pathlib.Path(path)
    for part in path.parent.glob(f".{path.name}.*.part"):
        part.unlink(missing_ok=True)
