"""From a corpus to sharded records of sentence pairs for pretraining BERT, in parallel, interruptible and resumable."""

import collections
import functools
import pathlib
import unicodedata
from collections.abc import Iterator
from typing import Literal, get_args

from tfsum.data.manifest import Manifest, digest
from tfsum.data.readers import fingerprint, read_documents
from tfsum.data.shards import shard_name, write_shards
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
) -> dict[str, int]:
    """Writes a corpus as sentence pairs; a second call goes on where the first was stopped.

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
        duplicates: how often each document is gone through, with other pairs each time.
        lowercase: whether the word pieces are lower-cased.
        strip_accents: whether they lose their accents; None means as `lowercase`.
        newline: what a new line means to the sentence splitter: "sentence", "paragraph" or "space".
        part: which documents of the corpus are taken: "all", those "held_out" or the others, for "training".
        held_out_share: about how many are held out, chosen by a hash of their text.
        seed: of the pairs.
        shards: number of files; fewer where a file would not have two documents.
        processes: how many work at once; 1 works in this one.
        progress: whether to show a bar on standard error.

    Returns:
        The counts: documents and sentences of the corpus; pairs written, by kind: `next`, `other_document`,
        `same_document` and `one_segment`; pieces in them, and unknown_pieces among these; pieces_cut from pairs_cut
        that were too long; sentences_left without a next one, empty_sentences without a piece; documents dropped, as
        empty, duplicate_documents or of the other_part.

    Raises:
        DataError: the corpus or the vocabulary cannot be read, or there is no second document to draw from.
        Error: an argument is impossible, or `out_dir` was prepared with other settings.
    """
    settings = {
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
    _check(settings, processes)
    vocabulary = vocabulary_file(vocabulary)
    settings |= {"corpus": digest(corpus), "vocabulary": digest(vocabulary)}
    manifest = Manifest.open(out_dir, settings)
    left_out: collections.Counter = collections.Counter()
    chosen = (text, part, held_out_share)
    size = sum(1 for _ in _usable(corpus, *chosen, left_out))
    if not size:
        counts = ", ".join(f"{count} {name}" for name, count in left_out.items())
        raise DataError(f"{corpus}: no document with a text in part {part!r} (left out: {counts}); give more "
                        "documents, or hold out another share of them (held_out_share, of a recipe validation_share)")
    if size == 1 and next_sentence != "none":
        raise DataError(one_document(str(corpus) if part == "all" else f"{corpus}, part {part!r} of it"))
    shards = min(shards, max(1, size // 2))
    names = [shard_name("pairs", shard, shards) for shard in range(shards)]
    make_writer = functools.partial(_pair_writer, settings, str(vocabulary))
    documents = _usable(corpus, *chosen, collections.Counter())
    write_shards(manifest, names, documents, size, make_writer, processes, progress)
    counts = manifest.finish(dict(left_out))
    if not counts["pairs"]:
        why = ("none has two sentences; take next_sentence 'none' for masked words alone, or another way to read a "
               "new line" if counts["documents"] else
               "their sentences are of control characters alone, which are not read; look at the file's encoding")
        raise DataError(f"{corpus}: its {size} documents give no pair: {why}")
    return counts


def _check(settings: dict, processes: int) -> None:
    """Raises Error for an argument that cannot be, before anything is read."""
    given = {**settings, "processes": processes}
    # The shortest pair is [CLS] a [SEP] b [SEP].
    for name, smallest in {"max_length": 5, "duplicates": 1, "shards": 1, "processes": 1}.items():
        if given[name] < smallest:
            raise Error(f"prepare: {name} is {given[name]}; expected {smallest} or more")
    for name in ("same_document_share", "short_share", "held_out_share"):
        if not 0 <= settings[name] <= 1:
            raise Error(f"prepare: {name} is {settings[name]}; expected a share from 0 to 1")
    for name, known in (("next_sentence", get_args(NextSentence)), ("part", ("all", "training", "held_out"))):
        if settings[name] not in known:
            raise Error(f"prepare: {name} is {settings[name]!r}; expected {' or '.join(map(repr, known))}")


def _usable(
    corpus: str | pathlib.Path, text: str, part: str, held_out_share: float, left_out: collections.Counter
) -> Iterator[str]:
    """The documents with a text, each once, in NFC; the others are counted."""
    left_out.update(empty=0, duplicate_documents=0, other_part=0)
    seen: set[bytes] = set()
    for document in read_documents(corpus, text):
        document = unicodedata.normalize("NFC", document)
        key = fingerprint({"text": document, "summary": ""})
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


def _pair_writer(settings: dict, vocabulary: str):
    # In here: a worker process settles how TensorFlow works before anything loads it.
    from tfsum.tasks.pretraining.pair_writer import SentencePairWriter

    return SentencePairWriter(settings, vocabulary)
