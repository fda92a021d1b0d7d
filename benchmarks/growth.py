"""How time and memory grow: with the length of a document, the documents of a batch, the model.

    python benchmarks/growth.py
    python benchmarks/growth.py --kilobytes 1 10 100 --batches 1 16 --models shipped

Each cell is a process of its own that opens an export, answers once (which compiles), and then
three times: the median seconds of these, and the most memory the process ever had. Of more than 200
kB together the first answer is the one that is timed. The exponent is the slope of log seconds over
log size from the cell before. "base" is a BertSumExt of BERT base's size
with random weights, exported for the occasion.
"""

import argparse
import json
import math
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

from run import document, machine, table

from tfsum.inference.c_session import CSession
from tfsum.inference.saved_model import read_description
from tfsum.inference.shipped import shipped_model

ONCE = 200  # kilobytes; the first answer to a longer text is the one that is timed


def cell(export: pathlib.Path, kilobytes: int, rows: int, compute: str) -> dict:
    """Seconds and peak memory of one answer, in this process."""
    session = CSession(export, read_description(export), compute)
    given = {"text": [document(kilobytes).encode()] * rows}
    if times := 3 * (kilobytes * rows <= ONCE):
        session.call("serving_default", given)
    taken = []
    for _ in range(max(1, times)):
        begin = time.perf_counter()
        session.call("serving_default", given)
        taken.append(time.perf_counter() - begin)
    seconds = statistics.median(taken)
    status = pathlib.Path("/proc/self/status").read_text(encoding="ascii")
    peak = re.search(r"VmHWM:\s+(\d+)", status)
    assert peak is not None
    return {"seconds": seconds, "megabytes": int(peak[1]) / 1024}


def measured(export: pathlib.Path, kilobytes: int, rows: int, compute: str) -> dict:
    """The same in a process of its own."""
    asked = [str(export), str(kilobytes), str(rows), compute]
    run = subprocess.run(
        [sys.executable, __file__, "--cell", *asked], check=True, stdout=subprocess.PIPE
    )
    return json.loads(run.stdout)


def export_base(folder: pathlib.Path) -> pathlib.Path:
    """An export of BERT base's size, with the tokenizer of the shipped one."""
    import export_again

    import tfsum

    description = read_description(shipped_model())
    model = tfsum.BertSumExt(
        tfsum.Bert(30522, 768, 12, 12, 3072), **description["config"]["bert_sum_ext"]
    )
    model.build()
    words = export_again.word_piece_of(shipped_model(), description["text"])
    kept = {key: description[key] for key in ("text", "frequent")}
    model.save_pretrained(folder / "model", words.vocabulary, settings=kept)
    names = ("ops", "storage", "max_sentences", "sentences", "selection", "block_trigrams")
    options = {name: description[name] for name in names}
    return tfsum.export_model(folder / "model", folder / "base" / "1", **options)


def rows_of(label: str, cells: list[tuple[int, dict]]) -> list[list[str]]:
    """A row of the table for each size."""
    rows = []
    for i, (size, found) in enumerate(cells):
        exponent = ""
        if i:
            before, seconds = cells[i - 1][0], cells[i - 1][1]["seconds"]
            slope = math.log(found["seconds"] / seconds) / math.log(size / before)
            exponent = f"{slope:.2f}"
        rows.append(
            [label, f"{size:,}", f"{found['seconds']:.3f}", f"{found['megabytes']:,.0f}", exponent]
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kilobytes", type=int, nargs="*", default=[1, 10, 100, 1000, 10_000])
    parser.add_argument("--batches", type=int, nargs="*", default=[1, 4, 16, 64, 256])
    parser.add_argument("--models", nargs="+", choices=("shipped", "base"), default=["shipped"])
    parser.add_argument("--compute", default="float32")
    parser.add_argument("--cell", nargs=4, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.cell:
        export, kilobytes, rows, compute = arguments.cell
        print(json.dumps(cell(pathlib.Path(export), int(kilobytes), int(rows), compute)))
        return

    print(machine())
    with tempfile.TemporaryDirectory() as folder:
        exports = {"shipped": shipped_model}
        exports["base"] = lambda: export_base(pathlib.Path(folder))
        for name in arguments.models:
            export = exports[name]()
            sizes = [(n, measured(export, n, 1, arguments.compute)) for n in arguments.kilobytes]
            rows = rows_of("kB of a document", sizes)
            counts = [(n, measured(export, 1, n, arguments.compute)) for n in arguments.batches]
            rows += rows_of("documents of 1 kB", counts)
            head = [f"{name}, {arguments.compute}", "size", "seconds", "MB at most", "exponent"]
            table(head, rows)


if __name__ == "__main__":
    main()
