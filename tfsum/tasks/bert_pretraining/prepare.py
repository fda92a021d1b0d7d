"""From a corpus to sharded records of sentence pairs for pretraining BERT, in parallel,
interruptible and resumable."""

import collections
import functools
import pathlib
import random
import unicodedata
from collections.abc import Iterator
from typing import Literal

from pydantic import Field

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
from tfsum.data.readers import WrongRow, fingerprint, read_documents
from tfsum.data.settings import TextSettings
from tfsum.errors import DataError, require
from tfsum.tasks.bert_pretraining.next_sentence import COUNTS, LABELS, draw_pairs, one_document
from tfsum.tasks.bert_pretraining.settings import PairSettings

WITHOUT_PAIRS = (
    "none has two sentences; take next_sentence 'none' for masked words alone, or another way to"
    " read a new line"
)
WITHOUT_SENTENCES = (
    "their sentences are of control characters alone, which are not read; look at the file's"
    " encoding"
)


class SegmentPreparation(PairSettings, TextSettings, Preparation):
    """Writes documents as sentence pairs, see `Preparation`.

    Words are masked later, when batches are made (`tfsum.tasks.bert_pretraining.masking`): a new
    mask each epoch, where the original keeps those of its ten duplicates.

    Attributes:
        text: Name of the field with the text; a number from 1 in a table without a header line.
        max_length: Positions of a pair, [CLS] and each [SEP] included.
        next_sentence: "even": half of the second segments are what follows the first, without a
            gap; "original": as google-research/bert; "none": one segment of whole sentences, for
            masked words alone.
        same_document_share: Share of the false second segments that come from the same document,
            which is harder to recognize than another document's. The others come from the
            documents of the same shard.
        short_share: Chance that the pairs of a document aim at a shorter length, drawn evenly from
            2 pieces up.
        duplicates: Passes over each document, with other pairs each time.
        lowercase: Whether texts are lower-cased; None means as the files beside the vocabulary say,
            or its pieces, see `tfsum.formats.text_settings`.
        strip_accents: Whether texts lose their accents; None means as these files say, or as
            `lowercase`.
        newline: Meaning of a new line, an argument of `SentenceSplitter`: "sentence", "line",
            "paragraph", "space" or "auto".
        part: Documents of the corpus to take: "all", those "held_out" or the others, for
            "training".
        held_out_share: Approximate share of documents to hold out, chosen by a hash of their text.
        seed: Seed of the pairs.
        shards: Number of files; fewer where a file would not have two documents.

    Example:
        >>> SegmentPreparation(max_length=64, shards=4).write(
        ...     "books.txt.gz", "records/books", "minilm"
        ... )  # doctest: +SKIP
        {'documents': 1000, 'sentences': 41234, 'pairs': 5210, ...}
    """

    part: Literal["all", "training", "held_out"] = Field(
        "all", description="Which documents to take."
    )
    held_out_share: float = Field(
        0.0, ge=0, le=1, description="Share of documents that are held out, chosen by their text."
    )

    def write(
        self,
        corpus: str | pathlib.Path,
        out_dir: str | pathlib.Path,
        vocabulary: str | pathlib.Path,
        run: ShardRunner | None = None,
    ) -> dict[str, int]:
        """Writes the records, see `Preparation.write`.

        Returns:
            The counts: documents and sentences of the corpus; pairs written, by kind: `next`,
            `other_document`, `same_document` and `one_segment`; pieces in them, and unknown_pieces
            among these; pieces_cut from pairs_cut that were too long; sentences_left without a next
            one, empty_sentences without a piece; documents dropped, as empty, duplicate_documents,
            wrong_rows or of the other_part.

        Raises:
            DataError: Corpus or the vocabulary cannot be read, or there is no second document to
                draw from.
        """
        vocabulary = vocabulary_file(vocabulary)
        settings = {
            "task": "pretraining",
            "text": self.text,
            "max_length": self.max_length,
            "next_sentence": self.next_sentence,
            "same_document_share": self.same_document_share,
            "short_share": self.short_share,
            "duplicates": self.duplicates,
            **case_settings(vocabulary, self.lowercase, self.strip_accents),
            "newline": self.newline,
            "part": self.part,
            "held_out_share": self.held_out_share,
            "seed": self.seed,
            "shards": self.shards,
        }

        def names_for(size: int) -> list[str]:
            require(
                size > 1 or self.next_sentence == "none",
                one_document(f"{corpus}, part {self.part!r} of it"),
                DataError,
            )
            return shard_names("pairs", min(self.shards, max(1, size // 2)))

        counts = write_records(
            self,
            out_dir,
            settings,
            {"corpus": corpus, "vocabulary": vocabulary},
            functools.partial(self._usable, corpus),
            names_for,
            functools.partial(SentencePairWriter, settings, [str(vocabulary)]),
            f"no document with a text in part {self.part!r} {{}}; give more documents, or hold out"
            " another share of them (held_out_share, of a recipe validation_share)",
            run,
        )
        why = WITHOUT_PAIRS if counts["documents"] else WITHOUT_SENTENCES
        require(
            counts["pairs"],
            f"{corpus}: its {counts['documents'] + counts['empty']} documents give no pair: {why}",
            DataError,
        )
        return counts

    def _usable(
        self, corpus: str | pathlib.Path, left_out: collections.Counter, wrong: WrongRow
    ) -> Iterator[str]:
        """The documents with a text, each once, in NFC; the others are counted."""
        once = EachOnce(left_out, "empty", "duplicate_documents")
        left_out["other_part"] = 0
        for document in read_documents(corpus, self.text, wrong):
            document = unicodedata.normalize("NFC", document)
            key = fingerprint(document)
            if once.passes(key, empty=not document.strip()):
                end = self.held_out_share * 2.0 ** (8 * len(key))
                is_held_out = int.from_bytes(key, "little") < end
                if self.part == "all" or is_held_out == (self.part == "held_out"):
                    yield document
                else:
                    left_out["other_part"] += 1


class SentencePairWriter(RecordWriter):
    """Splits, tokenizes and pairs documents, see `RecordWriter`; false second segments come from
    the same shard.

    Example:
        >>> writer = SentencePairWriter(settings, ["vocab.txt"])  # doctest: +SKIP
        >>> writer.write("pairs.tfrecord", texts)  # doctest: +SKIP
        {'documents': 10, 'sentences': 120, 'pairs': 31, ...}
    """

    count_names = (
        "documents",
        "sentences",
        "pairs",
        *COUNTS,
        "pieces",
        "unknown_pieces",
        "empty",
        "empty_sentences",
    )

    def records(
        self, name: str, documents: Iterator[str], counts: collections.Counter
    ) -> Iterator[bytes]:
        # In here: a worker process settles how TensorFlow works before anything loads it.
        from tfsum.data.records import serialized

        (word_piece,) = self.word_pieces
        fields = PairSettings.model_fields
        options = PairSettings(**{k: v for k, v in self.settings.items() if k in fields})
        tokenized = list(self._tokenized(documents, counts))
        # Of the shard alone: one written again, by whichever process, has the same pairs.
        rng = random.Random(f"{self.settings['seed']}/{name}")

        for _ in range(self.settings["duplicates"]):
            for index in range(len(tokenized)):
                for pair in draw_pairs(tokenized, index, options, rng, counts):
                    pieces = pair.first + pair.second
                    counts.update(
                        pairs=1,
                        pieces=len(pieces),
                        unknown_pieces=pieces.count(word_piece.unk_id),
                    )
                    yield serialized(
                        pieces=pieces,
                        first_pieces=[len(pair.first)],
                        next_sentence_label=[LABELS[pair.kind]],
                    )

    def _tokenized(
        self, documents: Iterator[str], counts: collections.Counter
    ) -> Iterator[list[list[int]]]:
        """The documents that have any, as sentences of pieces."""
        for batch in batched(documents):
            sentences = self.splitter.split(batch)["sentences"]
            pieces = sentences.with_flat_values(self.word_pieces[0].tokenize(sentences.flat_values))
            for document in pieces.to_list():
                kept = [sentence for sentence in document if sentence]
                counts.update(
                    sentences=len(kept),
                    empty_sentences=len(document) - len(kept),
                    documents=int(bool(kept)),
                    empty=int(not kept),
                )
                if kept:
                    yield kept
