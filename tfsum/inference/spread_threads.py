"""A processor for each of the threads that multiply matrices."""

import contextlib
import os
import pathlib
import threading
from collections.abc import Iterator

THREADS = pathlib.Path("/proc/self/task")
CALLERS = "tf_Compute"  # those that run operations, and hand products to the others


@contextlib.contextmanager
def spread_threads() -> Iterator[None]:
    """Keeps the threads of TensorFlow's pool that the block makes apart, each on a processor.

    Linux wakes both threads of two processors on one of them after a pause, and leaves them there
    for as long as a short text takes: of 1 kB a third of the time (benchmarks/README.md). The pool
    has a thread for each processor of the process. Where it cannot be told from other threads, or
    the system does not let them be placed, they stay as they are.

    Example:
        >>> with spread_threads():
        ...     pass  # the process's first session
    """
    before = _threads()
    yield
    made = sorted(_threads() - before - {thread.native_id for thread in threading.enumerate()})
    processors = sorted(os.sched_getaffinity(0)) if made else []
    with contextlib.suppress(OSError):
        made = [thread for thread in made if _name(thread) != CALLERS]
        if len(made) == len(processors):
            for thread, processor in zip(made, processors, strict=True):
                os.sched_setaffinity(thread, {processor})


def _threads() -> set[int]:
    """The ids of the process's threads; none where the system has no such list."""
    return {int(path.name) for path in THREADS.iterdir()} if THREADS.is_dir() else set()


def _name(thread: int) -> str:
    return (THREADS / str(thread) / "comm").read_text().strip()
