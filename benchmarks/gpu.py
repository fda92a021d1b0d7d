"""Tokens a second of BertSumExt on one GPU, or on the CPU without one: tfsum beside torch, in turns
in one run.

    KERAS_BACKEND=jax python benchmarks/gpu.py
    KERAS_BACKEND=tensorflow python benchmarks/gpu.py --rows 4 --dtype float32 bfloat16

Both models have the size of MiniLM (or, with `--base`, of BERT base), the mean over each sentence's
tokens and two layers over the sentences, and train with AdamW. torch's (gpu_torch.py) is
transformers' BertModel with its fused attention (sdpa), and `torch.nn.TransformerEncoder`, in the
environment of requirements/rivals.txt. Windows are full, of random ids; what is timed is
`predict_on_batch` and `train_on_batch` of Keras, and the same loop in torch, results on the host.
`--quick` is a toy on whatever device there is.
"""

import argparse
import os
import statistics
import time
from collections.abc import Callable

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # torch needs memory too
os.environ.setdefault("TF_FORCE_GPU_ALLOW_GROWTH", "true")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import numpy as np
from other_interpreter import OtherInterpreter, environment

from tfsum.models import BertSumExt

SENTENCE = 32  # tokens of a sentence
VOCABULARY = 30522


def batch(rows: int, length: int, seed: int = 1) -> dict[str, np.ndarray]:
    """Full windows of random ids in sentences of `SENTENCE` tokens."""
    random = np.random.default_rng(seed)
    starts = np.arange(0, length, SENTENCE, dtype=np.int32)
    return {
        "token_ids": random.integers(1000, VOCABULARY, (rows, length), dtype=np.int32),
        "segment_ids": np.zeros((rows, length), np.int32),
        "sentence_starts": np.tile(starts, (rows, 1)),
        "labels": random.random((rows, len(starts))).astype(np.float32),
    }


def ours(config: dict, head: dict, dtype: str) -> dict[str, Callable]:
    """`predict_on_batch` and `train_on_batch` of tfsum's model."""
    keras.config.set_dtype_policy("mixed_bfloat16" if dtype == "bfloat16" else "float32")
    bert = {**config, "hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.0}
    model = BertSumExt(bert, pooling="mean", **head)
    model.build()
    model.compile(optimizer=keras.optimizers.AdamW(1e-5))

    def predict(x: dict) -> float:
        inputs = {name: x[name] for name in model.input_names_of_call}
        return float(np.asarray(model.predict_on_batch(inputs))[0, 0])

    return {"predict": predict, "train": lambda x: float(model.train_on_batch(x))}


def seconds(call: Callable, x: dict, times: int) -> float:
    begin = time.perf_counter()
    for _ in range(times):
        call(x)
    return (time.perf_counter() - begin) / times


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[8, 64])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--dtype", nargs="+", choices=("float32", "bfloat16"), default=["bfloat16"])
    parser.add_argument("--base", action="store_true", help="BERT base instead of MiniLM")
    parser.add_argument("--quick", action="store_true", help="a toy, to see that it runs")
    arguments = parser.parse_args()

    width, depth, length, times = (768, 12, 512, 5) if arguments.base else (384, 6, 512, 5)
    if arguments.quick:
        arguments.rows, arguments.rounds, width, depth, length, times = [2], 1, 64, 1, 64, 1
    config = {
        "vocab_size": VOCABULARY,
        "hidden_size": width,
        "num_hidden_layers": depth,
        "num_attention_heads": 2 if arguments.quick else 12,
        "intermediate_size": 4 * width,
    }
    head = {"head_layers": 2, "head_feed_forward_width": 4 * width}
    task = {"config": config, "head": head, "threads": os.cpu_count()}
    rates = []
    for dtype in arguments.dtype:
        mine = ours(config, head, dtype)
        other = OtherInterpreter(environment(), "gpu_torch.py", {**task, "dtype": dtype})
        for rows in arguments.rows:
            x = batch(rows, length)
            for what, call in mine.items():
                asked = {"what": what, "rows": rows, "length": length, "times": times}
                seconds(call, x, 2)  # compiles
                other.ask({**asked, "times": 2})
                turns = [
                    (seconds(call, x, times), other.ask(asked)["seconds"])
                    for _ in range(arguments.rounds)
                ]
                medians = (statistics.median(each) for each in zip(*turns, strict=True))
                my_rate, other_rate = (rows * length / taken for taken in medians)
                rates.append(
                    f"| {dtype} | {rows} x {length} | {what} | {my_rate:,.0f} | {other_rate:,.0f} |"
                    f" {my_rate / other_rate:.2f} |"
                )
        other.close()

    print(
        f"{other.facts['device']}; keras {keras.__version__} on {keras.backend.backend()}, torch"
        f" {other.facts['torch']}, transformers {other.facts['transformers']}; medians of"
        f" {arguments.rounds} rounds; {depth} layers of width {width}\n"
    )
    title = "| | rows x tokens | | tfsum, tokens/s | torch, tokens/s | ratio |"
    print("\n".join([title, "|---|---|---|---|---|---|", *rates]))


if __name__ == "__main__":
    main()
