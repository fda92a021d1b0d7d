"""An estimate of what the recipes of docs/reproduce.md cost on a GPU: nothing is trained.

    python benchmarks/training_cost.py

A product of a weight with a token is 2 operations, and the backward pass takes twice those of the
forward pass. Assumed: documents fill their 512 positions, a summary has 75 tokens, and the GPU does
a share of the operations that its vendor gives for dense bfloat16 (NVIDIA A100: 312, H100 SXM: 989
TFLOP/s).
"""

import pathlib
import tomllib

RECIPES = ("bert_sum_ext_cnndm", "bert_sum_abs_cnndm")
# operations a second, and the share of them assumed
GPUS = {"A100": (312e12, 0.3), "H100": (989e12, 0.2)}
WIDTH, FEED_FORWARD, LAYERS, VOCABULARY, POSITIONS = 768, 3072, 12, 30522, 512
SUMMARY, DECODER_FEED_FORWARD, DECODER_LAYERS = 75, 2048, 6


def encoder() -> float:
    """Operations of the forward pass for one source token: four matrices of attention, two of the
    layer, attention."""
    weights = 4 * WIDTH**2 + 2 * WIDTH * FEED_FORWARD
    return LAYERS * (2 * weights + 4 * POSITIONS * WIDTH)


def decoder() -> tuple[float, float]:
    """Those of the decoder for one source token, its keys and values, and for one summary token."""
    weights = 6 * WIDTH**2 + 2 * WIDTH * DECODER_FEED_FORWARD
    attention = 4 * WIDTH * (POSITIONS + SUMMARY)
    return (
        DECODER_LAYERS * 4 * WIDTH**2,
        DECODER_LAYERS * (2 * weights + attention) + 2 * WIDTH * VOCABULARY,
    )


def step(train: dict, abstractive: bool) -> float:
    """Operations of a step, forward and backward."""
    batches = train["micro_batches"]
    if not abstractive:
        return 3 * batches * train["tokens_per_batch"] * encoder()
    documents = batches * train["tokens_per_batch"] / (SUMMARY + 2)
    source, target = decoder()
    return 3 * documents * (POSITIONS * (encoder() + source) + SUMMARY * target)


def main() -> None:
    folder = pathlib.Path(__file__).parents[1] / "training"
    for name in RECIPES:
        train = tomllib.loads((folder / f"{name}.toml").read_text())["train"]
        operations = step(train, "abs" in name)
        total = operations * train["steps"]
        hours = [
            f"{gpu} at {share:.0%}: {total / (speed * share) / 3600:.1f} h"
            for gpu, (speed, share) in GPUS.items()
        ]
        print(
            f"{name}: {operations / 1e12:.1f} TFLOP a step, {total:.1e} FLOP in {train['steps']:,}"
            " steps; " + ", ".join(hours)
        )


if __name__ == "__main__":
    main()
