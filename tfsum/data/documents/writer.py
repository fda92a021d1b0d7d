"""Documents as records: sentences, word pieces, oracle labels and counts."""

import collections
import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

from tfsum.data.documents.oracle import combination_labels, greedy_labels, soft_labels
from tfsum.data.preparation import RecordWriter, batched
from tfsum.data.records import make_record
from tfsum.text.sentence_splitter import SentenceSplitter

_SPLIT_TOGETHER = 32  # documents that go through the sentence splitter in one call


class DocumentWriter(RecordWriter):
    """Splits, tokenizes and labels documents, see `RecordWriter`."""

    oracles: ClassVar[dict[str, Callable[..., list[float]]]] = {
        "greedy": greedy_labels,
        "combination": combination_labels,
        "soft": soft_labels,
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

    def __init__(self, settings: Mapping[str, Any], vocabularies: Sequence[str]) -> None:
        super().__init__(settings, vocabularies)
        self._splitter = SentenceSplitter(newline=settings["newline"])
        options: dict[str, Any] = {"size": settings["summary_sentences"]}
        if settings["labels"] == "soft":
            options["temperature"] = settings["temperature"]

        self._label: Callable[..., list[float]] | None = None
        if settings["labels"] != "corpus":
            self._label = functools.partial(self.oracles[settings["labels"]], **options)

    def records(
        self, name: str, documents: Iterator[dict[str, Any]], counts: collections.Counter
    ) -> Iterator[bytes]:
        if self._label is None:
            for document in documents:
                yield from self._records_of(
                    document, [text.encode() for text in document["sentences"]], counts
                )
            return

        for batch in batched(documents, _SPLIT_TOGETHER):
            texts = [document["text"] for document in batch]
            rows = self._splitter.split(texts)["sentences"].to_list()
            for document, sentences in zip(batch, rows, strict=True):
                if sentences:
                    yield from self._records_of(document, sentences, counts)
                else:
                    counts["empty"] += 1

    def _records_of(
        self, document: dict[str, Any], sentences: list[bytes], counts: collections.Counter
    ) -> Iterator[bytes]:
        """The record of a document; none where it is left out."""
        kept = sentences[: self.settings["max_sentences"]]
        if self._label is None:
            wanted = document["labels"]
            labels = wanted[: len(kept)]
        else:
            texts = [sentence.decode("utf-8", "replace") for sentence in sentences]
            labels = self._label(texts[: len(kept)], document["summary"])
            wanted = labels
            if len(kept) < len(sentences):
                wanted = self._label(texts, document["summary"])

        pieces = self._pieces(kept, counts)
        counts.update(
            documents=1,
            sentences=len(kept),
            pieces=sum(map(len, pieces)),
            labelled_sentences=sum(label > 0 for label in labels),
            sentences_beyond=len(sentences) - len(kept),
            relabelled=any(wanted[len(kept) :]),
            without_overlap=not any(labels),
        )
        summary = document["summary"]
        summary_pieces = self.word_pieces[0].tokenize([summary]).flat_values.numpy()
        yield make_record(document["id"], pieces, labels, kept, summary, summary_pieces)

    def _pieces(self, sentences: list[bytes], counts: collections.Counter) -> list[list[int]]:
        longest = self.settings["window_length"] - 2
        pieces = self.word_pieces[0].tokenize(sentences).to_list()
        beyond = [len(ids) - longest for ids in pieces if len(ids) > longest]
        counts.update(cut=len(beyond), pieces_cut=sum(beyond))
        return [ids[:longest] for ids in pieces]
