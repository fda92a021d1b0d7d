"""Work on large messages in a thread, so that the event loop can serve other requests."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

LARGE = (
    1 << 16
)  # bytes of a message that is read or written in a thread; a smaller one takes less than the thread


async def beside(size: int, function: Callable[..., T], *arguments: object) -> T:
    """The value of a function, computed in a thread where it may take long.

    Args:
        size: bytes that it works on.
        function: to call.
        arguments: of it.

    Returns:
        Its value.

    Raises:
        Exception: that of the function.

    Example:
        >>> asyncio.run(beside(1 << 20, len, b"It rained."))
        10
    """
    return await asyncio.to_thread(function, *arguments) if size > LARGE else function(*arguments)
