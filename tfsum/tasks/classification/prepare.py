"""Texts with labels, one text or two, in memory: read from a corpus file, checked, and a share of them held out."""

import collections
import dataclasses
import hashlib
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from tfsum.data.readers import Corpus, corpus_name, read_columns
from tfsum.errors import DataError
from tfsum.text.words import split_words

LINK = re.compile(r"https?://\S+")


@dataclasses.dataclass(frozen=True)
class LabelledTexts:
    """Texts and their labels.

    Attributes:
        source: the file, for messages.
        texts: (N,) first texts.
        pairs: (N,) second texts; None where there is one text a label.
        labels: (N,) labels as they are written.

    Example:
        >>> texts = LabelledTexts("a file", ["help", "hello", "fire"], None, ["yes", "no", "yes"])
        >>> texts.label_names(), texts.label_ids(["no", "yes"]).tolist()
        (('no', 'yes'), [1, 0, 1])
    """

    source: str
    texts: list[str]
    pairs: list[str] | None
    labels: list[str]

    def __len__(self) -> int:
        return len(self.texts)

    def label_names(self) -> tuple[str, ...]:
        """The labels that occur, sorted."""
        return tuple(sorted(set(self.labels)))

    def label_ids(self, names: Sequence[str]) -> np.ndarray:
        """The places of the labels in `names`: int32 (N,).

        Raises:
            DataError: labels that are not among the names, all of them at once.
        """
        place = {name: i for i, name in enumerate(names)}
        strange = collections.Counter(label for label in self.labels if label not in place)
        if strange:
            first = next(i for i, label in enumerate(self.labels) if label in strange)
            shown = ", ".join(f"{label!r} ({count})" for label, count in strange.most_common(10))
            alone = first == 0 and strange.total() == 1
            header = " (a header line? then columns have names, no numbers)" if alone else ""
            raise DataError(
                f"{self.source}: {strange.total()} of {len(self)} texts have labels outside the list, the "
                f"first is text {first + 1}: {shown}{header}; expected {', '.join(map(repr, names))}: mend "
                "the file, name another column, or list the labels"
            )
        return np.array([place[label] for label in self.labels], np.int32)

    def held_out(self, share: float) -> tuple["LabelledTexts", "LabelledTexts"]:
        """Parts the texts by a hash of their words: the rest, and about `share` of them.

        Texts that differ in case, punctuation and links alone are on one side, whatever file and order they came in.

        Raises:
            DataError: one of the sides is empty.
        """
        held = np.array(
            [
                _place(text, pair) < share
                for text, pair in zip(self.texts, self.pairs or self.texts)
            ],
            bool,
        )
        if held.all() or not held.any():
            raise DataError(
                f"{self.source}: a share of {share} holds out {held.sum()} of {len(self)} texts; expected "
                "some on both sides: change data.validation_share, or name a file in data.validation"
            )
        return self._only(~held), self._only(held)

    def first(self, limit: int | None) -> "LabelledTexts":
        """The first texts, all of them for None."""
        return self._only(np.arange(len(self)) < (len(self) if limit is None else limit))

    def _only(self, chosen: np.ndarray) -> "LabelledTexts":
        def pick(values: list[str]) -> list[str]:
            return [value for value, keep in zip(values, chosen) if keep]

        pairs = None if self.pairs is None else pick(self.pairs)
        return LabelledTexts(self.source, pick(self.texts), pairs, pick(self.labels))


def read_labelled(
    path: Corpus, text: str = "text", label: str = "label", text_pair: str | None = None
) -> LabelledTexts:
    """Reads a corpus of labelled texts.

    Args:
        path: a `.jsonl`, `.csv` or `.tsv` file, each also with `.gz`; or its rows in memory.
        text: name of the column with the text; numbers from 1 where a table has no header line.
        label: name of the column with the label, a string or a whole number.
        text_pair: name of the column with the second text, where there is one.

    Raises:
        DataError: the file cannot be read, has no text, a field is missing, or a label is empty.

    Returns:
        The texts with their labels.

    Example:
        >>> read_labelled(
        ...     [{"text": "a fire", "label": "yes"}, {"text": "a song", "label": "no"}]
        ... ).labels
        ['yes', 'no']
    """
    columns = (text, label) if text_pair is None else (text, label, text_pair)
    rows, path = list(read_columns(path, columns, numbers=(label,))), corpus_name(path)
    if not rows:
        raise DataError(f"{path}: holds no text; expected a text and a label a line")
    texts, labels, *pairs = (list(column) for column in zip(*rows, strict=True))
    labels = [name.strip() for name in labels]
    if "" in labels:
        raise DataError(
            f"{path}: text {labels.index('') + 1} has an empty label, and {labels.count('')} texts do; "
            "fill them in, or leave these texts out"
        )
    return LabelledTexts(path, texts, pairs[0] if pairs else None, labels)


def _place(text: str, pair: str) -> float:
    """A number from 0 to 1 that the words of a text and its pair decide."""
    words = "\0".join(" ".join(split_words(LINK.sub(" ", part))) for part in (text, pair))
    digest = hashlib.blake2b(words.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little") / 2**64


def read_splits(
    train: str,
    validation: str | None = None,
    validation_share: float = 0.1,
    labels: list | None = None,
    **columns: Any,
) -> tuple[dict[str, LabelledTexts], tuple[str, ...]]:
    """Reads the texts to train on and those to choose the best model by.

    Args:
        train: the file.
        validation: that of the others; without one a share of `train` is held out.
        validation_share: the share, see `LabelledTexts.held_out`.
        labels: the labels in the order of the model's scores; by default those of `train`, sorted.
        **columns: see `read_labelled`.

    Returns:
        Texts by split, and the labels.

    Raises:
        DataError: see `read_labelled` and `LabelledTexts`.

    Example:
        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = pathlib.Path(folder, "train.tsv")
        ...     _ = file.write_text("text\\tlabel\\na fire\\tyes\\na song\\tno\\n")
        ...     texts, names = read_splits(str(file), str(file))
        >>> names, len(texts["validation"])
        (('no', 'yes'), 2)
    """
    texts = read_labelled(train, **columns)
    names = texts.label_names() if labels is None else tuple(map(str, labels))
    if validation is None:
        rest, held = texts.held_out(validation_share)
    else:
        rest, held = texts, read_labelled(validation, **columns)
    return {"train": rest, "validation": held}, names
