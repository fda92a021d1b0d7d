"""The memory of a step's activations: what the literature counts, and what a process takes."""

import json
import os
import pathlib
import subprocess
import sys

import keras
import numpy as np
import pytest

import tfsum
from tfsum.models import Bert
from tfsum.models.model import Model
from tfsum.training.train import activation_bytes

SCRIPT = pathlib.Path(__file__).with_name("memory_of_a_step.py")


class Mean(Model):
    """The mean of an encoder's output as the loss, so that an encoder is all there is."""

    def __init__(self, layers):
        super().__init__()
        self.bert = Bert(
            vocab_size=30,
            hidden_size=64,
            num_hidden_layers=layers,
            num_attention_heads=4,
            intermediate_size=256,
            max_position_embeddings=128,
        )
        self.bert.build()
        self.built = True

    def summed_loss(self, x, y, training):
        return keras.ops.sum(
            keras.ops.cast(self.bert(x, training=training)["sequence_output"], "float32")
        )


@pytest.mark.slow
@pytest.mark.parametrize(("precision", "size"), [("float32", 4), ("mixed_bfloat16", 2)])
def test_a_layer_of_an_encoder_stores_about_what_is_published(precision, size):
    """Korthikanti et al. 2022, equation 1: B T D (34 + 5 H T / D) bytes in 16 bits, with dropout
    masks of a byte.

    It counts neither the few tensors that the exact GELU needs nor the float32 of softmax and
    normalization, and in float32 a mask stays a byte, so this is no equation here.
    """
    rows, length, width, heads = 4, 128, 64, 4
    ids = np.ones((rows, length), np.int32)
    policy = keras.config.dtype_policy()
    try:
        keras.config.set_dtype_policy(precision)
        two, four = (
            activation_bytes(Mean(layers), {"token_ids": ids, "segment_ids": 0 * ids})
            for layers in (2, 4)
        )
    finally:
        keras.config.set_dtype_policy(policy)
    published = rows * length * width * (34 + 5 * heads * length / width) * size / 2
    assert 0.7 < (four - two) / 2 / published < 2


@pytest.mark.slow  # a process for each model
@pytest.mark.parametrize("name", ["extractive", "classifier", "transformer", "pretraining"])
def test_a_step_takes_about_as_much(name):
    path = os.pathsep.join([str(pathlib.Path(tfsum.__file__).parents[1]), str(SCRIPT.parent)])
    done = subprocess.run(
        [sys.executable, str(SCRIPT), name],
        check=True,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": path},
    )
    estimate, taken = json.loads(done.stdout.splitlines()[-1])
    assert 0.7 < estimate / taken < 1.5
