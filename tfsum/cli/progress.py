"""Progress bars of commands that answer documents."""

import contextlib
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tqdm import tqdm

from tfsum.terminal_size import bar_size

LARGE = 1 << 18  # bytes of a text from which a bar of its own is worth its trial
TRIAL = 20_000  # characters whose time is taken: two seconds or so
SECONDS = 0.5  # between two updates of it


def documents_bar(total: int | None) -> Any:
    """A progress bar on a terminal, for several documents.

    Args:
        total: Number of documents; None where it is not known before they are read.

    Example:
        >>> with documents_bar(3) as bar:
        ...     _ = bar.update()
    """
    return tqdm(
        total=total,
        unit="document",
        disable=total == 1 or not sys.stderr.isatty(),
        file=sys.stderr,
        **bar_size(),
    )


@contextlib.contextmanager
def large_text_bar(
    name: str, texts: Sequence[str], answer: Callable[[list[str]], object]
) -> Iterator[None]:
    """Shows on a terminal how far the model is with a group of texts, one of them large.

    One call of the graph reads a text from beginning to end and reports nothing meanwhile. The bar
    is an estimate, and says so: the time for the beginning of the largest text, scaled to the
    length of all.

    Args:
        name: Name of the largest text.
        texts: Texts of the group.
        answer: Model, called with a list of a text.

    Example:
        >>> with large_text_bar("a.txt", ["It rained."], print):  # not large: nothing is shown
        ...     pass
    """
    largest = max(texts, key=len, default="")
    if len(largest) < LARGE or not sys.stderr.isatty():
        yield
        return

    answer([largest[: TRIAL // 10]])  # the first call takes longer
    begin = time.monotonic()
    answer([largest[:TRIAL]])
    seconds = (time.monotonic() - begin) / TRIAL * sum(map(len, texts))

    done, begin = threading.Event(), time.monotonic()
    bar = tqdm(
        total=round(seconds),
        desc=f"{name}, {len(largest.encode(errors='replace')) / 1e6:.1f} MB (estimated)",
        file=sys.stderr,
        leave=False,
        bar_format="{desc}: {percentage:3.0f}%|{bar}| {n:.0f} of about {total} s",
        **bar_size(),
    )

    def move() -> None:
        while not done.wait(SECONDS):
            bar.n = min(time.monotonic() - begin, 0.99 * seconds)
            bar.refresh()

    thread = threading.Thread(target=move, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
        bar.close()
