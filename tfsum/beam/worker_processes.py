"""The worker processes of Beam's runner on this machine: if one ends, the others end too."""

import contextlib
import os
import pathlib
import signal
import threading
from collections.abc import Iterator

ENDED = "Worker subprocess exited"  # of Beam's message, in the thread that waits for the process


@contextlib.contextmanager
def ending_together() -> Iterator[None]:
    """Ends all worker processes as soon as one has failed; on Linux, where /proc lists them.

    Beam would wait until those that are left have done their share of the documents, and fail then.

    Yields:
        None.

    Example:
        >>> with ending_together():
        ...     pass
    """
    before = threading.excepthook

    def hook(arguments: threading.ExceptHookArgs) -> None:
        before(arguments)
        if ENDED in str(arguments.exc_value):
            for process in descendants(os.getpid()):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)

    threading.excepthook = hook
    try:
        yield
    finally:
        threading.excepthook = before


def descendants(process: int) -> list[int]:
    """The processes that a process has started, and those that these have started.

    Args:
        process: its number.

    Returns:
        numbers; none where there is no /proc.

    Example:
        >>> descendants(-1)
        []
    """
    children: dict[int, list[int]] = {}
    for status in pathlib.Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it has ended
            children.setdefault(int(status.read_text().rpartition(")")[2].split()[1]), []).append(
                int(status.parent.name)
            )
    found = list(children.get(process, []))
    for child in found:  # grows as it is read
        found += children.get(child, [])
    return found
