"""The effect of the quirks of a widely copied Keras Transformer: the same model with and without
each of them.

Models are trained to copy and to reverse rows of random symbols; docs/transformer_quirks.md
describes the quirks. All variants of a seed use the same batches and the same number of steps.
`exact` is the share of held-out rows that `predict` reproduces without an error; `steps_to_99` is
the first measurement at which it was 99 % or more.

    python benchmarks/quirks.py
    python benchmarks/quirks.py --tasks reverse --layers 4 --steps 3000 --seeds 5
"""

import argparse
import json
import os
import platform
import statistics
import sys
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import numpy as np
import tensorflow as tf
from keras import ops

from tfsum.layers import EncoderLayer, PositionalEncoding
from tfsum.models import Transformer
from tfsum.training.optimizer import Adam, WarmUp

START, END, FIRST_SYMBOL, SYMBOLS = 2, 3, 4, 26
BATCH, HELD_OUT, WARM_UP = 64, 256, 200
TASKS = {"copy": lambda row: row, "reverse": lambda row: row[::-1]}


class ExponentOfEveryColumn(PositionalEncoding):
    """Column i of position p is the sine or cosine of p / 10000^(2i/D), instead of p /
    10000^(2(i//2)/D)."""

    def call(self, x, first_position=None, training=None):
        columns = np.arange(x.shape[-1])
        frequencies = (10000.0 ** (-2 * columns / len(columns))).astype("float32")
        positions = ops.arange(ops.shape(x)[1])
        if first_position is not None:
            positions = positions + first_position[:, None]
        angles = ops.cast(positions, "float32")[..., None] * frequencies
        encoded = ops.where(columns % 2 == 0, ops.sin(angles), ops.cos(angles))
        return self.drop(x * len(columns) ** 0.5 + encoded, training=training)


class DroppedResidual(EncoderLayer):
    """x = LN(attention(x)); x = x + LN(feed_forward(x))."""

    def call(
        self,
        x,
        attention_mask=None,
        key_mask=None,
        training=None,
        return_attention_weights=False,
    ):
        x, weights = self.attention(
            x,
            attention_mask=attention_mask,
            key_mask=key_mask,
            training=training,
            return_attention_weights=True,
        )
        x = self.attention_norm(self.attention_drop(x, training=training))
        y = self.feed_forward_drop(self.feed_forward(x, training=training), training=training)
        x = x + self.feed_forward_norm(y)
        return (x, weights) if return_attention_weights else x


def change_positions(model):
    for name in ("source_positions", "target_positions"):
        setattr(model, name, ExponentOfEveryColumn.from_config(getattr(model, name).get_config()))


def drop_residuals(model):
    encoder = model.encoder
    encoder.encoder_layers = [
        DroppedResidual.from_config(layer.get_config()) for layer in encoder.encoder_layers
    ]


def share_norms(model):
    for layer in model.encoder.encoder_layers:
        share(layer, "attention_norm", "feed_forward_norm")
    for layer in model.decoder.decoder_layers:
        share(layer, "self_attention_norm", "cross_attention_norm", "feed_forward_norm")


def share_attentions(model):
    for layer in model.decoder.decoder_layers:
        share(layer, "self_attention", "cross_attention")


def share(layer, kept, *others):
    """Replaces sublayers of a built layer by another one of its sublayers; the replaced weights are
    unused."""
    for name in others:
        getattr(layer, name).trainable = False
        setattr(layer, name, getattr(layer, kept))


BEFORE_BUILD = {"positions 2i": change_positions, "dropped residual": drop_residuals}
AFTER_BUILD = {"one normalization": share_norms, "one attention": share_attentions}
QUIRKS = [*BEFORE_BUILD, *AFTER_BUILD]
VARIANTS = {"as published": [], **{quirk: [quirk] for quirk in QUIRKS}, "all four": QUIRKS}


def make_model(quirks: list[str], layers: int, length: int) -> Transformer:
    """A small post-norm Transformer with some quirks."""
    model = Transformer(
        FIRST_SYMBOL + SYMBOLS,
        num_encoder_layers=layers,
        num_decoder_layers=layers,
        d_model=64,
        num_heads=4,
        feed_forward_width=128,
        label_smoothing=0.0,
        max_length=length + 1,
    )
    for quirk in quirks:
        BEFORE_BUILD.get(quirk, lambda model: None)(model)
    model.build()
    for quirk in quirks:
        AFTER_BUILD.get(quirk, lambda model: None)(model)
    return model


def make_rows(task: str, count: int, length: int, seed: int) -> dict[str, np.ndarray]:
    """Pairs of rows of 1 to `length` symbols."""
    random = np.random.default_rng(seed)
    rows = [
        random.integers(
            FIRST_SYMBOL, FIRST_SYMBOL + SYMBOLS, random.integers(1, length + 1)
        ).tolist()
        for _ in range(count)
    ]
    answers = [TASKS[task](row) for row in rows]

    def padded(lists, width):
        return np.array([row + [0] * (width - len(row)) for row in lists], np.int32)

    return {
        "source_ids": padded([[START, *row, END] for row in rows], length + 2),
        "target_ids": padded([[START, *row] for row in answers], length + 1),
        "target_labels": padded([[*row, END] for row in answers], length + 1),
    }


def run(task: str, variant: str, seed: int, options) -> dict:
    """Trains one model and measures it `options.measurements` times."""
    keras.utils.set_random_seed(seed)
    model = make_model(VARIANTS[variant], options.layers, options.length)
    model.compile(Adam(WarmUp(options.learning_rate, WARM_UP), beta_2=0.98))
    every = options.steps // options.measurements
    rows = make_rows(task, BATCH * every * options.measurements, options.length, seed)
    held_out = make_rows(task, HELD_OUT, options.length, 1_000_000 + seed)
    begin, exact = time.perf_counter(), []

    def measure(epoch, logs):
        found = model.predict(
            {"source_ids": held_out["source_ids"]}, batch_size=HELD_OUT, verbose=0
        )
        exact.append(float(np.mean(np.all(found == held_out["target_labels"], axis=1))))

    history = model.fit(
        tf.data.Dataset.from_tensor_slices(rows).batch(BATCH),
        epochs=options.measurements,
        steps_per_epoch=every,
        callbacks=[keras.callbacks.LambdaCallback(on_epoch_end=measure)],
        shuffle=False,
        verbose=0,
    )
    reached = next((every * (i + 1) for i, share in enumerate(exact) if share >= 0.99), None)
    return {
        "task": task,
        "variant": variant,
        "seed": seed,
        "layers": options.layers,
        "length": options.length,
        "steps": every * options.measurements,
        "exact": exact[-1],
        "steps_to_99": reached,
        "loss": history.history["loss"][-1],
        "curve": exact,
        "parameters": sum(weight.shape.num_elements() for weight in model.trainable_variables),
        "seconds": round(time.perf_counter() - begin, 1),
    }


def table(results: list[dict], task: str) -> str:
    """A Markdown table with one row per variant, over the seeds."""
    lines = [
        (
            f"| {task} | parameters | exact %, mean (least to most) | steps to 99 %, median | loss,"
            " mean |"
        ),
        "|---|---|---|---|---|",
    ]
    for variant in VARIANTS:
        rows = [
            result for result in results if (result["task"], result["variant"]) == (task, variant)
        ]
        if not rows:
            continue
        exact = [100 * row["exact"] for row in rows]
        reached = statistics.median(row["steps_to_99"] or float("inf") for row in rows)
        lines.append(
            f"| {variant} | {rows[0]['parameters']:,} | {statistics.mean(exact):.1f}"
            f" ({min(exact):.1f} to {max(exact):.1f}) |"
            f" {'never' if reached == float('inf') else f'{reached:,.0f}'} |"
            f" {statistics.mean(row['loss'] for row in rows):.4f} |"
        )
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    add = parser.add_argument
    add("--tasks", nargs="+", choices=TASKS, default=list(TASKS))
    add("--variants", nargs="+", choices=VARIANTS, default=list(VARIANTS))
    add(
        "--layers", type=int, default=2, help="layers of the encoder and of the decoder (default 2)"
    )
    add("--length", type=int, default=20, help="maximum number of symbols of a row (default 20)")
    add("--steps", type=int, default=1500, help="training steps of a model (default %(default)s)")
    add(
        "--measurements",
        type=int,
        default=15,
        help="measurements of a model, evenly over its steps (default 15)",
    )
    add("--learning-rate", type=float, default=2e-3, help="peak learning rate (default 2e-3)")
    add("--seeds", type=int, default=3, help="models per variant (default 3)")
    options = parser.parse_args()
    print(
        json.dumps(
            {
                "machine": platform.machine(),
                "processors": os.cpu_count(),
                "tensorflow": tf.__version__,
                "keras": keras.__version__,
            }
        ),
        flush=True,
    )
    results = []
    # alternately, so that other load on the machine affects all variants alike
    for seed in range(options.seeds):
        for task in options.tasks:
            for variant in options.variants:
                results.append(run(task, variant, seed, options))
                print(json.dumps(results[-1]), flush=True)
    for task in options.tasks:
        print(f"\n{table(results, task)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
