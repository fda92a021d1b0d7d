"""The copy mechanism of a decoder: a distribution over the source's tokens, and its share."""

from keras import layers, ops, saving

from tfsum.layers.layer import Layer
from tfsum.layers.masks import additive_mask
from tfsum.tensor import Tensor

LEAST = 1e-30  # a probability below it counts as it
# at first: of 256 places the one after two equal tokens gets 0.8 of the attention
FOLLOWING = (2.0, 5.0)


@saving.register_keras_serializable("tfsum")
class CopyAttention(Layer):
    """Mixes the next token's probabilities with an attention over the source: pointer-generator.

    P(w) = (1 - g) P_vocabulary(w) + g * (the attention to all places of the source that hold w).
    The attention has one head. Its scores have two learned additions, `following`: for the places
    after the token that was written last, and for those after the last two, so that a copied phrase
    is continued from the first step of training. The share g is computed from the decoder's output,
    what the attention reads, and its sum over these places.

    Args:
        d_model: D, the width of the decoder and of the source.

    Source: See et al. 2017, "Get To The Point: Summarization with Pointer-Generator Networks",
        section 2.2, equations 8 and 9 (p_gen there is 1 - g). There the attention is the decoder's
        own; a Transformer has one per layer and head, so this one is apart. Where the last token
        stands in the source is also read by Gu et al. 2016, "Incorporating Copying Mechanism in
        Sequence-to-Sequence Learning" (the selective read).

    Example:
        >>> import numpy as np
        >>> from keras import ops
        >>> copy = CopyAttention(8)
        >>> source = ops.ones((1, 3, 8))
        >>> logits = copy(
        ...     ops.zeros((1, 2, 30)),
        ...     ops.ones((1, 2, 8)),
        ...     copy.keys(source),
        ...     source,
        ...     np.array([[7, 9, 7]]),
        ...     np.array([[True, True, True]]),
        ...     np.array([[[1, 0], [7, 1]]]),
        ... )
        >>> round(float(ops.sum(ops.exp(logits[0, 0]))), 4), bool(logits[0, 0, 7] > logits[0, 0, 9])
        (1.0, True)
        >>> bool(logits[0, 1, 9] > logits[0, 0, 9])  # 9 follows 7, which was written last
        True
    """

    def __init__(self, d_model: int, **kwargs: object):
        super().__init__(**kwargs)
        self.autocast = False  # the logits stay in float32
        self.d_model = d_model
        policy = self.dtype_policy
        self.query = layers.Dense(d_model, name="query", dtype=policy)
        self.key = layers.Dense(d_model, name="key", dtype=policy)
        self.gate = layers.Dense(1, name="gate", dtype=policy)

    def build(self, input_shape: object = None) -> None:
        self.query.build((None, None, self.d_model))
        self.key.build((None, None, self.d_model))
        self.gate.build((None, None, 2 * self.d_model + 2))
        self.following = self.add_weight(
            (2,),
            lambda shape, dtype: ops.convert_to_tensor(FOLLOWING, dtype),
            name="following",
            autocast=False,
        )

    def keys(self, source: Tensor) -> Tensor:
        """The keys (B, Ts, D) of a source (B, Ts, D): once for all steps of decoding."""
        if not self.built:
            self.build()
        return self.key(source)

    def call(
        self,
        logits: Tensor,
        x: Tensor,
        keys: Tensor,
        source: Tensor,
        source_ids: Tensor,
        source_mask: Tensor,
        written: Tensor,
    ) -> Tensor:
        """Mixes the two distributions.

        Args:
            logits: Float32 (B, T, V), the decoder's own.
            x: Float (B, T, D), the decoder's output.
            keys: Float (B, Ts, D), computed by `keys`.
            source: Float (B, Ts, D), the encoder's output.
            source_ids: Int (B, Ts).
            source_mask: Bool (B, Ts), True is visible.
            written: Int (B, T, 2), the token written last and the one before it, 0 for none
                (`last_two`).

        Returns:
            Float32 (B, T, V), the logarithms of the mixed probabilities.
        """
        attention, share = self._attend(x, keys, source, source_ids, source_mask, written)
        copied = _by_token(attention, source_ids, logits.shape[-1])
        mixed = (1.0 - share) * ops.softmax(logits) + share * copied
        return ops.log(ops.maximum(mixed, LEAST))

    def loss(
        self,
        loss: Tensor,
        labels: Tensor,
        x: Tensor,
        keys: Tensor,
        source: Tensor,
        source_ids: Tensor,
        source_mask: Tensor,
        written: Tensor,
    ) -> Tensor:
        """The cross-entropy of each label under the mixed distribution, without the rest of it.

        For a vocabulary of 30,000 the distribution itself takes most of a step's time and memory.

        Args:
            loss: Float32 (B, T), the cross-entropy of the decoder's own logits.
            labels: Int (B, T).
            x, keys, source, source_ids, source_mask, written: Arguments of `call`.

        Returns:
            Float32 (B, T).
        """
        attention, share = self._attend(x, keys, source, source_ids, source_mask, written)
        holds = ops.cast(source_ids, "int32")[:, None, :] == ops.cast(labels, "int32")[:, :, None]
        copied = ops.sum(ops.where(holds, attention, 0.0), axis=-1)
        mixed = (1.0 - share[..., 0]) * ops.exp(-loss) + share[..., 0] * copied
        return -ops.log(ops.maximum(mixed, LEAST))

    def _attend(
        self,
        x: Tensor,
        keys: Tensor,
        source: Tensor,
        source_ids: Tensor,
        source_mask: Tensor,
        written: Tensor,
    ) -> tuple[Tensor, Tensor]:
        """The attention (B, T, Ts) to the source and the share (B, T, 1) of copying, float32."""
        # Scores of one head, and the two learned additions: (B, T, Ts)
        query = self.query(x) * self.d_model**-0.5
        scores = ops.cast(ops.matmul(query, ops.swapaxes(keys, 1, 2)), "float32")
        after_one, after_two = (
            ops.cast(places, "float32") for places in _following(source_ids, written)
        )
        scores += self.following[0] * after_one + self.following[1] * after_two
        attention = ops.softmax(scores + additive_mask(source_mask[:, None, :]))

        # What the attention reads, (B, T, D), and its sums over the following places, (B, T, 1)
        read = ops.matmul(ops.cast(attention, self.compute_dtype), source)
        sums = [
            ops.cast(ops.sum(attention * places, axis=-1, keepdims=True), self.compute_dtype)
            for places in (after_one, after_two)
        ]

        share = self.gate(ops.concatenate([x, read, *sums], axis=-1))  # (B, T, 2 D + 2) -> 1
        return attention, ops.sigmoid(ops.cast(share, "float32"))


def last_two(target_ids: Tensor) -> Tensor:
    """Pairs each position's last token with the one before it: int (B, T) -> int (B, T, 2).

    Args:
        target_ids: Targets that begin with the start token.

    Example:
        >>> from keras import ops
        >>> ops.convert_to_numpy(last_two(ops.convert_to_tensor([[1, 7, 9]])))[0].tolist()
        [[1, 0], [7, 1], [9, 7]]
    """
    return ops.stack([target_ids, _after(target_ids, 1)], axis=-1)


def _following(source_ids: Tensor, written: Tensor) -> tuple[Tensor, Tensor]:
    """The places after the last token, and after the last two: bool (B, T, Ts) each."""
    source_ids, written = ops.cast(source_ids, "int32"), ops.cast(written, "int32")
    last, before = written[..., :1], written[..., 1:]
    one = ops.logical_and(_after(source_ids, 1)[:, None, :] == last, last != 0)
    two = ops.logical_and(_after(source_ids, 2)[:, None, :] == before, before != 0)
    return one, ops.logical_and(one, two)


def _after(ids: Tensor, places: int) -> Tensor:
    """Each id (B, T) moved by some places to the right; 0 comes in from the left."""
    return ops.pad(ids, ((0, 0), (places, 0)))[:, : ops.shape(ids)[1]]


def _by_token(attention: Tensor, source_ids: Tensor, vocabulary: int) -> Tensor:
    """The attention (B, T, Ts) to all places of each token: (B, T, V)."""
    batch, length = ops.shape(attention)[0], ops.shape(attention)[1]
    rows = ops.arange(batch, dtype="int32")[:, None] * vocabulary
    token = ops.reshape(rows + ops.cast(source_ids, "int32"), (-1,))
    by_place = ops.reshape(ops.swapaxes(attention, 1, 2), (-1, length))
    summed = ops.segment_sum(by_place, token, num_segments=batch * vocabulary)
    return ops.swapaxes(ops.reshape(summed, (batch, vocabulary, length)), 1, 2)
