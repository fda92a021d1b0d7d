"""Standard streams that the caller closed, or that cannot be written to any more."""

import os
import sys

STREAMS = (("stdin", 0, os.O_RDONLY), ("stdout", 1, os.O_WRONLY), ("stderr", 2, os.O_WRONLY))


def open_closed_streams() -> list[str]:
    """Opens the null device in the place of standard streams that the caller closed (`>&-`).

    Otherwise the next file that is opened takes the stream's number, and is written into by whoever prints.

    Returns:
        The names of those that were closed.

    Example:
        >>> open_closed_streams()
        []
    """
    closed = []
    for name, number, mode in STREAMS:
        if getattr(sys, name) is None:
            found = os.open(os.devnull, mode)
            if found != number:
                os.dup2(found, number)
                os.close(found)
            how = "r" if name == "stdin" else "w"
            setattr(sys, name, open(number, how, encoding="utf-8", closefd=False))  # noqa: SIM115 (of the process)
            closed.append(name)
    return closed


def silence_output() -> None:
    """Sends what is left in the buffer of standard output to the null device, so that no flush fails at exit.

    Example:
        >>> silence_output()  # doctest: +SKIP
    """
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
