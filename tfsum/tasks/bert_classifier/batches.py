"""Labelled texts for a `BertClassifier`: read from a corpus file, checked, a share of them held
out, tokenized, and in token-budget batches."""

import collections
import dataclasses
import hashlib
import itertools
import re
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import tensorflow as tf

from tfsum.data.batcher import TokenBudgetBatcher, padded
from tfsum.data.preparation import batched
from tfsum.data.readers import Corpus, corpus_name, read_columns
from tfsum.errors import DataError, require
from tfsum.text.packing import pack
from tfsum.text.word_piece import WordPiece
from tfsum.text.words import split_words

LINK = re.compile(r"https?://\S+")
_TOGETHER = 1024  # texts tokenized in one call


@dataclasses.dataclass(frozen=True)
class LabelledTexts:
    """Texts and their labels.

    Attributes:
        source: File, for messages.
        texts: (N,) texts, or pairs of texts.
        labels: (N,) labels as they are written.

    Example:
        >>> texts = LabelledTexts("file", [("help",), ("hello",), ("fire",)], ["yes", "no", "yes"])
        >>> texts.label_names(), texts.label_ids(["no", "yes"]).tolist()
        (('no', 'yes'), [1, 0, 1])
    """

    source: str
    texts: list[tuple[str, ...]]
    labels: list[str]

    def __len__(self) -> int:
        return len(self.texts)

    def label_names(self) -> tuple[str, ...]:
        """The labels that occur, sorted."""
        return tuple(sorted(set(self.labels)))

    def label_ids(self, names: Sequence[str]) -> np.ndarray:
        """The places of the labels in `names`: int32 (N,).

        Raises:
            DataError: Labels that are not among the names, all of them at once.
        """
        place = {name: i for i, name in enumerate(names)}
        strange = collections.Counter(label for label in self.labels if label not in place)
        if strange:
            first = next(i for i, label in enumerate(self.labels) if label in strange)
            shown = ", ".join(f"{label!r} ({count})" for label, count in strange.most_common(10))
            if first == 0 and strange.total() == 1:
                shown += " (a header line? then columns have names, no numbers)"
            raise DataError(
                f"{self.source}: {strange.total()} of {len(self)} texts have labels outside the"
                f" list, the first is text {first + 1}: {shown}; expected"
                f" {', '.join(map(repr, names))}: mend the file, name another column, or list the"
                " labels"
            )

        return np.array([place[label] for label in self.labels], np.int32)

    def held_out(self, share: float) -> tuple["LabelledTexts", "LabelledTexts"]:
        """Parts the texts by a hash of their words: the rest, and about `share` of them.

        Texts that differ in case, punctuation and links alone are on one side, whatever file and
        order they came in.

        Raises:
            DataError: One of the sides is empty.
        """
        held = np.array([_place(text) < share for text in self.texts], bool)
        require(
            held.any() and not held.all(),
            f"{self.source}: a share of {share} holds out {held.sum()} of {len(self)} texts;"
            " expected some on both sides: change data.validation_share, or name a file in"
            " data.validation",
            DataError,
        )

        rest, some = (
            LabelledTexts(
                self.source,
                list(itertools.compress(self.texts, side)),
                list(itertools.compress(self.labels, side)),
            )
            for side in (~held, held)
        )
        return rest, some


def read_labelled(
    path: Corpus, text: str = "text", label: str = "label", text_pair: str | None = None
) -> LabelledTexts:
    """Reads a corpus of labelled texts.

    Args:
        path: A `.jsonl`, `.csv` or `.tsv` file, each also with `.gz`; or its rows in memory.
        text: Name of the column with the text; numbers from 1 where a table has no header line.
        label: Name of the column with the label, a string or a whole number.
        text_pair: Name of the column with the second text, where there is one.

    Raises:
        DataError: File cannot be read, has no text, a field is missing, or a label is empty.

    Returns:
        The texts with their labels.

    Example:
        >>> read_labelled(
        ...     [{"text": "a fire", "label": "yes"}, {"text": "a song", "label": "no"}]
        ... ).labels
        ['yes', 'no']
    """
    columns = [name for name in (label, text, text_pair) if name is not None]
    rows, path = list(read_columns(path, columns, numbers=(label,))), corpus_name(path)
    require(rows, f"{path}: holds no text; expected a text and a label a line", DataError)

    labels = [name.strip() for name, *_ in rows]
    if "" in labels:
        raise DataError(
            f"{path}: text {labels.index('') + 1} has an empty label, and {labels.count('')} texts"
            " do; fill them in, or leave these texts out"
        )

    return LabelledTexts(path, [tuple(texts) for _, *texts in rows], labels)


def _place(text: tuple[str, ...]) -> float:
    """A number from 0 to 1 that the words of a text, or of a pair of texts, decide."""
    parts = [" ".join(split_words(LINK.sub(" ", part))) for part in text]
    words = f"{parts[0]}\0{parts[-1]}"  # a text alone counts twice
    digest = hashlib.blake2b(words.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little") / 2**64


@dataclasses.dataclass
class PackedTexts:
    """The inputs of all texts, end to end.

    Attributes:
        token_ids: (P,) int32, `[CLS] text [SEP]` or `[CLS] text [SEP] pair [SEP]` each.
        segment_ids: (P,) int32, 1 for the second text and its [SEP].
        length: (N,) int64 tokens of each.
        labels: (N,) int32 places in the list of labels.
        counts: Counts of what was read and cut.

    Example:
        >>> ids, segments = np.array([2, 5, 3]), np.zeros(3, int)
        >>> PackedTexts(ids, segments, np.array([3]), np.array([1]), {"texts": 1}).length.tolist()
        [3]
    """

    token_ids: np.ndarray
    segment_ids: np.ndarray
    length: np.ndarray
    labels: np.ndarray
    counts: dict[str, int]


def pack_texts(
    texts: LabelledTexts, label_names: Sequence[str], word_piece: WordPiece, max_length: int
) -> PackedTexts:
    """Tokenizes texts and lays them out as the exported model does (`tfsum.text.packing.pack`).

    Args:
        texts: Texts.
        label_names: Labels in the order of the model's scores.
        word_piece: Tokenizer.
        max_length: Tokens of a row at most; what is longer is cut at the end, from the longer of
            two texts first.

    Returns:
        The rows; `counts` has texts, tokens, unknown_pieces, empty (texts without a piece),
        texts_cut, pieces_cut.

    Raises:
        DataError: A label is not among the names.

    Example:
        >>> texts = LabelledTexts("rows", [("good",), ("bad film",)], ["yes", "no"])
        >>> word_piece = WordPiece(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "good", "bad"])
        >>> packed = pack_texts(texts, ("no", "yes"), word_piece, max_length=8)
        >>> packed.token_ids.tolist(), packed.length.tolist(), packed.labels.tolist()
        ([2, 4, 3, 2, 5, 1, 3], [3, 4], [1, 0])
    """
    labels, parts = texts.label_ids(label_names), []
    counts = collections.Counter(
        texts=len(texts), tokens=0, unknown_pieces=0, empty=0, texts_cut=0, pieces_cut=0
    )
    for together in batched(texts.texts, _TOGETHER):
        text, *pair = (word_piece.tokenize(list(side)) for side in zip(*together, strict=True))
        packed = pack(text, max_length, word_piece.cls_id, word_piece.sep_id, *pair)

        rows = {name: value.numpy() for name, value in packed.items()}
        mask, cut = rows["mask"], rows["pieces_cut"] + rows.get("pair_pieces_cut", 0)
        parts.append((rows["token_ids"][mask], rows["segment_ids"][mask], mask.sum(1)))
        counts.update(
            tokens=int(mask.sum()),
            unknown_pieces=int((parts[-1][0] == word_piece.unk_id).sum()),
            empty=int((mask.sum(1) + cut == 2 + len(pair)).sum()),
            texts_cut=int((cut > 0).sum()),
            pieces_cut=int(cut.sum()),
        )

    token_ids, segment_ids, length = (np.concatenate(column) for column in zip(*parts, strict=True))
    return PackedTexts(token_ids, segment_ids, length, labels, dict(counts))


class TextBatcher(TokenBudgetBatcher):
    """Batches of dicts: `token_ids` and `segment_ids` (B, T), padded with 0, and `labels` (B,), all
    int32.

    Args:
        texts: Result of `pack_texts`.
        tokens_per_batch: Padded tokens of a batch at most.

    Raises:
        DataError: Longest text alone exceeds the budget.

    Example:
        >>> token_ids, labels = np.array([2, 5, 3, 2, 6, 7, 3]), np.array([1, 0])
        >>> texts = PackedTexts(token_ids, np.zeros(7, int), np.array([3, 4]), labels, {})
        >>> TextBatcher(texts, tokens_per_batch=8).assemble(np.array([0, 1]))["token_ids"].tolist()
        [[2, 5, 3, 0], [2, 6, 7, 3]]
    """

    row, lower = "text", "max_length"
    signature: ClassVar = {
        **dict.fromkeys(("token_ids", "segment_ids"), tf.TensorSpec((None, None), tf.int32)),
        "labels": tf.TensorSpec((None,), tf.int32),
    }

    def __init__(self, texts: PackedTexts, tokens_per_batch: int) -> None:
        super().__init__(texts.length, tokens_per_batch)
        self._texts = texts

    def assemble(self, rows: np.ndarray, epoch: int = 0) -> dict[str, np.ndarray]:
        texts = self._texts
        width = self.width(texts.length, rows)
        return {
            "token_ids": padded(texts.token_ids, texts.length, rows, width=width),
            "segment_ids": padded(texts.segment_ids, texts.length, rows, width=width),
            "labels": texts.labels[rows],
        }
