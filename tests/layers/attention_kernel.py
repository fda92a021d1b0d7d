"""Compares attention in bfloat16 on a GPU of JAX with the formula in float32: run as a process of
its own by test_multi_head_attention.py.

Prints a line for each shape and mask: "kernel" or "formula", what was compared, and the largest
difference of the answer and of the gradients, by the largest number.
"""

import os

os.environ["KERAS_BACKEND"] = "jax"

import jax
import numpy as np
from keras import ops

from tfsum.layers import MultiHeadAttention

used = []
kernel = MultiHeadAttention._attend_fused
MultiHeadAttention._attend_fused = lambda *args: used.append(1) or kernel(*args)


def answer_and_gradients(dtype, x, mask, weights):
    """The output (B, T, D), and the gradients of its product with itself by the input."""
    layer = MultiHeadAttention(4, 32, dtype=dtype)
    layer.build()
    layer.set_weights(weights)

    def loss(x):
        output = ops.cast(layer(x, training=True, **mask), "float32")
        return ops.sum(output * output), output

    gradient, output = jax.jit(jax.grad(loss, has_aux=True))(x)
    return np.asarray(output, np.float32), np.asarray(gradient, np.float32)


def main():
    random = np.random.default_rng(1)
    shapes = [(32, 32), (32,)] * 4
    weights = [random.normal(size=shape).astype("float32") * 0.2 for shape in shapes]
    for length in (64, 63):
        x = ops.convert_to_tensor(random.normal(size=(2, length, 32)), "float32")
        real = np.arange(length)[None] < np.array([[length], [length // 3]])
        nothing = np.ones((2, length, length), bool)
        nothing[0, 5] = False
        masks = {
            "no mask": {},
            "padding": {"key_mask": real},
            "look ahead": {"attention_mask": np.tri(length, dtype=bool)[None]},
            "a query that sees nothing": {"attention_mask": nothing, "key_mask": real},
            "a row of padding": {"key_mask": real & np.array([[True], [False]])},
        }
        for name, mask in masks.items():
            used.clear()
            found = answer_and_gradients("mixed_bfloat16", x, mask, weights)
            way = "kernel" if used else "formula"
            right = answer_and_gradients("float32", x, mask, weights)
            errors = [abs(a - b).max() / abs(b).max() for a, b in zip(found, right, strict=True)]
            print(way, length, name, *(f"{error:.4f}" for error in errors), sep=", ")


if __name__ == "__main__":
    main()
