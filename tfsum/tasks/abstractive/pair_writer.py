"""Pairs of texts as records of ids, with a count of all that is cut or left out."""

import collections
from collections.abc import Iterator

from tfsum.data.preparation import RecordWriter, batched
from tfsum.data.records import make_pair_record
from tfsum.tasks.abstractive.prepare import DROPPED, FoundPair

_TOGETHER = 1024  # pairs tokenized in one call


class PairWriter(RecordWriter):
    """Tokenizes pairs and keeps those that are whole, new and short enough, see `RecordWriter`.

    Example:
        >>> writer = PairWriter(settings, ["vocab.txt", "vocab.txt"])  # doctest: +SKIP
        >>> writer.write(
        ...     "pairs.tfrecord", [FoundPair("the cat", "le chat", 0, None)]
        ... )  # doctest: +SKIP
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
        "read",
        *DROPPED,
    )

    def records(
        self, name: str, documents: Iterator[FoundPair], counts: collections.Counter
    ) -> Iterator[bytes]:
        for batch in batched(_usable(documents, counts), _TOGETHER):
            sources, targets = (
                word_piece.tokenize(texts).to_list()
                for word_piece, texts in zip(
                    self.word_pieces, zip(*batch, strict=True), strict=True
                )
            )
            for texts, source, target in zip(batch, sources, targets, strict=True):
                source = self._fitting(source, target, counts)
                if source is not None:
                    yield make_pair_record(source, target, *texts)

    def _fitting(
        self, source: list[int], target: list[int], counts: collections.Counter
    ) -> list[int] | None:
        """The source's pieces that fit, None where the pair is left out."""
        room = self.settings["max_source_length"] - 2  # beside [CLS] and [SEP]
        if len(source) > room and not self.settings["cut_sources"]:
            counts["long_source"] += 1
            return None
        if len(target) > self.settings["max_target_length"] - 1:
            counts["long_target"] += 1
            return None
        counts["sources_cut"] += len(source) > room
        counts["pieces_cut"] += max(0, len(source) - room)
        source = source[:room]
        counts["pairs"] += 1
        counts["source_pieces"] += len(source)
        counts["target_pieces"] += len(target)
        for word_piece, pieces in zip(self.word_pieces, (source, target), strict=True):
            counts["unknown_pieces"] += pieces.count(word_piece.unk_id)
        return source


def _usable(pairs: Iterator[FoundPair], counts: collections.Counter) -> Iterator[tuple[str, str]]:
    for pair in pairs:
        counts["lines_beyond"] += pair.lines_beyond
        if pair.reason:
            counts[pair.reason] += 1
        else:
            yield pair.source, pair.target
