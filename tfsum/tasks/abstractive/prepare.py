"""Pairs of source and target text as records of ids: from their files, with a count of all left out."""

import collections
import functools
import itertools
import pathlib
import unicodedata
from collections.abc import Iterable, Iterator
from typing import Any, Literal, NamedTuple, get_args

from tfsum.data.oracle import greedy_labels
from tfsum.data.preparation import (
    RecordWriter,
    Run,
    batched,
    check_settings,
    shard_names,
    write_records,
)
from tfsum.data.readers import Corpus, fingerprint, read_columns, read_lines
from tfsum.data.vocabulary_file import vocabulary_file
from tfsum.errors import DataError

WindowTargets = Literal["sentences", "lines", "both"]
_SPLIT_TOGETHER = 64  # whole documents split in one call
DROPPED = ("empty_source", "empty_target", "duplicates", "long_source", "long_target")
"""Why a pair is left out."""


class FoundPair(NamedTuple):
    """A pair of the corpus: its texts, the lines taken off its target, and why it is left out, if it is.

    Example:
        >>> FoundPair("", "chat", 0, "empty_source").reason
        'empty_source'
    """

    source: str
    target: str
    lines_beyond: int
    reason: str | None


def read_pairs(
    corpus: Corpus,
    target_corpus: str | pathlib.Path | None = None,
    *,
    source: str = "source",
    target: str = "target",
) -> Iterator[tuple[str, str]]:
    """Reads pairs of texts in order, one at a time, in NFC, without blanks at their ends.

    Args:
        corpus: a `.jsonl`, `.csv` or `.tsv` file with both texts, or its rows in memory; or, beside
            `target_corpus`, a file of source texts, one a line. Each may end in `.gz`.
        target_corpus: a file of as many target texts.
        source: name of the column with the source; a number from 1 in a table without a header line.
        target: name of the column with the target, likewise.

    Yields:
        (source, target).

    Raises:
        DataError: a file cannot be read, a field is missing, or parallel files differ in their numbers of lines.

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
            f"{target_corpus}: holds the targets of a file of sources, and the corpus is rows in memory; "
            "give a file, or rows with both texts and no target_corpus"
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
                f"{short}: ends after line {line - 1} and {long} goes on; expected as many lines in both, "
                "the same line of each a pair"
            )
        yield texts


def sentence_windows(
    pairs: Iterable[tuple[str, str]], sentences: int, window_targets: WindowTargets = "sentences"
) -> Iterator[tuple[str, str]]:
    """Makes many short pairs out of long ones: runs of a source's sentences, each with what it begins with.

    With "sentences" the target is the run's own first sentence: a Transformer that begins with nothing learns from
    that to read its source and to copy, which some thousands of summaries are too few to teach. A run starts at the
    half of the one before until one reaches the end of its text, so that every sentence is in one. With "lines" each
    line of a target is paired with the run that begins with the sentence most like it (`oracle.greedy_labels`), so
    that a summary of n lines gives n pairs and each target can be written from its source (as the rewriting model of
    Chen and Bansal 2018, "Fast Abstractive Summarization with Reinforce-Selected Sentence Rewriting", is trained).
    With "both" it gets both kinds: some thousands of lines alone make it forget within 100 steps how to copy.

    Args:
        pairs: (source, target) texts.
        sentences: sentences of a run.
        window_targets: "sentences", "lines" or "both".

    Yields:
        (sentences joined by blanks, target).

    Example:
        >>> list(sentence_windows([("A cat sat. It slept. It left.", "A cat left.")], 2))
        [('A cat sat. It slept.', 'A cat sat.'), ('It slept. It left.', 'It slept.')]
    """
    from tfsum.text.sentence_splitter import (
        SentenceSplitter,  # TensorFlow, which a worker process loads later
    )

    splitter, step = SentenceSplitter(), max(1, sentences // 2)
    for batch in batched(pairs, _SPLIT_TOGETHER):
        sources = splitter.split([source for source, _ in batch])["sentences"].to_list()
        for (_, target), split in zip(batch, sources, strict=True):
            split = [sentence.decode() for sentence in split] or [""]
            found = []
            if window_targets != "lines":
                found += [
                    (i, split[i]) for i in range(0, max(1, len(split) - sentences + step), step)
                ]
            if window_targets != "sentences":
                found += [(_most_like(split, line), line) for line in target.split("\n")]
            for start, target_of_run in found:
                yield " ".join(split[start : start + sentences]), target_of_run


def _most_like(sentences: list[str], line: str) -> int:
    """The place of the sentence most like a line, the first one where none has a word of it."""
    labels = greedy_labels(sentences, line, size=1)
    return labels.index(max(labels))


def prepare(
    corpus: str | pathlib.Path,
    out_dir: str | pathlib.Path,
    vocabulary: str | pathlib.Path,
    *,
    target_vocabulary: str | pathlib.Path | None = None,
    target_corpus: str | pathlib.Path | None = None,
    source: str = "source",
    target: str = "target",
    max_source_length: int = 512,
    max_target_length: int = 512,
    cut_sources: bool = False,
    target_lines: int | None = None,
    window_sentences: int | None = None,
    window_targets: WindowTargets = "sentences",
    lowercase: bool = False,
    strip_accents: bool | None = None,
    shards: int = 1,
    processes: int = 1,
    progress: bool = True,
    run: Run | None = None,
) -> dict[str, int]:
    """Writes pairs as records for a `Transformer`; a second call continues where the first was stopped.

    A source is `[CLS] pieces [SEP]`, a target `[CLS] pieces` in and `pieces [SEP]` out.

    Args:
        corpus, target_corpus, source, target: see `read_pairs`.
        out_dir: folder of the shards and of `manifest.json`, one folder a corpus.
        vocabulary: a vocab.txt, or the folder that holds one.
        target_vocabulary: the target's, where it has one of its own.
        max_source_length: positions of a source, [CLS] and [SEP] included.
        max_target_length: positions of a target, its [CLS] or [SEP] included. A longer one is left out: cut, it
            would teach to stop in mid-sentence.
        cut_sources: whether a longer source is cut (summaries of long texts) or its pair left out (translation).
        target_lines: lines kept of a target, the first ones; None keeps all.
        window_sentences: sentences of the runs that replace the sources, see `sentence_windows`; None takes the
            pairs of the corpus as they are.
        window_targets: with runs, the target of one: its own first of the "sentences", one of the "lines" of the
            target, or "both" in turn.
        lowercase: whether the word pieces are lower-cased.
        strip_accents: whether they lose their accents; None means as `lowercase`.
        shards: number of files.
        processes: how many work at once; 1 works in this one.
        progress: whether to show a bar on standard error.
        run: writes the shards in the place of `processes`, see `tfsum.beam.prepare`.

    Returns:
        The counts: pairs, source_pieces and target_pieces written, unknown_pieces among them; lines_beyond
        target_lines; sources_cut and pieces_cut with them; pairs dropped, by the first reason: empty_source,
        empty_target, duplicates, long_source, long_target.

    Raises:
        DataError: the corpus or the vocabulary cannot be read, or no pair is left.
        Error: an argument is impossible, or `out_dir` was prepared with other settings.

    Example:
        >>> import tempfile
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> _ = (folder / "vocab.txt").write_text(
        ...     "[PAD]\\n[UNK]\\n[CLS]\\n[SEP]\\n[MASK]\\nthe\\ncat\\nchat"
        ... )
        >>> _ = (folder / "pairs.tsv").write_text("the cat\\tchat\\nthe cat\\tchat\\n")
        >>> counts = prepare(
        ...     folder / "pairs.tsv",
        ...     folder / "records",
        ...     folder,
        ...     source="1",
        ...     target="2",
        ...     progress=False,
        ... )
        >>> counts["pairs"], counts["source_pieces"], counts["duplicates"], counts["dropped"]
        (1, 2, 1, 1)
    """
    settings = {
        "source": source,
        "target": target,
        "max_source_length": max_source_length,
        "max_target_length": max_target_length,
        "cut_sources": cut_sources,
        "target_lines": target_lines,
        "window_sentences": window_sentences,
        "window_targets": None if window_sentences is None else window_targets,
        "lowercase": lowercase,
        "strip_accents": lowercase if strip_accents is None else strip_accents,
    }
    if shards != 1:
        settings["shards"] = (
            shards  # one file is what a folder of 0.1.0 holds, whose manifest says nothing of it
        )
    check_settings(
        settings | {"window_targets": window_targets, "shards": shards, "processes": processes},
        {
            "max_source_length": 3,
            "max_target_length": 2,
            "target_lines": 1,
            "window_sentences": 2,
            "shards": 1,
            "processes": 1,
        },
        {"window_targets": get_args(WindowTargets)},
    )
    vocabularies = [vocabulary_file(vocabulary), vocabulary_file(target_vocabulary or vocabulary)]
    files = {
        "corpus": corpus,
        "vocabulary": vocabularies[0],
        "target_vocabulary": vocabularies[1],
        "target_corpus": target_corpus,
    }
    names = ["pairs.tfrecord"] if shards == 1 else shard_names("pairs", shards)
    counts = write_records(
        out_dir,
        settings,
        files,
        functools.partial(_each_once, corpus, target_corpus, settings),
        lambda size, left_out: names,
        functools.partial(_pair_writer, settings, [str(file) for file in vocabularies]),
        processes=processes,
        progress=progress,
        run=run,
    )
    if not counts["pairs"]:
        for name in names:
            (pathlib.Path(out_dir) / name).unlink()
        raise DataError(
            f"no pair of the corpus can be used; found {counts}; mend the corpus, name other columns or "
            "raise the lengths"
        )
    return counts


def _each_once(
    corpus: str | pathlib.Path,
    target_corpus: str | pathlib.Path | None,
    settings: dict[str, Any],
    left_out: collections.Counter,
) -> Iterator[FoundPair]:
    """All pairs, with the reason why one cannot be used; the writer of its shard counts it and drops it."""
    left_out.update(dict.fromkeys(DROPPED, 0))
    pairs = read_pairs(corpus, target_corpus, source=settings["source"], target=settings["target"])
    if settings["window_sentences"] is not None:
        pairs = sentence_windows(pairs, settings["window_sentences"], settings["window_targets"])
    most, seen = settings["target_lines"], set()
    for source, target in pairs:
        lines = target.split("\n")
        beyond = 0 if most is None else max(0, len(lines) - most)
        if beyond:
            target = "\n".join(lines[:most]).strip()
        key = fingerprint(source, target)
        reason = (
            "empty_source"
            if not source
            else "empty_target"
            if not target
            else "duplicates"
            if key in seen
            else None
        )
        if not reason:
            seen.add(key)
        yield FoundPair(source, target, beyond, reason)


def _pair_writer(settings: dict[str, Any], vocabularies: list[str]) -> RecordWriter:
    # In here: a worker process settles how TensorFlow works before anything loads it.
    from tfsum.tasks.abstractive.pair_writer import PairWriter

    return PairWriter(settings, vocabularies)
