"""How much of a text a vocabulary covers: the sign of a language that the model never learned."""

import unicodedata
from collections import Counter
from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from tfsum.text.escape import BYTE_PIECES, is_reversible
from tfsum.text.rows import Rows, after

# roles of pieces: no word (punctuation, numbers), a word's first, a later one
OTHER, BEGINS, CONTINUES = 0, 1, 2
# most frequent words, half of all words of English news and few of French read by its vocabulary
FREQUENT = 100
USUAL, LONG = 0.99, 50  # share of documents that are usual; words of one that is judged
WELL_COVERED = 1000  # pieces of one script that make a vocabulary one of that script


class KnownWords(tf.Module):
    """Counts the words of a text that a vocabulary holds whole.

    A single character of another script than ASCII counts as known only where the vocabulary holds
    many pieces of that script: an English vocabulary spells Korean in letters and holds a few
    hundred Chinese characters.

    A vocabulary for escaped texts is made of parts of words, and every one counts; what it does not
    know are the characters that it writes as bytes.

    Args:
        vocabulary: Word pieces.
        unk_id: Id of the piece for unknown words.
        frequent: Most frequent words of the training corpus; None where they are not known.

    Example:
        >>> counter = KnownWords(["[PAD]", "[UNK]", "rain", "##y"], unk_id=1)
        >>> pieces = tf.RaggedTensor.from_row_lengths([2, 2, 3], [3])  # rain rain|y
        >>> counter.shares(pieces, Rows(tf.constant([0]), 1))["known"].numpy().tolist()
        [0.5]
    """

    def __init__(self, vocabulary: list[str], unk_id: int, frequent: Sequence[str] | None = None):
        super().__init__(name="known_words")
        role, known = _tables(vocabulary, unk_id)
        self._role, self._tables = tf.constant(role), {"known": tf.constant(known)}
        if frequent is not None:
            self._tables["frequent"] = tf.constant(np.isin(vocabulary, list(frequent)))

    def shares(self, pieces: tf.RaggedTensor, documents: Rows) -> dict[str, tf.Tensor]:
        """Shares of each document's words that are one piece of the vocabulary: "known" of any,
        and, where the frequent words are known, "frequent" of these.

        Args:
            pieces: Word pieces of sentences, (N, P) int32.
            documents: Document of each sentence; there are B.

        Returns:
            float32 (B,) each; 1 where a document has no words.
        """
        # (P,) for all pieces: whether one begins a word, and whether the word has no more
        role = tf.gather(self._role, pieces.flat_values)
        begins, alone = role == BEGINS, after(role, BEGINS) != CONTINUES
        rows = documents.at(Rows.of(pieces).owner)

        words = rows.count_of(begins)
        whole = {
            name: rows.count_of(begins & alone & tf.gather(table, pieces.flat_values))
            for name, table in self._tables.items()
        }
        return {
            name: tf.where(words > 0, count / tf.maximum(words, 1.0), 1.0)
            for name, count in whole.items()
        }

    def are_frequent(self, pieces: tf.RaggedTensor) -> tf.Tensor:
        """Tells which words are among the frequent ones of the training corpus, all pieces of them.

        Args:
            pieces: Word pieces of words, (M, P) int32.

        Returns:
            bool (M,); nowhere true where the frequent words are not known.
        """
        lengths = pieces.row_lengths()
        if "frequent" not in self._tables:
            return tf.zeros_like(lengths, tf.bool)
        frequent = tf.cast(tf.gather(self._tables["frequent"], pieces.flat_values), tf.int64)
        return Rows.of(pieces).sum(frequent) == lengths


def frequent_words(
    ids: np.ndarray, lengths: np.ndarray, vocabulary: list[str], unk_id: int
) -> dict:
    """The most frequent words of a corpus, which tell other languages of the same letters apart.

    Args:
        ids: Word pieces of the corpus, one after another, (P,).
        lengths: Number of word pieces of each document, (N,).
        vocabulary: Word pieces.
        unk_id: Id of the piece for unknown words.

    Returns:
        `words`, the pieces, most frequent first; `share`, their share of all words; `least` and
        `least_known`, the shares of frequent words and of whole ones that `USUAL` of the documents
        with at least `LONG` words have, 1 where there are none such: a corpus in many languages has
        documents with few of either.

    Example:
        >>> vocabulary = ["[PAD]", "[UNK]", "the", "rain", "##y"]
        >>> frequent_words(np.array([2, 2, 3, 4]), np.array([4]), vocabulary, unk_id=1)
        {'words': ['the'], 'share': 0.6666666666666666, 'least': 1.0, 'least_known': 1.0}
    """
    begins, whole = _words(ids, *_tables(vocabulary, unk_id))
    counts = np.bincount(ids[whole], minlength=len(vocabulary))
    order = [int(i) for i in np.argsort(-counts, kind="stable")[:FREQUENT] if counts[i]]
    share = float(counts[order].sum() / max(1, begins.sum()))

    documents = np.repeat(np.arange(len(lengths)), lengths)
    words, *parts = (
        np.bincount(documents[mask], minlength=len(lengths))
        for mask in (begins, whole & np.isin(ids, order), whole)
    )
    judged = words >= LONG
    least = [
        float(np.quantile(part[judged] / words[judged], 1 - USUAL)) if judged.any() else 1.0
        for part in parts
    ]
    return {
        "words": [vocabulary[i] for i in order],
        "share": share,
        "least": least[0],
        "least_known": least[1],
    }


def known_share(ids: np.ndarray, vocabulary: list[str], unk_id: int) -> float:
    """The share of a corpus's words that are one piece of the vocabulary, 1 where it has none.

    Args:
        ids: Word pieces of the corpus, one after another, (P,).
        vocabulary: Word pieces.
        unk_id: Id of the piece for unknown words.

    Example:
        >>> vocabulary = ["[PAD]", "[UNK]", "the", "rain", "##y"]
        >>> known_share(np.array([2, 1, 3, 4, 2]), vocabulary, unk_id=1)
        0.5
    """
    begins, whole = _words(ids, *_tables(vocabulary, unk_id))
    return float(whole.sum() / begins.sum()) if begins.any() else 1.0


def _words(ids: np.ndarray, role: np.ndarray, known: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Whether pieces begin a word, and whether they alone are a known one, bool (P,)."""
    begins = role[ids] == BEGINS
    alone = np.append(role[ids][1:] != CONTINUES, True)
    return begins, begins & known[ids] & alone


def _tables(vocabulary: list[str], unk_id: int) -> tuple[np.ndarray, np.ndarray]:
    """The role of each piece, int8 (V,), and whether it alone is a known word, bool (V,)."""
    if is_reversible(vocabulary):
        words = [piece not in BYTE_PIECES and i != unk_id for i, piece in enumerate(vocabulary)]
        return np.full(len(vocabulary), BEGINS, np.int8), np.array(words)

    bodies = [piece.removeprefix("##") for piece in vocabulary]
    scripts = [_script(body) for body in bodies]
    pieces_of = Counter(scripts)
    role, known = np.zeros(len(vocabulary), np.int8), np.zeros(len(vocabulary), bool)
    for i, (piece, body, script) in enumerate(zip(vocabulary, bodies, scripts)):
        if script or i == unk_id:
            role[i] = CONTINUES if piece != body else BEGINS
        known[i] = i != unk_id and (
            len(body) > 1 or body.isascii() or pieces_of[script] >= WELL_COVERED
        )
    return role, known


def _script(body: str) -> str:
    """The script of a piece's first letter, as its Unicode name begins; "" for other pieces."""
    if body.startswith("[") and body.endswith("]"):  # a special token
        return ""
    letters = (c for c in body if unicodedata.category(c)[0] in "LM")
    return next((unicodedata.name(c, "").partition(" ")[0] for c in letters), "")


def is_word(vocabulary: list[str]) -> np.ndarray:
    """Tells which word pieces ROUGE counts: those with a letter or a digit.

    Args:
        vocabulary: Word pieces; those in square brackets are special tokens and never words.

    Returns:
        bool (V,).

    Example:
        >>> is_word(["[PAD]", ".", "rain"]).tolist()
        [False, False, True]
    """
    return np.array(
        [
            not (piece.startswith("[") and piece.endswith("]"))
            and any(unicodedata.category(c)[0] in "LN" for c in piece)
            for piece in vocabulary
        ]
    )
