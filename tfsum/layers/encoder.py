"""The encoder of the Transformer, post-norm or pre-norm."""

from typing import Any

import keras

from tfsum.layers.stack import ResidualLayer, Stack
from tfsum.tensor import Tensor


@keras.saving.register_keras_serializable("tfsum")
class EncoderLayer(ResidualLayer):
    """Self-attention, then a feed-forward network, each with a residual and a normalization.

    Post-norm (Vaswani et al. 2017; BERT): x = LN(x + attention(x)); x = LN(x + feed_forward(x)).
    Pre-norm (BertSum's inter-sentence encoder): x = x + attention(LN(x)); x = x +
    feed_forward(LN(x)).

    Args:
        d_model: Size D of the hidden vectors.
        num_heads: Number of attention heads H, a divisor of `d_model`.
        feed_forward_width: F, size of the intermediate layer of the feed-forward network.
        activation: Activation of the feed-forward network, see `PositionwiseFeedForward`.
        norm: "post" normalizes the sum of a sublayer's output and its residual, "pre" the input of
            a sublayer.
        dropout: Dropout rate on the outputs of attention and of the feed-forward network, before
            the residual.
        attention_dropout: Dropout rate on the attention weights.
        activation_dropout: Dropout rate inside the feed-forward network.
        epsilon: Epsilon of the normalizations.
        normalize_attention_input: False omits the first normalization of a pre-norm layer, as in
            the first layer of BertSum's inter-sentence encoder (nlpyang/BertSum,
            `TransformerEncoderLayer`).
        kernel_initializer: Initializer of every kernel.

    Raises:
        Error: `norm` is neither "post" nor "pre".

    Example:
        >>> import numpy as np
        >>> from keras import ops
        >>> from tfsum.layers import EncoderLayer, padding_mask
        >>> layer = EncoderLayer(d_model=8, num_heads=2, feed_forward_width=16)
        >>> real = padding_mask(np.array([[7, 9, 0]]))
        >>> x, weights = layer(ops.ones((1, 3, 8)), key_mask=real, return_attention_weights=True)
        >>> tuple(x.shape), tuple(weights.shape)
        ((1, 3, 8), (1, 2, 3, 3))
        >>> float(ops.max(weights[..., 2]))  # nothing attends to padding
        0.0
    """

    sublayers = ("attention", "feed_forward")

    def call(
        self,
        x: Tensor,
        attention_mask: Tensor | None = None,
        key_mask: Tensor | None = None,
        training: bool | None = None,
        return_attention_weights: bool = False,
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Applies the layer.

        Args:
            x: Float tensor (B, T, D).
            attention_mask: Bool tensor (B, T, T) or (B, H, T, T), True where a position may see
                another.
            key_mask: Bool tensor (B, T), True at the positions that all may see; such as
                `padding_mask(ids)`.
            training: Whether dropout is applied.
            return_attention_weights: Whether the attention weights are returned too.

        Returns:
            Float tensor (B, T, D), or a tuple of it and the attention weights (B, H, T, T).
        """
        # Self-attention between the positions: (B, T, D) -> (B, T, D), weights (B, H, T, T)
        x, weights = self.attend(
            "attention",
            x,
            attention_mask=attention_mask,
            key_mask=key_mask,
            training=training,
            return_attention_weights=return_attention_weights,
        )

        # The feed-forward network at each position: (B, T, D) -> (B, T, D)
        x = self.feed(x, training)

        if return_attention_weights:
            return (x, weights)
        return x

    def within(self, x: Tensor, rows: Any) -> Tensor:
        """`call` with a key mask for packed rows, without dropout: (N, D) -> (N, D)."""
        y = self.attention.within(self.before("attention", x), rows)
        x = self.after("attention", x, y, training=False)
        return self.feed(x, training=False)


@keras.saving.register_keras_serializable("tfsum")
class Encoder(Stack):
    """A stack of encoder layers; a pre-norm stack ends with a normalization.

    Args:
        num_layers: Number of `EncoderLayer`s.
        normalize_first_input: False omits the normalization of the attention input in the first
            layer of a pre-norm stack (BertSum's inter-sentence encoder).
        **layer: Arguments of every `EncoderLayer`.

    Example:
        >>> from keras import ops
        >>> from tfsum.layers import Encoder
        >>> encoder = Encoder(2, d_model=8, num_heads=2, feed_forward_width=16)
        >>> tuple(encoder(ops.ones((1, 3, 8))).shape)
        (1, 3, 8)
    """

    # A class such as `tfsum.export.packed_rows.PackedRows`, which an exported graph leaves out
    # padding by; all other graphs pad.
    packing: type | None = None

    def __init__(
        self,
        num_layers: int,
        normalize_first_input: bool = True,
        name: str | None = None,
        dtype: str | keras.DTypePolicy | None = None,
        trainable: bool = True,
        **layer: Any,
    ):
        super().__init__(name=name, dtype=dtype, trainable=trainable)
        self.encoder_layers = [
            EncoderLayer(
                **{**layer, "normalize_attention_input": normalize_first_input or i > 0},
                name=f"layer_{i}",
                dtype=self.dtype_policy,
            )
            for i in range(num_layers)
        ]
        self.end_stack(**layer)

    def stacked(self) -> list:
        return self.encoder_layers

    def call(
        self,
        x: Tensor,
        attention_mask: Tensor | None = None,
        key_mask: Tensor | None = None,
        training: bool | None = None,
        return_all: bool = False,
    ) -> Tensor | tuple[Tensor, list[Tensor], list[Tensor]]:
        """Encodes whole sequences.

        Args:
            x: Float tensor (B, T, D).
            attention_mask: Bool tensor (B, T, T) or (B, H, T, T), True where a position may see
                another.
            key_mask: Bool tensor (B, T), True at the positions that all may see; such as
                `padding_mask(ids)`.
            training: Whether dropout is applied.
            return_all: Whether the outputs and attention weights of every layer are returned too.

        Returns:
            Float tensor (B, T, D), or a tuple of it and two lists: the input and each layer's
            output (B, T, D), before the final normalization of a pre-norm stack; each layer's
            attention weights (B, H, T, T).
        """
        may_pack = not training and not return_all and attention_mask is None
        if self.packing is not None and may_pack and key_mask is not None:
            return self._packed(x, self.packing(key_mask))

        x, outputs, attentions = self.follow(
            x,
            attention_mask=attention_mask,
            key_mask=key_mask,
            training=training,
            return_attention_weights=return_all,
        )
        if return_all:
            return (x, outputs, [weights for (weights,) in attentions])
        return x

    def _packed(self, x, rows):
        """Leaves out padding: the same results at all other positions."""
        x = rows.pack(x)
        for layer in self.encoder_layers:
            x = layer.within(x, rows)
        return rows.unpack(self.final_norm(x))
