"""Does this checkout answer, train and export as another one does, byte for byte, and how fast is
each?

    git worktree add ../before COMMIT
    python -m benchmarks versions ../before --corpus ../shared/data/news/validation.jsonl.gz

Runs both checkouts in turns, each in processes of its own: the shipped summarizer on documents of
the corpus, `tfsum verify` of the shipped models, the first steps of a recipe (by default the news
recipe: weights, optimizer and average of the checkpoint are compared bit by bit), and the export of
what they trained. Prints a JSON line for each figure: whether everything is equal, and seconds as
medians over the rounds with their ratio. Exit status 1 where anything differs. The recipe's records
are prepared once by each checkout, and compared too.
"""

import argparse
import functools
import json
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile

import numpy as np

from benchmarks import results
from benchmarks.corpora import ROOT

SUMMARIZE = """
import json, sys, time
import tfsum
from benchmarks import corpora
texts = [row["text"] for row in corpora.read(sys.argv[1], int(sys.argv[2]))]
summarize = tfsum.load()
summarize(texts[:32])
start = time.perf_counter()
answers = summarize(texts)
seconds = time.perf_counter() - start
answers = [(each.summary, each.offsets, [float(s) for s in each.scores]) for each in answers]
print(json.dumps({"seconds": seconds, "answers": answers}))
"""
VERB = "import sys; from tfsum.cli.main import main; sys.exit(main(sys.argv[1:]))"


class Checkout:
    """One of the two source trees; its commands run in processes of their own, in this checkout's
    folder."""

    def __init__(self, tree: pathlib.Path, folder: pathlib.Path):
        self.folder = folder
        # tfsum of that tree, the benchmarks of this one
        paths = os.pathsep.join(map(str, (tree, ROOT)))
        self._environment = {**os.environ, "PYTHONPATH": paths, "TF_CPP_MIN_LOG_LEVEL": "3"}

    def start(self, code: str, *words: object) -> subprocess.Popen:
        """Starts a program; `-P` keeps the package of the working folder out of its path."""
        command = [sys.executable, "-P", "-c", code, *map(str, words)]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return subprocess.Popen(command, cwd=ROOT, env=self._environment, text=True, **pipes)

    def output(self, code: str, *words: object) -> str:
        """What a program prints."""
        process = self.start(code, *words)
        printed, errors = process.communicate()
        if process.returncode:
            sys.exit(f"{self.folder.name}: {words}: {process.returncode}\n{errors[-3000:]}")
        return printed

    def train(self, recipe: pathlib.Path, steps: int, overrides: list[str]) -> None:
        """Trains up to the checkpoint of some step and stops there."""
        sets = [
            f"train.folder={self.folder / 'run'}",
            f"data.records={self.folder / 'records'}",
            f"train.validate_every={steps}",
            "evaluate.documents=20",
            *overrides,
        ]
        words = [word for each in sets for word in ("--set", each)]
        process = self.start(VERB, "train", recipe, *words)
        lines = []
        for line in process.stderr:
            lines.append(line)
            if line.startswith(f"step {steps}:"):
                process.send_signal(signal.SIGTERM)
        if process.wait() not in (0, 75):
            sys.exit(f"{self.folder.name}: training ended\n{''.join(lines)[-3000:]}")

    def checkpoint(self, step: int) -> dict[str, bytes]:
        """The arrays of a checkpoint by name."""
        import tensorflow as tf

        path = self.folder / "run" / "checkpoints" / f"ckpt-{step}"
        reader = tf.train.load_checkpoint(str(path))
        names = [n for n in reader.get_variable_to_shape_map() if "OBJECT_GRAPH" not in n]
        return {name: np.asarray(reader.get_tensor(name)).tobytes() for name in names}

    def files(self, folder: str, pattern: str) -> dict[str, bytes]:
        """The files of a pattern by name."""
        found = (self.folder / folder).rglob(pattern)
        return {str(path.relative_to(self.folder)): path.read_bytes() for path in found}


def report(what: str, values: list, seconds: list[list[float]] | None = None) -> bool:
    """Prints whether two values are equal, and the seconds of both."""
    before, after = values
    facts: dict[str, object] = {"equal": before == after}
    if isinstance(before, dict):
        names = sorted(before.keys() | after.keys())
        facts["count"] = len(names)
        facts["different"] = [name for name in names if before.get(name) != after.get(name)]
    if seconds:
        medians = [round(statistics.median(each), 2) for each in seconds]
        facts |= {"seconds": medians, "ratio": round(medians[1] / medians[0], 3)}
    results.show_json(what=what, **facts)
    return before == after


def compare_summaries(both: list[Checkout], options: argparse.Namespace) -> bool:
    answers = {}

    def summarize(checkout: Checkout) -> float:
        printed = checkout.output(SUMMARIZE, options.corpus.resolve(), options.documents)
        found = json.loads(printed.splitlines()[-1])
        answers[checkout.folder.name] = found["answers"]
        return found["seconds"]

    calls = {each.folder.name: functools.partial(summarize, each) for each in both}
    taken = results.in_turns(calls, options.rounds)
    return report("summaries", [answers[name] for name in taken], list(taken.values()))


def compare_exports(both: list[Checkout], options: argparse.Namespace) -> bool:
    def export(checkout: Checkout) -> float:
        """Exports the next version."""
        words = (checkout.folder / "run" / "best", checkout.folder / "news")
        call = functools.partial(checkout.output, VERB, "export", *words, "--storage", "small")
        return results.seconds(call)

    calls = {each.folder.name: functools.partial(export, each) for each in both}
    taken = results.in_turns(calls, options.rounds)
    written = [c.files("news/1", "*.data*") | c.files("news/1", "golden.json") for c in both]
    return report("export", written, list(taken.values()))


OPTIONS = {
    "before": {"type": pathlib.Path, "help": "the other checkout"},
    "--corpus": {"type": pathlib.Path, "required": True, "help": "documents as JSON lines"},
    "--documents": {"type": int, "default": 200},
    "--recipe": {"type": pathlib.Path, "default": ROOT / "training" / "bert_sum_ext_news.toml"},
    "--steps": {"type": int, "default": 50},
    "--set": {
        "dest": "overrides",
        "action": "append",
        "default": [],
        "metavar": "SECTION.KEY=VALUE",
    },
    "--rounds": {"type": int, "default": 3, "help": "of summarizing and exporting (default 3)"},
}


def run(options: argparse.Namespace) -> int:
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        both = [
            Checkout(options.before.resolve(), work / "before"),
            Checkout(ROOT, work / "after"),
        ]
        equal = compare_summaries(both, options)
        for model in sorted(path for path in (ROOT / "saved_models").iterdir() if path.is_dir()):
            found = [c.output(VERB, "verify", model, "--format", "json") for c in both]
            equal &= report(f"verify {model.name}", found)

        for checkout in both:
            checkout.train(options.recipe.resolve(), options.steps, options.overrides)
        equal &= report("records", [c.files("records", "*.tfrecord") for c in both])
        checkpoints = [checkout.checkpoint(options.steps) for checkout in both]
        equal &= report(f"first {options.steps} steps", checkpoints)
        equal &= compare_exports(both, options)
    return int(not equal)
