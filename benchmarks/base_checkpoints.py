"""Converts, exports and runs checkpoints of BERT-base size, and prints the time and the memory of
each command.

    python benchmarks/base_checkpoints.py ../shared/parity
    python benchmarks/base_checkpoints.py ../shared/parity --models presumm_abs --keep /tmp/base

The checkpoints have the keys, the shapes and the `opt` of `keys_*_base.json`, random weights, and
the originals' own buffers (tables of positions, masks of 25 MB a decoder layer). Each command runs
in a process of its own. The exit status is 1 if a conversion takes more than 30 s, or more memory
than three times the size of its file.
"""

import argparse
import contextlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
from typing import NamedTuple

import numpy as np

from tfsum.formats.torch_writer import write_torch_file

MODELS = ("bertsum_ext_transformer", "presumm_abs")
SECONDS, TIMES = 30.0, 3.0  # of a conversion, and its peak memory in sizes of the file
SPREAD = 0.02  # of the weights, as BERT's are initialized
SPECIAL = {0: "[PAD]", 100: "[UNK]", 101: "[CLS]", 102: "[SEP]", 103: "[MASK]"}
ARTICLE = pathlib.Path(__file__).parents[1] / "examples" / "article.txt"


class Cost(NamedTuple):
    """The cost of a process."""

    seconds: float
    cpu_seconds: float
    peak_bytes: int


def write_checkpoint(path: pathlib.Path, keys: dict) -> None:
    """Writes a checkpoint with random weights by its keys, each tensor in a storage of its own but
    for tied weights."""
    random, tensors = np.random.default_rng(27), {}
    for name, (shape, kind) in keys["model"].items():
        if name.endswith("pos_emb.pe"):
            tensors[name] = positions(shape)
        elif name.endswith(".mask"):
            tensors[name] = np.triu(np.ones(shape, kind), k=1)
        elif name == "generator.0.weight":
            tensors[name] = tensors["decoder.embeddings.weight"]
        else:
            tensors[name] = SPREAD * random.standard_normal(shape, np.float32)
    write_torch_file(path, tensors, keys["opt"])


def positions(shape: list[int]) -> np.ndarray:
    """The originals' table of sines and cosines, whose angles are in float32."""
    _, rows, width = shape
    frequencies = np.exp(
        np.arange(0, width, 2, dtype=np.float32) * np.float32(-np.log(10000.0) / width)
    )
    angles = np.arange(rows, dtype=np.float32)[:, None] * frequencies
    return np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(shape)


def write_vocabulary(path: pathlib.Path, rows: int) -> None:
    """Writes a vocabulary that places the special tokens as bert-base-uncased does, with single
    letters as pieces."""
    letters = [*"abcdefghijklmnopqrstuvwxyz0123456789.,-'"]
    pieces = [SPECIAL.get(i, f"[unused{i - 1 if i < 100 else i - 5}]") for i in range(104)]
    pieces += letters + [f"##{letter}" for letter in letters]
    path.write_text("\n".join([*pieces, *(f"word{i}" for i in range(rows - len(pieces)))]) + "\n")


def run(*command: object) -> Cost:
    """Runs `tfsum` with arguments in a process of its own."""
    program = "import sys; from tfsum.cli.main import main; sys.exit(main())"
    words = [sys.executable, "-c", program, *map(str, command)]
    begin = time.monotonic()
    child = subprocess.Popen(
        words, env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}, stdout=subprocess.DEVNULL
    )
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"tfsum {' '.join(map(str, command))}: exit status {child.returncode}")
    kilobytes = usage.ru_maxrss // (1024 if sys.platform == "darwin" else 1)
    return Cost(time.monotonic() - begin, usage.ru_utime + usage.ru_stime, kilobytes * 1024)


def measure(name: str, parity: pathlib.Path, folder: pathlib.Path) -> bool:
    """Prints the costs of a model's commands, and whether the conversion is within the bounds."""
    keys, file = json.loads((parity / f"keys_{name}_base.json").read_text()), folder / f"{name}.pt"
    write_checkpoint(file, keys)
    write_vocabulary(
        folder / "vocab.txt", keys["model"]["bert.model.embeddings.word_embeddings.weight"][0][0]
    )
    size, weights = file.stat().st_size, keys["n_parameters"]
    print(f"{name}: {weights / 1e6:.0f} M weights, a file of {size / 1e6:.0f} MB")
    model, export = folder / name, folder / f"{name}_export"
    commands: dict[str, tuple] = {
        "convert": (file, model, "--to", "tfsum", "--vocabulary", folder / "vocab.txt"),
        "export --storage small": (model, export / "1", "--storage", "small"),
        "summarize": (ARTICLE, "--model", export / "1"),
        "convert back": (model, folder / f"{name}_back.pt", "--to", name.partition("_")[0]),
    }
    good = True
    for what, arguments in commands.items():
        cost = run(what.split()[0], *arguments)
        times = cost.peak_bytes / size
        good &= what != "convert" or (cost.seconds <= SECONDS and times <= TIMES)
        print(
            f"  {what:24}{cost.seconds:8.1f} s{cost.cpu_seconds:8.1f} CPU"
            f" s{cost.peak_bytes / 1e6:8.0f} MB at most{times:6.2f} x the file",
            flush=True,
        )
    written = sum(path.stat().st_size for path in export.rglob("*") if path.is_file())
    print(f"  the export has {written / 1e6:.0f} MB")
    return good


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("parity", type=pathlib.Path, help="the folder with keys_*_base.json")
    parser.add_argument(
        "--models", nargs="+", default=MODELS, metavar="NAME", help=f"default {' '.join(MODELS)}"
    )
    parser.add_argument(
        "--keep",
        type=pathlib.Path,
        metavar="FOLDER",
        help="where the files stay (default: nowhere)",
    )
    given = parser.parse_args()
    with contextlib.ExitStack() as stack:
        if given.keep is None:
            folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
        else:
            folder = given.keep
            folder.mkdir(parents=True, exist_ok=True)
        within = [measure(name, given.parity, folder) for name in given.models]
    good = all(within)
    print(
        f"conversions within {SECONDS:.0f} s and {TIMES:.0f} times the size of the file:"
        f" {'yes' if good else 'no'}"
    )
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
