"""The decoder of the Transformer, for whole targets and for one token at a time."""

from typing import Any

from keras import DTypePolicy, ops, saving

from tfsum.layers.masks import combine_masks, look_ahead_mask
from tfsum.layers.multi_head_attention import Cache
from tfsum.layers.stack import ResidualLayer, Stack
from tfsum.tensor import Tensor


@saving.register_keras_serializable("tfsum")
class DecoderLayer(ResidualLayer):
    """Masked self-attention, cross-attention and a feed-forward network.

    Each of the three sublayers has its own weights, residual connection and normalization.
    Post-norm (the paper's): x = LN(x + sublayer(x)). Pre-norm: x = x + sublayer(LN(x)).

    The arguments are those of `EncoderLayer`; those of attention apply to both attentions, except
    `normalize_attention_input`, which is about self-attention.

    Raises:
        Error: `norm` is neither "post" nor "pre".

    Source: Vaswani et al. 2017, "Attention Is All You Need", section 3.1.

    Example:
        >>> from keras import ops
        >>> from tfsum.layers import DecoderLayer
        >>> layer = DecoderLayer(d_model=8, num_heads=2, feed_forward_width=16)
        >>> tuple(layer(ops.ones((1, 3, 8)), ops.ones((1, 5, 8))).shape)
        (1, 3, 8)
    """

    sublayers = ("self_attention", "cross_attention", "feed_forward")

    def call(
        self,
        x: Tensor,
        source: Tensor,
        attention_mask: Tensor | None = None,
        key_mask: Tensor | None = None,
        source_mask: Tensor | None = None,
        training: bool | None = None,
        return_attention_weights: bool = False,
    ) -> Tensor | tuple[Tensor, Tensor, Tensor]:
        """Applies the layer to whole targets.

        Args:
            x: Float tensor (B, T, D). A look-ahead mask is always applied.
            source: Float tensor (B, Ts, D), the output of the encoder.
            attention_mask: Bool tensor (B, T, T) or (B, H, T, T), True where a position of the
                target may see another.
            key_mask: Bool tensor (B, T), True at the positions of the target that later ones may
                see; such as `padding_mask(target_ids)`.
            source_mask: Bool tensor (B, Ts), True at the positions of the source that the target
                may see; such as `padding_mask(source_ids)`.
            training: Whether dropout is applied.
            return_attention_weights: Whether the weights of both attentions are returned too.

        Returns:
            Float tensor (B, T, D), or a tuple of it and the weights of self-attention (B, H, T, T)
            and of cross-attention (B, H, T, Ts).
        """
        visible = look_ahead_mask(ops.shape(x)[1])  # (1, T, T)
        self.check_ranks(x=x, source=source)
        rows, length, _ = x.shape
        heads = self.self_attention.num_heads
        mask = combine_masks(attention_mask, key_mask, (rows, heads, length, length))
        if mask is not None:
            visible = ops.logical_and(visible, mask)  # (B, 1 or H, T, T)

        # Masked self-attention: (B, T, D) -> (B, T, D), weights (B, H, T, T)
        x, own = self.attend(
            "self_attention",
            x,
            attention_mask=visible,
            training=training,
            return_attention_weights=return_attention_weights,
        )

        # Cross-attention from target to source: (B, T, D) -> (B, T, D), weights (B, H, T, Ts)
        x, cross = self.attend(
            "cross_attention",
            x,
            source,
            key_mask=source_mask,
            training=training,
            return_attention_weights=return_attention_weights,
        )

        # The feed-forward network at each position: (B, T, D) -> (B, T, D)
        x = self.feed(x, training)

        if return_attention_weights:
            return (x, own, cross)
        return x

    def start(self, source: Tensor, max_length: int, num_beams: int) -> dict[str, Cache | Tensor]:
        """Creates the caches of `step`: projects the source once and allocates all positions.

        Args:
            source: Float tensor (B, Ts, D), the output of the encoder.
            max_length: L, the number of positions, an int.
            num_beams: K, the number of hypotheses per source, an int.

        Returns:
            Dict of `self_keys`, `self_values`, each a `Cache` (B, H, L, K, D/H) of zeros,
            `cross_keys` (B, H, D/H, Ts), transposed once for all steps, and `cross_values` (B, H,
            Ts, D/H).
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
            x: Float tensor (B * K, D), one vector per hypothesis, with those of a source next to
                each other.
            position: Int scalar, the position of `x` in its hypothesis, below L.
            cache: Dict of `start` with the earlier positions filled in.
            visible: Bool tensor that broadcasts to (B, H, K, L * K), True is visible.
            source_mask: Bool tensor that broadcasts to (B, H, K, Ts), True is visible.

        Returns:
            Float tensor (B * K, D), and the caches with this position filled in.
        """
        # Masked self-attention, on all L * K places of the caches
        y = self.before("self_attention", x)
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
        x = self.after("self_attention", x, y, training=False)

        # Cross-attention to the source
        y = self.cross_attention.step(
            self.before("cross_attention", x),
            num_beams,
            cache["cross_keys"],
            cache["cross_values"],
            source_mask,
        )
        x = self.after("cross_attention", x, y, training=False)

        # The feed-forward network
        x = self.feed(x, training=False)
        return x, {**cache, "self_keys": keys, "self_values": values}


@saving.register_keras_serializable("tfsum")
class Decoder(Stack):
    """A stack of decoder layers; a pre-norm stack ends with a normalization.

    Args:
        num_layers: Number of `DecoderLayer`s.
        **layer: Arguments of every `DecoderLayer`.

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
        dtype: str | DTypePolicy | None = None,
        trainable: bool = True,
        **layer: Any,
    ):
        super().__init__(name=name, dtype=dtype, trainable=trainable)
        self.decoder_layers = [
            DecoderLayer(**layer, name=f"layer_{i}", dtype=self.dtype_policy)
            for i in range(num_layers)
        ]
        self.end_stack(**layer)

    def stacked(self) -> list:
        return self.decoder_layers

    def call(
        self,
        x: Tensor,
        source: Tensor,
        attention_mask: Tensor | None = None,
        key_mask: Tensor | None = None,
        source_mask: Tensor | None = None,
        training: bool | None = None,
        return_all: bool = False,
    ) -> Tensor | tuple[Tensor, list[Tensor], list[Tensor], list[Tensor]]:
        """Decodes whole targets.

        Args:
            x: Float tensor (B, T, D). A look-ahead mask is always applied.
            source: Float tensor (B, Ts, D), the output of the encoder.
            attention_mask: Bool tensor (B, T, T) or (B, H, T, T), True where a position of the
                target may see another.
            key_mask: Bool tensor (B, T), True at the positions of the target that later ones may
                see; such as `padding_mask(target_ids)`.
            source_mask: Bool tensor (B, Ts), True at the positions of the source that the target
                may see; such as `padding_mask(source_ids)`.
            training: Whether dropout is applied.
            return_all: Whether the outputs and attention weights of every layer are returned too.

        Returns:
            Float tensor (B, T, D), or a tuple of it and three lists: the input and each layer's
            output (B, T, D), before the final normalization of a pre-norm stack; each layer's
            weights of self-attention (B, H, T, T); and of cross-attention (B, H, T, Ts).
        """
        x, outputs, attentions = self.follow(
            x,
            source,
            attention_mask=attention_mask,
            key_mask=key_mask,
            source_mask=source_mask,
            training=training,
            return_attention_weights=return_all,
        )
        if return_all:
            return (x, outputs, [own for own, _ in attentions], [cross for _, cross in attentions])
        return x

    def start(
        self, source: Tensor, max_length: int, num_beams: int = 1
    ) -> tuple[Tensor, dict[str, dict]]:
        """Creates the state of `step` for `num_beams` hypotheses per source.

        A source has K slots. The keys and values of a step stay in the slot that the hypothesis had
        at that step; `slots` holds the slot of each position of a hypothesis. To reorder or
        duplicate hypotheses, reorder the rows of `slots`: no key or value is moved.

        Args:
            source: Float tensor (B, Ts, D), the output of the encoder.
            max_length: L, the number of positions, an int.
            num_beams: K, the number of hypotheses per source, an int.

        Returns:
            `slots` (B * K, L) int32, -1 at positions not decoded yet, and a dict of layer name to
            its caches.
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
            x: Float tensor (B * K, D), one vector per hypothesis, with those of a source next to
                each other.
            position: Int scalar, the position of `x` in its hypothesis, below L.
            slots: Int32 tensor (B * K, L) of `start` with the earlier positions filled in.
            caches: Dict of `start` with the earlier positions filled in.
            source_mask: Bool tensor (B, Ts), True at real source tokens.

        Returns:
            Float tensor (B * K, D), the slots and the caches with this position filled in.
        """
        caches = dict(caches)
        _, _, length, num_beams, _ = caches[self.decoder_layers[0].name]["self_keys"].shape

        # Each hypothesis writes into its own slot; it sees the slots of its earlier positions.
        slot = ops.arange(num_beams, dtype="int32")
        slots = ops.where(
            ops.arange(length) == position,
            ops.tile(slot, ops.shape(source_mask)[:1])[:, None],
            slots,
        )
        visible = ops.reshape(slots[:, :, None] == slot, (-1, 1, num_beams, length * num_beams))

        source_mask = source_mask[:, None, None, :]  # (B, 1, 1, Ts)
        for layer in self.decoder_layers:
            x, caches[layer.name] = layer.step(
                x, position, caches[layer.name], visible, source_mask
            )
        return self.final_norm(x), slots, caches
