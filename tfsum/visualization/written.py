"""Why these words: what an exported Transformer wrote, and where each word of it looked in the text."""

import dataclasses

import numpy as np
import tensorflow as tf

from tfsum.export.generator import Generated, Generator
from tfsum.text.detokenizer import Detokenizer
from tfsum.text.escape import BYTE_PIECES
from tfsum.visualization.attention import Attention


@dataclasses.dataclass(frozen=True)
class WrittenExplanation:
    """What an abstractive model did with a text.

    Attributes:
        text: the text.
        answer: what the model wrote.
        attention: its cross-attention by words, the mean over layers and heads, as one layer of one head: the words
            written look at the words read.
        model: NAME/VERSION of the model.
    """

    text: str
    answer: Generated
    attention: Attention
    model: str


def explain_written(text: str, generator: Generator) -> WrittenExplanation:
    """Asks a model for its answer to a text and for where it looked.

    Args:
        text: the text.
        generator: what `tfsum.load` gave for an abstractive model.

    Returns:
        A `WrittenExplanation`.

    Raises:
        Error: `text` is no str.
        ExportError: the model was exported without the signature `attend`.
    """
    answer, looks = generator(text), generator.attend(text)
    read, owner_read = words(looks.source_ids, looks.source_vocabulary)
    written, owner_written = words(looks.ids, looks.vocabulary)
    weights = by_words(looks.attention, owner_written, owner_read)
    return WrittenExplanation(text, answer, Attention("cross-attention", weights[None, None], written, read),
                              "/".join(generator.path.resolve().parts[-2:]))


def words(ids: list[int], vocabulary: list[str]) -> tuple[list[str], list[int]]:
    """Puts word pieces together.

    Args:
        ids: the pieces.
        vocabulary: what they are.

    Returns:
        The words, special tokens by their names, and the place of each piece's word among them.
    """
    pieces = [vocabulary[i] for i in ids]
    # A character that the vocabulary lacks is written as its bytes, of which all but the first go on.
    goes_on = [piece.startswith("##") or 0x80 <= BYTE_PIECES.get(piece, 0) < 0xC0 for piece in pieces]
    begins = [i for i, more in enumerate(goes_on) if i == 0 or not more]
    rows = tf.RaggedTensor.from_row_starts(tf.constant(ids, tf.int32), tf.constant(begins, tf.int64))
    texts = [text.decode().strip() for text in Detokenizer(vocabulary).detokenize(rows).numpy()] if ids else []
    named = [text or pieces[begin] for text, begin in zip(texts, begins)]
    return named, (np.searchsorted(begins, np.arange(len(ids)), side="right") - 1).tolist()


def by_words(weights: np.ndarray, owner_written: list[int], owner_read: list[int]) -> np.ndarray:
    """Attention of pieces (L, Ts) to that of words: the mean over a word that looks, the sum over one looked at."""
    looks = np.eye(max(owner_written, default=-1) + 1, dtype=np.float32)[owner_written]  # (L, words written)
    seen = np.eye(max(owner_read, default=-1) + 1, dtype=np.float32)[owner_read]  # (Ts, words read)
    return (looks / np.maximum(looks.sum(0), 1)).T @ weights @ seen
