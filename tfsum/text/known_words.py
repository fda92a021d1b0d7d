"""How much of a text a vocabulary covers: the sign that a text is in a language that the model never learned."""

import unicodedata
from collections import Counter
from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from tfsum.text.escape import BYTE_PIECES, is_reversible
from tfsum.text.repeat import row_ids

OTHER, BEGINS, CONTINUES = (
    0,
    1,
    2,
)  # of a piece: no word (punctuation, numbers), a word's first, a later one
FREQUENT = 100  # of the most frequent words; of English news they are half of all words, of French by its pieces few
WELL_COVERED = 1000  # pieces of one script that make a vocabulary one of that script


class KnownWords(tf.Module):
    """Counts the words of a text that a vocabulary holds whole.

    Args:
        role: int8 array (V,): `OTHER`, `BEGINS` or `CONTINUES` for each piece.
        known: bool array (V,): whether the piece alone is a known word.
        frequent: bool array (V,): whether it is one of the frequent words; None where they are not known.

    Example:
        >>> counter = known_words(["[PAD]", "[UNK]", "rain", "##y"], unk_id=1)
        >>> pieces = tf.RaggedTensor.from_row_lengths([2, 2, 3], [3])  # rain rain|y
        >>> counter.share(pieces, tf.constant([0]), tf.constant(1)).numpy().tolist()
        [0.5]
    """

    def __init__(self, role: np.ndarray, known: np.ndarray, frequent: np.ndarray | None = None):
        super().__init__(name="known_words")
        self._role, self._known = tf.constant(role), tf.constant(known)
        self._frequent = None if frequent is None else tf.constant(frequent)

    def shares(
        self, pieces: tf.RaggedTensor, owner: tf.Tensor, documents: tf.Tensor
    ) -> dict[str, tf.Tensor]:
        """The shares of each document's words by name: `known`, see `share`; `frequent`, unless none are known."""
        shares = {"known": self.share(pieces, owner, documents)}
        if self._frequent is not None:
            shares["frequent"] = self._share(self._frequent, pieces, owner, documents)
        return shares

    def share(self, pieces: tf.RaggedTensor, owner: tf.Tensor, documents: tf.Tensor) -> tf.Tensor:
        """Share of each document's words that are one piece of the vocabulary.

        Args:
            pieces: word pieces (N, P) of sentences.
            owner: (N,) the document of each sentence.
            documents: B.

        Returns:
            float32 (B,); 1 where a document has no words.
        """
        return self._share(self._known, pieces, owner, documents)

    def _share(
        self, table: tf.Tensor, pieces: tf.RaggedTensor, owner: tf.Tensor, documents: tf.Tensor
    ) -> tf.Tensor:
        role, known = (
            tf.gather(self._role, pieces.flat_values),
            tf.gather(table, pieces.flat_values),
        )
        goes_on = tf.concat([role[1:] == CONTINUES, [False]], 0)[: tf.size(role)]
        document = tf.gather(owner, row_ids(pieces))

        def total(condition: tf.Tensor) -> tf.Tensor:
            return tf.math.unsorted_segment_sum(tf.cast(condition, tf.float32), document, documents)

        words = total(role == BEGINS)
        return tf.where(
            words > 0, total((role == BEGINS) & known & ~goes_on) / tf.maximum(words, 1.0), 1.0
        )


def frequent_words(ids: np.ndarray, vocabulary: list[str], unk_id: int) -> dict:
    """The most frequent words of a corpus, by which a text in another language of the same letters is told.

    Args:
        ids: (P,) word pieces of the corpus, one after another.
        vocabulary: the word pieces.
        unk_id: id of the piece for unknown words.

    Returns:
        `words`, the pieces, most frequent first; `share`, that of all words that they are.

    Example:
        >>> frequent_words(
        ...     np.array([2, 2, 3, 4]), ["[PAD]", "[UNK]", "the", "rain", "##y"], unk_id=1
        ... )
        {'words': ['the'], 'share': 0.6666666666666666}
    """
    counter = known_words(vocabulary, unk_id)
    role, known = counter._role.numpy(), counter._known.numpy()
    of_piece = role[ids]
    begins = of_piece == BEGINS
    whole = begins & known[ids] & ~np.append(of_piece[1:] == CONTINUES, False)
    counts = np.bincount(ids[whole], minlength=len(vocabulary))
    order = [int(i) for i in np.argsort(-counts, kind="stable")[:FREQUENT] if counts[i]]
    return {
        "words": [vocabulary[i] for i in order],
        "share": float(counts[order].sum() / max(1, begins.sum())),
    }


def known_words(
    vocabulary: list[str], unk_id: int, frequent: Sequence[str] | None = None
) -> KnownWords:
    """Makes the counter of a vocabulary.

    A single character of another script than ASCII counts as known only where the vocabulary holds many pieces
    of that script: an English vocabulary spells Korean in letters and holds a few hundred Chinese characters.

    A vocabulary for escaped texts is made of parts of words, and every one counts; what it does not know are the
    characters that it writes as bytes.

    Args:
        vocabulary: the word pieces.
        unk_id: id of the piece for unknown words.
        frequent: the most frequent words, see `frequent_words`.

    Example:
        >>> type(known_words(["[PAD]", "[UNK]", "rain"], unk_id=1)).__name__
        'KnownWords'
    """
    marked = None if frequent is None else np.isin(vocabulary, list(frequent))
    if is_reversible(vocabulary):
        known = np.array(
            [piece not in BYTE_PIECES and i != unk_id for i, piece in enumerate(vocabulary)]
        )
        return KnownWords(np.full(len(vocabulary), BEGINS, np.int8), known, marked)
    bodies = [piece.removeprefix("##") for piece in vocabulary]
    scripts = [_script(body) for body in bodies]
    pieces_of = Counter(scripts)
    role, known = np.zeros(len(vocabulary), np.int8), np.zeros(len(vocabulary), bool)
    for i, (piece, body, script) in enumerate(zip(vocabulary, bodies, scripts)):
        if script or i == unk_id:
            role[i] = CONTINUES if piece != body else BEGINS
        covered = len(body) > 1 or body.isascii() or pieces_of[script] >= WELL_COVERED
        known[i] = i != unk_id and covered
    return KnownWords(role, known, marked)


def _script(body: str) -> str:
    """The script of a piece's first letter, as its Unicode name begins; "" where it has none or is special."""
    if body.startswith("[") and body.endswith("]"):
        return ""
    letter = next((c for c in body if unicodedata.category(c)[0] in "LM"), "")
    return unicodedata.name(letter, "").partition(" ")[0] if letter else ""
