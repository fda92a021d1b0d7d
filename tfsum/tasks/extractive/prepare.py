"""From a corpus file to sharded TFRecords with oracle labels, in parallel, interruptible and resumable."""

import collections
import functools
import pathlib
from collections.abc import Iterator

from tfsum.data.manifest import Manifest, digest
from tfsum.data.readers import fingerprint, read_corpus
from tfsum.data.shards import shard_name, write_shards
from tfsum.data.vocabulary_file import vocabulary_file
from tfsum.errors import DataError, Error


def prepare(
    corpus: str | pathlib.Path,
    out_dir: str | pathlib.Path,
    vocabulary: str | pathlib.Path,
    *,
    labels: str = "greedy",
    summary_sentences: int = 3,
    temperature: float = 0.02,
    max_sentences: int = 1000,
    window_length: int = 512,
    lowercase: bool = True,
    strip_accents: bool | None = None,
    newline: str = "sentence",
    shards: int = 8,
    processes: int = 1,
    columns: dict[str, str] | None = None,
    progress: bool = True,
) -> dict[str, int]:
    """Writes a corpus as records for extractive training; a second call goes on where the first was stopped.

    Args:
        corpus: a corpus file (`read_corpus`).
        out_dir: folder of the shards and of `manifest.json`, one folder a corpus.
        vocabulary: a vocab.txt, or the folder that holds one.
        labels: "greedy" (BertSum's, 0 or 1) or "soft" (shares of the best extracts).
        summary_sentences: largest number of sentences in an extract of the oracle.
        temperature: of the soft labels.
        max_sentences: sentences kept of a document.
        window_length: positions of the encoder; a sentence is cut to it, [CLS] and [SEP] included.
        lowercase: whether the word pieces are lower-cased.
        strip_accents: whether they lose their accents; None means as `lowercase`.
        newline: what a new line means to the sentence splitter: "sentence", "paragraph" or "space".
        shards: number of files.
        processes: how many work at once; 1 works in this one.
        columns: names of the corpus's fields, {"id": ..., "text": ..., "summary": ...}.
        progress: whether to show a bar on standard error.

    Returns:
        The counts: documents, sentences, pieces and labelled_sentences written; documents dropped, as empty,
        duplicates or without_summary; sentences_beyond max_sentences; documents relabelled (the oracle of the
        whole document wanted one of those); sentences cut to the window and pieces_cut with them; documents
        without_overlap (no label).

    Raises:
        DataError: if the corpus or the vocabulary cannot be read.
        Error: if an argument is impossible, or `out_dir` was prepared with other settings.
    """
    settings = {
        "labels": labels,
        "summary_sentences": summary_sentences,
        "temperature": temperature if labels == "soft" else None,
        "max_sentences": max_sentences,
        "window_length": window_length,
        "lowercase": lowercase,
        "strip_accents": lowercase if strip_accents is None else strip_accents,
        "newline": newline,
        "shards": shards,
        "columns": columns or {},
    }
    _check(settings, processes)
    vocabulary = vocabulary_file(vocabulary)
    settings |= {"corpus": digest(corpus), "vocabulary": digest(vocabulary)}
    manifest = Manifest.open(out_dir, settings)
    size, left_out = _survey(corpus, columns)
    names = [shard_name("documents", shard, shards) for shard in range(shards)]
    make_writer = functools.partial(_document_writer, settings, str(vocabulary))
    documents = _usable(corpus, columns, collections.Counter())
    write_shards(manifest, names, documents, size, make_writer, processes, progress)
    return manifest.finish(left_out)


def _check(settings: dict, processes: int) -> None:
    """Raises Error for an argument that cannot be, before anything is read."""
    if settings["labels"] not in ("greedy", "soft"):
        raise Error(f"prepare: labels is {settings['labels']!r}; expected 'greedy' or 'soft'")
    least = {"summary_sentences": 1, "max_sentences": 1, "window_length": 3, "shards": 1}
    for name, smallest in least.items():
        if settings[name] < smallest:
            raise Error(f"prepare: {name} is {settings[name]}; expected {smallest} or more")
    if processes < 1:
        raise Error(f"prepare: processes is {processes}; expected 1 or more")


def _survey(corpus: str | pathlib.Path, columns: dict[str, str] | None) -> tuple[int, dict[str, int]]:
    """How many documents there are to write, and how many are left out, by reason."""
    left_out: collections.Counter = collections.Counter()
    size = sum(1 for _ in _usable(corpus, columns, left_out))
    if not size:
        counts = ", ".join(f"{count} {name}" for name, count in left_out.items())
        raise DataError(f"{corpus}: no document with a text and a summary (left out: {counts}); fill them in, or name "
                        "the right columns")
    return size, dict(left_out)


def _usable(
    corpus: str | pathlib.Path, columns: dict[str, str] | None, left_out: collections.Counter
) -> Iterator[dict[str, str]]:
    """The documents with a text and a summary, each once; the others are counted by the first reason."""
    left_out.update(empty=0, without_summary=0, duplicates=0)
    seen: set[bytes] = set()
    for document in read_corpus(corpus, **(columns or {})):
        key = fingerprint(document)
        if not document["text"].strip():
            left_out["empty"] += 1
        elif not document["summary"].strip():
            left_out["without_summary"] += 1
        elif key in seen:
            left_out["duplicates"] += 1
        else:
            seen.add(key)
            yield document


def _document_writer(settings: dict, vocabulary: str):
    # In here: a worker process settles how TensorFlow works before anything loads it.
    from tfsum.tasks.extractive.document_writer import DocumentWriter

    return DocumentWriter(settings, vocabulary)
