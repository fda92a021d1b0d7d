"""Pairs of source and target text as records of ids: from their files, with a count of all left
out."""

import collections
import functools
import pathlib
from collections.abc import Iterable, Iterator

from tfsum.data.documents.oracle import greedy_labels
from tfsum.data.preparation import (
    EachOnce,
    Preparation,
    RecordWriter,
    ShardRunner,
    batched,
    shard_names,
    vocabulary_file,
    write_records,
)
from tfsum.data.readers import WrongRow, fingerprint, read_pairs
from tfsum.data.settings import CaseSettings, Shards
from tfsum.errors import DataError
from tfsum.tasks.transformer.settings import PairSettings, WindowTargets

_SPLIT_TOGETHER = 64  # whole documents split in one call
_TOGETHER = 1024  # pairs tokenized in one call


def sentence_windows(
    pairs: Iterable[tuple[str, str]], sentences: int, window_targets: WindowTargets = "sentences"
) -> Iterator[tuple[str, str]]:
    """Makes many short pairs out of long ones: runs of a source's sentences, each with what it
    begins with.

    With "sentences" the target is the run's own first sentence: a Transformer that begins with
    nothing learns from that to read its source and to copy, which some thousands of summaries are
    too few to teach. A run starts at the half of the one before until one reaches the end of its
    text, so that every sentence is in one. With "lines" each line of a target is paired with the
    run that begins with the sentence most like it (`oracle.greedy_labels`), so that a summary of n
    lines gives n pairs and each target can be written from its source (as the rewriting model of
    Chen and Bansal 2018, "Fast Abstractive Summarization with Reinforce-Selected Sentence
    Rewriting", is trained). With "both" it gets both kinds: some thousands of lines alone make it
    forget within 100 steps how to copy.

    Args:
        pairs: (source, target) texts.
        sentences: Sentences of a run.
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
                starts = range(0, max(1, len(split) - sentences + step), step)
                found += [(start, split[start]) for start in starts]
            if window_targets != "sentences":
                found += [(_most_like(split, line), line) for line in target.split("\n")]

            for start, target_of_run in found:
                yield " ".join(split[start : start + sentences]), target_of_run


def _most_like(sentences: list[str], line: str) -> int:
    """The place of the sentence most like a line, the first one where none has a word of it."""
    labels = greedy_labels(sentences, line, size=1)
    return labels.index(max(labels))


class PairPreparation(CaseSettings, PairSettings, Preparation):
    """Writes pairs as records for a `Transformer`, see `Preparation`.

    A source is `[CLS] pieces [SEP]`, a target `[CLS] pieces` in and `pieces [SEP]` out.

    Attributes:
        source, target, target_corpus: Arguments of `read_pairs`.
        target_vocabulary: Vocabulary of the target, if it has one of its own.
        max_source_length: Positions of a source, [CLS] and [SEP] included.
        max_target_length: Positions of a target, its [CLS] or [SEP] included. A longer one is left
            out: cut, it would teach to stop in mid-sentence.
        cut_sources: Whether a longer source is cut (summaries of long texts) or its pair left out
            (translation).
        target_lines: Number of first lines to keep of a target; None keeps all.
        window_sentences: Number of sentences of the runs that replace the sources
            (`sentence_windows`); None takes the pairs of the corpus as they are.
        window_targets: Target of a run: its own first of the "sentences", one of the
            "lines" of the target, or "both" in turn.
        lowercase: Whether the word pieces are lower-cased.
        strip_accents: Whether the word pieces lose their accents; None means as `lowercase`.

    Example:
        >>> import tempfile
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> _ = (folder / "vocab.txt").write_text(
        ...     "[PAD]\\n[UNK]\\n[CLS]\\n[SEP]\\n[MASK]\\nthe\\ncat\\nchat"
        ... )
        >>> _ = (folder / "pairs.tsv").write_text("the cat\\tchat\\nthe cat\\tchat\\n")
        >>> preparation = PairPreparation(source="1", target="2", progress=False)
        >>> counts = preparation.write(folder / "pairs.tsv", folder / "records", folder)
        >>> counts["pairs"], counts["source_pieces"], counts["duplicates"], counts["dropped"]
        (1, 2, 1, 1)
    """

    target_corpus: str | pathlib.Path | None = None
    target_vocabulary: str | pathlib.Path | None = None
    lowercase: bool = False
    shards: Shards = 1

    def write(
        self,
        corpus: str | pathlib.Path,
        out_dir: str | pathlib.Path,
        vocabulary: str | pathlib.Path,
        run: ShardRunner | None = None,
    ) -> dict[str, int]:
        """Writes the records, see `Preparation.write`.

        Returns:
            The counts: pairs, source_pieces and target_pieces written, unknown_pieces among them;
            lines_beyond target_lines; sources_cut and pieces_cut with them; pairs dropped, by the
            first reason: empty_source, empty_target, duplicates, long_source, long_target,
            wrong_rows.
        """
        fields = {*PairSettings.model_fields, *CaseSettings.model_fields}
        settings = self.model_dump(include=fields) | {"strip_accents": self.loses_accents}
        if self.window_sentences is None:
            settings["window_targets"] = None
        names = ["pairs.tfrecord"]
        if self.shards > 1:  # manifests of records in one file have no such key
            settings["shards"] = self.shards
            names = shard_names("pairs", self.shards)
        source = vocabulary_file(vocabulary)
        target = vocabulary_file(self.target_vocabulary or vocabulary)
        counts = write_records(
            self,
            out_dir,
            settings,
            {
                "corpus": corpus,
                "vocabulary": source,
                "target_vocabulary": target,
                "target_corpus": self.target_corpus,
            },
            functools.partial(self._each_once, corpus),
            lambda size: names,
            functools.partial(PairWriter, settings, [str(source), str(target)]),
            "no document with a source and a target {}; mend the corpus, or name other columns",
            run,
        )
        if counts["pairs"]:
            return counts

        for name in names:
            (pathlib.Path(out_dir) / name).unlink()
        raise DataError(
            f"no pair of the corpus can be used; found {counts}; mend the corpus, name other"
            " columns or raise the lengths"
        )

    def _each_once(
        self, corpus: str | pathlib.Path, left_out: collections.Counter, wrong: WrongRow
    ) -> Iterator[tuple[str, str, int]]:
        """The pairs that have both texts and are new, each with the number of lines that were cut
        off the end of its target."""
        pairs = read_pairs(
            corpus, self.target_corpus, source=self.source, target=self.target, wrong=wrong
        )
        if self.window_sentences is not None:
            pairs = sentence_windows(pairs, self.window_sentences, self.window_targets)

        once = EachOnce(left_out, "empty_source", "empty_target", "duplicates")
        left_out.update(long_source=0, long_target=0)  # which the writer counts
        for source, target in pairs:
            lines = target.split("\n")
            target = "\n".join(lines[: self.target_lines]).strip()
            key = fingerprint(source, target)
            if once.passes(key, empty_source=not source, empty_target=not target):
                yield source, target, len(lines[self.target_lines or len(lines) :])


class PairWriter(RecordWriter):
    """Tokenizes pairs and keeps those that are short enough, see `RecordWriter`.

    Example:
        >>> writer = PairWriter(settings, ["vocab.txt", "vocab.txt"])  # doctest: +SKIP
        >>> writer.write("pairs.tfrecord", [("the cat", "le chat", 0)])  # doctest: +SKIP
        {'pairs': 1, 'source_pieces': 2, 'target_pieces': 2, ...}
    """

    count_names = (
        "pairs",
        "source_pieces",
        "target_pieces",
        "unknown_pieces",
        "lines_beyond",
        "sources_cut",
        "pieces_cut",
        "long_source",
        "long_target",
    )

    def records(
        self, name: str, documents: Iterator[tuple[str, str, int]], counts: collections.Counter
    ) -> Iterator[bytes]:
        # In here: a worker process settles how TensorFlow works before anything loads it.
        from tfsum.data.records import make_pair_record

        room = self.settings["max_source_length"] - 2  # beside [CLS] and [SEP]
        longest = self.settings["max_target_length"] - 1
        source_words, target_words = self.word_pieces

        for batch in batched(documents, _TOGETHER):
            *texts, lines_beyond = zip(*batch, strict=True)
            counts["lines_beyond"] += sum(lines_beyond)
            sources = source_words.tokenize(texts[0]).to_list()
            targets = target_words.tokenize(texts[1]).to_list()
            for source, target, *both in zip(sources, targets, *texts, strict=True):
                cut = max(0, len(source) - room)
                if cut and not self.settings["cut_sources"]:
                    counts["long_source"] += 1
                elif len(target) > longest:
                    counts["long_target"] += 1
                else:
                    source = source[:room]
                    unknown = source.count(source_words.unk_id) + target.count(target_words.unk_id)
                    counts.update(
                        pairs=1,
                        source_pieces=len(source),
                        target_pieces=len(target),
                        unknown_pieces=unknown,
                        sources_cut=int(cut > 0),
                        pieces_cut=cut,
                    )
                    yield make_pair_record(source, target, *both)
