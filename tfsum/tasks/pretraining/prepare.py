"""From a corpus to sharded records of sentence pairs for pretraining BERT, in parallel, interruptible and resumable."""

import collections
import functools
import pathlib
import unicodedata
from collections.abc import Iterator
from typing import Any, Literal, get_args

from tfsum.data.preparation import RecordWriter, Run, check_settings, shard_names, write_records
from tfsum.data.readers import fingerprint, read_documents
from tfsum.data.vocabulary_file import vocabulary_file
from tfsum.errors import DataError, Error
from tfsum.tasks.pretraining.next_sentence import NextSentence, one_document


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
    lowercase: bool = True,
    strip_accents: bool | None = None,
    newline: str = "sentence",
    part: Literal["all", "training", "held_out"] = "all",
    held_out_share: float = 0.0,
    seed: int = 0,
    shards: int = 8,
    processes: int = 1,
    progress: bool = True,
    run: Run | None = None,
) -> dict[str, int]:
    """Writes a corpus as sentence pairs; a second call continues where the first was stopped.

    Words are masked later, when batches are made (`tfsum.tasks.pretraining.masking`): a new mask each
    epoch. For the original's masks, which stay, take its ten `duplicates` and `static_masks` there.

    Args:
        corpus: see `tfsum.data.readers.read_documents`.
        out_dir: folder of the shards and of `manifest.json`, one folder a corpus.
        vocabulary: a vocab.txt, or the folder that holds one.
        text: name of the field with the text; a number from 1 in a table without a header line.
        max_length, next_sentence, same_document_share, short_share: see
            `tfsum.tasks.pretraining.next_sentence.PairOptions`. A false second segment
            comes from the documents of the same shard.
        duplicates: passes over each document, with other pairs each time.
        lowercase: whether the word pieces are lower-cased.
        strip_accents: whether they lose their accents; None means as `lowercase`.
        newline: what a new line means, see `SentenceSplitter`: "sentence", "line", "paragraph", "space" or
            "auto".
        part: which documents of the corpus are taken: "all", those "held_out" or the others, for "training".
        held_out_share: about how many are held out, chosen by a hash of their text.
        seed: of the pairs.
        shards: number of files; fewer where a file would not have two documents.
        processes: how many work at once; 1 works in this one.
        progress: whether to show a bar on standard error.
        run: writes the shards in the place of `processes`, see `tfsum.beam.prepare`.

    Returns:
        The counts: documents and sentences of the corpus; pairs written, by kind: `next`, `other_document`,
        `same_document` and `one_segment`; pieces in them, and unknown_pieces among these; pieces_cut from pairs_cut
        that were too long; sentences_left without a next one, empty_sentences without a piece; documents dropped, as
        empty, duplicate_documents or of the other_part.

    Raises:
        DataError: the corpus or the vocabulary cannot be read, or there is no second document to draw from.
        Error: an argument is impossible, or `out_dir` was prepared with other settings.

    Example:
        >>> prepare(
        ...     "books.txt.gz", "records/books", "minilm", max_length=64, shards=4
        ... )  # doctest: +SKIP
        {'documents': 1000, 'sentences': 41234, 'pairs': 5210, ...}
    """
    settings: dict[str, Any] = {
        "task": "pretraining",
        "text": text,
        "max_length": max_length,
        "next_sentence": next_sentence,
        "same_document_share": same_document_share,
        "short_share": short_share,
        "duplicates": duplicates,
        "lowercase": lowercase,
        "strip_accents": lowercase if strip_accents is None else strip_accents,
        "newline": newline,
        "part": part,
        "held_out_share": held_out_share,
        "seed": seed,
        "shards": shards,
    }
    # The shortest pair is [CLS] a [SEP] b [SEP].
    check_settings(
        settings | {"processes": processes},
        {"max_length": 5, "duplicates": 1, "shards": 1, "processes": 1},
        {"next_sentence": get_args(NextSentence), "part": ("all", "training", "held_out")},
    )
    for name in ("same_document_share", "short_share", "held_out_share"):
        if not 0 <= settings[name] <= 1:
            raise Error(f"prepare: {name} is {settings[name]}; expected a share from 0 to 1")
    vocabulary = vocabulary_file(vocabulary)

    def names_for(size: int, left_out: collections.Counter) -> list[str]:
        if not size:
            counts = ", ".join(f"{count} {name}" for name, count in left_out.items())
            raise DataError(
                f"{corpus}: no document with a text in part {part!r} (left out: {counts}); give more "
                "documents, or hold out another share of them (held_out_share, of a recipe "
                "validation_share)"
            )
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
        functools.partial(_pair_writer, settings, str(vocabulary)),
        processes=processes,
        progress=progress,
        run=run,
    )
    if not counts["pairs"]:
        why = (
            "none has two sentences; take next_sentence 'none' for masked words alone, or another way to read a "
            "new line"
            if counts["documents"]
            else "their sentences are of control characters alone, which are not read; look at the file's encoding"
        )
        raise DataError(
            f"{corpus}: its {counts['documents'] + counts['empty']} documents give no pair: {why}"
        )
    return counts


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


def _pair_writer(settings: dict[str, Any], vocabulary: str) -> RecordWriter:
    # In here: a worker process settles how TensorFlow works before anything loads it.
    from tfsum.tasks.pretraining.pair_writer import SentencePairWriter

    return SentencePairWriter(settings, [vocabulary])
