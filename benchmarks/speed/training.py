"""Tokens a second of BertSumExt on one GPU, or on the CPU without one: tfsum beside torch and
KerasHub, in turns in one run.

    KERAS_BACKEND=jax python -m benchmarks training
    KERAS_BACKEND=tensorflow python -m benchmarks training --rows 4 --steps 5 \\
        --dtype float32 bfloat16

All models have the size of MiniLM (or, with `--base`, of BERT base), the mean over each sentence's
tokens and two layers over the sentences, and train with AdamW, without dropout in the encoder's
attention. torch's (training_torch.py, requirements/rivals.txt) is transformers' BertModel with its
fused attention (sdpa), and `torch.nn.TransformerEncoder`; KerasHub's (training_keras_hub.py,
requirements/keras_hub.txt, on a GPU also `jax[cuda13]`) is its BertBackbone on JAX. Windows are
full, of random ids; what is timed is `predict` and `fit` of Keras over `--steps` batches, and the
same loop in torch, results on the host. `--quick` is a toy on whatever device there is.
"""

import argparse
import functools
import itertools
import os
import statistics

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # torch needs memory too
os.environ.setdefault("TF_FORCE_GPU_ALLOW_GROWTH", "true")

import keras
import numpy as np

from benchmarks import results
from benchmarks.other_interpreter import OtherInterpreter, environment
from tfsum.models import BertSumExt

SENTENCE = 32  # tokens of a sentence
VOCABULARY = 30522
RIVALS = {  # name -> environment, and program
    "torch": ("rivals", "speed.training_torch"),
    "KerasHub": ("keras_hub", "speed.training_keras_hub"),
}


def windows(rows: int, length: int) -> dict[str, np.ndarray]:
    """Full windows of random ids in sentences of `SENTENCE` tokens."""
    random = np.random.default_rng(1)
    starts = np.arange(0, length, SENTENCE, dtype=np.int32)
    return {
        "token_ids": random.integers(1000, VOCABULARY, (rows, length), dtype=np.int32),
        "segment_ids": np.zeros((rows, length), np.int32),
        "sentence_starts": np.tile(starts, (rows, 1)),
        "labels": random.random((rows, len(starts))).astype(np.float32),
    }


class Ours:
    """tfsum's model, which answers as the others do (`OtherInterpreter.ask`)."""

    def __init__(self, config: dict, head: dict, dtype: str):
        policy = "mixed_bfloat16" if dtype == "bfloat16" else "float32"
        keras.config.set_dtype_policy(policy)
        bert = {**config, "hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.0}
        self.model = BertSumExt(bert, pooling="mean", **head)
        self.model.build()
        self.model.compile(optimizer=keras.optimizers.AdamW(1e-5))

    def ask(self, what: str, rows: int, length: int, steps: int) -> dict:
        """Predicts or trains; the seconds of a step."""
        x = windows(rows * steps, length)
        if what == "train":
            call = functools.partial(self.model.fit, x, batch_size=rows, verbose=0)
        else:
            inputs = {name: x[name] for name in self.model.input_names_of_call}
            call = functools.partial(self.model.predict, inputs, batch_size=rows, verbose=0)
        return {"seconds": results.seconds(call) / steps}


def rates(models: dict, rounds: int, steps: int, **asked: str | int) -> results.Row:
    """Tokens a second of each model, and ours divided by theirs, in turns."""
    for model in models.values():
        model.ask(**asked, steps=2)  # compiles

    def step(model: Ours | OtherInterpreter) -> float:
        return model.ask(**asked, steps=steps)["seconds"]

    calls = {name: functools.partial(step, model) for name, model in models.items()}
    taken = results.in_turns(calls, rounds, pause=0.0)
    medians = {name: statistics.median(seconds) for name, seconds in taken.items()}
    cells = {}
    for name, median in medians.items():
        cells[name] = f"{asked['rows'] * asked['length'] / median:,.0f}"
        if name != "tfsum":
            cells[name] += f" ({median / medians['tfsum']:.2f})"
    return cells


OPTIONS = {
    "--rows": {"type": int, "nargs": "+", "default": [8, 64]},
    "--rounds": {"type": int, "default": 5},
    "--steps": {"type": int, "default": 50, "help": "of a round"},
    "--dtype": {"nargs": "+", "choices": ("float32", "bfloat16"), "default": ["bfloat16"]},
    "--base": {"action": "store_true", "help": "BERT base instead of MiniLM"},
    "--quick": {"action": "store_true", "help": "a toy, to see that it runs"},
    "--rivals": {"nargs": "*", "choices": RIVALS, "default": list(RIVALS)},
}


def run(options: argparse.Namespace) -> None:
    width, depth, heads, length = (768, 12, 12, 512) if options.base else (384, 6, 12, 512)
    if options.quick:
        options.rows, options.rounds, options.steps = [2], 1, 2
        width, depth, heads, length = 64, 1, 2, 64
    config = {
        "vocab_size": VOCABULARY,
        "hidden_size": width,
        "num_hidden_layers": depth,
        "num_attention_heads": heads,
        "intermediate_size": 4 * width,
    }
    head = {"head_layers": 2, "head_feed_forward_width": 4 * width}
    task = {"config": config, "head": head, "threads": os.cpu_count()}
    print(f"tfsum: keras {keras.__version__}, {keras.backend.backend()}; tokens a second (ratio)")

    rows = {}
    for dtype in options.dtype:
        others = {
            name: OtherInterpreter(environment(python), program, {**task, "dtype": dtype})
            for name, (python, program) in RIVALS.items()
            if name in options.rivals
        }
        for name, other in others.items():
            print(f"{name}: {other.facts['versions']} ({other.facts['device']})", flush=True)
        models = {"tfsum": Ours(config, head, dtype), **others}
        for count, what in itertools.product(options.rows, ("predict", "train")):
            rows[f"{dtype}, {count} x {length}, {what}"] = rates(
                models, options.rounds, options.steps, what=what, rows=count, length=length
            )
        for other in others.values():
            other.close()
    results.show(rows)
