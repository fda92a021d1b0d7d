"""The encoder of the Transformer, post-norm or pre-norm."""

from typing import Any

import keras

from tfsum.errors import Error
from tfsum.layers.dropout import Dropout
from tfsum.layers.multi_head_attention import MultiHeadAttention
from tfsum.layers.positionwise_feed_forward import PositionwiseFeedForward
from tfsum.tensor import Tensor


@keras.saving.register_keras_serializable("tfsum")
class EncoderLayer(keras.layers.Layer):
    """Self-attention, then the feed-forward network, each with a residual connection and a normalization.

    Post-norm (Vaswani et al. 2017; BERT): x = LN(x + attention(x)); x = LN(x + feed_forward(x)).
    Pre-norm (BertSum's inter-sentence encoder): x = x + attention(LN(x)); x = x + feed_forward(LN(x)).

    Args:
        d_model: size D of the hidden vectors.
        num_heads: H, a divisor of `d_model`.
        feed_forward_width: F, size of the intermediate layer of the feed-forward network.
        activation: activation of the feed-forward network, see `PositionwiseFeedForward`.
        norm: "post" normalizes the sum of a sublayer's output and its residual, "pre" the input of a sublayer.
        dropout: dropout rate on the outputs of attention and of the feed-forward network, before the residual.
        attention_dropout: dropout rate on the attention weights.
        activation_dropout: dropout rate inside the feed-forward network.
        epsilon: epsilon of the normalizations.
        normalize_attention_input: False omits the first normalization of a pre-norm layer, as in the first
            layer of BertSum's inter-sentence encoder (nlpyang/BertSum, `TransformerEncoderLayer`).
        kernel_initializer: initializer of every kernel.

    Raises:
        Error: `norm` is neither "post" nor "pre".

    Example:
        >>> from keras import ops
        >>> from tfsum.layers import EncoderLayer
        >>> layer = EncoderLayer(d_model=8, num_heads=2, feed_forward_width=16)
        >>> x, weights = layer(ops.ones((1, 3, 8)), return_attention_weights=True)
        >>> tuple(x.shape), tuple(weights.shape)
        ((1, 3, 8), (1, 2, 3, 3))
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
        normalize_attention_input: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        if norm not in ("post", "pre"):
            raise Error(f"EncoderLayer: norm is {norm!r}; it must be 'post' or 'pre'")
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
            "normalize_attention_input": normalize_attention_input,
        }
        self.kernel_initializer = keras.initializers.get(kernel_initializer)
        self.d_model = d_model
        self.norm = norm
        policy = self.dtype_policy
        self.attention = MultiHeadAttention(
            num_heads,
            d_model,
            attention_dropout,
            self.kernel_initializer,
            name="attention",
            dtype=policy,
        )
        self.feed_forward = PositionwiseFeedForward(
            d_model,
            feed_forward_width,
            activation,
            activation_dropout,
            self.kernel_initializer,
            name="feed_forward",
            dtype=policy,
        )
        self.attention_norm: Any = None
        if norm == "post" or normalize_attention_input:
            self.attention_norm = keras.layers.LayerNormalization(
                epsilon=epsilon, name="attention_norm", dtype=policy
            )
        self.feed_forward_norm = keras.layers.LayerNormalization(
            epsilon=epsilon, name="feed_forward_norm", dtype=policy
        )
        self.attention_drop = Dropout(dropout, name="attention_dropout", dtype=policy)
        self.feed_forward_drop = Dropout(dropout, name="feed_forward_dropout", dtype=policy)

    def build(self, input_shape: Any = None) -> None:
        for layer in (
            self.attention,
            self.attention_norm,
            self.feed_forward,
            self.feed_forward_norm,
        ):
            if layer is not None:
                layer.build((None, None, self.d_model))
        self.built = True

    def call(
        self,
        x: Tensor,
        attention_mask: Tensor | None = None,
        training: bool | None = None,
        return_attention_weights: bool = False,
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Applies the layer.

        Args:
            x: float tensor (B, T, D).
            attention_mask: bool tensor that broadcasts to (B, H, T, T), True is visible.
            return_attention_weights: also return the attention weights.

        Returns:
            float tensor (B, T, D), or a tuple of it and the attention weights (B, H, T, T).
        """
        pre = self.norm == "pre"
        a = self.attention_norm(x) if pre and self.attention_norm is not None else x
        attended, weights = self.attention(
            a, attention_mask=attention_mask, training=training, return_attention_weights=True
        )
        x = x + self.attention_drop(attended, training=training)
        x = x if pre else self.attention_norm(x)
        f = self.feed_forward(self.feed_forward_norm(x) if pre else x, training=training)
        x = x + self.feed_forward_drop(f, training=training)
        x = x if pre else self.feed_forward_norm(x)
        return (x, weights) if return_attention_weights else x

    def get_config(self) -> dict:
        initializer = keras.initializers.serialize(self.kernel_initializer)
        return {**super().get_config(), **self._config, "kernel_initializer": initializer}


@keras.saving.register_keras_serializable("tfsum")
class Encoder(keras.layers.Layer):
    """A stack of encoder layers; a pre-norm stack ends with a normalization.

    Args:
        num_layers: number of `EncoderLayer`s.
        normalize_first_input: False omits the normalization of the attention input in the first layer of a pre-norm
            stack (BertSum's inter-sentence encoder).
        **layer: the arguments of every `EncoderLayer`.

    Example:
        >>> from keras import ops
        >>> from tfsum.layers import Encoder
        >>> encoder = Encoder(2, d_model=8, num_heads=2, feed_forward_width=16)
        >>> tuple(encoder(ops.ones((1, 3, 8))).shape)
        (1, 3, 8)
    """

    def __init__(
        self,
        num_layers: int,
        normalize_first_input: bool = True,
        name: str | None = None,
        dtype: Any = None,
        trainable: bool = True,
        **layer: Any,
    ):
        super().__init__(name=name, dtype=dtype, trainable=trainable)
        self.num_layers = num_layers
        self.normalize_first_input = normalize_first_input
        self._layer_config = dict(layer)
        self.encoder_layers = [
            EncoderLayer(
                **{**layer, "normalize_attention_input": normalize_first_input or i > 0},
                name=f"layer_{i}",
                dtype=self.dtype_policy,
            )
            for i in range(num_layers)
        ]
        self.final_norm = None
        if layer.get("norm", "post") == "pre":
            self.final_norm = keras.layers.LayerNormalization(
                epsilon=layer.get("epsilon", 1e-6), name="final_norm", dtype=self.dtype_policy
            )

    def build(self, input_shape: Any = None) -> None:
        for layer in self.encoder_layers:
            layer.build(None)
        if self.final_norm is not None:
            self.final_norm.build((None, None, self._layer_config["d_model"]))
        self.built = True

    def call(
        self,
        x: Tensor,
        attention_mask: Tensor | None = None,
        training: bool | None = None,
        return_all: bool = False,
    ) -> Tensor | tuple[Tensor, list[Tensor], list[Tensor]]:
        """Encodes whole sequences.

        Args:
            x, attention_mask: as in `EncoderLayer.call`.
            return_all: also return the outputs and attention weights of every layer.

        Returns:
            float tensor (B, T, D), or a tuple of it and two lists: the input and each layer's output (B, T, D),
            before the final normalization of a pre-norm stack; each layer's attention weights (B, H, T, T).
        """
        outputs, attentions = [x], []
        for layer in self.encoder_layers:
            x, weights = layer(
                x, attention_mask=attention_mask, training=training, return_attention_weights=True
            )
            outputs.append(x)
            attentions.append(weights)
        x = x if self.final_norm is None else self.final_norm(x)
        return (x, outputs, attentions) if return_all else x

    def get_config(self) -> dict:
        layer = dict(self._layer_config)
        if isinstance(layer.get("kernel_initializer"), keras.initializers.Initializer):
            layer["kernel_initializer"] = keras.initializers.serialize(layer["kernel_initializer"])
        return {
            **super().get_config(),
            "num_layers": self.num_layers,
            "normalize_first_input": self.normalize_first_input,
            **layer,
        }
