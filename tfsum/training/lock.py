"""A lock on a run folder, so that two runs never write into the same one."""

import contextlib
import os
import pathlib
import socket
import time
from collections.abc import Iterator

from filelock import FileLock, Timeout

from tfsum.errors import Error

NAME = "lock"
PATIENCE = 0.5  # seconds: `is_locked` holds a free lock for a moment


@contextlib.contextmanager
def locked(folder: str | pathlib.Path) -> Iterator[None]:
    """Holds the lock of a run folder inside the block; the system frees that of a killed process.

    Args:
        folder: Run folder, made if it does not exist, and removed if it is empty after the block.

    Raises:
        Error: Another process holds the lock (the error names its number and host), or the folder
            cannot be written.

    Example:
        >>> import tempfile
        >>> folder = tempfile.mkdtemp()
        >>> with locked(folder):
        ...     is_locked(folder)
        True
    """
    folder = pathlib.Path(folder)
    path, lock = folder / NAME, FileLock(folder / NAME)

    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock.acquire(timeout=PATIENCE)
        path.write_text(
            f"process {os.getpid()} on {socket.gethostname()},"
            f" since {time.strftime('%Y-%m-%d %H:%M:%S')}\n"
        )
    except FileExistsError:
        raise Error(
            f"{folder}: is a file, expected a run folder; choose another [train] folder"
        ) from None
    except Timeout:
        raise Error(
            f"{folder}: is in use by {_holder(path)}; wait until that run ends or stop it, or"
            " choose another [train] folder"
        ) from None
    except OSError as error:
        raise Error(
            f"{folder}: the run folder cannot be written ({error.strerror}); choose another [train]"
            " folder"
        ) from None

    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            path.unlink()  # before the release, so that the file is not another process's
        lock.release()
        with contextlib.suppress(OSError):  # the folder holds something
            folder.rmdir()


def is_locked(folder: str | pathlib.Path) -> bool:
    """Whether a process holds the lock of a run folder; a killed process may leave its file.

    Args:
        folder: Run folder.

    Example:
        >>> is_locked("no_such_folder")
        False
    """
    path = pathlib.Path(folder) / NAME
    if not path.exists():
        return False

    try:
        with FileLock(path).acquire(blocking=False):
            return False
    except (Timeout, PermissionError):  # of another user's run, only the file is known
        return True


def _holder(path: pathlib.Path) -> str:
    with contextlib.suppress(OSError):
        return path.read_text(encoding="utf-8").strip() or "another process"
    return "another process"
