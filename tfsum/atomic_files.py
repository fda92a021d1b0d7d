"""Files written atomically: complete or not at all."""

import contextlib
import os
import pathlib
from collections.abc import Iterator


def write_atomically(path: str | pathlib.Path, content: str | bytes) -> None:
    """Writes a file under a temporary name in the same folder and renames it.

    Args:
        path: the file, replaced if it exists; its folder must exist.
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
    path = pathlib.Path(path)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        yield part
        os.replace(part, path)
    finally:
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
