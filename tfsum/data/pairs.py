"""Pairs of source and target texts, read from one table or from two parallel files."""

import itertools
import pathlib
import unicodedata
from collections.abc import Iterator

from tfsum.data.readers import Corpus, read_columns, read_lines
from tfsum.errors import DataError

DROPPED = ("empty_source", "empty_target", "duplicates", "long_source", "long_target")
"""Why a pair is left out."""


def read_pairs(
    corpus: Corpus,
    target_corpus: str | pathlib.Path | None = None,
    *,
    source: str = "source",
    target: str = "target",
) -> Iterator[tuple[str, str]]:
    """Reads pairs of texts in order, one at a time, in NFC, without blanks at their ends.

    Args:
        corpus: A `.jsonl`, `.csv` or `.tsv` file with both texts, or its rows in memory; or, beside
            `target_corpus`, a file of source texts, one a line. Each may end in `.gz`.
        target_corpus: A file of as many target texts.
        source: Name of the column with the source; a number from 1 in a table without a header
            line.
        target: Name of the column with the target, likewise.

    Yields:
        (source, target).

    Raises:
        DataError: A file cannot be read, a field is missing, or parallel files differ in their
            numbers of lines.

    Example:
        >>> list(read_pairs([{"source": " the cat ", "target": "le chat"}]))
        [('the cat', 'le chat')]
    """
    if target_corpus is None:
        pairs: Iterator[tuple[str, ...]] = read_columns(corpus, (source, target))
    elif isinstance(corpus, str | pathlib.Path):
        pairs = _parallel(corpus, target_corpus)
    else:
        raise DataError(
            f"{target_corpus}: holds the targets of a file of sources, and the corpus is rows in"
            " memory; give a file, or rows with both texts and no target_corpus"
        )

    for first, second in pairs:
        yield (
            unicodedata.normalize("NFC", first).strip(),
            unicodedata.normalize("NFC", second).strip(),
        )


def _parallel(
    corpus: str | pathlib.Path, target_corpus: str | pathlib.Path
) -> Iterator[tuple[str, str]]:
    both = itertools.zip_longest(read_lines(corpus), read_lines(target_corpus))
    for line, texts in enumerate(both, start=1):
        if None in texts:
            short, long = (corpus, target_corpus) if texts[0] is None else (target_corpus, corpus)
            raise DataError(
                f"{short}: ends after line {line - 1} and {long} goes on; expected as many lines in"
                " both, the same line of each a pair"
            )
        yield texts
