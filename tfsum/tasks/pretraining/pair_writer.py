"""Documents of a corpus as records of sentence pairs, with a count of all that is cut or left."""

import collections
import dataclasses
import pathlib
import random
from collections.abc import Iterator

from tfsum.data.records import make_sentence_pair_record, write_shard
from tfsum.tasks.pretraining.next_sentence import COUNTS as PAIR_COUNTS
from tfsum.tasks.pretraining.next_sentence import LABELS, PairOptions, draw_pairs
from tfsum.text.sentence_splitter import SentenceSplitter
from tfsum.text.word_piece import WordPiece

COUNTS = ("documents", "sentences", "pairs", *PAIR_COUNTS, "pieces", "unknown_pieces", "empty", "empty_sentences")
_SPLIT_TOGETHER = 32  # documents that go through the sentence splitter in one call


class SentencePairWriter:
    """Splits, tokenizes and pairs documents and writes them as a shard; one a process.

    Args:
        settings: as `prepare` collects them.
        vocabulary: a vocab.txt.
    """

    def __init__(self, settings: dict, vocabulary: str):
        self._settings = settings
        self._options = PairOptions(**{field.name: settings[field.name] for field in dataclasses.fields(PairOptions)})
        self._splitter = SentenceSplitter(newline=settings["newline"])
        case = {name: settings[name] for name in ("lowercase", "strip_accents")}
        self._word_piece = WordPiece.from_file(vocabulary, **case)

    def write(self, path: str, documents: list[str]) -> dict[str, int]:
        """Writes the pairs of a shard's documents; false second segments come from the same shard."""
        counts = collections.Counter(dict.fromkeys(COUNTS, 0))
        tokenized = list(self._tokenized(documents, counts))
        # Of the shard alone: one written anew, by whichever process, has the same pairs.
        rng = random.Random(f"{self._settings['seed']}/{pathlib.Path(path).name}")
        write_shard(path, self._records(tokenized, rng, counts))
        return dict(counts) | {"read": len(documents)}

    def _tokenized(self, documents: list[str], counts: collections.Counter) -> Iterator[list[list[int]]]:
        """The documents that have any, as sentences of pieces."""
        for first in range(0, len(documents), _SPLIT_TOGETHER):
            sentences = self._splitter.split(documents[first : first + _SPLIT_TOGETHER])["sentences"]
            pieces = sentences.with_flat_values(self._word_piece.tokenize(sentences.flat_values))
            for document in pieces.to_list():
                kept = [sentence for sentence in document if sentence]
                counts["empty_sentences"] += len(document) - len(kept)
                counts["sentences"] += len(kept)
                counts["documents" if kept else "empty"] += 1
                if kept:
                    yield kept

    def _records(self, documents: list, rng: random.Random, counts: collections.Counter) -> Iterator[bytes]:
        for _ in range(self._settings["duplicates"]):
            for index in range(len(documents)):
                for pair in draw_pairs(documents, index, self._options, rng, counts):
                    pieces = pair.first + pair.second
                    counts["pairs"] += 1
                    counts["pieces"] += len(pieces)
                    counts["unknown_pieces"] += pieces.count(self._word_piece.unk_id)
                    yield make_sentence_pair_record(pieces, len(pair.first), LABELS[pair.kind])
