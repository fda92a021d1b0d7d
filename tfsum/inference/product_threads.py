"""Which processors the threads run on that multiply matrices."""

import contextlib
import itertools
import os
import pathlib
import threading
from collections.abc import Iterator

THREADS = pathlib.Path("/proc/self/task")
RUNNING = pathlib.Path("/proc/loadavg")
CALLERS = "tf_Compute"  # those that run operations, and hand products to the others


class ProductThreads:
    """The pool of TensorFlow's threads for products, one of them for each processor.

    After a pause Linux wakes both threads of two processors on one of them, and leaves them there
    for as long as a short text takes (benchmarks/README.md). So each is kept on a processor of its
    own while nothing else runs; beside other work, which would then wait for one processor while
    another is idle, they are free. Other systems are left alone.

    Example:
        >>> pool = ProductThreads()
        >>> with pool.found():
        ...     pass  # makes the process's first session
        >>> pool.place()
    """

    def __init__(self) -> None:
        self._threads, self._are_apart = list[int](), False

    @contextlib.contextmanager
    def found(self) -> Iterator[None]:
        """Takes the threads that the block makes as the pool, if it makes one for each processor
        besides those of Python and those that run operations."""
        before = _threads()
        yield
        made = _threads() - before - {thread.native_id for thread in threading.enumerate()}
        with contextlib.suppress(OSError):
            made = {thread for thread in made if _name(thread) != CALLERS}
            if made and len(made) == len(os.sched_getaffinity(0)):
                self._threads = sorted(made)

    def place(self) -> None:
        """Keeps the threads apart, or sets them free."""
        if not self._threads:
            return
        with contextlib.suppress(OSError):
            running, _ = RUNNING.read_text().split()[3].split("/")
            are_apart = running == "1"  # who asks
            if are_apart != self._are_apart:
                processors = sorted(os.sched_getaffinity(0))
                for thread, processor in zip(self._threads, itertools.cycle(processors)):
                    os.sched_setaffinity(thread, {processor} if are_apart else processors)
                self._are_apart = are_apart


def _threads() -> set[int]:
    """The ids of the process's threads; none where the system has no such list."""
    return {int(path.name) for path in THREADS.iterdir()} if THREADS.is_dir() else set()


def _name(thread: int) -> str:
    return (THREADS / str(thread) / "comm").read_text().strip()
