"""What int8 would give an export: the feed-forward block of an encoder, and the sentences chosen.

    python benchmarks/int8.py products
    python benchmarks/int8.py sentences --corpus ../shared/data/news/validation.jsonl.gz

products: milliseconds of the block (384 to 1,536 and back, GELU between) in float32, bfloat16 and
    int8 by TensorFlow's oneDNN operation (Linux on x86), which takes one range for all activations
    and one for all weights. A range for each token and each column is had by scaling them to [0, 1]
    and [-1, 1] before it, and the products back after it.
sentences: the shipped model with what the dense layers of its encoders multiply rounded to 8 bits:
    weights by column, activations by one range for a batch ("one range") or one for each token
    ("by token"). Prints the share of the selected sentences that are those of float32, beside
    bfloat16's.
"""

import argparse
import contextlib
import os
import pathlib
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from unittest import mock

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import export_again
import keras
import numpy as np
import tensorflow as tf
from run import corpus_rows, table

from tfsum import export_model
from tfsum.export import golden
from tfsum.inference import allowed_operations
from tfsum.inference.c_session import CSession
from tfsum.inference.saved_model import read_description
from tfsum.inference.shipped import shipped_model

WIDTH, FEED_FORWARD = 384, 1536
TOKENS = (128, 512, 4096)
ROUNDING = {"Abs", "Round"}  # operations that exports do not have


def gelu(x: tf.Tensor) -> tf.Tensor:
    return 0.5 * x * tf.math.erfc(-x * tf.constant(0.5**0.5, x.dtype))


def blocks(random: np.random.Generator) -> dict[str, Callable]:
    """The block in each type, with the same weights."""
    kernels = [
        random.normal(0, 0.05, shape).astype(np.float32)
        for shape in ((WIDTH, FEED_FORWARD), (FEED_FORWARD, WIDTH))
    ]
    variables = [tf.Variable(kernel) for kernel in kernels]

    def plain(dtype: tf.DType) -> Callable:
        @tf.function
        def block(x: tf.Tensor) -> tf.Tensor:
            first, second = (tf.cast(variable, dtype) for variable in variables)
            hidden = gelu(tf.nn.bias_add(tf.cast(x, dtype) @ first, tf.zeros(FEED_FORWARD, dtype)))
            return tf.cast(hidden @ second, tf.float32)

        return block

    columns = [np.abs(kernel).max(0) for kernel in kernels]
    rounded = [
        tf.Variable(np.round(127 * kernel / column).astype(np.int8))
        for kernel, column in zip(kernels, columns)
    ]

    def product(x: tf.Tensor, number: int) -> tf.Tensor:
        low = tf.minimum(tf.reduce_min(x, 1, keepdims=True), 0.0)
        scale = tf.maximum(tf.reduce_max(x, 1, keepdims=True) - low, 1e-9)
        bytes_, _, _ = tf.raw_ops.QuantizeV2(
            input=(x - low) / scale, min_range=0.0, max_range=1.0, T=tf.quint8, mode="MIN_FIRST"
        )
        multiplied = tf.raw_ops.QuantizedMatMulWithBiasAndDequantize(
            a=bytes_,
            b=tf.bitcast(rounded[number], tf.qint8),
            bias=tf.zeros(len(columns[number])),
            min_a=0.0,
            max_a=1.0,
            min_b=-1.0,
            max_b=1.0,
            min_freezed_output=0.0,
            max_freezed_output=1.0,
            Toutput=tf.float32,
            input_quant_mode="MIN_FIRST",
        )
        return multiplied * scale * columns[number] + low * kernels[number].sum(0)

    @tf.function
    def int8(x: tf.Tensor) -> tf.Tensor:
        return product(gelu(product(x, 0)), 1)

    return {"float32": plain(tf.float32), "bfloat16": plain(tf.bfloat16), "int8": int8}


def print_products(rounds: int) -> None:
    random = np.random.default_rng(0)
    made, rows = blocks(random), []
    for tokens in TOKENS:
        x = tf.constant(random.normal(size=(tokens, WIDTH)).astype(np.float32))
        exact = made["float32"](x)
        cells = [f"{tokens:,}"]
        for name, block in made.items():
            error = tf.norm(block(x) - exact) / tf.norm(exact)
            seconds = []
            for _ in range(rounds):
                begin = time.perf_counter()
                block(x).numpy()
                seconds.append(time.perf_counter() - begin)
            cells.append(f"{1000 * statistics.median(seconds):.1f} (error {error:.2%})")
            assert error < 0.1, f"{name} computes something else: {error:.0%}"
        rows.append(cells)
    table(["tokens", *(f"{name}, ms" for name in made)], rows)


@contextlib.contextmanager
def eight_bits(by_token: bool) -> Iterator[None]:
    """Context manager in which dense layers of encoders round what they multiply."""
    plain = keras.layers.Dense.call

    def call(layer: keras.layers.Dense, x: tf.Tensor, training: bool | None = None) -> tf.Tensor:
        if "encoder" not in layer.path:
            return plain(layer, x, training=training)
        axes = {"axis": -1, "keepdims": True} if by_token else {}
        low = tf.minimum(tf.reduce_min(x, **axes), 0.0)
        step = tf.maximum(tf.reduce_max(x, **axes) - low, 1e-9) / 255.0
        kernel = tf.convert_to_tensor(layer.kernel)
        column = tf.reduce_max(tf.abs(kernel), axis=0) / 127.0
        x = tf.round((x - low) / step) * step + low
        y = x @ (tf.round(kernel / column) * column) + tf.convert_to_tensor(layer.bias)
        return layer.activation(y) if layer.activation else y

    allowed = {"core": allowed_operations.CORE | ROUNDING}
    with (
        mock.patch.object(keras.layers.Dense, "call", call),
        mock.patch.object(golden, "check_answers", lambda *_: 0.0),  # they are others
        mock.patch.dict(allowed_operations.ALLOWED, allowed),
    ):
        yield


def print_sentences(corpus: pathlib.Path, documents: int) -> None:
    shipped = shipped_model()
    description = read_description(shipped)
    model, names = export_again.extractive(description)
    model.build()
    export_again.load_stored(model, shipped)
    words = export_again.word_piece_of(shipped, description["text"])
    kept = {key: description[key] for key in export_again.KEPT if key in description}
    given = {name: description[name] for name in names}

    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(f"{folder}/model", words.vocabulary, settings=kept)
        sessions = {kind: CSession(shipped, description, kind) for kind in ("float32", "bfloat16")}
        for name, by_token in (("int8, one range", False), ("int8, by token", True)):
            with eight_bits(by_token):
                export = export_model(
                    f"{folder}/model", pathlib.Path(folder, name, "1"), newline="auto", **given
                )
                sessions[name] = CSession(export, description)
        head = ["", "documents a second", "sentences of the first row"]
        table(head, corpus_rows(sessions, corpus, documents))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("products", "sentences"))
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--corpus", type=pathlib.Path)
    parser.add_argument("--documents", type=int, default=500)
    arguments = parser.parse_args()
    if arguments.what == "products":
        print_products(arguments.rounds)
    elif not arguments.corpus:
        parser.error("sentences: needs --corpus")
    else:
        print_sentences(arguments.corpus, arguments.documents)


if __name__ == "__main__":
    main()
