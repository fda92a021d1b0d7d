"""Predicts the word pieces behind [MASK] with their probabilities (Devlin et al. 2019, 3.1)."""

import dataclasses
import itertools
import os
import warnings

import numpy as np

from tfsum.errors import CheckpointError, Error, require
from tfsum.formats.open_folder import open_folder
from tfsum.formats.text_settings import read_text_settings
from tfsum.inference.texts import check_texts
from tfsum.models.bert_for_pretraining import BertForPretraining
from tfsum.text.word_piece import WordPiece

MASK = "[MASK]"


@dataclasses.dataclass(frozen=True)
class Guess:
    """A word piece predicted for a mask.

    Attributes:
        token: Piece; it starts with "##" if it continues the preceding word.
        probability: Probability of the piece, given the rest of the text.

    Example:
        >>> Guess("rain", 0.5).token
        'rain'
    """

    token: str
    probability: float


def fill_mask(
    text: str,
    model: str | os.PathLike | BertForPretraining,
    k: int = 5,
    word_piece: WordPiece | None = None,
) -> list[list[Guess]]:
    """Predicts the pieces behind every [MASK] of a text.

    Each mask is predicted independently, with all masks in place, as in pretraining.

    Args:
        text: Text with one [MASK] or more.
        model: A model folder with a masked-language-model head (of tfsum, Hugging Face or Google),
            or a `BertForPretraining`.
        k: Number of predictions per mask.
        word_piece: The `WordPiece` of the model, if `model` is not a folder.

    Returns:
        For each [MASK] in order its k most probable pieces, the most probable first.

    Raises:
        Error: `text` is not a str or has no [MASK], k is out of range, or the text is longer than
            the model reads.
        CheckpointError: Model cannot be read, or has no such head.

    Example:
        >>> from tfsum.text.word_piece import WordPiece
        >>> words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "rain"]
        >>> model = BertForPretraining(
        ...     {
        ...         "vocab_size": 6,
        ...         "hidden_size": 8,
        ...         "num_hidden_layers": 1,
        ...         "num_attention_heads": 2,
        ...         "intermediate_size": 16,
        ...     }
        ... )
        >>> (guesses,) = fill_mask("rain [MASK]", model, k=2, word_piece=WordPiece(words))
        >>> len(guesses)
        2
    """
    (text,) = check_texts([text])
    parts = text.split(MASK)
    require(
        len(parts) > 1,
        f"fill_mask: the text {text[:60]!r} has no {MASK}; write {MASK} where a word is to be"
        " guessed",
    )

    if not isinstance(model, BertForPretraining):
        model, word_piece = _load(model)
    elif word_piece is None:
        raise Error(
            "fill_mask: a model without its folder needs its tokenizer: fill_mask(text, model, "
            "word_piece=WordPiece.from_file(...))"
        )

    require(
        word_piece.mask_id is not None,
        f"fill_mask: the vocabulary has no {MASK}; the model was not pretrained on masked words",
        CheckpointError,
    )

    vocabulary = word_piece.vocabulary
    require(
        k in range(1, len(vocabulary) + 1),
        f"fill_mask: k is {k!r}; expected a whole number from 1 to {len(vocabulary)}, the word"
        " pieces",
    )

    ids = np.array([masked_ids(parts, word_piece)], np.int32)
    if ids.shape[1] > (longest := model.bert.config["max_position_embeddings"]):
        raise Error(
            f"fill_mask: {ids.shape[1]} tokens in a row, and the model has positions for {longest};"
            " cut the text around what is to be guessed"
        )

    places = np.flatnonzero(ids[0] == word_piece.mask_id)[None]
    logits = np.asarray(
        model({"token_ids": ids, "masked_lm_positions": places}, training=False)["masked_lm_logits"]
    )[0]
    exponentials = np.exp(logits - logits.max(-1, keepdims=True))
    probabilities = exponentials / exponentials.sum(-1, keepdims=True)
    best = np.argsort(-probabilities, axis=-1, kind="stable")[:, :k]

    return [
        [Guess(vocabulary[i], float(row[i])) for i in order]
        for row, order in zip(probabilities, best)
    ]


def masked_ids(parts: list[str], word_piece: WordPiece) -> list[int]:
    """[CLS], the pieces of each part of a text with a mask between the parts, [SEP].

    The tokenizer reads "[MASK]" in a text as plain text, so the parts are tokenized separately. A
    piece of a reversible vocabulary (`tfsum.text.escape`) records whether a space precedes it: the
    guess brings its own, and a part is tokenized after a full stop, so that a piece adjacent to the
    mask has none.

    Args:
        parts: Text, split at its masks.
        word_piece: Tokenizer.

    Returns:
        The ids.

    Example:
        >>> from tfsum.text.word_piece import WordPiece
        >>> masked_ids(
        ...     ["rain ", ""],
        ...     WordPiece(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "rain", "."]),
        ... )
        [2, 5, 4, 3]
    """
    before, *later = (part.rstrip() for part in parts)
    first, stop, *rest = word_piece.tokenize(
        [before, ".", *(f".{part}" for part in later)]
    ).to_list()
    after_masks = [[word_piece.mask_id, *pieces[len(stop) :]] for pieces in rest]
    return [word_piece.cls_id, *first, *itertools.chain(*after_masks), word_piece.sep_id]


def _load(folder: str | os.PathLike) -> tuple[BertForPretraining, WordPiece]:
    """The model of a folder, and its tokenizer."""
    stored = open_folder(folder)
    require(
        stored.has("cls.predictions.bias"),
        f"{stored.source}: has no masked-language-model head (cls.predictions), it holds"
        f" {stored.parts()}; a bare encoder has none: use the pretrained model with its heads,"
        " or pretrain it",
        CheckpointError,
    )

    with warnings.catch_warnings():
        # the predictions do not use it
        warnings.filterwarnings("ignore", message=".*has no pooler")
        model = BertForPretraining.from_stored(stored, warn=False)

    return model, WordPiece.from_file(
        stored.folder / "vocab.txt", **read_text_settings(stored.folder)
    )
