"""What the layers say to inputs of another rank."""

import numpy as np
import pytest

from tfsum.errors import Error
from tfsum.layers import Decoder, Encoder, MultiHeadAttention, PositionalEncoding

ROW = np.ones((3, 8), np.float32)
SIZES = {"d_model": 8, "num_heads": 2, "feed_forward_width": 8}


@pytest.mark.parametrize(
    ("layer", "inputs", "name"),
    [
        (MultiHeadAttention(2, 8), [ROW], "query"),
        (MultiHeadAttention(2, 8), [ROW[None], ROW], "value"),
        (PositionalEncoding(), [ROW], "x"),
        (Encoder(1, **SIZES), [ROW], "query"),
        (Decoder(1, **SIZES), [ROW[None], ROW], "source"),
    ],
)
def test_an_input_without_a_batch_is_named(layer, inputs, name):
    says = rf": {name} has shape \(3, 8\); expected \(batch, tokens, width\). .*{name}\[None\]"
    with pytest.raises(Error, match=says):
        layer(*inputs)
