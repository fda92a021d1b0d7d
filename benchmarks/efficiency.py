"""On paper: how much of a GPU's time an exact step of BERT base computes, on one machine of 8 GPUs
and on four.

python benchmarks/efficiency.py [--tokens 8192] [--parts 1]

A step computes the gradients of its part of the batch, sums them over all GPUs (float32, all of
them, after the backward pass and not beside it), and applies them.

- Computing: 6 operations for a weight of the encoder and a token, forward and backward (Kaplan et
  al. 2020, section 2.1), and 12 T H more for the attention of a token to T others in a layer, at 40
  % of an A100's 312 TFLOPS in bfloat16.
- Summing: a ring sends and receives 2 (N - 1) / N of the gradients' bytes (Patarasuk and Yuan
  2009). The bus of 8 A100s with NVLink gives about 230 GB/s (NCCL's own tests, all_reduce_perf);
  between machines, 100 Gbit/s Ethernet about 11 GB/s for a machine, 8 InfiniBand adapters of 200
  Gbit/s about 160 GB/s. Within the machines and between them one after the other.
- Efficiency: computing / (computing + summing). Applying the gradients and reading the data are
  left out.
"""

import argparse
import sys

LAYERS, WIDTH, LENGTH = 12, 768, 512
ENCODER = LAYERS * (4 * WIDTH * WIDTH + 2 * WIDTH * 3072)  # weights that every token passes
PARAMETERS = 109_482_240  # with embeddings and pooler
SPEED = 0.4 * 312e12
NVLINK, NETWORKS = 230e9, {"100 Gbit/s Ethernet": 11e9, "8 x 200 Gbit/s InfiniBand": 160e9}


def ring(count: int, size: float, speed: float) -> float:
    """Seconds of an all-reduce."""
    return 2 * (count - 1) / count * size / speed


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--tokens", type=int, default=8192, help="of a GPU in a part of a step; default 8192"
    )
    parser.add_argument("--parts", type=int, default=1, help="micro-batches of a step; default 1")
    arguments = parser.parse_args()
    size = 4 * PARAMETERS
    operations = 6 * ENCODER + 12 * LAYERS * LENGTH * WIDTH
    computing = arguments.parts * arguments.tokens * operations / SPEED
    print(
        f"gradients of a step: {size / 1e6:.0f} MB; computing {1000 * computing:.1f} ms "
        f"({arguments.parts} x {arguments.tokens} tokens on each GPU)"
    )
    inside = ring(8, size, NVLINK)
    rows = [("1 x 8 GPUs, NVLink", 8, inside)]
    rows += [
        (f"4 x 8 GPUs, {name}", 32, inside + ring(4, size, speed))
        for name, speed in NETWORKS.items()
    ]
    for name, count, summing in rows:
        print(
            f"{name:40} summing {1000 * summing:5.1f} ms  efficiency"
            f" {computing / (computing + summing):4.0%} "
            f" {arguments.parts * arguments.tokens * count:,} tokens a step"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
