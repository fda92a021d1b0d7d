"""The warning of a training whose texts are in a language that the encoder does not know."""

import numpy as np

from tfsum.inference.texts import KNOWN_ENOUGH
from tfsum.text.known_words import known_share
from tfsum.text.word_piece import WordPiece
from tfsum.training.log import log

FIRST = 200_000  # word pieces that are looked at


def warn_of_unknown_words(
    pieces: np.ndarray, word_piece: WordPiece, enough: float = KNOWN_ENOUGH
) -> None:
    """Logs a warning where few of the words of training texts are in the vocabulary.

    Args:
        pieces: Word pieces of the texts, one after another, (P,); the first ones are looked at.
        word_piece: The tokenizer of the encoder.
        enough: Share of whole words from which there is none.

    Example:
        >>> word_piece = WordPiece(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "rain"], lowercase=True)
        >>> warn_of_unknown_words(np.array([4, 4, 1]), word_piece)
    """
    share = known_share(pieces[:FIRST], word_piece.vocabulary, word_piece.unk_id)
    if share < enough:
        log(
            f"warning: only {share:.0%} of the words of the training texts are in the encoder's"
            " vocabulary: they seem to be in a language or script that it does not know, of which"
            " the model will learn little; take an encoder of that language"
        )
