"""Files and folders written atomically: complete or not at all."""

import contextlib
import os
import pathlib
import secrets
import stat
import tempfile
from collections.abc import Iterator

_parts: set[pathlib.Path] = set()  # temporary files of unfinished writes


def write_atomically(path: str | pathlib.Path, content: str | bytes) -> None:
    """Writes a file under a temporary name in the same folder and renames it.

    Args:
        path: File to write, in a folder that exists; `atomic_path` handles links and devices.
        content: Bytes, or text, which is written as UTF-8 with its own line ends.

    Raises:
        OSError: File cannot be written; the old one is left unchanged.

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
    """Context manager of a temporary path that becomes `path` at the end of the block.

    The temporary file is removed if the block fails. An existing regular file is replaced and
    keeps its permissions. A symbolic link stays; the file it points to is replaced. A device, a
    pipe or a socket cannot be replaced: the block gets its own path and writes into it.

    Args:
        path: File to write.

    Yields:
        A hidden temporary path in the same folder.

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

    part = path.with_name(f".{path.name}.{secrets.token_hex(8)}.part")
    # Made here, and only if there is nothing: a link of that name would be followed.
    os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
    _parts.add(part)
    try:
        yield part
        if mode is not None:
            part.chmod(stat.S_IMODE(mode))
        to_disk(part)
        os.replace(part, path)
        to_disk(path.parent)
    finally:
        part.unlink(missing_ok=True)
        _parts.discard(part)


@contextlib.contextmanager
def new_path(path: pathlib.Path) -> Iterator[pathlib.Path]:
    """Context manager of a temporary path that becomes a new file or folder after the block.

    If the block fails, nothing is left: neither what it wrote nor the folders above `path` that
    were made for it.

    Args:
        path: File or folder to write, which does not exist or is an empty folder.

    Yields:
        A path in a hidden temporary folder beside it.

    Example:
        >>> import pathlib, tempfile
        >>> folder = pathlib.Path(tempfile.mkdtemp()) / "news" / "1"
        >>> with new_path(folder) as part:
        ...     part.mkdir()
        >>> folder.is_dir(), len(list(folder.parent.iterdir()))
        (True, 1)
    """
    new_folders = [each for each in path.parents if not each.exists()]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{path.name}.", dir=path.parent) as folder:
            part = pathlib.Path(folder, "part")
            yield part
            os.replace(part, path)
    except BaseException:
        for each in new_folders:
            with contextlib.suppress(OSError):
                each.rmdir()
        raise


def follow_no_link(path: str, flags: int) -> int:
    """An opener of `open`: a symbolic link in the place of a file is an OSError.

    Args:
        path: File to open.
        flags: Flags of `os.open`.

    Example:
        >>> open("no_such_folder/a.txt", "a", opener=follow_no_link)
        Traceback (most recent call last):
        FileNotFoundError: [Errno 2] No such file or directory: 'no_such_folder/a.txt'
    """
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0), 0o666)


def to_disk(path: str | pathlib.Path) -> None:
    """Waits until a file, or the names in a folder, are on the disk.

    Args:
        path: File or folder.

    Example:
        >>> to_disk(".")
    """
    number = os.open(path, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def remove_unfinished() -> None:
    """Removes the temporary files of this process's unfinished writes, before it exits at once.

    Example:
        >>> remove_unfinished()
    """
    for part in list(_parts):
        part.unlink(missing_ok=True)


def remove_parts(path: str | pathlib.Path) -> None:
    """Removes the temporary files that a killed process left beside a file.

    Args:
        path: File that was to be written.

    Example:
        >>> remove_parts("no_such_file.bin")
    """
    path = pathlib.Path(path)
    for part in path.parent.glob(f".{path.name}.*.part"):
        part.unlink(missing_ok=True)
