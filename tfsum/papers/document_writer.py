"""Documents of a corpus as records, preprocessed as BertSum or PreSumm do it."""

import collections
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from tfsum.data.documents.writer import DocumentWriter
from tfsum.data.records import make_record
from tfsum.errors import DataError
from tfsum.papers.preprocessing import (
    MOST_SENTENCES,
    TARGET_TOKENS,
    Example,
    bertsum_example,
    presumm_example,
)
from tfsum.papers.selection import combination_labels, greedy_labels


class OriginalWriter(DocumentWriter):
    """Labels and preprocesses documents as BertSum or PreSumm does.

    `legacy` of the settings names the program.

    A record has the sentences that the original reads, whole, and the pieces that it reads of them;
    where it ends a document with two [SEP], the first one is a piece.

    Raises:
        DataError: PreSumm's vocabulary has no [unused0], [unused1] and [unused2].
    """

    oracles: ClassVar = {"greedy": greedy_labels, "combination": combination_labels}
    count_names = (
        "documents",
        "sentences",
        "pieces",
        "labelled_sentences",
        "empty",
        "short_documents",
        "short_sentences",
        "sentences_beyond",
        "labels_lost",
        "without_overlap",
    )

    def __init__(self, settings: Mapping[str, Any], vocabularies: Sequence[str]) -> None:
        super().__init__(settings, vocabularies)
        self._presumm = settings["legacy"] == "presumm"
        self._ids = {piece: i for i, piece in enumerate(self.word_pieces[0].vocabulary)}
        if self._presumm and (
            missing := [token for token in TARGET_TOKENS if token not in self._ids]
        ):
            raise DataError(
                f"{vocabularies[0]}: has no {', '.join(missing)}, which PreSumm puts into"
                " summaries; take BERT's own vocabulary, or legacy 'bertsum'"
            )

    def _records_of(
        self, document: dict[str, Any], sentences: list[bytes], counts: collections.Counter
    ) -> Iterator[bytes]:
        texts = [sentence.decode("utf-8", "replace") for sentence in sentences]
        read = texts[:MOST_SENTENCES] if self._presumm else texts
        if self._label is None:
            labels = document["labels"]
        else:
            labels = self._label(read, document["summary"])
        lower = self._presumm and self.settings["lowercase"]
        summary = document["summary"].lower() if lower else document["summary"]
        example = self._example(
            [text.lower() if lower else text for text in texts], summary, labels
        )
        if example.too_short:
            counts["short_documents"] += 1
            return

        # The pieces of each sentence, without its [CLS] and [SEP]
        ends = [*example.clss[1:], len(example.src)]
        pieces = [example.src[start + 1 : end - 1] for start, end in zip(example.clss, ends)]
        counts.update(
            documents=1,
            sentences=len(pieces),
            pieces=sum(map(len, pieces)),
            labelled_sentences=sum(example.labels),
            short_sentences=len(texts) - len(example.src_txt),
            sentences_beyond=len(example.src_txt) - len(pieces),
            labels_lost=sum(label > 0 for label in labels) - sum(example.labels),
            without_overlap=int(not any(labels)),
        )
        encoded = [text.encode() for text in example.src_txt[: len(pieces)]]
        yield make_record(document["id"], pieces, example.labels, encoded, summary)

    def _example(self, texts: list[str], summary: str, labels: list[float]) -> Example:
        tokens, word_piece = [text.split() for text in texts], self.word_pieces[0]
        if self._presumm:
            return presumm_example(
                tokens, [line.split() for line in summary.split("\n")], labels, self._ids
            )

        return bertsum_example(
            tokens,
            labels,
            lambda lines: word_piece.tokenize(lines).to_list(),
            word_piece.cls_id,
            word_piece.sep_id,
        )
