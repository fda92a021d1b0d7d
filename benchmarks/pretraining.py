"""Time of a pretraining step compared with transformers' BertForPreTraining on torch, and time
spent waiting for data.

The other library runs in a separate process with its own interpreter (torch and transformers),
which is idle while tfsum is measured. A step consists of forward, backward, clipping and AdamW for
both tasks on the same shapes, with dropout. "as it comes" applies the masked-word head to every
position, as transformers does; "gathered" applies it only to the masked positions, as tfsum does.

    python benchmarks/pretraining.py --torch-python OTHER/bin/python
    python benchmarks/pretraining.py --records records/pretrain_news/train --vocabulary VOCAB.txt
    # waiting, too python benchmarks/pretraining.py --layers 2 --width 64 --words 500 --rows 2
    --length 16 --predictions 2    # a try
"""

import argparse
import json
import os
import statistics
import time
from collections.abc import Callable

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import numpy as np
import tensorflow as tf
from other_interpreter import OtherInterpreter

import tfsum
from tfsum.models import BertForPretraining
from tfsum.tasks.bert_pretraining.batches import SentencePairBatcher, load_sentence_pairs
from tfsum.tasks.bert_pretraining.masking import Masking
from tfsum.text.word_piece import Vocabulary
from tfsum.training.environment import POLICIES
from tfsum.training.optimizer import NOT_DECAYED, Adam

PRECISIONS = ("float32", "bfloat16")
OURS, AS_IT_COMES, GATHERED = (
    "tfsum",
    "transformers on torch, as it comes",
    "transformers on torch, gathered",
)

Steps = Callable[[int], list[float]]  # takes that many steps; seconds of each


def our_step(config: dict, precision: str) -> Callable[[object], float]:
    """Returns a function that trains a new model by one batch of an iterator and returns the
    loss."""
    keras.config.set_dtype_policy(POLICIES[precision])
    model = BertForPretraining(config)
    model.build()
    optimizer = Adam(1e-4, epsilon=1e-6, weight_decay=0.01, global_clipnorm=1.0)
    optimizer.exclude_from_weight_decay(var_names=NOT_DECAYED)
    model.compile(optimizer=optimizer, jit_compile=False)
    optimizer.build(model.trainable_variables)
    step = model.make_train_function()
    return lambda batches: float(step(batches)["loss"])  # waits for the device


def our_steps(config: dict, precision: str, rows: int, length: int, predictions: int) -> Steps:
    """Steps on one random batch."""
    random = np.random.default_rng(0)
    ids = random.integers(5, config["vocab_size"], (rows, length)).astype(np.int32)
    places = np.stack([random.permutation(length)[:predictions] for _ in range(rows)]).astype(
        np.int32
    )
    batch = {
        "token_ids": ids,
        "segment_ids": np.zeros_like(ids),
        "masked_lm_positions": places,
        "masked_lm_ids": np.take_along_axis(ids, places, 1),
        "masked_lm_weights": np.ones((rows, predictions), np.float32),
        "next_sentence_labels": random.integers(0, 2, rows).astype(np.int32),
    }
    step, batches = (
        our_step(config, precision),
        iter(tf.data.Dataset.from_tensors(batch).repeat().prefetch(2)),
    )

    def steps(number: int) -> list[float]:
        seconds = []
        for _ in range(number):
            start = time.perf_counter()
            step(batches)
            seconds.append(time.perf_counter() - start)
        return seconds

    return steps


def torch_steps(other: OtherInterpreter, precision: str, gathered: bool) -> Steps:
    """The other library's steps, in a separate process; see benchmarks/pretraining_torch.py."""
    return lambda number: other.ask(
        {"precision": precision, "gathered": gathered, "steps": number}
    )["seconds"]


def measure(
    made: dict[tuple[str, str], Steps], runs: int, steps: int
) -> dict[tuple[str, str], list[float]]:
    """Seconds of every step of (who, precision), measured alternately after two warm-up steps
    each."""
    seconds = {key: [] for key in made}
    for take in made.values():
        take(2)
    for _ in range(runs):
        for key, take in made.items():
            seconds[key] += take(steps)
    return seconds


def report(seconds: dict[tuple[str, str], list[float]], tokens: int) -> None:
    """Prints one line each, with the time relative to tfsum's at the same precision."""
    for (who, precision), values in seconds.items():
        median = statistics.median(values)
        line = {
            "who": who,
            "precision": precision,
            "seconds_a_step": round(median, 4),
            "range": [round(min(values), 4), round(max(values), 4)],
            "tokens_a_second": round(tokens / median),
        }
        if who != OURS:
            line["tfsum_is_faster"] = round(median / statistics.median(seconds[OURS, precision]), 2)
        print(json.dumps(line), flush=True)


def report_waiting(config: dict, options: argparse.Namespace) -> None:
    """Prints the share of the time that steps on prepared records wait for their batch, at each
    precision."""
    words = Vocabulary.from_file(options.vocabulary)
    config = {**config, "vocab_size": len(words.words)}

    batcher = SentencePairBatcher(
        load_sentence_pairs(options.records),
        options.rows * options.length,
        masking=Masking(words.words),
        cls_id=words.cls_id,
        sep_id=words.sep_id,
    )

    def batches():
        return iter(batcher.dataset(training=True))

    for precision in PRECISIONS:
        step, source = our_step(config, precision), _Waiting(batches())
        for _ in range(3):  # the first traces the graph
            step(source)
        source.seconds, start = 0.0, time.perf_counter()
        for _ in range(options.waiting_steps):
            step(source)
        whole = time.perf_counter() - start
        print(
            json.dumps(
                {
                    "waiting_for_data": precision,
                    "steps": options.waiting_steps,
                    "seconds": round(whole, 2),
                    "share": round(source.seconds / whole, 5),
                }
            ),
            flush=True,
        )
    source = batches()
    next(source)
    start = time.perf_counter()
    for _ in range(options.waiting_steps):
        next(source)
    print(
        json.dumps(
            {
                "data_alone": "assembled and masked, nothing else running",
                "seconds_a_batch": round((time.perf_counter() - start) / options.waiting_steps, 5),
            }
        ),
        flush=True,
    )


class _Waiting:
    """An iterator that counts the seconds spent waiting for its next batch."""

    def __init__(self, batches):
        self._batches, self.seconds, self.element_spec = batches, 0.0, batches.element_spec

    def __iter__(self):
        return self

    def __next__(self):
        start = time.perf_counter()
        batch = next(self._batches)
        self.seconds += time.perf_counter() - start
        return batch


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    add = parser.add_argument
    add(
        "--torch-python",
        metavar="PYTHON",
        help="an interpreter with torch and transformers (default: only tfsum)",
    )
    add(
        "--records",
        metavar="FOLDER",
        help="prepared pairs: also measures how long steps wait for them",
    )
    add("--vocabulary", metavar="FILE", help="the vocab.txt of the records")
    for name, default, what in (
        ("layers", 6, "encoder layers"),
        ("width", 384, "encoder width; heads of 32"),
        ("words", 30522, "vocabulary size"),
        ("rows", 32, "rows of a batch"),
        ("length", 128, "tokens of a row"),
        ("predictions", 20, "masked pieces of a row"),
        ("runs", 5, "measured rounds"),
        ("steps", 4, "steps of each program in a round"),
        ("waiting-steps", 50, "steps on the records"),
    ):
        add(f"--{name}", type=int, default=default, metavar="N", help=f"{what} (default {default})")
    options = parser.parse_args()
    if options.records and not options.vocabulary:
        parser.error("--records needs --vocabulary, the vocab.txt that they were prepared with")
    load = round(os.getloadavg()[0], 2)  # above 0 before the start: the processors are shared
    config = {
        "vocab_size": options.words,
        "hidden_size": options.width,
        "num_hidden_layers": options.layers,
        "num_attention_heads": max(1, options.width // 32),
        "intermediate_size": 4 * options.width,
        "max_position_embeddings": max(512, options.length),
    }
    shapes = {name: getattr(options, name) for name in ("rows", "length", "predictions")}
    devices = [device.device_type for device in tf.config.list_physical_devices()]
    print(
        json.dumps(
            {
                "processors": os.cpu_count(),
                "devices": devices,
                "load": load,
                "tfsum": tfsum.__version__,
                "tensorflow": tf.__version__,
                **config,
                **shapes,
            }
        ),
        flush=True,
    )
    made = {(OURS, precision): our_steps(config, precision, **shapes) for precision in PRECISIONS}
    other = None
    if options.torch_python:
        other = OtherInterpreter(
            options.torch_python, "pretraining_torch.py", {"config": config, **shapes}
        )
        print(json.dumps(other.facts), flush=True)
        made |= {
            (who, precision): torch_steps(other, precision, who == GATHERED)
            for precision in PRECISIONS
            for who in (AS_IT_COMES, GATHERED)
        }
    report(measure(made, options.runs, options.steps), options.rows * options.length)
    if other:
        other.close()
    if options.records:
        report_waiting(config, options)


if __name__ == "__main__":
    main()
