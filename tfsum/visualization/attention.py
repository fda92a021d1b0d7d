"""The attention weights of a model for one text or one pair, with their tokens."""

import dataclasses
from collections.abc import Sequence

import numpy as np

from tfsum.errors import Error
from tfsum.models import Bert, Transformer
from tfsum.text.word_piece import WordPiece


@dataclasses.dataclass(frozen=True)
class Attention:
    """The weights of all layers and heads of one kind of attention.

    Attributes:
        kind: such as "cross-attention".
        weights: float32 (L, H, Tq, Tk); each row, the weights of a query over the keys, sums to 1.
        queries: the Tq query tokens.
        keys: the Tk key tokens.

    Example:
        >>> attention = Attention(
        ...     "self-attention", np.full((1, 2, 1, 1), 1.0, np.float32), ["a"], ["a"]
        ... )
        >>> attention.of(layer=0).shape, attention.of(layer=0, head=1).tolist()
        ((2, 1, 1), [[1.0]])
    """

    kind: str
    weights: np.ndarray
    queries: list[str]
    keys: list[str]

    def of(self, layer: int, head: int | None = None) -> np.ndarray:
        """The weights of a layer (H, Tq, Tk), or of one of its heads (Tq, Tk); both counted from 0.

        Raises:
            Error: there is no such layer or head.
        """
        for name, number, count in zip(("layer", "head"), (layer, head), self.weights.shape):
            if number is not None and not 0 <= number < count:
                raise Error(f"{self.kind}: {name} {number}; there are {count}, counted from 0")
        return self.weights[layer] if head is None else self.weights[layer, head]


def bert_attention(
    bert: Bert, word_piece: WordPiece, text: str, text_pair: str | None = None
) -> Attention:
    """Computes the self-attention of a `Bert` for a text or a pair.

    Args:
        bert: a `Bert`, such as the one that other models have as `model.bert`.
        word_piece: its `WordPiece`.
        text: the text; it becomes [CLS] text [SEP].
        text_pair: a second text; together they become [CLS] text [SEP] text_pair [SEP].

    Returns:
        The self-attention of all layers.

    Raises:
        Error: a text is not a str, there are more tokens than the model has positions, a pair is given to a model
            of one segment, or `bert` is not a `Bert`.

    Example:
        >>> word_piece = WordPiece(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "rain"], lowercase=True)
        >>> attention = bert_attention(Bert(5, 8, 1, 2, 16), word_piece, "rain")
        >>> attention.queries, attention.weights.shape
        (['[CLS]', 'rain', '[SEP]'], (1, 2, 3, 3))
    """
    for name, given in (("text", text), ("text_pair", "" if text_pair is None else text_pair)):
        if not isinstance(given, str):
            raise Error(
                f"bert_attention: {name} is {type(given).__name__}; expected a str, of a pair the second in "
                "text_pair"
            )
    if not isinstance(bert, Bert):
        cure = (
            "give its `bert`"
            if isinstance(getattr(bert, "bert", None), Bert)
            else "read it by Bert.from_pretrained"
        )
        raise Error(f"bert_attention: bert is {type(bert).__name__}; expected a Bert: {cure}")
    first, second = (word_piece.tokenize([text or ""]).to_list()[0] for text in (text, text_pair))
    ids = [word_piece.cls_id, *first, word_piece.sep_id]
    segments = [0] * len(ids)
    if text_pair is not None:
        ids += [*second, word_piece.sep_id]
        segments += [1] * (len(ids) - len(segments))
    if len(ids) > (longest := bert.config["max_position_embeddings"]):
        raise Error(
            f"bert_attention: {len(ids)} tokens in a row, and the model has positions for {longest}; cut "
            "the text"
        )
    if text_pair is not None and bert.config["type_vocab_size"] < 2:
        raise Error(
            "bert_attention: the model has one segment (type_vocab_size 1), and a pair needs two; leave out "
            "text_pair"
        )
    inputs = {"token_ids": np.array([ids], np.int32), "segment_ids": np.array([segments], np.int32)}
    outputs = bert(inputs, training=False, return_all=True)
    return _attention("self-attention", outputs["attentions"], ids, ids, word_piece, word_piece)


def transformer_attention(
    model: Transformer,
    word_piece: WordPiece,
    source: str,
    target: str | None = None,
    target_word_piece: WordPiece | None = None,
) -> dict[str, Attention]:
    """Computes the attention of a `Transformer` for a source and its target.

    Args:
        model: a `Transformer`.
        word_piece: the `WordPiece` of its source; its [CLS] and [SEP] surround the source, as in training.
        source: the source text.
        target: the target text; the model's greedy answer by default.
        target_word_piece: the `WordPiece` of the target; that of the source by default.

    Returns:
        "encoder" and "decoder" (self-attention) and "cross". The target begins with the start token; the
        query of its last token predicts the end.

    Example:
        >>> word_piece = WordPiece(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "rain"], lowercase=True)
        >>> model = Transformer(
        ...     5,
        ...     5,
        ...     num_encoder_layers=1,
        ...     num_decoder_layers=1,
        ...     d_model=8,
        ...     num_heads=2,
        ...     feed_forward_width=16,
        ...     start_id=2,
        ...     end_id=3,
        ... )
        >>> transformer_attention(model, word_piece, "rain", "rain rain")["cross"].weights.shape
        (1, 2, 3, 3)
    """
    model.build()
    target_word_piece = target_word_piece or word_piece
    source_ids = word_piece.encode([source]).to_list()[0]
    given = np.array([source_ids], np.int32)
    if target is None:
        written = model.predict_on_batch({"source_ids": given})[0].tolist()
        rest = [i for i in written if i not in (0, model.end_id)]
    else:
        rest = target_word_piece.tokenize([target]).to_list()[0]
    target_ids = [model.start_id, *rest]
    # A pair alone has no padding: no mask but the decoder's own.
    x = model.source_positions(model.source_embedding(given), training=False)
    x, _, encoder = model.encoder(x, training=False, return_all=True)
    y = model.target_positions(
        model.target_embedding(np.array([target_ids], np.int32)), training=False
    )
    _, _, decoder, cross = model.decoder(y, x, training=False, return_all=True)
    sides = {"source": (source_ids, word_piece), "target": (target_ids, target_word_piece)}
    kinds = {
        "encoder": ("self-attention of the encoder", encoder, "source", "source"),
        "decoder": ("self-attention of the decoder", decoder, "target", "target"),
        "cross": ("cross-attention", cross, "target", "source"),
    }
    return {
        name: _attention(kind, weights, sides[q][0], sides[k][0], sides[q][1], sides[k][1])
        for name, (kind, weights, q, k) in kinds.items()
    }


def _attention(
    kind: str,
    layers: Sequence,
    query_ids: list[int],
    key_ids: list[int],
    query_pieces: WordPiece,
    key_pieces: WordPiece,
) -> Attention:
    weights = np.stack([np.asarray(layer, np.float32)[0] for layer in layers])
    queries, keys = query_pieces.vocabulary, key_pieces.vocabulary
    return Attention(kind, weights, [queries[i] for i in query_ids], [keys[i] for i in key_ids])
