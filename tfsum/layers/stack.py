"""What the encoder and the decoder of the Transformer share: their layers' parts, and the stack."""

from typing import Any

import keras

from tfsum.errors import require
from tfsum.layers.dropout import Dropout
from tfsum.layers.layer import Layer
from tfsum.layers.multi_head_attention import MultiHeadAttention
from tfsum.layers.positionwise_feed_forward import PositionwiseFeedForward
from tfsum.tensor import Tensor


class ResidualLayer(Layer):
    """Base class of `EncoderLayer` and `DecoderLayer`: attentions, then a feed-forward network.

    A sublayer is an attribute, such as `feed_forward`, and has two others: its normalization
    `feed_forward_norm` and its dropout `feed_forward_drop`. The arguments are described in
    `EncoderLayer`.

    Raises:
        Error: `norm` is neither "post" nor "pre".

    Example:
        >>> from tfsum.layers import DecoderLayer
        >>> DecoderLayer(d_model=8, num_heads=2, feed_forward_width=16).sublayers
        ('self_attention', 'cross_attention', 'feed_forward')
    """

    sublayers: tuple[str, ...]  # names, the feed-forward network last

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        feed_forward_width: int,
        activation: str = "relu",
        norm: str = "post",
        dropout: float = 0.1,
        attention_dropout: float = 0.0,
        activation_dropout: float = 0.0,
        epsilon: float = 1e-6,
        normalize_attention_input: bool = True,
        kernel_initializer: str | keras.initializers.Initializer = "glorot_uniform",
        **kwargs: object,
    ):
        super().__init__(**kwargs)
        require(
            norm in ("post", "pre"),
            f"{type(self).__name__}: norm is {norm!r}; it must be 'post' or 'pre'",
        )
        self.d_model, self.norm = d_model, norm
        kernel_initializer = keras.initializers.get(kernel_initializer)
        policy = self.dtype_policy

        *attentions, _ = self.sublayers
        for name in attentions:
            attention = MultiHeadAttention(
                num_heads, d_model, attention_dropout, kernel_initializer, name=name, dtype=policy
            )
            setattr(self, name, attention)
        self.feed_forward = PositionwiseFeedForward(
            d_model,
            feed_forward_width,
            activation,
            activation_dropout,
            kernel_initializer,
            name="feed_forward",
            dtype=policy,
        )

        without_norm = norm == "pre" and not normalize_attention_input
        for name in self.sublayers:
            normalization = keras.layers.Identity(name=f"{name}_norm", dtype=policy)
            if not (without_norm and name == attentions[0]):
                normalization = LayerNormalization(
                    epsilon=epsilon, name=f"{name}_norm", dtype=policy
                )
            setattr(self, f"{name}_norm", normalization)
            setattr(self, f"{name}_drop", Dropout(dropout, name=f"{name}_dropout", dtype=policy))

    def build(self, input_shape: object = None) -> None:
        for name in self.sublayers:
            getattr(self, name).build((None, None, self.d_model))
            getattr(self, f"{name}_norm").build((None, None, self.d_model))

    def before(self, sublayer: str, x: Tensor) -> Tensor:
        """The input of a sublayer: x, which a pre-norm layer normalizes."""
        if self.norm == "post":
            return x
        return getattr(self, f"{sublayer}_norm")(x)

    def after(self, sublayer: str, x: Tensor, y: Tensor, training: bool | None) -> Tensor:
        """Adds the output y of a sublayer to the residual x; a post-norm layer normalizes it."""
        x = x + getattr(self, f"{sublayer}_drop")(y, training=training)
        if self.norm == "pre":
            return x
        return getattr(self, f"{sublayer}_norm")(x)

    def attend(
        self,
        sublayer: str,
        x: Tensor,
        *source: Tensor,
        training: bool | None,
        return_attention_weights: bool,
        **masks: Tensor | None,
    ) -> tuple[Tensor, Tensor | None]:
        """Applies an attention with its residual: (B, T, D) -> (B, T, D).

        Args:
            sublayer: Name of the attention.
            x: Float tensor (B, T, D).
            *source: Float tensor (B, Ts, D) that a cross-attention reads.
            training: Whether dropout is applied.
            return_attention_weights: Whether the attention weights are returned too.
            **masks: Masks of `MultiHeadAttention`.

        Returns:
            Float tensor (B, T, D), and the weights (B, H, T, Ts) or None.
        """
        y = getattr(self, sublayer)(
            self.before(sublayer, x),
            *source,
            training=training,
            return_attention_weights=return_attention_weights,
            **masks,
        )
        y, weights = y if return_attention_weights else (y, None)
        return self.after(sublayer, x, y, training), weights

    def feed(self, x: Tensor, training: bool | None) -> Tensor:
        """Applies the feed-forward network at each position: (..., D) -> (..., D)."""
        y = self.feed_forward(self.before("feed_forward", x), training=training)
        return self.after("feed_forward", x, y, training)


class LayerNormalization(keras.layers.LayerNormalization):
    """Normalizes the last axis, of whole sequences and of one position of each.

    Keras 3.16 counts the axis from the first one when it builds the layer, so that a tensor of
    another rank, such as (B * K, D) in `DecoderLayer.step`, would be refused.

    Example:
        >>> norm = LayerNormalization()
        >>> norm.build((None, None, 8))
        >>> tuple(norm(keras.ops.ones((3, 8))).shape)
        (3, 8)
    """

    def build(self, input_shape: tuple) -> None:
        super().build(input_shape)
        self.axis = [-1]


class Stack(Layer):
    """Base class of `Encoder` and `Decoder`: layers; a pre-norm stack ends with a normalization.

    Example:
        >>> from tfsum.layers import Encoder
        >>> [
        ...     layer.name
        ...     for layer in Encoder(2, d_model=8, num_heads=2, feed_forward_width=16).stacked()
        ... ]
        ['layer_0', 'layer_1']
    """

    def stacked(self) -> list:
        """The layers in their order."""
        raise NotImplementedError

    def end_stack(
        self, d_model: int, norm: str = "post", epsilon: float = 1e-6, **others: object
    ) -> None:
        """Adds the normalization at the end of a pre-norm stack; takes a layer's arguments."""
        self.d_model = d_model
        final_norm = keras.layers.Identity(name="final_norm", dtype=self.dtype_policy)
        if norm == "pre":
            final_norm = LayerNormalization(
                epsilon=epsilon, name="final_norm", dtype=self.dtype_policy
            )
        self.final_norm = final_norm

    def build(self, input_shape: object = None) -> None:
        for layer in self.stacked():
            layer.build(None)
        self.final_norm.build((None, None, self.d_model))

    def follow(
        self, x: Tensor, *source: Tensor, return_attention_weights: bool, **options: Any
    ) -> tuple[Tensor, list[Tensor], list[list[Tensor]]]:
        """Applies layer after layer.

        Args:
            x: Float tensor (B, T, D).
            *source: Further inputs of each layer.
            return_attention_weights: Whether each layer's attention weights are returned too.
            **options: Arguments of each layer's `call`.

        Returns:
            Output (B, T, D) of the stack; the input and each layer's output, before the final
            normalization; and each layer's attention weights, or an empty list.
        """
        outputs, attentions = [x], []
        for layer in self.stacked():
            x = layer(x, *source, return_attention_weights=return_attention_weights, **options)
            if return_attention_weights:
                x, *weights = x
                attentions.append(weights)
            outputs.append(x)

        return self.final_norm(x), outputs, attentions
