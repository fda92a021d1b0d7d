"""From a corpus to sharded records of sentence pairs for pretraining BERT, in parallel,
interruptible and resumable."""

import collections
import dataclasses
import functools
import pathlib
import random
import unicodedata
from collections.abc import Iterator
from typing import Any, Literal, get_args

from tfsum.data.preparation import (
    RecordWriter,
    ShardRunner,
    batched,
    case_settings,
    check_settings,
    shard_names,
    vocabulary_file,
    write_records,
)
from tfsum.data.readers import fingerprint, read_documents
from tfsum.errors import DataError, Error
from tfsum.tasks.bert_pretraining.next_sentence import (
    COUNTS,
    LABELS,
    NextSentence,
    PairOptions,
    draw_pairs,
    one_document,
)

Part = Literal["all", "training", "held_out"]
"""Documents of a corpus that are prepared."""
WITHOUT_PAIRS = (
    "none has two sentences; take next_sentence 'none' for masked words alone, or another way to"
    " read a new line"
)
WITHOUT_SENTENCES = (
    "their sentences are of control characters alone, which are not read; look at the file's"
    " encoding"
)
_SPLIT_TOGETHER = 32  # documents that go through the sentence splitter in one call


def prepare(
    corpus: str | pathlib.Path,
    out_dir: str | pathlib.Path,
    vocabulary: str | pathlib.Path,
    *,
    text: str = "text",
    max_length: int = 128,
    next_sentence: NextSentence = "even",
    same_document_share: float = 0.0,
    short_share: float = 0.1,
    duplicates: int = 1,
    lowercase: bool | None = None,
    strip_accents: bool | None = None,
    newline: str = "sentence",
    part: Part = "all",
    held_out_share: float = 0.0,
    seed: int = 0,
    shards: int = 8,
    processes: int = 1,
    progress: bool = True,
    run: ShardRunner | None = None,
) -> dict[str, int]:
    """Writes a corpus as sentence pairs; a second call continues where the first was stopped.

    Words are masked later, when batches are made (`tfsum.tasks.bert_pretraining.masking`): a new
    mask each epoch. For the original's masks, which stay, take its ten `duplicates` and
    `static_masks` there.

    Args:
        corpus: Corpus file, as `tfsum.data.readers.read_documents` takes it.
        out_dir: Folder of the shards and of `manifest.json`, one folder a corpus.
        vocabulary: A vocab.txt, or the folder that holds one.
        text: Name of the field with the text; a number from 1 in a table without a header line.
        max_length, next_sentence, same_document_share, short_share: Fields of
            `tfsum.tasks.bert_pretraining.next_sentence.PairOptions`. A false second segment
            comes from the documents of the same shard.
        duplicates: Passes over each document, with other pairs each time.
        lowercase: Whether texts are lower-cased; None means as the files beside the vocabulary say,
            or its pieces, see `tfsum.formats.text_settings`.
        strip_accents: Whether texts lose their accents; None means as these files say, or as
            `lowercase`.
        newline: Meaning of a new line, an argument of `SentenceSplitter`: "sentence", "line",
            "paragraph", "space" or "auto".
        part: Documents of the corpus to take: "all", those "held_out" or the others, for
            "training".
        held_out_share: Approximate share of documents to hold out, chosen by a hash of their text.
        seed: Seed of the pairs.
        shards: Number of files; fewer where a file would not have two documents.
        processes: Number of worker processes; 1 works in this process.
        progress: Whether to show a bar on standard error.
        run: Function that writes the shards in place of `processes` (`tfsum.beam.prepare`).

    Returns:
        The counts: documents and sentences of the corpus; pairs written, by kind: `next`,
        `other_document`, `same_document` and `one_segment`; pieces in them, and unknown_pieces
        among these; pieces_cut from pairs_cut that were too long; sentences_left without a next
        one, empty_sentences without a piece; documents dropped, as empty, duplicate_documents or of
        the other_part.

    Raises:
        DataError: Corpus or the vocabulary cannot be read, or there is no second document to
            draw from.
        Error: An argument is impossible, or `out_dir` was prepared with other settings.

    Example:
        >>> prepare(
        ...     "books.txt.gz", "records/books", "minilm", max_length=64, shards=4
        ... )  # doctest: +SKIP
        {'documents': 1000, 'sentences': 41234, 'pairs': 5210, ...}
    """
    vocabulary = vocabulary_file(vocabulary)
    settings: dict[str, Any] = {
        "task": "pretraining",
        "text": text,
        "max_length": max_length,
        "next_sentence": next_sentence,
        "same_document_share": same_document_share,
        "short_share": short_share,
        "duplicates": duplicates,
        **case_settings(vocabulary, lowercase, strip_accents),
        "newline": newline,
        "part": part,
        "held_out_share": held_out_share,
        "seed": seed,
        "shards": shards,
    }
    _check(settings | {"processes": processes})

    def names_for(size: int) -> list[str]:
        if size == 1 and next_sentence != "none":
            raise DataError(
                one_document(str(corpus) if part == "all" else f"{corpus}, part {part!r} of it")
            )

        return shard_names("pairs", min(shards, max(1, size // 2)))

    counts = write_records(
        out_dir,
        settings,
        {"corpus": corpus, "vocabulary": vocabulary},
        functools.partial(_usable, corpus, text, part, held_out_share),
        names_for,
        functools.partial(SentencePairWriter, settings, [str(vocabulary)]),
        processes=processes,
        progress=progress,
        run=run,
        needed=f"a text in part {part!r}",
        cure="give more documents, or hold out another share of them (held_out_share, of a recipe"
        " validation_share)",
    )
    if not counts["pairs"]:
        why = WITHOUT_PAIRS if counts["documents"] else WITHOUT_SENTENCES
        raise DataError(
            f"{corpus}: its {counts['documents'] + counts['empty']} documents give no pair: {why}"
        )
    return counts


def _check(settings: dict[str, Any]) -> None:
    """Checks arguments of `prepare` before anything is read."""
    check_settings(
        settings,
        {"max_length": 5, "duplicates": 1, "shards": 1, "processes": 1},  # [CLS] a [SEP] b [SEP]
        {"next_sentence": get_args(NextSentence), "part": get_args(Part)},
    )
    for name in ("same_document_share", "short_share", "held_out_share"):
        if not 0 <= settings[name] <= 1:
            raise Error(f"prepare: {name} is {settings[name]}; expected a share from 0 to 1")


def _usable(
    corpus: str | pathlib.Path,
    text: str,
    part: str,
    held_out_share: float,
    left_out: collections.Counter,
) -> Iterator[str]:
    """The documents with a text, each once, in NFC; the others are counted."""
    left_out.update(empty=0, duplicate_documents=0, other_part=0)
    seen: set[bytes] = set()
    for document in read_documents(corpus, text):
        document = unicodedata.normalize("NFC", document)
        key = fingerprint(document)
        if not document.strip():
            left_out["empty"] += 1
        elif key in seen:
            left_out["duplicate_documents"] += 1
        else:
            seen.add(key)
            held_out = int.from_bytes(key, "little") < held_out_share * 2.0 ** (8 * len(key))
            if part == "all" or held_out == (part == "held_out"):
                yield document
            else:
                left_out["other_part"] += 1


class SentencePairWriter(RecordWriter):
    """Splits, tokenizes and pairs documents, see `RecordWriter`; false second segments come from
    the same shard.

    Example:
        >>> writer = SentencePairWriter(settings, ["vocab.txt"])  # doctest: +SKIP
        >>> writer.write("pairs.tfrecord", texts)  # doctest: +SKIP
        {'documents': 10, 'sentences': 120, 'pairs': 31, ...}
    """

    count_names = (
        "documents",
        "sentences",
        "pairs",
        *COUNTS,
        "pieces",
        "unknown_pieces",
        "empty",
        "empty_sentences",
    )

    def records(
        self, name: str, documents: Iterator[str], counts: collections.Counter
    ) -> Iterator[bytes]:
        # In here: a worker process settles how TensorFlow works before anything loads it.
        from tfsum.data.records import serialized

        (word_piece,) = self.word_pieces
        names = [field.name for field in dataclasses.fields(PairOptions)]
        options = PairOptions(**{name: self.settings[name] for name in names})
        tokenized = list(self._tokenized(documents, counts))
        # Of the shard alone: one written again, by whichever process, has the same pairs.
        rng = random.Random(f"{self.settings['seed']}/{name}")

        for _ in range(self.settings["duplicates"]):
            for index in range(len(tokenized)):
                for pair in draw_pairs(tokenized, index, options, rng, counts):
                    pieces = pair.first + pair.second
                    unknown = pieces.count(word_piece.unk_id)
                    counts.update(pairs=1, pieces=len(pieces), unknown_pieces=unknown)
                    yield serialized(
                        pieces=pieces,
                        first_pieces=[len(pair.first)],
                        next_sentence_label=[LABELS[pair.kind]],
                    )

    def _tokenized(
        self, documents: Iterator[str], counts: collections.Counter
    ) -> Iterator[list[list[int]]]:
        """The documents that have any, as sentences of pieces."""
        for batch in batched(documents, _SPLIT_TOGETHER):
            sentences = self.splitter.split(batch)["sentences"]
            pieces = sentences.with_flat_values(self.word_pieces[0].tokenize(sentences.flat_values))
            for document in pieces.to_list():
                kept = [sentence for sentence in document if sentence]
                counts.update(
                    sentences=len(kept),
                    empty_sentences=len(document) - len(kept),
                    documents=int(bool(kept)),
                    empty=int(not kept),
                )
                if kept:
                    yield kept
