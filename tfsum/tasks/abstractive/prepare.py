"""Pairs of source and target text as records of ids: from their files, with a count of all left out."""

import collections
import itertools
import pathlib
import unicodedata
from collections.abc import Iterable, Iterator
from typing import Literal, get_args

from tfsum.data.manifest import Manifest, digest
from tfsum.data.oracle import greedy_labels
from tfsum.data.readers import Corpus, fingerprint, read_columns, read_lines
from tfsum.data.records import make_pair_record, write_shard
from tfsum.data.vocabulary_file import vocabulary_file
from tfsum.errors import DataError, Error
from tfsum.text.sentence_splitter import SentenceSplitter
from tfsum.text.word_piece import WordPiece

WindowTargets = Literal["sentences", "lines", "both"]
_SHARD = "pairs.tfrecord"
_TOGETHER = 1024  # pairs tokenized in one call
_SPLIT_TOGETHER = 64  # whole documents split in one call
COUNTS = ("pairs", "source_pieces", "target_pieces", "unknown_pieces", "lines_beyond", "sources_cut", "pieces_cut",
          "read")
DROPPED = ("empty_source", "empty_target", "duplicates", "long_source", "long_target")


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
    """
    if target_corpus is None:
        pairs = read_columns(corpus, (source, target))
    else:
        pairs = _parallel(corpus, target_corpus)
    for texts in pairs:
        yield tuple(unicodedata.normalize("NFC", text).strip() for text in texts)


def _parallel(corpus: str | pathlib.Path, target_corpus: str | pathlib.Path) -> Iterator[tuple[str, str]]:
    both = itertools.zip_longest(read_lines(corpus), read_lines(target_corpus))
    for line, texts in enumerate(both, start=1):
        if None in texts:
            short, long = (corpus, target_corpus) if texts[0] is None else (target_corpus, corpus)
            raise DataError(f"{short}: ends after line {line - 1} and {long} goes on; expected as many lines in both, "
                            "the same line of each a pair")
        yield texts


def sentence_windows(pairs: Iterable[tuple[str, str]], sentences: int,
                     window_targets: WindowTargets = "sentences") -> Iterator[tuple[str, str]]:
    """Makes many short pairs out of long ones: runs of a source's sentences, each with what it begins with.

    With "sentences" the target is the run's own first sentence: a Transformer that begins with nothing learns from
    that to read its source and to copy, which some thousands of summaries are too few to teach. A run starts at the
    half of the one before until one reaches the end of its text, so that every sentence is in one. With "lines" each
    line of a target stands beside the run that begins with the sentence most like it (`oracle.greedy_labels`), so
    that a summary of n lines gives n pairs and each target can be written from its source (as the rewriting model of
    Chen and Bansal 2018, "Fast Abstractive Summarization with Reinforce-Selected Sentence Rewriting", is trained).
    With "both" it gets both kinds: some thousands of lines alone make it forget within 100 steps how to copy.

    Args:
        pairs: (source, target) texts.
        sentences: sentences of a run.
        window_targets: "sentences", "lines" or "both".

    Yields:
        (sentences joined by blanks, target).
    """
    splitter, step, pairs = SentenceSplitter(), max(1, sentences // 2), iter(pairs)
    while batch := list(itertools.islice(pairs, _SPLIT_TOGETHER)):
        sources = splitter.split([source for source, _ in batch])["sentences"].to_list()
        for (_, target), split in zip(batch, sources, strict=True):
            split = [sentence.decode() for sentence in split] or [""]
            found = []
            if window_targets != "lines":
                found += [(i, split[i]) for i in range(0, max(1, len(split) - sentences + step), step)]
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
) -> dict[str, int]:
    """Writes pairs as records for a `Transformer`; a second call with the same settings finds them done.

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
        window_sentences: sentences of the runs that stand for the sources, see `sentence_windows`; None takes the
            pairs of the corpus as they are.
        window_targets: with runs, what stands beside one: its own first of the "sentences", one of the "lines" of the
            target, or "both" in turn.
        lowercase: whether the word pieces are lower-cased.
        strip_accents: whether they lose their accents; None means as `lowercase`.

    Returns:
        The counts: pairs, source_pieces and target_pieces written, unknown_pieces among them; lines_beyond
        target_lines; sources_cut and pieces_cut with them; pairs dropped, by the first reason: empty_source,
        empty_target, duplicates, long_source, long_target.

    Raises:
        DataError: the corpus or the vocabulary cannot be read, or no pair is left.
        Error: an argument is impossible, or `out_dir` was prepared with other settings.
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
    for name, smallest in {"max_source_length": 3, "max_target_length": 2, "target_lines": 1,
                           "window_sentences": 2}.items():
        if settings[name] is not None and settings[name] < smallest:
            raise Error(f"prepare: {name} is {settings[name]}; expected {smallest} or more")
    if window_targets not in get_args(WindowTargets):
        raise Error(f"prepare: window_targets is {window_targets!r}; expected "
                    "'sentences', 'lines' or 'both'")
    files = [vocabulary_file(vocabulary), vocabulary_file(target_vocabulary or vocabulary)]
    settings |= {"corpus": digest(corpus), "vocabulary": digest(files[0]), "target_vocabulary": digest(files[1]),
                 "target_corpus": None if target_corpus is None else digest(target_corpus)}
    manifest = Manifest.open(out_dir, settings)
    manifest.forget_missing([_SHARD])
    if _SHARD not in manifest.shards:
        case = {name: settings[name] for name in ("lowercase", "strip_accents")}
        pairs = read_pairs(corpus, target_corpus, source=source, target=target)
        if window_sentences is not None:
            pairs = sentence_windows(pairs, window_sentences, window_targets)
        writer = _PairWriter(settings, [WordPiece.from_file(file, **case) for file in files])
        manifest.add(_SHARD, writer.write(manifest.folder / _SHARD, pairs))
    return manifest.finish(dict.fromkeys(DROPPED, 0))


class _PairWriter:
    """Tokenizes pairs and writes those that are whole, new and short enough.

    Args:
        settings: as `prepare` collects them.
        word_pieces: the tokenizers of source and target.
    """

    def __init__(self, settings: dict, word_pieces: list[WordPiece]):
        self._settings, self._word_pieces = settings, word_pieces
        self._counts = collections.Counter(dict.fromkeys(COUNTS + DROPPED, 0))

    def write(self, path: pathlib.Path, pairs: Iterable[tuple[str, str]]) -> dict[str, int]:
        """Writes a shard; returns its counts."""
        write_shard(path, self._records(self._usable(pairs)))
        return dict(self._counts)

    def _usable(self, pairs: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
        """The pairs with two texts, each once."""
        seen: set[bytes] = set()
        for source, target in pairs:
            self._counts["read"] += 1
            target = self._first_lines(target)
            key = fingerprint({"text": source, "summary": target})
            reason = "empty_source" if not source else "empty_target" if not target else "duplicates"
            if source and target and key not in seen:
                seen.add(key)
                yield source, target
            else:
                self._counts[reason] += 1

    def _first_lines(self, target: str) -> str:
        lines, most = target.split("\n"), self._settings["target_lines"]
        if most is None or len(lines) <= most:
            return target
        self._counts["lines_beyond"] += len(lines) - most
        return "\n".join(lines[:most]).strip()

    def _records(self, pairs: Iterator[tuple[str, str]]) -> Iterator[bytes]:
        while batch := list(itertools.islice(pairs, _TOGETHER)):
            sources, targets = (word_piece.tokenize(texts).to_list() for word_piece, texts
                                in zip(self._word_pieces, zip(*batch, strict=True), strict=True))
            for texts, source, target in zip(batch, sources, targets, strict=True):
                source = self._fitting(source, target)
                if source is not None:
                    yield make_pair_record(source, target, *texts)
        if not self._counts["pairs"]:
            raise DataError(f"no pair of the corpus can be used; found {dict(self._counts)}; mend the corpus, name "
                            "other columns or raise the lengths")

    def _fitting(self, source: list[int], target: list[int]) -> list[int] | None:
        """The source's pieces that fit, None where the pair is left out."""
        room, counts = self._settings["max_source_length"] - 2, self._counts  # beside [CLS] and [SEP]
        if len(source) > room and not self._settings["cut_sources"]:
            counts["long_source"] += 1
            return None
        if len(target) > self._settings["max_target_length"] - 1:
            counts["long_target"] += 1
            return None
        counts["sources_cut"] += len(source) > room
        counts["pieces_cut"] += max(0, len(source) - room)
        source = source[:room]
        counts["pairs"] += 1
        counts["source_pieces"] += len(source)
        counts["target_pieces"] += len(target)
        for word_piece, pieces in zip(self._word_pieces, (source, target), strict=True):
            counts["unknown_pieces"] += pieces.count(word_piece.unk_id)
        return source
