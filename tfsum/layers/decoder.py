"""The decoder of the Transformer, in its post-norm and its pre-norm form, for whole targets and one token at a time."""

import keras
from keras import ops

from tfsum.errors import Error
from tfsum.layers.dropout import Dropout
from tfsum.layers.masks import look_ahead_mask
from tfsum.layers.multi_head_attention import MultiHeadAttention
from tfsum.layers.positionwise_feed_forward import PositionwiseFeedForward
from tfsum.layers.write_position import write_position


@keras.saving.register_keras_serializable("tfsum")
class DecoderLayer(keras.layers.Layer):
    """Masked self-attention, attention to the source, the feed-forward network (Vaswani et al. 2017, section 3.1).

    Each of the three sublayers has weights, a residual and a normalization of its own.
    Post-norm (the paper's): x = LN(x + sublayer(x)). Pre-norm: x = x + sublayer(LN(x)).

    The arguments are those of `EncoderLayer`, without `normalize_attention_input`; what they say of attention holds
    for both attentions.

    Raises:
        Error: `norm` is neither "post" nor "pre".
    """

    def __init__(self, d_model: int, num_heads: int, feed_forward_width: int, activation: str = "relu",
                 norm: str = "post", dropout: float = 0.1, attention_dropout: float = 0.0,
                 activation_dropout: float = 0.0, epsilon: float = 1e-6, kernel_initializer="glorot_uniform",
                 **kwargs):
        super().__init__(**kwargs)
        if norm not in ("post", "pre"):
            raise Error(f"DecoderLayer: norm is {norm!r}; it must be 'post' or 'pre'")
        self._config = {
            "d_model": d_model,
            "num_heads": num_heads,
            "feed_forward_width": feed_forward_width,
            "activation": activation,
            "norm": norm,
            "dropout": dropout,
            "attention_dropout": attention_dropout,
            "activation_dropout": activation_dropout,
            "epsilon": epsilon,
        }
        self.kernel_initializer = keras.initializers.get(kernel_initializer)
        self.d_model = d_model
        self.norm = norm
        policy = self.dtype_policy

        def attention(name):
            return MultiHeadAttention(num_heads, d_model, attention_dropout, self.kernel_initializer, name=name,
                                      dtype=policy)

        def normalization(name):
            return keras.layers.LayerNormalization(epsilon=epsilon, name=name, dtype=policy)

        self.self_attention = attention("self_attention")
        self.cross_attention = attention("cross_attention")
        self.feed_forward = PositionwiseFeedForward(d_model, feed_forward_width, activation, activation_dropout,
                                                    self.kernel_initializer, name="feed_forward", dtype=policy)
        self.self_attention_norm = normalization("self_attention_norm")
        self.cross_attention_norm = normalization("cross_attention_norm")
        self.feed_forward_norm = normalization("feed_forward_norm")
        self.self_attention_drop = Dropout(dropout, name="self_attention_dropout", dtype=policy)
        self.cross_attention_drop = Dropout(dropout, name="cross_attention_dropout", dtype=policy)
        self.feed_forward_drop = Dropout(dropout, name="feed_forward_dropout", dtype=policy)

    def build(self, input_shape=None):
        for layer in (self.self_attention, self.self_attention_norm, self.cross_attention,
                      self.cross_attention_norm, self.feed_forward, self.feed_forward_norm):
            layer.build((None, None, self.d_model))
        self.built = True

    def call(self, x, source, attention_mask=None, source_mask=None, training=None, return_attention_weights=False):
        """Decodes one layer further.

        Args:
            x: float tensor (B, T, D). A position sees itself and what came before it, whatever the masks.
            source: float tensor (B, Ts, D), what the encoder gave.
            attention_mask: bool tensor that broadcasts to (B, H, T, T), True is visible; hides padding.
            source_mask: bool tensor that broadcasts to (B, H, T, Ts), True is visible.
            return_attention_weights: also return the weights of both attentions.

        Returns:
            float tensor (B, T, D), or with it the weights of self-attention (B, H, T, T) and of cross-attention
            (B, H, T, Ts).
        """
        visible = look_ahead_mask(ops.shape(x)[1])
        visible = visible if attention_mask is None else ops.logical_and(visible, attention_mask)
        y, own = self.self_attention(self._before(x, self.self_attention_norm), attention_mask=visible,
                                     training=training, return_attention_weights=True)
        x = self._after(x, self.self_attention_drop(y, training=training), self.self_attention_norm)
        y, cross = self.cross_attention(self._before(x, self.cross_attention_norm), source,
                                        attention_mask=source_mask, training=training, return_attention_weights=True)
        x = self._after(x, self.cross_attention_drop(y, training=training), self.cross_attention_norm)
        y = self.feed_forward(self._before(x, self.feed_forward_norm), training=training)
        x = self._after(x, self.feed_forward_drop(y, training=training), self.feed_forward_norm)
        return (x, own, cross) if return_attention_weights else x

    def start(self, source, max_length, width):
        """Prepares the cache of `step`: projects the source once, makes room for `max_length` positions.

        Args:
            source: float tensor (B, Ts, D), what the encoder gave.
            max_length: L, int.
            width: K, int, hypotheses of a source.

        Returns:
            dict of `self_keys`, `self_values` (B, H, L, K, D/H), zeros, `cross_keys` (B, H, D/H, Ts), transposed
            once for all steps, and `cross_values` (B, H, Ts, D/H).
        """
        keys, values = self.cross_attention.keys_and_values(source)
        batch, heads, _, size = ops.shape(keys)
        return {"self_keys": ops.zeros((batch, heads, max_length, width, size), keys.dtype),
                "self_values": ops.zeros((batch, heads, max_length, width, size), keys.dtype),
                "cross_keys": ops.swapaxes(keys, 2, 3), "cross_values": values}

    def step(self, x, position, cache, visible, source_mask, write):
        """Decodes one position of each hypothesis; gives what `call` gives there.

        Args:
            x: float tensor (B * K, D), a vector for each hypothesis, those of a source together.
            position: int scalar, the place of `x` in its hypothesis, below L.
            cache: dict of `start` with the positions before this one filled in.
            visible: bool tensor that broadcasts to (B, H, K, L * K), True is visible.
            source_mask: bool tensor that broadcasts to (B, H, K, Ts), True is visible.
            write: see `MultiHeadAttention.extend`.

        Returns:
            float tensor (B * K, D), and the cache with this position filled in.
        """
        y = self._before(x, self.self_attention_norm)
        keys, values = self.self_attention.extend(y, position, cache["self_keys"], cache["self_values"], write)
        _, heads, length, width, size = keys.shape
        flat = (-1, heads, length * width, size)
        y = self.self_attention.step(y, width, ops.swapaxes(ops.reshape(keys, flat), 2, 3),
                                     ops.reshape(values, flat), visible)
        x = self._after(x, y, self.self_attention_norm)
        y = self._before(x, self.cross_attention_norm)
        y = self.cross_attention.step(y, width, cache["cross_keys"], cache["cross_values"], source_mask)
        x = self._after(x, y, self.cross_attention_norm)
        x = self._after(x, self.feed_forward(self._before(x, self.feed_forward_norm)), self.feed_forward_norm)
        return x, {**cache, "self_keys": keys, "self_values": values}

    def _before(self, x, norm):
        """What a sublayer reads."""
        return norm(x) if self.norm == "pre" else x

    def _after(self, x, y, norm):
        """The residual `x` and what a sublayer made of it, `y`."""
        return x + y if self.norm == "pre" else norm(x + y)

    def get_config(self):
        initializer = keras.initializers.serialize(self.kernel_initializer)
        return {**super().get_config(), **self._config, "kernel_initializer": initializer}


@keras.saving.register_keras_serializable("tfsum")
class Decoder(keras.layers.Layer):
    """A stack of decoder layers; a pre-norm stack ends with a normalization of its own.

    Args:
        num_layers: number of `DecoderLayer`s.
        **layer: the arguments of every `DecoderLayer`.
    """

    def __init__(self, num_layers: int, name=None, dtype=None, trainable=True, **layer):
        super().__init__(name=name, dtype=dtype, trainable=trainable)
        self.num_layers = num_layers
        self._layer_config = dict(layer)
        self.decoder_layers = [DecoderLayer(**layer, name=f"layer_{i}", dtype=self.dtype_policy)
                               for i in range(num_layers)]
        self.final_norm = None
        if layer.get("norm", "post") == "pre":
            self.final_norm = keras.layers.LayerNormalization(epsilon=layer.get("epsilon", 1e-6), name="final_norm",
                                                              dtype=self.dtype_policy)

    def build(self, input_shape=None):
        for layer in self.decoder_layers:
            layer.build(None)
        if self.final_norm is not None:
            self.final_norm.build((None, None, self._layer_config["d_model"]))
        self.built = True

    def call(self, x, source, attention_mask=None, source_mask=None, training=None, return_all=False):
        """Decodes whole targets.

        Args:
            x, source, attention_mask, source_mask: as in `DecoderLayer.call`.
            return_all: also return what every layer gave.

        Returns:
            float tensor (B, T, D), or with it three lists: the input and each layer's output (B, T, D), before the
            normalization that ends a pre-norm stack; each layer's weights of self-attention (B, H, T, T), and of
            cross-attention (B, H, T, Ts).
        """
        outputs, attentions, cross_attentions = [x], [], []
        for layer in self.decoder_layers:
            x, own, cross = layer(x, source, attention_mask=attention_mask, source_mask=source_mask,
                                  training=training, return_attention_weights=True)
            outputs.append(x)
            attentions.append(own)
            cross_attentions.append(cross)
        x = x if self.final_norm is None else self.final_norm(x)
        return (x, outputs, attentions, cross_attentions) if return_all else x

    def start(self, source, max_length, width=1):
        """Prepares `step` for `width` hypotheses of each source.

        A source has K slots. What a hypothesis adds to the caches stays in the slot that it had at that step, and
        `slots` tells where each position of a hypothesis is to be found: when hypotheses change places or go on in
        two, their rows of `slots` do, and no key or value is moved.

        Args:
            source, max_length, width: as in `DecoderLayer.start`.

        Returns:
            `slots` (B * K, L) int32, -1 where a position has yet to come, and a dict of each layer's name to its cache.
        """
        slots = ops.full((ops.shape(source)[0] * width, max_length), -1, dtype="int32")
        return slots, {layer.name: layer.start(source, max_length, width) for layer in self.decoder_layers}

    def step(self, x, position, slots, caches, source_mask, write=write_position):
        """Decodes one position of each hypothesis; gives what `call` gives there.

        Args:
            x: float tensor (B * K, D), a vector for each hypothesis, those of a source together.
            position: int scalar, the place of `x` in its hypothesis, below L.
            slots, caches: those of `start` with the positions before this one filled in.
            source_mask: bool tensor (B, Ts), True at real source tokens.
            write: see `MultiHeadAttention.extend`.

        Returns:
            float tensor (B * K, D), the slots and the caches with this position filled in.
        """
        caches, batch = dict(caches), ops.shape(source_mask)[0]
        _, _, length, width, _ = caches[self.decoder_layers[0].name]["self_keys"].shape
        slot = ops.arange(width, dtype="int32")
        slots = ops.where(ops.arange(length) == position, ops.tile(slot, (batch,))[:, None], slots)
        visible = ops.reshape(slots[:, :, None] == slot, (-1, 1, width, length * width))
        source_mask = source_mask[:, None, None, :]
        for layer in self.decoder_layers:
            x, caches[layer.name] = layer.step(x, position, caches[layer.name], visible, source_mask, write)
        return x if self.final_norm is None else self.final_norm(x), slots, caches

    def get_config(self):
        layer = dict(self._layer_config)
        if isinstance(layer.get("kernel_initializer"), keras.initializers.Initializer):
            layer["kernel_initializer"] = keras.initializers.serialize(layer["kernel_initializer"])
        return {**super().get_config(), "num_layers": self.num_layers, **layer}
