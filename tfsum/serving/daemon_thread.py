"""A blocking function awaited in a daemon thread, which keeps neither the event loop nor the process from ending."""

import asyncio
import contextlib
import threading
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


async def run_in_daemon_thread(function: Callable[[], T], name: str) -> T:
    """Awaits a function that may block for minutes.

    `asyncio.to_thread` is not for it: `asyncio.run` waits for the threads of its executor before it returns.

    Args:
        function: to call, without arguments.
        name: of the thread.

    Returns:
        The value of the function.

    Raises:
        Exception: that of the function.

    Example:
        >>> asyncio.run(run_in_daemon_thread(lambda: 7, "an example"))
        7
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def run() -> None:
        try:
            done: tuple[Callable[[Any], None], Any] = future.set_result, function()
        except Exception as error:
            done = future.set_exception, error
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(_settle, future, *done)

    threading.Thread(target=run, name=name, daemon=True).start()
    return await future


def _settle(future: asyncio.Future, settle: Callable[[Any], None], value: Any) -> None:
    if not future.done():
        settle(value)
