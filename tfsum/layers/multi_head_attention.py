"""Multi-head attention (Vaswani et al. 2017, section 3.2)."""

from typing import Any, NamedTuple

from keras import backend, distribution, initializers, layers, ops, saving

from tfsum.errors import require
from tfsum.layers.dropout import Dropout
from tfsum.layers.layer import Layer
from tfsum.layers.masks import additive_mask, combine_masks
from tfsum.tensor import Tensor


class Cache(NamedTuple):
    """Keys or values of one attention layer, for all positions of K hypotheses per source.

    A named tuple, so that every backend treats it as a structure of tensors: it can be a loop
    variable. `write` returns a cache of the same class; a subclass may write in another way
    (`tfsum.generation.module`).

    Attributes:
        tensor: Float tensor (B, H, L, K, D/H).

    Example:
        >>> from keras import ops
        >>> from tfsum.layers import Cache
        >>> cache = Cache(ops.zeros((1, 1, 3, 1, 2)))
        >>> cache = cache.write(1, ops.ones((1, 1, 1, 2)))
        >>> ops.convert_to_numpy(cache.tensor)[0, 0, :, 0].tolist()
        [[0.0, 0.0], [1.0, 1.0], [0.0, 0.0]]
    """

    tensor: Tensor

    @property
    def shape(self) -> tuple:
        """Shape of the tensor, (B, H, L, K, D/H)."""
        return self.tensor.shape

    @property
    def dtype(self) -> str:
        """Data type of the tensor."""
        return self.tensor.dtype

    def write(self, position: Tensor, values: Tensor) -> "Cache":
        """Sets one position, on every backend and under XLA.

        On a CPU this copies the cache. (`keras.ops.slice_update` would be an XLA-only operation
        under TensorFlow.)

        Args:
            position: Int scalar, below L.
            values: Float tensor (B, H, K, D/H).

        Returns:
            The cache with this position set.
        """
        batch, heads, length, beams, size = ops.shape(self.tensor)
        rows = batch * heads
        places = ops.stack(
            [ops.arange(rows, dtype="int32"), ops.full((rows,), position, dtype="int32")], axis=1
        )
        written = ops.scatter_update(
            ops.reshape(self.tensor, (-1, length, beams * size)),
            places,
            ops.reshape(values, (-1, beams * size)),
        )
        return type(self)(ops.reshape(written, (batch, heads, length, beams, size)))


@saving.register_keras_serializable("tfsum")
class MultiHeadAttention(Layer):
    """Multi-head attention: softmax(Q K^T / sqrt(D/H)) V in H heads, concatenated and projected.

    Self-attention if only `query` is given, cross-attention with `value`. Heads are contiguous
    slices of the D columns, as in the original BERT and BertSum, whose weights can be loaded
    without reordering.

    Args:
        num_heads: Number of attention heads H, a divisor of `d_model`.
        d_model: Size D of the queries, keys, values and the output.
        dropout: Fraction of the attention weights set to 0 in training.
        kernel_initializer: Initializer of the four kernels (D, D).

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
        kernel_initializer: str | initializers.Initializer = "glorot_uniform",
        **kwargs: object,
    ):
        super().__init__(**kwargs)
        require(
            num_heads > 0 and d_model % num_heads == 0,
            f"MultiHeadAttention: {num_heads} heads do not divide a width of {d_model}; "
            "choose num_heads among the divisors of d_model",
        )
        self.num_heads, self.d_model, self.dropout = num_heads, d_model, dropout
        initializer = initializers.get(kernel_initializer)

        def dense(name):
            # Cloned: one initializer object would give all four kernels the same values.
            return layers.Dense(
                d_model,
                kernel_initializer=initializer.clone(),
                name=name,
                dtype=self.dtype_policy,
            )

        self.query, self.key, self.value = dense("query"), dense("key"), dense("value")
        self.output_projection = dense("output")
        self.drop = Dropout(dropout, name="dropout", dtype=self.dtype_policy)

    def build(self, input_shape: object = None) -> None:
        for layer in (self.query, self.key, self.value, self.output_projection):
            layer.build((None, None, self.d_model))

    def call(
        self,
        query: Tensor,
        value: Tensor | None = None,
        attention_mask: Tensor | None = None,
        key_mask: Tensor | None = None,
        training: bool | None = None,
        return_attention_weights: bool = False,
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Attends from each query to the visible values.

        A query without a visible value gets a finite result, the mean of all values.

        Args:
            query: Float tensor (B, Tq, D).
            value: Float tensor (B, Tk, D), projected to keys and values; `query` by default.
            attention_mask: Bool tensor (B, Tq, Tk) or (B, H, Tq, Tk), True where a query may see a
                value; axes of size 1 are broadcast. Such as `look_ahead_mask(T)`.
            key_mask: Bool tensor (B, Tk), True at the values that all queries of a row may see.
                Such as `padding_mask(ids)`.
            training: Whether dropout is applied.
            return_attention_weights: Whether the attention weights, after dropout, are returned
                too.

        Returns:
            Float tensor (B, Tq, D), or a tuple of it and the attention weights (B, H, Tq, Tk).

        Raises:
            Error: An input is not (B, T, D), or a mask has another shape, such as a padding mask
                given as `attention_mask`, or other values than 0 and 1.
        """
        if value is None:
            value = query
        self.check_ranks(query=query, value=value)
        (rows, queries, _), (_, keys, _) = query.shape, value.shape
        mask = combine_masks(attention_mask, key_mask, (rows, self.num_heads, queries, keys))

        weights_used = return_attention_weights or (training and self.dropout)
        if not weights_used and self._kernel_takes(query, value, training):
            context = self._attend_fused(query, value, mask)
        else:
            keys, values = self.keys_and_values(value)  # (B, H, Tk, D/H) each
            context, weights = self._attend(
                self._heads(self._scaled_query(query)),
                ops.swapaxes(keys, 2, 3),
                values,
                mask,
                training,
            )
            context = ops.swapaxes(context, 1, 2)  # (B, H, Tq, D/H) -> (B, Tq, H, D/H)

        output = self.output_projection(ops.reshape(context, ops.shape(query)))
        if return_attention_weights:
            return (output, weights)
        return output

    def within(self, x: Tensor, rows: Any) -> Tensor:
        """Self-attention in packed rows, one row at a time; equals `call` with a key mask, without
        dropout.

        Args:
            x: Float tensor (N, D), packed by `rows`.
            rows: The `Encoder.packing` of the rows.

        Returns:
            Float tensor (N, D).
        """

        # What hides a position is one more feature of its keys, which is 1 in all queries: a mask
        # that is added to the scores would be one more pass over the largest tensor here.
        hidden = additive_mask(rows.visible)
        query = self._with_feature(self._scaled_query(x), ops.ones_like(hidden))
        keys = self._with_feature(self.key(x), hidden)
        values = ops.reshape(self.value(x), (-1, self.num_heads, self.d_model // self.num_heads))

        def attend(*row: Tensor) -> Tensor:
            query, keys, values = (ops.swapaxes(part, 0, 1) for part in row)  # (H, t, .)
            keys = ops.swapaxes(keys, 1, 2)
            context, _ = self._attend(query, keys, values, None, training=False)
            return ops.reshape(ops.swapaxes(context, 0, 1), (-1, self.d_model))

        context = rows.attend(attend, query, keys, values)
        return self.output_projection(context)

    def _with_feature(self, x: Tensor, feature: Tensor) -> Tensor:
        """Adds a number for each position, (N,), to all heads: (N, D) -> (N, H, D/H + 1)."""
        x = ops.reshape(x, (-1, self.num_heads, self.d_model // self.num_heads))
        feature = ops.cast(feature, x.dtype)[:, None, None] * ops.ones(
            (1, self.num_heads, 1), x.dtype
        )
        return ops.concatenate([x, feature], axis=-1)

    def keys_and_values(self, value: Tensor) -> tuple[Tensor, Tensor]:
        """Projects the values to attend to: (B, Tk, D) -> keys and values, each (B, H, Tk, D/H)."""
        return self._heads(self.key(value)), self._heads(self.value(value))

    def extend(
        self, x: Tensor, position: Tensor, keys: Cache, values: Cache
    ) -> tuple[Cache, Cache]:
        """Writes the keys and the values of one position into the caches of `DecoderLayer.start`.

        Args:
            x: Float tensor (B * K, D), the vectors of that position, with the hypotheses of a
                source next to each other.
            position: Int scalar, below L.
            keys, values: Caches (B, H, L, K, D/H).

        Returns:
            Both caches with that position set.
        """
        num_beams = keys.shape[3]
        return (
            keys.write(position, self._by_head(self.key(x), num_beams)),
            values.write(position, self._by_head(self.value(x), num_beams)),
        )

    def step(
        self, x: Tensor, num_beams: int, keys: Tensor, values: Tensor, attention_mask: Tensor
    ) -> Tensor:
        """Attends from one position of each hypothesis to cached keys; equals `call` there.

        Args:
            x: Float tensor (B * K, D), the vectors of that position, with the hypotheses of a
                source next to each other.
            num_beams: K, hypotheses per source, an int.
            keys: Float tensor (B, H, D/H, Tk), transposed; the K hypotheses of a source share keys
                and values.
            values: Float tensor (B, H, Tk, D/H).
            attention_mask: Bool tensor that broadcasts to (B, H, K, Tk), True is visible.

        Returns:
            Float tensor (B * K, D).
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
        """Computes softmax(Q K^T) V, the queries being scaled already.

        Queries (B, H, Tq, D/H), keys (B, H, D/H, Tk), values (B, H, Tk, D/H) -> contexts
        (B, H, Tq, D/H) and weights (B, H, Tq, Tk).
        """
        scores = ops.cast(ops.matmul(query, keys), "float32")
        if attention_mask is not None:
            scores = scores + additive_mask(attention_mask)

        weights = ops.cast(ops.softmax(scores), self.compute_dtype)
        weights = self.drop(weights, training=training)
        return ops.matmul(weights, values), weights

    def _kernel_takes(self, query, value, training):
        """Whether a GPU's kernel can compute attention: cuDNN's, which JAX calls."""
        if backend.backend() != "jax" or self.compute_dtype != "bfloat16":
            return False

        # With a mask the kernel has a gradient for even lengths alone.
        even = query.shape[1] % 2 == 0 and value.shape[1] % 2 == 0
        return (even or not training) and distribution.list_devices()[0].startswith("gpu")

    def _attend_fused(self, query, value, attention_mask):
        """Computes what `_attend` does in one kernel, without writing the scores to memory.

        For long rows reading and writing them takes most of an encoder's time on a GPU. Queries
        (B, Tq, D) and values (B, Tk, D) before their projection -> contexts (B, Tq, H, D/H).
        """
        query_heads = self._split(self._scaled_query(query))
        if attention_mask is not None:
            # A query that sees nothing becomes 0 and sees everything, which gives the mean of all
            # values; the kernel's gradient at its hidden scores would be NaN.
            sees = ops.any(attention_mask, axis=-1, keepdims=True)  # (B, 1 or H, 1 or Tq, 1)
            query_heads = query_heads * ops.cast(ops.swapaxes(sees, 1, 2), query_heads.dtype)
            attention_mask = ops.logical_or(attention_mask, ops.logical_not(sees))

            # Of the axes of size 1, the kernel broadcasts those of the rows and heads.
            shape = (*attention_mask.shape[:2], query.shape[1], value.shape[1])
            attention_mask = ops.broadcast_to(attention_mask, shape)

        return ops.dot_product_attention(
            query_heads,
            self._split(self.key(value)),
            self._split(self.value(value)),
            mask=attention_mask,
            scale=1.0,
        )

    def _heads(self, x):
        """(B, T, D) -> (B, H, T, D/H)."""
        return ops.swapaxes(self._split(x), 1, 2)

    def _split(self, x):
        """(B, T, D) -> (B, T, H, D/H)."""
        batch, length, _ = ops.shape(x)
        return ops.reshape(x, (batch, length, self.num_heads, self.d_model // self.num_heads))
