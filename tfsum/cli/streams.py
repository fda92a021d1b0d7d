"""Standard streams: closed ones, full ones, and what may be shown on a terminal."""

import json
import os
import sys
from typing import Any

# Control characters and marks that turn the direction of writing: on a terminal they move the cursor, hide or forge.
_CONTROLS = [
    *(set(range(32)) - {9, 10}),
    *range(127, 160),
    *range(0x202A, 0x202F),
    *range(0x2066, 0x206A),
]

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


def printable(text: str) -> str:
    """A text as it may be shown on a terminal: control characters become U+FFFD.

    Example:
        >>> printable("red: \\x1b[31m")
        'red: �[31m'
    """
    return text.translate(dict.fromkeys(_CONTROLS, "\ufffd"))


def json_line(value: Any) -> str:
    """A value as JSON in one line, its control characters escaped.

    Example:
        >>> json_line({"text": "\\x9b31m é"})
        '{"text": "\\\\u009b31m é"}'
    """
    line = json.dumps(value, ensure_ascii=False)
    return line.translate({number: f"\\u{number:04x}" for number in _CONTROLS})
