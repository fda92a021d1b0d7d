"""The layers of a Transformer in pure Keras: they run on TensorFlow and on JAX."""

from tfsum.layers.copy_attention import CopyAttention
from tfsum.layers.decoder import Decoder, DecoderLayer
from tfsum.layers.dropout import Dropout, dropout_step
from tfsum.layers.encoder import Encoder, EncoderLayer
from tfsum.layers.masks import look_ahead_mask, padding_mask
from tfsum.layers.multi_head_attention import Cache, MultiHeadAttention
from tfsum.layers.positional_encoding import PositionalEncoding, positional_encoding
from tfsum.layers.positionwise_feed_forward import PositionwiseFeedForward

__all__ = [
    "Cache",
    "CopyAttention",
    "Decoder",
    "DecoderLayer",
    "Dropout",
    "Encoder",
    "EncoderLayer",
    "MultiHeadAttention",
    "PositionalEncoding",
    "PositionwiseFeedForward",
    "dropout_step",
    "look_ahead_mask",
    "padding_mask",
    "positional_encoding",
]
