"""Computes the attention weights of a model for one text or one pair."""

from collections.abc import Sequence

import numpy as np

from tfsum.errors import Error, require
from tfsum.generation.generator import Attention
from tfsum.models import Bert, Transformer
from tfsum.text.word_piece import WordPiece


def bert_attention(
    bert: Bert, word_piece: WordPiece, text: str, text_pair: str | None = None
) -> Attention:
    """Computes the self-attention of a `Bert` for a text or a pair of texts.

    Args:
        bert: `Bert`, such as the attribute `bert` of other models.
        word_piece: `WordPiece` of the model.
        text: Text, which becomes [CLS] text [SEP].
        text_pair: Second text; the pair becomes [CLS] text [SEP] text_pair [SEP].

    Returns:
        The self-attention of all layers.

    Raises:
        Error: A text is not a str, there are more tokens than positions, the model has one segment
            and a pair is given, or `bert` is not a `Bert`.

    Example:
        >>> word_piece = WordPiece(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "rain"], lowercase=True)
        >>> attention = bert_attention(Bert(5, 8, 1, 2, 16), word_piece, "rain")
        >>> attention.queries, attention.weights.shape
        (['[CLS]', 'rain', '[SEP]'], (1, 2, 3, 3))
    """
    for name, value in (("text", text), ("text_pair", text_pair or "")):
        require(
            isinstance(value, str),
            f"bert_attention: {name} is {type(value).__name__}; expected a str, of a pair the"
            " second in text_pair",
        )
    if not isinstance(bert, Bert):
        inside = isinstance(getattr(bert, "bert", None), Bert)
        cure = "give its `bert`" if inside else "read it by Bert.from_pretrained"
        raise Error(f"bert_attention: bert is {type(bert).__name__}; expected a Bert: {cure}")

    first, second = (word_piece.tokenize([text or ""]).to_list()[0] for text in (text, text_pair))
    ids = [word_piece.cls_id, *first, word_piece.sep_id]
    if text_pair is not None:
        ids += [*second, word_piece.sep_id]

    require(
        text_pair is None or bert.config["type_vocab_size"] > 1,
        "bert_attention: the model has one segment (type_vocab_size 1), and a pair needs two;"
        " leave out text_pair",
    )

    segment_ids = (np.arange(len(ids)) > len(first) + 1).astype(np.int32)[None]
    inputs = {"token_ids": np.array([ids], np.int32), "segment_ids": segment_ids}
    outputs = bert(inputs, training=False, return_all=True)
    tokens = _tokens(ids, word_piece)
    return Attention("self-attention", _stacked(outputs["attentions"]), tokens, tokens)


def transformer_attention(
    model: Transformer,
    word_piece: WordPiece,
    source: str,
    target: str | None = None,
    target_word_piece: WordPiece | None = None,
) -> dict[str, Attention]:
    """Computes the attention of a `Transformer` for a source and its target.

    Args:
        model: `Transformer`.
        word_piece: `WordPiece` of the source, whose [CLS] and [SEP] surround it as in training.
        source: Source text.
        target: Target text; the model's greedy answer by default.
        target_word_piece: `WordPiece` of the target; that of the source by default.

    Returns:
        "encoder" and "decoder" (self-attention) and "cross". The target begins with the start
        token; the query of its last token predicts the end.

    Example:
        >>> word_piece = WordPiece(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "rain"], lowercase=True)
        >>> sizes = {"d_model": 8, "num_heads": 2, "feed_forward_width": 16}
        >>> layers = {"num_encoder_layers": 1, "num_decoder_layers": 1}
        >>> model = Transformer(5, 5, start_id=2, end_id=3, **sizes, **layers)
        >>> transformer_attention(model, word_piece, "rain", "rain rain")["cross"].weights.shape
        (1, 2, 3, 3)
    """
    model.build()
    target_word_piece = target_word_piece or word_piece
    source_ids = word_piece.encode([source]).to_list()[0]
    source_row = np.array([source_ids], np.int32)  # (1, Ts)
    if target is None:
        answer = model.predict_on_batch({"source_ids": source_row})[0].tolist()
        rest = [i for i in answer if i not in (0, model.end_id)]
    else:
        rest = target_word_piece.tokenize([target]).to_list()[0]
    target_ids = [model.start_id, *rest]
    target_row = np.array([target_ids], np.int32)  # (1, Tt)

    # One pair has no padding, and so needs no mask but the decoder's own.
    x = model.source_positions(model.source_embedding(source_row), training=False)  # (1, Ts, D)
    x, _, encoder = model.encoder(x, training=False, return_all=True)
    y = model.target_positions(model.target_embedding(target_row), training=False)  # (1, Tt, D)
    _, _, decoder, cross = model.decoder(y, x, training=False, return_all=True)

    sources = _tokens(source_ids, word_piece)
    targets = _tokens(target_ids, target_word_piece)
    return {
        "encoder": Attention("self-attention of the encoder", _stacked(encoder), sources, sources),
        "decoder": Attention("self-attention of the decoder", _stacked(decoder), targets, targets),
        "cross": Attention("cross-attention", _stacked(cross), targets, sources),
    }


def _tokens(ids: list[int], word_piece: WordPiece) -> list[str]:
    return [word_piece.vocabulary[i] for i in ids]


def _stacked(layers: Sequence) -> np.ndarray:
    """The weights of the only row of a batch: L arrays (1, H, Tq, Tk) -> (L, H, Tq, Tk)."""
    return np.stack([np.asarray(layer, np.float32)[0] for layer in layers])
