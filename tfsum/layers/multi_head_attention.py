"""Multi-head attention (Vaswani et al. 2017, section 3.2)."""

import keras
from keras import ops

from tfsum.errors import Error
from tfsum.layers.dropout import Dropout
from tfsum.layers.masks import additive_mask


@keras.saving.register_keras_serializable("tfsum")
class MultiHeadAttention(keras.layers.Layer):
    """Attention of H heads: softmax(Q K^T / sqrt(D/H)) V in each, concatenated and projected.

    Self-attention when only `query` is given, cross-attention when `value` is. Heads are contiguous slices of
    the D columns, as in the original BERT and BertSum, whose weights fit as they are.

    Args:
        num_heads: H, a divisor of `d_model`.
        d_model: width D of the queries, keys, values and the output.
        dropout: share of the attention weights set to 0 in training.
        kernel_initializer: initializer of the four kernels (D, D).

    Raises:
        Error: `num_heads` does not divide `d_model`.
    """

    def __init__(self, num_heads: int, d_model: int, dropout: float = 0.0,
                 kernel_initializer="glorot_uniform", **kwargs):
        super().__init__(**kwargs)
        if num_heads < 1 or d_model % num_heads:
            raise Error(f"MultiHeadAttention: {num_heads} heads do not divide a width of {d_model}; "
                        "choose num_heads among the divisors of d_model")
        self.num_heads = num_heads
        self.d_model = d_model
        self.dropout = dropout
        self.kernel_initializer = keras.initializers.get(kernel_initializer)

        def dense(name):
            # Cloned: one initializer object would give all four kernels the same values.
            return keras.layers.Dense(d_model, kernel_initializer=self.kernel_initializer.clone(), name=name,
                                      dtype=self.dtype_policy)

        self.query, self.key, self.value = dense("query"), dense("key"), dense("value")
        self.output_projection = dense("output")
        self.drop = Dropout(dropout, name="dropout", dtype=self.dtype_policy)

    def build(self, input_shape=None):
        for layer in (self.query, self.key, self.value, self.output_projection):
            layer.build((None, None, self.d_model))
        self.built = True

    def call(self, query, value=None, attention_mask=None, training=None, return_attention_weights=False):
        """Attends.

        Args:
            query: float tensor (B, Tq, D).
            value: float tensor (B, Tk, D) that keys and values are made of; `query` by default.
            attention_mask: bool tensor that broadcasts to (B, H, Tq, Tk), True is visible; all by default. A query
                that may see nothing gets a finite answer (the mean of all values).
            return_attention_weights: also return the weights, as they are after dropout.

        Returns:
            float tensor (B, Tq, D), or with it the weights (B, H, Tq, Tk).
        """
        keys, values = self.keys_and_values(query if value is None else value)
        context, weights = self._attend(self._heads(self._scaled_query(query)), ops.swapaxes(keys, 2, 3), values,
                                        attention_mask, training)
        context = ops.swapaxes(context, 1, 2)  # (B, Tq, H, D/H)
        output = self.output_projection(ops.reshape(context, ops.shape(query)))
        return (output, weights) if return_attention_weights else output

    def keys_and_values(self, value):
        """Projects what is attended to: (B, Tk, D) -> keys and values, each (B, H, Tk, D/H)."""
        return self._heads(self.key(value)), self._heads(self.value(value))

    def extend(self, x, position, keys, values, write):
        """Writes the keys and the values of one position into the caches of `DecoderLayer.start`.

        Args:
            x: float tensor (B * K, D), the vectors of that position, those of a source together.
            position: int scalar, below L.
            keys, values: float tensors (B, H, L, K, D/H).
            write: `write_position`, or another function that gives the same.

        Returns:
            both caches with that position set.
        """
        width = keys.shape[3]
        return (write(keys, position, self._by_head(self.key(x), width)),
                write(values, position, self._by_head(self.value(x), width)))

    def step(self, x, width, keys, values, attention_mask):
        """Attends from one position of each hypothesis to cached keys and values; gives what `call` gives there.

        Args:
            x: float tensor (B * K, D), the vectors of that position, those of a source together.
            width: K, an int.
            keys: float tensor (B, H, D/H, Tk), transposed; the K hypotheses of a source share keys and values.
            values: float tensor (B, H, Tk, D/H).
            attention_mask: bool tensor that broadcasts to (B, H, K, Tk), True is visible.

        Returns:
            float tensor (B * K, D).
        """
        query = self._by_head(self._scaled_query(x), width)
        context, _ = self._attend(query, keys, values, attention_mask, training=False)
        context = ops.stack(ops.unstack(context, width, axis=2), axis=1)  # (B, K, H, D/H)
        return self.output_projection(ops.reshape(context, (-1, self.d_model)))

    def _by_head(self, x, width):
        """(B * K, D) -> (B, H, K, D/H)."""
        x = ops.reshape(x, (-1, width, self.num_heads, self.d_model // self.num_heads))
        # As a transpose would; of so few numbers that takes longer than a product with a weight.
        return ops.stack(ops.unstack(x, width, axis=1), axis=2)

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
        return ops.swapaxes(ops.reshape(x, (batch, length, self.num_heads, self.d_model // self.num_heads)), 1, 2)

    def get_config(self):
        return {
            **super().get_config(),
            "num_heads": self.num_heads,
            "d_model": self.d_model,
            "dropout": self.dropout,
            "kernel_initializer": keras.initializers.serialize(self.kernel_initializer),
        }
