"""Multi-head attention (Vaswani et al. 2017, section 3.2)."""

from typing import Any

import keras
from keras import ops

from tfsum.errors import Error
from tfsum.layers.cache import Cache
from tfsum.layers.dropout import Dropout
from tfsum.layers.masks import additive_mask
from tfsum.tensor import Tensor


@keras.saving.register_keras_serializable("tfsum")
class MultiHeadAttention(keras.layers.Layer):
    """Multi-head attention: softmax(Q K^T / sqrt(D/H)) V in each of H heads, concatenated and projected.

    Self-attention if only `query` is given, cross-attention with `value`. Heads are contiguous slices of the D
    columns, as in the original BERT and BertSum, whose weights can be loaded without reordering.

    Args:
        num_heads: H, a divisor of `d_model`.
        d_model: size D of the queries, keys, values and the output.
        dropout: fraction of the attention weights set to 0 in training.
        kernel_initializer: initializer of the four kernels (D, D).

    Raises:
        Error: `num_heads` does not divide `d_model`.

    Example:
        >>> from keras import ops
        >>> from tfsum.layers import MultiHeadAttention
        >>> attention = MultiHeadAttention(num_heads=2, d_model=8)
        >>> output, weights = attention(
        ...     ops.ones((1, 3, 8)), ops.ones((1, 5, 8)), return_attention_weights=True
        ... )
        >>> tuple(output.shape), tuple(weights.shape)
        ((1, 3, 8), (1, 2, 3, 5))
    """

    def __init__(
        self,
        num_heads: int,
        d_model: int,
        dropout: float = 0.0,
        kernel_initializer: Any = "glorot_uniform",
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        if num_heads < 1 or d_model % num_heads:
            raise Error(
                f"MultiHeadAttention: {num_heads} heads do not divide a width of {d_model}; "
                "choose num_heads among the divisors of d_model"
            )
        self.num_heads = num_heads
        self.d_model = d_model
        self.dropout = dropout
        self.kernel_initializer = keras.initializers.get(kernel_initializer)

        def dense(name):
            # Cloned: one initializer object would give all four kernels the same values.
            return keras.layers.Dense(
                d_model,
                kernel_initializer=self.kernel_initializer.clone(),
                name=name,
                dtype=self.dtype_policy,
            )

        self.query, self.key, self.value = dense("query"), dense("key"), dense("value")
        self.output_projection = dense("output")
        self.drop = Dropout(dropout, name="dropout", dtype=self.dtype_policy)

    def build(self, input_shape: Any = None) -> None:
        for layer in (self.query, self.key, self.value, self.output_projection):
            layer.build((None, None, self.d_model))
        self.built = True

    def call(
        self,
        query: Tensor,
        value: Tensor | None = None,
        attention_mask: Tensor | None = None,
        training: bool | None = None,
        return_attention_weights: bool = False,
        key_mask: Tensor | None = None,
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Attends from each query to the visible values.

        Args:
            query: float tensor (B, Tq, D).
            value: float tensor (B, Tk, D), projected to keys and values; `query` by default.
            attention_mask: bool tensor that broadcasts to (B, H, Tq, Tk), True is visible; all by default. A query
                without a visible position gets a finite result (the mean of all values).
            return_attention_weights: also return the attention weights, after dropout.
            key_mask: bool tensor (B, Tk), such as a `padding_mask`: which values every query of a row may see. (A
                two-dimensional `attention_mask` is (Tq, Tk), the same for all rows.)

        Returns:
            float tensor (B, Tq, D), or a tuple of it and the attention weights (B, H, Tq, Tk).
        """
        if key_mask is not None:
            key_mask = ops.cast(key_mask, "bool")[:, None, None, :]
            attention_mask = (
                key_mask if attention_mask is None else ops.logical_and(attention_mask, key_mask)
            )
        keys, values = self.keys_and_values(query if value is None else value)
        context, weights = self._attend(
            self._heads(self._scaled_query(query)),
            ops.swapaxes(keys, 2, 3),
            values,
            attention_mask,
            training,
        )
        context = ops.swapaxes(context, 1, 2)  # (B, Tq, H, D/H)
        output = self.output_projection(ops.reshape(context, ops.shape(query)))
        return (output, weights) if return_attention_weights else output

    def keys_and_values(self, value: Tensor) -> tuple[Tensor, Tensor]:
        """Projects the values to attend to: (B, Tk, D) -> keys and values, each (B, H, Tk, D/H)."""
        return self._heads(self.key(value)), self._heads(self.value(value))

    def extend(
        self, x: Tensor, position: Tensor, keys: Cache, values: Cache
    ) -> tuple[Cache, Cache]:
        """Writes the keys and the values of one position into the caches of `DecoderLayer.start`.

        Args:
            x: float tensor (B * K, D), the vectors of that position, with the hypotheses of a source next to each
                other.
            position: int scalar, below L.
            keys, values: caches (B, H, L, K, D/H).

        Returns:
            both caches with that position set.
        """
        num_beams = keys.shape[3]
        return (
            keys.write(position, self._by_head(self.key(x), num_beams)),
            values.write(position, self._by_head(self.value(x), num_beams)),
        )

    def step(
        self, x: Tensor, num_beams: int, keys: Tensor, values: Tensor, attention_mask: Tensor
    ) -> Tensor:
        """Attends from one position of each hypothesis to cached keys and values; equals `call` at that position.

        Args:
            x: float tensor (B * K, D), the vectors of that position, with the hypotheses of a source next to each
                other.
            num_beams: K, hypotheses per source, an int.
            keys: float tensor (B, H, D/H, Tk), transposed; the K hypotheses of a source share keys and values.
            values: float tensor (B, H, Tk, D/H).
            attention_mask: bool tensor that broadcasts to (B, H, K, Tk), True is visible.

        Returns:
            float tensor (B * K, D).
        """
        query = self._by_head(self._scaled_query(x), num_beams)
        context, _ = self._attend(query, keys, values, attention_mask, training=False)
        context = ops.stack(ops.unstack(context, num_beams, axis=2), axis=1)  # (B, K, H, D/H)
        return self.output_projection(ops.reshape(context, (-1, self.d_model)))

    def _by_head(self, x, num_beams):
        """(B * K, D) -> (B, H, K, D/H)."""
        x = ops.reshape(x, (-1, num_beams, self.num_heads, self.d_model // self.num_heads))
        # Equals a transpose, which for so few numbers takes longer than the product with a weight.
        return ops.stack(ops.unstack(x, num_beams, axis=1), axis=2)

    def _scaled_query(self, query):
        return self.query(query) * (self.d_model // self.num_heads) ** -0.5

    def _attend(self, query, keys, values, attention_mask, training):
        """Queries (B, H, Tq, D/H), keys (B, H, D/H, Tk), values (B, H, Tk, D/H) -> contexts, weights (B, H, Tq, Tk)."""
        scores = ops.cast(ops.matmul(query, keys), "float32")
        if attention_mask is not None:
            scores = scores + additive_mask(attention_mask)
        weights = self.drop(ops.cast(ops.softmax(scores), self.compute_dtype), training=training)
        return ops.matmul(weights, values), weights

    def _heads(self, x):
        """(B, T, D) -> (B, H, T, D/H)."""
        batch, length, _ = ops.shape(x)
        return ops.swapaxes(
            ops.reshape(x, (batch, length, self.num_heads, self.d_model // self.num_heads)), 1, 2
        )

    def get_config(self) -> dict:
        return {
            **super().get_config(),
            "num_heads": self.num_heads,
            "d_model": self.d_model,
            "dropout": self.dropout,
            "kernel_initializer": keras.initializers.serialize(self.kernel_initializer),
        }
