"""Documents of a corpus as records of sentence pairs, with a count of all that is cut or left."""

import collections
import dataclasses
import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tfsum.data.preparation import RecordWriter, batched
from tfsum.data.records import make_sentence_pair_record
from tfsum.tasks.pretraining.next_sentence import COUNTS as PAIR_COUNTS
from tfsum.tasks.pretraining.next_sentence import LABELS, PairOptions, draw_pairs
from tfsum.text.sentence_splitter import SentenceSplitter

_SPLIT_TOGETHER = 32  # documents that go through the sentence splitter in one call


class SentencePairWriter(RecordWriter):
    """Splits, tokenizes and pairs documents, see `RecordWriter`; false second segments come from the same shard.

    Example:
        >>> writer = SentencePairWriter(settings, ["vocab.txt"])  # doctest: +SKIP
        >>> writer.write("pairs.tfrecord", texts)  # doctest: +SKIP
        {'documents': 10, 'sentences': 120, 'pairs': 31, ...}
    """

    count_names = (
        "documents",
        "sentences",
        "pairs",
        *PAIR_COUNTS,
        "pieces",
        "unknown_pieces",
        "empty",
        "empty_sentences",
    )

    def __init__(self, settings: Mapping[str, Any], vocabularies: Sequence[str]) -> None:
        super().__init__(settings, vocabularies)
        self._options = PairOptions(
            **{field.name: settings[field.name] for field in dataclasses.fields(PairOptions)}
        )
        self._splitter = SentenceSplitter(newline=settings["newline"])

    def records(
        self, name: str, documents: Iterator[str], counts: collections.Counter
    ) -> Iterator[bytes]:
        (word_piece,) = self.word_pieces
        tokenized = list(self._tokenized(documents, counts))
        # Of the shard alone: one written again, by whichever process, has the same pairs.
        rng = random.Random(f"{self.settings['seed']}/{name}")
        for _ in range(self.settings["duplicates"]):
            for index in range(len(tokenized)):
                for pair in draw_pairs(tokenized, index, self._options, rng, counts):
                    pieces = pair.first + pair.second
                    counts["pairs"] += 1
                    counts["pieces"] += len(pieces)
                    counts["unknown_pieces"] += pieces.count(word_piece.unk_id)
                    yield make_sentence_pair_record(pieces, len(pair.first), LABELS[pair.kind])

    def _tokenized(
        self, documents: Iterator[str], counts: collections.Counter
    ) -> Iterator[list[list[int]]]:
        """The documents that have any, as sentences of pieces."""
        for batch in batched(documents, _SPLIT_TOGETHER):
            sentences = self._splitter.split(batch)["sentences"]
            pieces = sentences.with_flat_values(self.word_pieces[0].tokenize(sentences.flat_values))
            for document in pieces.to_list():
                kept = [sentence for sentence in document if sentence]
                counts["empty_sentences"] += len(document) - len(kept)
                counts["sentences"] += len(kept)
                counts["documents" if kept else "empty"] += 1
                if kept:
                    yield kept
