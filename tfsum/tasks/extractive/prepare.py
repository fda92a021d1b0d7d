"""From a corpus file to sharded TFRecords with oracle labels, in parallel, interruptible and resumable."""

import collections
import functools
import pathlib
from collections.abc import Iterator
from typing import Any, get_args

from tfsum.data.original_preprocessing import Program
from tfsum.data.preparation import RecordWriter, Run, check_settings, shard_names, write_records
from tfsum.data.readers import fingerprint, read_corpus
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
    legacy: Program | None = None,
    progress: bool = True,
    run: Run | None = None,
) -> dict[str, int]:
    """Writes a corpus as records for extractive training; a second call continues where the first was stopped.

    Args:
        corpus: a corpus file (`read_corpus`).
        out_dir: folder of the shards and of `manifest.json`, one folder a corpus.
        vocabulary: a vocab.txt, or the folder that holds one.
        labels: "greedy" (BertSum's, 0 or 1), "combination" (BertSum's other one, the best of all extracts; slow),
            "soft" (shares of the best extracts), or "corpus": those in the corpus's
            field `labels`, whose text is a list of sentences then, see `tfsum.data.corpus_labels`.
        summary_sentences: largest number of sentences in an extract of the oracle.
        temperature: of the soft labels.
        max_sentences: sentences kept of a document.
        window_length: positions of the encoder; a sentence is cut to it, [CLS] and [SEP] included.
        lowercase: whether the word pieces are lower-cased.
        strip_accents: whether they lose their accents; None means as `lowercase`.
        newline: what a new line means, see `SentenceSplitter`: "sentence", "line", "paragraph", "space" or
            "auto".
        shards: number of files.
        processes: how many work at once; 1 works in this one.
        columns: names of the corpus's fields, {"id": ..., "text": ..., "summary": ..., "labels": ...}.
        legacy: whose preprocessing and oracle to repeat, "bertsum" or "presumm", see
            `tfsum.data.original_preprocessing`: short sentences and documents are left out, and a document is cut in
            mid-sentence. The corpus has a sentence a line, whose tokens are parted by blanks (newline "line").
        progress: whether to show a bar on standard error.
        run: writes the shards in the place of `processes`, see `tfsum.beam.prepare`.

    Returns:
        The counts: documents, sentences, pieces and labelled_sentences written; documents dropped, as empty,
        duplicates or without_summary; sentences_beyond max_sentences; documents relabelled (the oracle of the
        whole document wanted one of those); sentences cut to the window and pieces_cut with them; documents
        without_overlap (no label). With `legacy` instead short_sentences, short_documents and labels_lost with them.

    Raises:
        DataError: if the corpus or the vocabulary cannot be read.
        Error: if an argument is impossible, or `out_dir` was prepared with other settings.

    Example:
        >>> import json, tempfile
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "it", "rained", "."]
        >>> _ = (folder / "vocab.txt").write_text("\\n".join(pieces))
        >>> _ = (folder / "corpus.jsonl").write_text(
        ...     json.dumps({"text": "It rained. It is over.", "summary": "rain"})
        ... )
        >>> counts = prepare(
        ...     folder / "corpus.jsonl", folder / "records", folder, shards=1, progress=False
        ... )
        >>> counts["documents"], counts["sentences"], counts["dropped"]
        (1, 2, 0)
    """
    settings: dict[str, Any] = {
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
        "legacy": legacy,
    }
    check_settings(
        settings | {"processes": processes},
        {
            "summary_sentences": 1,
            "max_sentences": 1,
            "window_length": 3,
            "shards": 1,
            "processes": 1,
        },
        {
            "labels": ("greedy", "combination", "soft", "corpus"),
            "legacy": (None, *get_args(Program)),
        },
    )
    if legacy and (labels == "soft" or newline != "line"):
        raise Error(
            f"prepare: legacy is {legacy!r} with labels {labels!r} and newline {newline!r}; expected labels "
            "'greedy', 'combination' or 'corpus', and newline 'line': the original reads a sentence a line"
        )
    vocabulary = vocabulary_file(vocabulary)

    def names_for(size: int, left_out: collections.Counter) -> list[str]:
        if not size:
            counts = ", ".join(f"{count} {name}" for name, count in left_out.items())
            raise DataError(
                f"{corpus}: no document with a text and a summary (left out: {counts}); fill them in, or "
                "name the right columns"
            )
        return shard_names("documents", shards)

    return write_records(
        out_dir,
        settings,
        {"corpus": corpus, "vocabulary": vocabulary},
        functools.partial(_usable, corpus, columns, labels == "corpus"),
        names_for,
        functools.partial(_document_writer, settings, str(vocabulary)),
        processes=processes,
        progress=progress,
        run=run,
    )


def _usable(
    corpus: str | pathlib.Path,
    columns: dict[str, Any] | None,
    labelled: bool,
    left_out: collections.Counter,
) -> Iterator[dict[str, Any]]:
    """The documents with a text and a summary or labels, each once; the others are counted by the first reason."""
    left_out.update(empty=0, without_summary=0, duplicates=0)
    seen: set[bytes] = set()
    for document in read_corpus(
        corpus, **{**({"labels": "labels"} if labelled else {}), **(columns or {})}
    ):
        key = fingerprint(document["text"], document["summary"])
        wanted = labelled or document["summary"].strip()
        reason = (
            "empty"
            if not document["text"].strip()
            else "without_summary"
            if not wanted
            else "duplicates"
            if key in seen
            else None
        )
        if reason:
            left_out[reason] += 1
        else:
            seen.add(key)
            yield document


def _document_writer(settings: dict[str, Any], vocabulary: str) -> RecordWriter:
    # In here: a worker process settles how TensorFlow works before anything loads it.
    from tfsum.tasks.extractive.document_writer import DocumentWriter
    from tfsum.tasks.extractive.original_writer import OriginalWriter

    return (OriginalWriter if settings["legacy"] else DocumentWriter)(settings, [vocabulary])
