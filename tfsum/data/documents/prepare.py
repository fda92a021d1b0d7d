"""From a corpus to TFRecord shards with oracle labels, in parallel and resumable."""

import collections
import functools
import pathlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Literal

from pydantic import Field, model_validator

from tfsum.data.documents.oracle import combination_labels, greedy_labels, soft_labels
from tfsum.data.preparation import (
    EachOnce,
    Preparation,
    RecordWriter,
    ShardRunner,
    batched,
    case_settings,
    shard_names,
    vocabulary_file,
    write_records,
)
from tfsum.data.readers import WrongRow, fingerprint, read_corpus
from tfsum.data.settings import LabelSettings, MaxSentences, TextSettings

UNLABELLED = -1.0  # the label of the sentences of a text without a summary


class DocumentWriter(RecordWriter):
    """Splits, tokenizes and labels documents, see `RecordWriter`."""

    oracles: ClassVar[dict[str, Callable[..., list[float]]]] = {
        "greedy": greedy_labels,
        "combination": combination_labels,
    }
    count_names = (
        "documents",
        "sentences",
        "pieces",
        "labelled_sentences",
        "empty",
        "sentences_beyond",
        "relabelled",
        "cut",
        "pieces_cut",
        "without_overlap",
    )

    def records(
        self, name: str, documents: Iterator[dict[str, Any]], counts: collections.Counter
    ) -> Iterator[bytes]:
        for batch in batched(documents):
            if self.settings["labels"] == "corpus":
                rows = [[text.encode() for text in document["sentences"]] for document in batch]
            else:
                texts = [document["text"] for document in batch]
                rows = self.splitter.split(texts)["sentences"].to_list()

            for document, sentences in zip(batch, rows, strict=True):
                counts["empty"] += not sentences
                if sentences:
                    yield from self._records_of(document, sentences, counts)

    def _records_of(
        self, document: dict[str, Any], sentences: list[bytes], counts: collections.Counter
    ) -> Iterator[bytes]:
        """The record of a document; none where it is left out."""
        # In here: a worker process settles how TensorFlow works before anything loads it.
        from tfsum.data.records import make_record

        kept = sentences[: self.settings["max_sentences"]]
        texts = [sentence.decode("utf-8", "replace") for sentence in sentences]
        labels = self._labels(document, texts[: len(kept)])[: len(kept)]
        wanted = labels
        if len(kept) < len(sentences):
            wanted = self._labels(document, texts)

        (word_piece,), longest = self.word_pieces, self.settings["window_length"] - 2
        pieces = word_piece.tokenize(kept).to_list()
        beyond = [len(ids) - longest for ids in pieces if len(ids) > longest]
        pieces = [ids[:longest] for ids in pieces]
        counts.update(
            documents=1,
            sentences=len(kept),
            pieces=sum(map(len, pieces)),
            labelled_sentences=sum(label > 0 for label in labels),
            sentences_beyond=len(sentences) - len(kept),
            relabelled=any(label > 0 for label in wanted[len(kept) :]),
            cut=len(beyond),
            pieces_cut=sum(beyond),
            without_overlap=not any(labels),
        )
        summary = document["summary"]
        summary_pieces = word_piece.tokenize([summary]).flat_values.numpy()
        yield make_record(document["id"], pieces, labels, kept, summary, summary_pieces)

    def _labels(self, document: dict[str, Any], sentences: list[str]) -> list[float]:
        """The labels of the first sentences of a document: the corpus's own, or an oracle's."""
        kind, size = self.settings["labels"], self.settings["summary_sentences"]
        if kind == "corpus":
            return document["labels"]
        if not document["summary"].strip():
            return [UNLABELLED] * len(sentences)
        if kind == "soft":
            return soft_labels(sentences, document["summary"], size, self.settings["temperature"])
        return self.oracles[kind](sentences, document["summary"], size)


# Value of `legacy` -> what makes its writer; `import tfsum.papers` adds those of the papers.
WRITERS: dict[str | None, Callable[[Mapping[str, Any], Sequence[str]], RecordWriter]] = {
    None: DocumentWriter
}


class DocumentPreparation(LabelSettings, TextSettings, Preparation):
    """Writes documents with summaries as records, see `Preparation`.

    Attributes:
        labels: "greedy" (BertSum's, 0 or 1), "combination" (BertSum's other one, the best of all
            extracts; slow), "soft" (shares of the best extracts), or "corpus": those in the
            corpus's field `labels`, whose text is a list of sentences then, see
            `tfsum.data.readers`.
        summary_sentences: Largest number of sentences in an extract of the oracle.
        temperature: Temperature of the soft labels.
        unlabelled: Whether texts without a summary are kept, with the label -1 for each sentence.
        max_sentences: Sentences kept of a document.
        window_length: Positions of the encoder; a sentence is cut to it, [CLS] and [SEP] included.
        lowercase: Whether texts are lower-cased; None means as the files beside the vocabulary say,
            or its pieces, see `tfsum.formats.text_settings`.
        strip_accents: Whether texts lose their accents; None means as these files say, or as
            `lowercase`.
        newline: Meaning of a new line, as in `SentenceSplitter`: "sentence", "line", "paragraph",
            "space" or "auto".
        columns: Names of the corpus's fields, {"id": ..., "text": ..., "summary": ..., "labels":
            ...}.
        legacy: Whose preprocessing and oracle to repeat, "bertsum" or "presumm", see
            `tfsum.papers.preprocessing`: short sentences and documents are left out, and a
            document is cut in mid-sentence. The corpus has a sentence a line, whose tokens are
            parted by blanks (newline "line").

    Example:
        >>> import json, tempfile
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "it", "rained", "."]
        >>> _ = (folder / "vocab.txt").write_text("\\n".join(pieces))
        >>> _ = (folder / "corpus.jsonl").write_text(
        ...     json.dumps({"text": "It rained. It is over.", "summary": "rain"})
        ... )
        >>> counts = DocumentPreparation(shards=1, progress=False).write(
        ...     folder / "corpus.jsonl", folder / "records", folder
        ... )
        >>> counts["documents"], counts["sentences"], counts["dropped"]
        (1, 2, 0)
    """

    max_sentences: MaxSentences = 1000
    window_length: int = Field(512, ge=3, description="Positions of the encoder.")
    columns: dict[str, str] | None = None
    legacy: Literal["bertsum", "presumm"] | None = Field(
        None, description="Program whose preprocessing and labels are repeated."
    )

    @model_validator(mode="after")
    def _can_repeat_the_original(self) -> "DocumentPreparation":
        if self.legacy and (self.labels == "soft" or self.newline != "line"):
            raise ValueError(
                f"legacy is {self.legacy!r} with labels {self.labels!r} and newline"
                f" {self.newline!r}; expected labels 'greedy', 'combination' or 'corpus', and"
                " newline 'line': the original reads a sentence a line"
            )
        return self

    def write(
        self,
        corpus: str | pathlib.Path,
        out_dir: str | pathlib.Path,
        vocabulary: str | pathlib.Path,
        run: ShardRunner | None = None,
    ) -> dict[str, int]:
        """Writes the records, see `Preparation.write`.

        Returns:
            The counts: documents, sentences, pieces and labelled_sentences written; documents
            dropped, as empty, duplicates, without_summary or wrong_rows; sentences_beyond
            max_sentences; documents relabelled (the oracle of the whole document wanted one of
            those); sentences cut to the window and pieces_cut with them; documents without_overlap
            (no label). With `legacy` instead short_sentences, short_documents and labels_lost with
            them.
        """
        vocabulary = vocabulary_file(vocabulary)
        settings: dict[str, Any] = {
            "labels": self.labels,
            "summary_sentences": self.summary_sentences,
            "temperature": None,
            "max_sentences": self.max_sentences,
            "window_length": self.window_length,
            **case_settings(vocabulary, self.lowercase, self.strip_accents),
            "newline": self.newline,
            "shards": self.shards,
            "columns": self.columns or {},
            "legacy": self.legacy,
        }
        if self.labels == "soft":
            settings["temperature"] = self.temperature
        if self.unlabelled:
            settings["unlabelled"] = True
        return write_records(
            self,
            out_dir,
            settings,
            {"corpus": corpus, "vocabulary": vocabulary},
            functools.partial(self._usable, corpus),
            lambda size: shard_names("documents", self.shards),
            functools.partial(WRITERS[self.legacy], settings, [str(vocabulary)]),
            "no document with a text and a summary {}; fill them in, or name the right columns",
            run,
        )

    def _usable(
        self, corpus: str | pathlib.Path, left_out: collections.Counter, wrong: WrongRow
    ) -> Iterator[dict[str, Any]]:
        """The documents with a text and a summary or labels, each once; the others are counted by
        the first reason."""
        once = EachOnce(left_out, "empty", "without_summary", "duplicates")
        options, without_summary = self.columns or {}, self.unlabelled
        if self.labels == "corpus":
            options, without_summary = {"labels": "labels"} | options, True
        for document in read_corpus(corpus, wrong=wrong, **options):
            text, summary = document["text"], document["summary"]
            if once.passes(
                fingerprint(text, summary),
                empty=not text.strip(),
                without_summary=not (without_summary or summary.strip()),
            ):
                yield document
