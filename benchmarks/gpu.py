"""Tokens a second of BertSumExt on one GPU: tfsum's layers beside torch's, in turns in one run.

    KERAS_BACKEND=jax python benchmarks/gpu.py
    KERAS_BACKEND=tensorflow python benchmarks/gpu.py

Both models have the size of MiniLM (or, with `--base`, of BERT base), the mean over each sentence's
tokens and two layers over the sentences, compute in bfloat16 and train with AdamW. torch's is
transformers' BertModel with its fused attention (sdpa), and `torch.nn.TransformerEncoder`. Windows
are full, of random ids; what is timed is `predict_on_batch` and `train_on_batch` of Keras, and the
same loop in torch, results on the host. `--quick` is a toy on whatever device there is.
"""

import argparse
import os
import statistics
import time
from collections.abc import Callable

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # torch needs memory too
os.environ.setdefault("TF_FORCE_GPU_ALLOW_GROWTH", "true")

import keras
import numpy as np
import torch
import transformers
from torch import nn

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


def ours(config: dict, head: dict) -> tuple[Callable, Callable]:
    """`predict_on_batch` and `train_on_batch` of tfsum's model."""
    keras.config.set_dtype_policy("mixed_bfloat16")
    bert = {**config, "hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.0}
    model = BertSumExt(bert, pooling="mean", **head)
    model.build()
    model.compile(optimizer=keras.optimizers.AdamW(1e-5))

    def predict(x: dict) -> float:
        inputs = {name: x[name] for name in model.input_names_of_call}
        return float(np.asarray(model.predict_on_batch(inputs))[0, 0])

    return predict, lambda x: float(model.train_on_batch(x))


class TorchBertSumExt(nn.Module):
    """The same of transformers' BERT and torch's encoder."""

    def __init__(self, config: dict, head: dict) -> None:
        super().__init__()
        settings = transformers.BertConfig(
            **config, attention_probs_dropout_prob=0.0, attn_implementation="sdpa"
        )
        self.bert = transformers.BertModel(settings, add_pooling_layer=False)
        width = settings.hidden_size
        layer = nn.TransformerEncoderLayer(
            width,
            8,
            head["head_feed_forward_width"],
            0.1,
            "gelu",
            batch_first=True,
            norm_first=True,
        )
        self.head = nn.TransformerEncoder(layer, head["head_layers"], enable_nested_tensor=False)
        self.score = nn.Linear(width, 1)

    def forward(self, ids: torch.Tensor, segments: torch.Tensor) -> torch.Tensor:
        mask = torch.ones_like(ids)
        sequence = self.bert(ids, attention_mask=mask, token_type_ids=segments).last_hidden_state
        rows, length, width = sequence.shape
        vectors = sequence.reshape(rows, length // SENTENCE, SENTENCE, width).mean(2)
        return self.score(self.head(vectors))[..., 0]


def theirs(config: dict, head: dict) -> tuple[Callable, Callable]:
    """A forward pass and a step of training in torch."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = TorchBertSumExt(config, head).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-5, fused=device == "cuda")

    def logits(x: dict) -> torch.Tensor:
        ids, segments = (
            torch.from_numpy(x[name]).to(device).long() for name in ("token_ids", "segment_ids")
        )
        with torch.autocast(device, torch.bfloat16):
            return model(ids, segments)

    @torch.inference_mode()
    def predict(x: dict) -> float:
        model.eval()
        return float(torch.sigmoid(logits(x)).float().cpu()[0, 0])

    def train(x: dict) -> float:
        model.train()
        optimizer.zero_grad(set_to_none=True)
        labels = torch.from_numpy(x["labels"]).to(device)
        loss = nn.functional.binary_cross_entropy_with_logits(logits(x).float(), labels)
        loss.backward()
        optimizer.step()
        return loss.item()

    return predict, train


def seconds(call: Callable, x: dict, times: int) -> float:
    begin = time.perf_counter()
    for _ in range(times):
        call(x)
    return (time.perf_counter() - begin) / times


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[8, 64])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--base", action="store_true", help="BERT base instead of MiniLM")
    parser.add_argument("--quick", action="store_true", help="a toy, to see that it runs")
    arguments = parser.parse_args()

    width, depth, length, times = (768, 12, 512, 5) if arguments.base else (384, 6, 512, 10)
    if arguments.quick:
        arguments.rows, arguments.rounds, width, depth, length, times = [2], 1, 64, 1, 64, 1
    config = {
        "vocab_size": VOCABULARY,
        "hidden_size": width,
        "num_hidden_layers": depth,
        "num_attention_heads": width // 32,
        "intermediate_size": 4 * width,
    }
    head = {"head_layers": 2, "head_feed_forward_width": 4 * width}
    device = torch.cuda.get_device_name() if torch.cuda.is_available() else "CPU"
    print(
        f"{device}; keras {keras.__version__} on {keras.backend.backend()}, torch"
        f" {torch.__version__}, transformers {transformers.__version__}; medians of"
        f" {arguments.rounds} rounds; bfloat16; {depth} layers of width {width}\n"
    )
    mine, other = ours(config, head), theirs(config, head)

    print("| rows x tokens | | tfsum, tokens/s | torch, tokens/s | ratio |\n|---|---|---|---|---|")
    for rows in arguments.rows:
        x = batch(rows, length)
        for what, my_call, other_call in zip(("predict", "train"), mine, other, strict=True):
            for call in (my_call, other_call):  # compiles
                seconds(call, x, 2)
            turns = [
                (seconds(my_call, x, times), seconds(other_call, x, times))
                for _ in range(arguments.rounds)
            ]
            my_rate, other_rate = (
                rows * length / statistics.median(each) for each in zip(*turns, strict=True)
            )
            print(
                f"| {rows} x {length} | {what} | {my_rate:,.0f} | {other_rate:,.0f} |"
                f" {my_rate / other_rate:.2f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
