"""The decoder of the Transformer, post-norm or pre-norm, for whole targets and for one token at a time."""

from typing import Any

import keras
from keras import ops

from tfsum.errors import Error
from tfsum.layers.cache import Cache
from tfsum.layers.dropout import Dropout
from tfsum.layers.masks import look_ahead_mask
from tfsum.layers.multi_head_attention import MultiHeadAttention
from tfsum.layers.positionwise_feed_forward import PositionwiseFeedForward
from tfsum.tensor import Tensor


@keras.saving.register_keras_serializable("tfsum")
class DecoderLayer(keras.layers.Layer):
    """Masked self-attention, cross-attention and a feed-forward network (Vaswani et al. 2017, section 3.1).

    Each of the three sublayers has its own weights, residual connection and normalization.
    Post-norm (the paper's): x = LN(x + sublayer(x)). Pre-norm: x = x + sublayer(LN(x)).

    The arguments are those of `EncoderLayer`, except `normalize_attention_input`; those of attention apply to both
    attentions.

    Raises:
        Error: `norm` is neither "post" nor "pre".

    Example:
        >>> from keras import ops
        >>> from tfsum.layers import DecoderLayer
        >>> layer = DecoderLayer(d_model=8, num_heads=2, feed_forward_width=16)
        >>> tuple(layer(ops.ones((1, 3, 8)), ops.ones((1, 5, 8))).shape)
        (1, 3, 8)
    """

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
        kernel_initializer: Any = "glorot_uniform",
        **kwargs: Any,
    ):
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
            return MultiHeadAttention(
                num_heads,
                d_model,
                attention_dropout,
                self.kernel_initializer,
                name=name,
                dtype=policy,
            )

        def normalization(name):
            return keras.layers.LayerNormalization(epsilon=epsilon, name=name, dtype=policy)

        self.self_attention = attention("self_attention")
        self.cross_attention = attention("cross_attention")
        self.feed_forward = PositionwiseFeedForward(
            d_model,
            feed_forward_width,
            activation,
            activation_dropout,
            self.kernel_initializer,
            name="feed_forward",
            dtype=policy,
        )
        self.self_attention_norm = normalization("self_attention_norm")
        self.cross_attention_norm = normalization("cross_attention_norm")
        self.feed_forward_norm = normalization("feed_forward_norm")
        self.self_attention_drop = Dropout(dropout, name="self_attention_dropout", dtype=policy)
        self.cross_attention_drop = Dropout(dropout, name="cross_attention_dropout", dtype=policy)
        self.feed_forward_drop = Dropout(dropout, name="feed_forward_dropout", dtype=policy)

    def build(self, input_shape: Any = None) -> None:
        for layer in (
            self.self_attention,
            self.self_attention_norm,
            self.cross_attention,
            self.cross_attention_norm,
            self.feed_forward,
            self.feed_forward_norm,
        ):
            layer.build((None, None, self.d_model))
        self.built = True

    def call(
        self,
        x: Tensor,
        source: Tensor,
        attention_mask: Tensor | None = None,
        source_mask: Tensor | None = None,
        training: bool | None = None,
        return_attention_weights: bool = False,
    ) -> Tensor | tuple[Tensor, Tensor, Tensor]:
        """Applies the layer to whole targets.

        Args:
            x: float tensor (B, T, D). A causal mask is always applied.
            source: float tensor (B, Ts, D), the output of the encoder.
            attention_mask: bool tensor that broadcasts to (B, H, T, T), True is visible; hides padding.
            source_mask: bool tensor that broadcasts to (B, H, T, Ts), True is visible.
            return_attention_weights: also return the weights of both attentions.

        Returns:
            float tensor (B, T, D), or a tuple of it and the weights of self-attention (B, H, T, T) and of
            cross-attention (B, H, T, Ts).
        """
        visible = look_ahead_mask(ops.shape(x)[1])
        visible = visible if attention_mask is None else ops.logical_and(visible, attention_mask)
        y, own = self.self_attention(
            self._before(x, self.self_attention_norm),
            attention_mask=visible,
            training=training,
            return_attention_weights=True,
        )
        x = self._after(x, self.self_attention_drop(y, training=training), self.self_attention_norm)
        y, cross = self.cross_attention(
            self._before(x, self.cross_attention_norm),
            source,
            attention_mask=source_mask,
            training=training,
            return_attention_weights=True,
        )
        x = self._after(
            x, self.cross_attention_drop(y, training=training), self.cross_attention_norm
        )
        y = self.feed_forward(self._before(x, self.feed_forward_norm), training=training)
        x = self._after(x, self.feed_forward_drop(y, training=training), self.feed_forward_norm)
        return (x, own, cross) if return_attention_weights else x

    def start(self, source: Tensor, max_length: int, num_beams: int) -> dict[str, Cache | Tensor]:
        """Creates the caches of `step`: projects the source once and allocates `max_length` positions.

        Args:
            source: float tensor (B, Ts, D), the output of the encoder.
            max_length: L, int.
            num_beams: K, int, hypotheses per source.

        Returns:
            dict of `self_keys`, `self_values`, each a `Cache` (B, H, L, K, D/H) of zeros, `cross_keys`
            (B, H, D/H, Ts), transposed once for all steps, and `cross_values` (B, H, Ts, D/H).
        """
        keys, values = self.cross_attention.keys_and_values(source)
        batch, heads, _, size = ops.shape(keys)
        room = (batch, heads, max_length, num_beams, size)
        return {
            "self_keys": Cache(ops.zeros(room, keys.dtype)),
            "self_values": Cache(ops.zeros(room, keys.dtype)),
            "cross_keys": ops.swapaxes(keys, 2, 3),
            "cross_values": values,
        }

    def step(
        self,
        x: Tensor,
        position: Tensor,
        cache: dict[str, Cache | Tensor],
        visible: Tensor,
        source_mask: Tensor,
    ) -> tuple[Tensor, dict[str, Cache | Tensor]]:
        """Decodes one position of each hypothesis; equals `call` at that position.

        Args:
            x: float tensor (B * K, D), one vector per hypothesis, with those of a source next to each other.
            position: int scalar, the position of `x` in its hypothesis, below L.
            cache: dict of `start` with the earlier positions filled in.
            visible: bool tensor that broadcasts to (B, H, K, L * K), True is visible.
            source_mask: bool tensor that broadcasts to (B, H, K, Ts), True is visible.

        Returns:
            float tensor (B * K, D), and the caches with this position filled in.
        """
        y = self._before(x, self.self_attention_norm)
        keys, values = self.self_attention.extend(
            y, position, cache["self_keys"], cache["self_values"]
        )
        _, heads, length, num_beams, size = keys.shape
        flat = (-1, heads, length * num_beams, size)
        y = self.self_attention.step(
            y,
            num_beams,
            ops.swapaxes(ops.reshape(keys.tensor, flat), 2, 3),
            ops.reshape(values.tensor, flat),
            visible,
        )
        x = self._after(x, y, self.self_attention_norm)
        y = self._before(x, self.cross_attention_norm)
        y = self.cross_attention.step(
            y, num_beams, cache["cross_keys"], cache["cross_values"], source_mask
        )
        x = self._after(x, y, self.cross_attention_norm)
        x = self._after(
            x, self.feed_forward(self._before(x, self.feed_forward_norm)), self.feed_forward_norm
        )
        return x, {**cache, "self_keys": keys, "self_values": values}

    def _before(self, x, norm):
        """The input of a sublayer."""
        return norm(x) if self.norm == "pre" else x

    def _after(self, x, y, norm):
        """Adds the output `y` of a sublayer to the residual `x`."""
        return x + y if self.norm == "pre" else norm(x + y)

    def get_config(self) -> dict:
        initializer = keras.initializers.serialize(self.kernel_initializer)
        return {**super().get_config(), **self._config, "kernel_initializer": initializer}


@keras.saving.register_keras_serializable("tfsum")
class Decoder(keras.layers.Layer):
    """A stack of decoder layers; a pre-norm stack ends with a normalization.

    Args:
        num_layers: number of `DecoderLayer`s.
        **layer: the arguments of every `DecoderLayer`.

    Example:
        >>> from keras import ops
        >>> from tfsum.layers import Decoder
        >>> decoder = Decoder(2, d_model=8, num_heads=2, feed_forward_width=16)
        >>> tuple(decoder(ops.ones((1, 3, 8)), ops.ones((1, 5, 8))).shape)
        (1, 3, 8)
    """

    def __init__(
        self,
        num_layers: int,
        name: str | None = None,
        dtype: Any = None,
        trainable: bool = True,
        **layer: Any,
    ):
        super().__init__(name=name, dtype=dtype, trainable=trainable)
        self.num_layers = num_layers
        self._layer_config = dict(layer)
        self.decoder_layers = [
            DecoderLayer(**layer, name=f"layer_{i}", dtype=self.dtype_policy)
            for i in range(num_layers)
        ]
        self.final_norm = None
        if layer.get("norm", "post") == "pre":
            self.final_norm = keras.layers.LayerNormalization(
                epsilon=layer.get("epsilon", 1e-6), name="final_norm", dtype=self.dtype_policy
            )

    def build(self, input_shape: Any = None) -> None:
        for layer in self.decoder_layers:
            layer.build(None)
        if self.final_norm is not None:
            self.final_norm.build((None, None, self._layer_config["d_model"]))
        self.built = True

    def call(
        self,
        x: Tensor,
        source: Tensor,
        attention_mask: Tensor | None = None,
        source_mask: Tensor | None = None,
        training: bool | None = None,
        return_all: bool = False,
    ) -> Tensor | tuple[Tensor, list[Tensor], list[Tensor], list[Tensor]]:
        """Decodes whole targets.

        Args:
            x, source, attention_mask, source_mask: as in `DecoderLayer.call`.
            return_all: also return the outputs and attention weights of every layer.

        Returns:
            float tensor (B, T, D), or a tuple of it and three lists: the input and each layer's output (B, T, D),
            before the final normalization of a pre-norm stack; each layer's weights of self-attention
            (B, H, T, T); and of cross-attention (B, H, T, Ts).
        """
        outputs, attentions, cross_attentions = [x], [], []
        for layer in self.decoder_layers:
            x, own, cross = layer(
                x,
                source,
                attention_mask=attention_mask,
                source_mask=source_mask,
                training=training,
                return_attention_weights=True,
            )
            outputs.append(x)
            attentions.append(own)
            cross_attentions.append(cross)
        x = x if self.final_norm is None else self.final_norm(x)
        return (x, outputs, attentions, cross_attentions) if return_all else x

    def start(
        self, source: Tensor, max_length: int, num_beams: int = 1
    ) -> tuple[Tensor, dict[str, dict]]:
        """Creates the state of `step` for `num_beams` hypotheses per source.

        A source has K slots. The keys and values of a step stay in the slot that the hypothesis had at that step;
        `slots` holds the slot of each position of a hypothesis. To reorder or duplicate hypotheses, reorder the rows
        of `slots`: no key or value is moved.

        Args:
            source, max_length, num_beams: as in `DecoderLayer.start`.

        Returns:
            `slots` (B * K, L) int32, -1 at positions not decoded yet, and a dict of layer name to its caches.
        """
        slots = ops.full((ops.shape(source)[0] * num_beams, max_length), -1, dtype="int32")
        return slots, {
            layer.name: layer.start(source, max_length, num_beams) for layer in self.decoder_layers
        }

    def step(
        self,
        x: Tensor,
        position: Tensor,
        slots: Tensor,
        caches: dict[str, dict],
        source_mask: Tensor,
    ) -> tuple[Tensor, Tensor, dict[str, dict]]:
        """Decodes one position of each hypothesis; equals `call` at that position.

        Args:
            x: float tensor (B * K, D), one vector per hypothesis, with those of a source next to each other.
            position: int scalar, the position of `x` in its hypothesis, below L.
            slots, caches: those of `start` with the earlier positions filled in.
            source_mask: bool tensor (B, Ts), True at real source tokens.

        Returns:
            float tensor (B * K, D), the slots and the caches with this position filled in.
        """
        caches, batch = dict(caches), ops.shape(source_mask)[0]
        _, _, length, num_beams, _ = caches[self.decoder_layers[0].name]["self_keys"].shape
        slot = ops.arange(num_beams, dtype="int32")
        slots = ops.where(ops.arange(length) == position, ops.tile(slot, (batch,))[:, None], slots)
        visible = ops.reshape(slots[:, :, None] == slot, (-1, 1, num_beams, length * num_beams))
        source_mask = source_mask[:, None, None, :]
        for layer in self.decoder_layers:
            x, caches[layer.name] = layer.step(
                x, position, caches[layer.name], visible, source_mask
            )
        return x if self.final_norm is None else self.final_norm(x), slots, caches

    def get_config(self) -> dict:
        layer = dict(self._layer_config)
        if isinstance(layer.get("kernel_initializer"), keras.initializers.Initializer):
            layer["kernel_initializer"] = keras.initializers.serialize(layer["kernel_initializer"])
        return {**super().get_config(), "num_layers": self.num_layers, **layer}
