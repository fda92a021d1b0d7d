"""Documents of a corpus as records: sentences, word pieces, oracle labels, and a count of all left out."""

import collections
from collections.abc import Iterator

from tfsum.data.oracle import greedy_labels, soft_labels
from tfsum.data.records import make_record, write_shard
from tfsum.text.sentence_splitter import SentenceSplitter
from tfsum.text.word_piece import WordPiece

LABELS = {"greedy": greedy_labels, "soft": soft_labels}
COUNTS = (
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
_SPLIT_TOGETHER = 32  # documents that go through the sentence splitter in one call


class DocumentWriter:
    """Splits, tokenizes and labels documents and writes them as a shard; one a process.

    Args:
        settings: as `prepare` collects them.
        vocabulary: a vocab.txt.
    """

    def __init__(self, settings: dict, vocabulary: str):
        self.settings = settings
        self.splitter = SentenceSplitter(newline=settings["newline"])
        case = {name: settings[name] for name in ("lowercase", "strip_accents")}
        self.word_piece = WordPiece.from_file(vocabulary, **case)
        options = {"size": settings["summary_sentences"]}
        if settings["labels"] == "soft":
            options["temperature"] = settings["temperature"]
        self.label = lambda sentences, summary: LABELS[settings["labels"]](sentences, summary, **options)

    def write(self, path: str, documents: list[dict[str, str]]) -> dict[str, int]:
        """Writes a shard of `documents`; returns its counts."""
        counts = collections.Counter(dict.fromkeys(COUNTS, 0))
        write_shard(path, self._records(documents, counts))
        return dict(counts) | {"read": len(documents)}

    def _records(self, documents: list[dict[str, str]], counts: collections.Counter) -> Iterator[bytes]:
        for first in range(0, len(documents), _SPLIT_TOGETHER):
            batch = documents[first : first + _SPLIT_TOGETHER]
            found = self.splitter.split([document["text"] for document in batch])["sentences"]
            for document, sentences in zip(batch, found.to_list(), strict=True):
                record = self._record(document, sentences, counts)
                if record is not None:
                    yield record

    def _record(
        self, document: dict[str, str], sentences: list[bytes], counts: collections.Counter
    ) -> bytes | None:
        if not sentences:
            counts["empty"] += 1
            return None
        kept = sentences[: self.settings["max_sentences"]]
        counts["sentences_beyond"] += len(sentences) - len(kept)
        texts = [sentence.decode("utf-8", "replace") for sentence in sentences]
        labels = self.label(texts[: len(kept)], document["summary"])
        if len(kept) < len(sentences):
            counts["relabelled"] += any(self.label(texts, document["summary"])[len(kept) :])
        pieces = self._pieces(kept, counts)
        counts["documents"] += 1
        counts["sentences"] += len(kept)
        counts["pieces"] += sum(map(len, pieces))
        counts["labelled_sentences"] += sum(label > 0 for label in labels)
        counts["without_overlap"] += not any(labels)
        return make_record(document["id"], pieces, labels, kept, document["summary"])

    def _pieces(self, sentences: list[bytes], counts: collections.Counter) -> list[list[int]]:
        longest = self.settings["window_length"] - 2
        pieces = self.word_piece.tokenize(sentences).to_list()
        counts["cut"] += sum(len(ids) > longest for ids in pieces)
        counts["pieces_cut"] += sum(max(0, len(ids) - longest) for ids in pieces)
        return [ids[:longest] for ids in pieces]
