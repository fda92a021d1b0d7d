"""How time and memory grow: with the length of a document, the documents of a batch, the model.

    python -m benchmarks growth
    python -m benchmarks growth --kilobytes 1 10 100 --batches 1 16 --models shipped

Each cell is a process of its own that opens an export, answers once (which compiles), and then
three times: the median seconds of these, and the most memory the process ever had. Of more than 200
kB together the first answer is the one that is timed. The exponent is the slope of log seconds over
log size from the cell before. "base" is a BertSumExt of BERT base's size with random weights,
exported for the occasion.
"""

import argparse
import json
import math
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

import tfsum
from benchmarks import corpora, results
from tfsum.inference.c_session import CSession
from tfsum.inference.saved_model import read_description, shipped_model

ONCE = 200  # kilobytes; the first answer to a longer text is the one that is timed
EXPORTED = ("ops", "storage", "max_sentences", "sentences", "selection", "block_trigrams")


def cell(export: pathlib.Path, kilobytes: int, rows: int, compute: str) -> dict[str, float]:
    """Seconds and peak memory of one answer, in this process."""
    session = CSession(export, read_description(export), compute)
    given = {"text": [corpora.article(kilobytes).encode()] * rows}
    times = 4 if kilobytes * rows <= ONCE else 1
    taken = [results.seconds(lambda: session.call("serving_default", given)) for _ in range(times)]
    status = pathlib.Path("/proc/self/status").read_text(encoding="ascii")
    return {
        "seconds": statistics.median(taken[1:] or taken),
        "megabytes": int(re.search(r"VmHWM:\s+(\d+)", status)[1]) / 1024,
    }


def measured(export: pathlib.Path, kilobytes: int, rows: int, compute: str) -> dict[str, float]:
    """The same in a process of its own."""
    words = ["--cell", str(export), str(kilobytes), str(rows), compute]
    command = [sys.executable, "-m", "benchmarks", "growth", *words]
    run = subprocess.run(command, check=True, stdout=subprocess.PIPE, cwd=corpora.ROOT)
    return json.loads(run.stdout)


def export_base(folder: pathlib.Path) -> pathlib.Path:
    """An export of BERT base's size, with the tokenizer of the shipped one."""
    description = read_description(shipped_model())
    head = description["config"]["bert_sum_ext"]
    model = tfsum.BertSumExt(tfsum.Bert(30522, 768, 12, 12, 3072), **head)
    model.build()

    vocabulary = (shipped_model() / "assets" / "vocab.txt").read_text(encoding="utf-8")
    settings = {key: description[key] for key in ("text", "frequent")}
    model.save_pretrained(folder / "model", vocabulary.splitlines(), settings=settings)
    options = {name: description[name] for name in EXPORTED}
    return tfsum.export_model(folder / "model", folder / "base" / "1", **options)


def add_rows(
    rows: dict[str, results.Row], label: str, sizes: list[tuple[int, dict[str, float]]]
) -> None:
    """Adds a row for each size."""
    before = None
    for size, found in sizes:
        exponent = ""
        if before:
            slope = math.log(found["seconds"] / before[1]) / math.log(size / before[0])
            exponent = f"{slope:.2f}"
        rows[label.format(size)] = {
            "seconds": f"{found['seconds']:.3f}",
            "MB at most": f"{found['megabytes']:,.0f}",
            "exponent": exponent,
        }
        before = size, found["seconds"]


OPTIONS = {
    "--kilobytes": {"type": int, "nargs": "*", "default": [1, 10, 100, 1000, 10_000]},
    "--batches": {"type": int, "nargs": "*", "default": [1, 4, 16, 64, 256]},
    "--models": {"nargs": "+", "choices": ("shipped", "base"), "default": ["shipped"]},
    "--compute": {"default": "float32"},
    "--cell": {"nargs": 4, "help": argparse.SUPPRESS},
}


def run(options: argparse.Namespace) -> None:
    if options.cell:
        export, kilobytes, rows, compute = options.cell
        results.show_json(**cell(pathlib.Path(export), int(kilobytes), int(rows), compute))
        return

    print(results.machine())
    with tempfile.TemporaryDirectory() as folder:
        for name in options.models:
            export = shipped_model() if name == "shipped" else export_base(pathlib.Path(folder))
            found: dict[str, results.Row] = {}
            sizes = [(n, measured(export, n, 1, options.compute)) for n in options.kilobytes]
            add_rows(found, f"{name}, {options.compute}, a document of {{:,}} kB", sizes)
            sizes = [(n, measured(export, 1, n, options.compute)) for n in options.batches]
            add_rows(found, f"{name}, {options.compute}, {{:,}} documents of 1 kB", sizes)
            results.show(found)
