"""Tokens a second of BertSumExt on one GPU, or on the CPU without one: tfsum beside torch and
KerasHub, in turns in one run.

    KERAS_BACKEND=jax python benchmarks/gpu.py
    KERAS_BACKEND=tensorflow python benchmarks/gpu.py --rows 4 --steps 5 --dtype float32 bfloat16

All models have the size of MiniLM (or, with `--base`, of BERT base), the mean over each sentence's
tokens and two layers over the sentences, and train with AdamW, without dropout in the encoder's
attention. torch's (gpu_torch.py, requirements/rivals.txt) is transformers' BertModel with its fused
attention (sdpa), and `torch.nn.TransformerEncoder`; KerasHub's (gpu_keras_hub.py,
requirements/keras_hub.txt, on a GPU also `jax[cuda13]`) is its BertBackbone on JAX. Windows are
full, of random ids; what is timed is `predict` and `fit` of Keras over `--steps` batches, and the
same loop in torch, results on the host. `--quick` is a toy on whatever device there is.
"""

import argparse
import itertools
import os
import statistics
import time

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # torch needs memory too
os.environ.setdefault("TF_FORCE_GPU_ALLOW_GROWTH", "true")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import numpy as np
from other_interpreter import OtherInterpreter, environment

from tfsum.models import BertSumExt

SENTENCE = 32  # tokens of a sentence
VOCABULARY = 30522
RIVALS = {"rivals": "gpu_torch.py", "keras_hub": "gpu_keras_hub.py"}  # environment -> program


def windows(rows: int, length: int, seed: int = 1) -> dict[str, np.ndarray]:
    """Full windows of random ids in sentences of `SENTENCE` tokens."""
    random = np.random.default_rng(seed)
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

    def ask(self, asked: dict) -> dict:
        """Predicts or trains; the seconds of a step."""
        rows, steps = asked["rows"], asked["steps"]
        x = windows(rows * steps, asked["length"])
        begin = time.perf_counter()
        if asked["what"] == "train":
            self.model.fit(x, batch_size=rows, verbose=0)
        else:
            inputs = {name: x[name] for name in self.model.input_names_of_call}
            self.model.predict(inputs, batch_size=rows, verbose=0)
        return {"seconds": (time.perf_counter() - begin) / steps}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[8, 64])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=50, help="of a round")
    parser.add_argument("--dtype", nargs="+", choices=("float32", "bfloat16"), default=["bfloat16"])
    parser.add_argument("--base", action="store_true", help="BERT base instead of MiniLM")
    parser.add_argument("--quick", action="store_true", help="a toy, to see that it runs")
    arguments = parser.parse_args()

    width, depth, length = (768, 12, 512) if arguments.base else (384, 6, 512)
    if arguments.quick:
        arguments.rows, arguments.rounds, arguments.steps = [2], 1, 2
        width, depth, length = 64, 1, 64
    config = {
        "vocab_size": VOCABULARY,
        "hidden_size": width,
        "num_hidden_layers": depth,
        "num_attention_heads": 2 if arguments.quick else 12,
        "intermediate_size": 4 * width,
    }
    head = {"head_layers": 2, "head_feed_forward_width": 4 * width}
    task = {"config": config, "head": head, "threads": os.cpu_count()}
    lines, facts = [], []
    for dtype in arguments.dtype:
        torch, hub = (
            OtherInterpreter(environment(name), script, {**task, "dtype": dtype})
            for name, script in RIVALS.items()
        )
        models = [Ours(config, head, dtype), torch, hub]
        for rows, what in itertools.product(arguments.rows, ("predict", "train")):
            asked = {"what": what, "rows": rows, "length": length, "steps": arguments.steps}
            for model in models:
                model.ask({**asked, "steps": 2})  # compiles

            turns = [
                [model.ask(asked)["seconds"] for model in models] for _ in range(arguments.rounds)
            ]
            medians = [statistics.median(each) for each in zip(*turns, strict=True)]
            rates = [rows * length / seconds for seconds in medians]
            lines.append(
                f"| {dtype} | {rows} x {length} | {what} | {rates[0]:,.0f} |"
                + "".join(f" {rate:,.0f} | {rates[0] / rate:.2f} |" for rate in rates[1:])
            )
        facts = [f"{other.facts['versions']} ({other.facts['device']})" for other in (torch, hub)]
        torch.close()
        hub.close()

    print(
        f"tfsum: keras {keras.__version__}, {keras.backend.backend()}; {'; '.join(facts)}; medians"
        f" of {arguments.rounds} rounds of {arguments.steps} steps; {depth} layers of width"
        f" {width}\n"
    )
    title = "| | rows x tokens | | tfsum, tokens/s | torch | ratio | KerasHub | ratio |"
    print("\n".join([title, "|---" * 8 + "|", *lines]))


if __name__ == "__main__":
    main()
