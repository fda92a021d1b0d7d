"""The position-wise feed-forward network (Vaswani et al. 2017, section 3.3)."""

import math

from keras import initializers, layers, ops, saving

from tfsum.errors import require
from tfsum.layers.dropout import Dropout
from tfsum.layers.layer import Layer
from tfsum.tensor import Tensor


def gelu_erf(x: Tensor) -> Tensor:
    """Exact GELU, x Phi(x), as in Hugging Face's BERT (Hendrycks and Gimpel 2016).

    Example:
        >>> round(float(gelu_erf(1.0)), 4)
        0.8413
    """
    # Not ops.gelu: TensorFlow computes it with erfc, which is slower on CPUs, in particular with
    # its gradient.
    return 0.5 * x * (1.0 + ops.erf(x / math.sqrt(2.0)))


def gelu_tanh(x: Tensor) -> Tensor:
    """Tanh approximation of GELU, as in Google's BERT and in BertSum's inter-sentence encoder.

    Example:
        >>> round(float(gelu_tanh(1.0)), 4)
        0.8412
    """
    return ops.gelu(x, approximate=True)


ACTIVATIONS = {"gelu": gelu_erf, "gelu_tanh": gelu_tanh, "relu": ops.relu}


@saving.register_keras_serializable("tfsum")
class PositionwiseFeedForward(Layer):
    """Two dense layers applied at each position: (B, T, D) -> (B, T, D).

    Positions are independent, so that padding needs no mask.

    Args:
        d_model: Size D of input and output.
        feed_forward_width: Size F of the intermediate layer.
        activation: "relu" (the paper's), "gelu" (erf) or "gelu_tanh".
        dropout: Fraction of the F activations set to 0 in training.
        kernel_initializer: Initializer of both kernels.

    Raises:
        Error: An unknown activation.

    Example:
        >>> from keras import ops
        >>> from tfsum.layers import PositionwiseFeedForward
        >>> tuple(
        ...     PositionwiseFeedForward(d_model=8, feed_forward_width=16)(ops.ones((1, 3, 8))).shape
        ... )
        (1, 3, 8)
    """

    def __init__(
        self,
        d_model: int,
        feed_forward_width: int,
        activation: str = "relu",
        dropout: float = 0.0,
        kernel_initializer: str | initializers.Initializer = "glorot_uniform",
        **kwargs: object,
    ):
        super().__init__(**kwargs)
        require(
            activation in ACTIVATIONS,
            f"PositionwiseFeedForward: activation {activation!r}; known are"
            f" {', '.join(ACTIVATIONS)}",
        )
        self.d_model, self.feed_forward_width = d_model, feed_forward_width
        self.activation = activation
        initializer = initializers.get(kernel_initializer)
        self.inner = layers.Dense(
            feed_forward_width,
            ACTIVATIONS[activation],
            kernel_initializer=initializer.clone(),
            name="inner",
            dtype=self.dtype_policy,
        )
        self.outer = layers.Dense(
            d_model,
            kernel_initializer=initializer.clone(),
            name="outer",
            dtype=self.dtype_policy,
        )
        self.drop = Dropout(dropout, name="dropout", dtype=self.dtype_policy)

    def build(self, input_shape: object = None) -> None:
        self.inner.build((None, None, self.d_model))
        self.outer.build((None, None, self.feed_forward_width))

    def call(self, x: Tensor, training: bool | None = None) -> Tensor:
        """(B, T, D) -> (B, T, D)."""
        return self.outer(self.drop(self.inner(x), training=training))
