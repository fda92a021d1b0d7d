"""A bar is drawn on a terminal of any size, also on one that says it has none."""

import os
import subprocess
import sys

import pytest

pty = pytest.importorskip("pty", reason="needs pseudo-terminals")

BAR = (
    "import sys; from tqdm import tqdm; from tfsum.terminal_size import bar_size\n"
    "with tqdm(total=4, file=sys.stderr, mininterval=0, **bar_size()) as bar: bar.update(2)"
)


def shown(columns: int, lines: int) -> str:
    """What a bar writes on a terminal of a size."""
    import fcntl
    import struct
    import termios

    mine, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
    subprocess.run([sys.executable, "-c", BAR], stderr=theirs, check=True)
    os.close(theirs)
    with open(mine, "rb", closefd=True, buffering=0) as terminal:
        return terminal.read(4096).decode()


@pytest.mark.parametrize("size", [(0, 0), (100, 30)])
def test_a_bar_is_drawn(size):
    text = shown(*size)
    assert "50%" in text and "2/4" in text
