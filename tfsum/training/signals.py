"""Signals that ask a training to stop."""

import contextlib
import signal
import threading
from collections.abc import Iterator


@contextlib.contextmanager
def deferred_signals() -> Iterator[list[int]]:
    """Collects SIGINT and SIGTERM in a list inside the block, so that no step is interrupted.

    Python lets only the main thread handle signals: in another one the list stays empty.

    Example:
        >>> with deferred_signals() as received:
        ...     signal.raise_signal(signal.SIGTERM)
        >>> received == [signal.SIGTERM]
        True
    """
    received: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield received
        return

    before = {
        number: signal.signal(number, lambda number, frame: received.append(number))
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield received
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
