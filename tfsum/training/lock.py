"""A lock on a run folder, so that two runs never write into the same one."""

import contextlib
import os
import pathlib
import socket
import time
from collections.abc import Iterator
from typing import IO

from tfsum.errors import Error

try:
    import fcntl
except ImportError:  # Windows, where a folder is not locked
    fcntl = None  # type: ignore[assignment]

NAME = "lock"
PATIENCE = 0.5  # seconds: who only asks whether it is held (`is_locked`) holds it for a moment


@contextlib.contextmanager
def locked(folder: str | pathlib.Path) -> Iterator[None]:
    """Holds the lock of a run folder inside the block; the system releases that of a process that was killed.

    Args:
        folder: the run folder, made if there is none; one that is still empty after the block is removed.

    Raises:
        Error: another process holds the lock (its host and number are named), or the folder cannot be written.

    Example:
        >>> import tempfile
        >>> with locked(tempfile.mkdtemp()):
        ...     pass
    """
    folder = pathlib.Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = _lock(folder / NAME)
    except FileExistsError:
        raise Error(
            f"{folder}: is a file, expected a run folder; choose another [train] folder"
        ) from None
    except BlockingIOError:
        raise Error(
            f"{folder}: is in use by {_holder(folder / NAME)}; wait until that run ends or stop it, or choose "
            "another [train] folder"
        ) from None
    except OSError as error:
        raise Error(
            f"{folder}: the run folder cannot be written ({error.strerror}); choose another [train] folder"
        ) from None
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            (folder / NAME).unlink()
        file.close()
        with contextlib.suppress(OSError):  # it holds something
            folder.rmdir()


def is_locked(folder: str | pathlib.Path) -> bool:
    """Whether a process holds the lock of a run folder; a file that a killed process left does not count.

    Example:
        >>> is_locked("no_such_folder")
        False
    """
    path = pathlib.Path(folder) / NAME
    try:
        with path.open("rb") as file:
            if fcntl is None:
                return True
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # there is none
        pass
    return False


def _lock(path: pathlib.Path) -> IO[str]:
    """The open file that holds the lock, with the name of this process in it."""
    while True:
        file = path.open("a+", encoding="utf-8")
        try:
            _take(file)
            if path.exists() and os.path.samestat(os.fstat(file.fileno()), path.stat()):
                break
        except BaseException:
            file.close()
            raise
        file.close()  # whoever held the lock has removed the file meanwhile
    file.truncate(0)
    file.write(
        f"process {os.getpid()} on {socket.gethostname()}, since {time.strftime('%Y-%m-%d %H:%M:%S')}\n"
    )
    file.flush()
    return file


def _take(file: IO[str]) -> None:
    until = time.monotonic() + PATIENCE
    while fcntl is not None:
        try:
            return fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > until:
                raise
            time.sleep(0.05)


def _holder(path: pathlib.Path) -> str:
    try:
        return path.read_text(encoding="utf-8").strip() or "another process"
    except OSError:
        return "another process"
