"""Ctrl-C that ends a command soon, though the graph that it runs cannot be interrupted."""

import contextlib
import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator

from tfsum.atomic_files import remove_unfinished

INTERRUPTED = 130
PATIENCE = 1.0  # seconds that Python gets to end by itself


@contextlib.contextmanager
def ends_soon() -> Iterator[None]:
    """Inside the block a SIGINT ends the process within `PATIENCE` seconds, with exit status `INTERRUPTED`.

    Python raises KeyboardInterrupt only between two of its own instructions, and one call of a model may take many
    seconds. A thread learns of the signal at once and ends the process if Python has not; unfinished files are removed.

    Example:
        >>> with ends_soon():
        ...     pass
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    reader, writer = socket.socketpair()
    writer.setblocking(False)
    done = threading.Event()

    def watch() -> None:
        while number := reader.recv(1):
            if number[0] == signal.SIGINT and not done.wait(PATIENCE):
                remove_unfinished()
                os.write(sys.stderr.fileno(), b"tfsum: interrupted\n")
                os._exit(INTERRUPTED)

    before = signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        signal.set_wakeup_fd(before)
        writer.close()
        watcher.join()
        reader.close()
