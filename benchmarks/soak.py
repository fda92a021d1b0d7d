"""Trains for hours with a checkpoint every minute, and measures whether the memory of the process
grows.

python benchmarks/soak.py training/transformer_tatoeba_en_fr.toml --minutes 120 --log soak.csv

The process is asked every ten seconds for its resident memory; the slope is that of a line through
the samples (least squares) after the warm-up, in which TensorFlow traces its graphs and the first
validation is made. The samples are written as they come, so that a run that is cut short counts for
what it has. The exit status is 0 where the memory grows by less than 1 MB a minute, the training
stopped on SIGTERM with its state saved, and checkpoints were written.
"""

import argparse
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

import numpy as np

START = "import sys; from tfsum.cli.main import main; sys.exit(main())"
EVERY = 10.0  # seconds between two samples
MOST = 1.0  # MB a minute


def resident(process: int) -> float:
    """The resident memory of a process in MB."""
    lines = pathlib.Path(f"/proc/{process}/status").read_text(encoding="ascii").splitlines()
    return float(next(line.split()[1] for line in lines if line.startswith("VmRSS"))) / 1024


def slope(minutes: np.ndarray, memory: np.ndarray) -> float:
    """The growth in MB a minute: of a line through the samples."""
    return float(np.polyfit(minutes, memory, 1)[0])


def verdict(status: int, checkpoints: int, samples: np.ndarray) -> tuple[int, str]:
    """The exit status, and a line for it.

    Args:
        status: that of the training.
        checkpoints: their number.
        samples: (N, 2) minutes and MB after the warm-up.
    """
    if len(samples) < 2:
        return 1, "too short: nothing after the warm-up"
    growth = slope(*samples.T)
    good = status == 75 and checkpoints > 0 and growth < MOST
    return (
        0 if good else 1,
        (
            f"{samples[-1, 0] - samples[0, 0]:.0f} minutes counted, {len(samples)} samples:"
            f" {samples[0, 1]:.0f} MB at first, {samples[-1, 1]:.0f} MB at last,"
            f" {samples[:, 1].max():.0f} MB at the most; {growth:+.3f} MB a minute (aim: below"
            f" {MOST:.0f})"
        ),
    )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("recipe")
    parser.add_argument("--minutes", type=float, default=120)
    parser.add_argument(
        "--warm-up", type=float, default=10, help="minutes that are not counted; default 10"
    )
    parser.add_argument("--set", action="append", default=[], dest="overrides")
    parser.add_argument("--log", help="CSV of minutes and MB")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        sets = [
            f"train.folder={folder}/run",
            "train.steps=10000000",
            "train.checkpoint_minutes=1",
            "train.patience=0",
            *arguments.overrides,
        ]
        words = [sys.executable, "-c", START, "train", arguments.recipe]
        with open(f"{folder}/log", "w", encoding="utf-8") as log:
            process = subprocess.Popen(
                [*words, *(word for text in sets for word in ("--set", text))],
                stderr=log,
                stdout=log,
            )
            samples, begin, checkpoints = [], time.monotonic(), set()
            while process.poll() is None and time.monotonic() - begin < 60 * arguments.minutes:
                time.sleep(EVERY)
                try:
                    samples.append(((time.monotonic() - begin) / 60, resident(process.pid)))
                except (OSError, StopIteration):  # it has ended
                    break
                checkpoints |= {
                    path.name for path in pathlib.Path(folder).glob("run/checkpoints/ckpt-*.json")
                }
                if arguments.log:
                    with open(arguments.log, "a", encoding="ascii") as table:
                        table.write("{:.2f},{:.1f}\n".format(*samples[-1]))
            process.send_signal(signal.SIGTERM)
            status = process.wait()
        last = pathlib.Path(f"{folder}/log").read_text(encoding="utf-8").splitlines()[-3:]
    counted = np.array([sample for sample in samples if sample[0] > arguments.warm_up]).reshape(
        -1, 2
    )
    print("\n".join(last))
    print(f"exit status {status} after SIGTERM; {len(checkpoints)} checkpoints seen")
    result, line = verdict(status, len(checkpoints), counted)
    print(line)
    return result


if __name__ == "__main__":
    sys.exit(main())
