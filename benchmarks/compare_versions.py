"""Does this checkout answer, train and export as another one does, byte for byte, and how fast is
each?

    git worktree add ../before COMMIT
    python benchmarks/compare_versions.py ../before --corpus ../shared/data/news/validation.jsonl.gz

Runs both checkouts in turns, each in processes of its own: the shipped summarizer on documents of
the corpus, `tfsum verify` of the shipped models, the first steps of a recipe (by default the news
recipe: weights, optimizer and average of the checkpoint are compared bit by bit), and the export of
what they trained. Prints a JSON line for each figure: whether everything is equal, and seconds as
medians over the rounds with their ratio. Exit status 1 where anything differs. The recipe's records
are prepared once by each checkout, and compared too.
"""

import argparse
import json
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

HERE = pathlib.Path(__file__).resolve().parents[1]
SUMMARIZE = """
import dataclasses, gzip, json, sys, time
import tfsum
path, count = sys.argv[1], int(sys.argv[2])
opened = gzip.open if path.endswith(".gz") else open
with opened(path, "rt", encoding="utf-8") as file:
    texts = [json.loads(line)["text"] for _, line in zip(range(count), file)]
texts = [text if isinstance(text, str) else "\\n".join(text) for text in texts]
summarize = tfsum.load()
summarize(texts[:32])
start = time.perf_counter()
answers = summarize(texts)
seconds = time.perf_counter() - start
answers = [dataclasses.asdict(answer) for answer in answers]
print(json.dumps({"seconds": seconds, "answers": answers}))
"""
VERB = "import sys; from tfsum.cli.main import main; sys.exit(main(sys.argv[1:]))"


class Checkout:
    """One of the two source trees; its commands run in processes of their own, in this checkout's
    folder."""

    def __init__(self, name: str, tree: pathlib.Path, folder: pathlib.Path):
        self.name, self.folder = name, folder
        self.environment = {**os.environ, "PYTHONPATH": str(tree), "TF_CPP_MIN_LOG_LEVEL": "3"}

    def python(self, code: str, *words: str) -> str:
        """What a program prints; `-P` keeps the package of the working folder out of its path."""
        command = [sys.executable, "-P", "-c", code, *map(str, words)]
        done = subprocess.run(
            command, cwd=HERE, env=self.environment, capture_output=True, text=True, check=False
        )
        if done.returncode:
            sys.exit(
                f"{self.name}: {' '.join(map(str, words))}: exit status"
                f" {done.returncode}\n{done.stderr[-3000:]}"
            )
        return done.stdout

    def train(
        self, recipe: pathlib.Path, run: pathlib.Path, steps: int, overrides: list[str]
    ) -> float:
        """Trains up to the checkpoint of some step and stops there; returns the seconds of its last
        steps."""
        sets = [
            f"train.folder={run}",
            f"data.records={self.folder / 'records'}",
            f"train.validate_every={steps}",
            *overrides,
        ]
        words = [str(recipe), *(word for item in sets for word in ("--set", item))]
        process = subprocess.Popen(
            [sys.executable, "-P", "-c", VERB, "train", *words],
            cwd=HERE,
            env=self.environment,
            stderr=subprocess.PIPE,
            text=True,
        )
        times, lines = {}, []
        for line in process.stderr:
            lines.append(line)
            if line.startswith("step "):
                times[line.split("  ")[0]] = time.perf_counter()
            if line.startswith(f"step {steps}:"):
                process.send_signal(signal.SIGTERM)
        if process.wait() not in (0, 75):
            sys.exit(
                f"{self.name}: training ended with {process.returncode}\n{''.join(lines)[-3000:]}"
            )
        points = [
            moment
            for name, moment in times.items()
            if "/" in name and int(name[5:].split("/")[0]) <= steps
        ]
        if len(points) < 2:
            sys.exit(
                f"--steps {steps}: a progress line comes every 10 steps; give 20 or more, so that"
                " there are two"
            )
        return points[-1] - points[0]


def checkpoint(run: pathlib.Path, step: int) -> dict[str, np.ndarray]:
    """The arrays of a checkpoint by name."""
    import tensorflow as tf

    reader = tf.train.load_checkpoint(str(run / "checkpoints" / f"ckpt-{step}"))
    return {
        name: reader.get_tensor(name)
        for name in reader.get_variable_to_shape_map()
        if "OBJECT_GRAPH" not in name
    }


def same_files(one: pathlib.Path, other: pathlib.Path, pattern: str) -> tuple[int, list[str]]:
    """How many files of a pattern there are, and those that differ."""
    names = sorted(
        {str(path.relative_to(root)) for root in (one, other) for path in root.rglob(pattern)}
    )
    return len(names), [
        name
        for name in names
        if not (
            (one / name).is_file()
            and (other / name).is_file()
            and (one / name).read_bytes() == (other / name).read_bytes()
        )
    ]


def report(what: str, equal: bool, seconds: dict[str, list[float]], **more) -> bool:
    """Prints a figure."""
    medians = {name: round(statistics.median(values), 2) for name, values in seconds.items()}
    line = {"what": what, "equal": equal, **more}
    if medians:
        line |= {"seconds": medians, "ratio": round(medians["after"] / medians["before"], 3)}
    print(json.dumps(line), flush=True)
    return equal


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("before", type=pathlib.Path, help="the other checkout")
    add("--corpus", type=pathlib.Path, required=True, help="documents as JSON lines")
    add("--documents", type=int, default=200)
    add("--recipe", type=pathlib.Path, default=HERE / "training" / "bert_sum_ext_news.toml")
    add("--steps", type=int, default=50)
    add(
        "--set",
        dest="overrides",
        action="append",
        default=[],
        metavar="SECTION.KEY=VALUE",
        help="of the recipe",
    )
    add(
        "--rounds",
        type=int,
        default=3,
        help="of summarizing and exporting (default 3); training has one",
    )
    options = parser.parse_args()
    corpus, equal = options.corpus.resolve(), True
    with tempfile.TemporaryDirectory() as work:
        trees = {"before": options.before.resolve(), "after": HERE}
        both = [Checkout(name, tree, pathlib.Path(work) / name) for name, tree in trees.items()]
        answers, seconds = {}, {checkout.name: [] for checkout in both}
        for _ in range(options.rounds):
            for checkout in both:
                found = json.loads(
                    checkout.python(SUMMARIZE, corpus, options.documents).splitlines()[-1]
                )
                answers[checkout.name] = found["answers"]
                seconds[checkout.name].append(found["seconds"])
        equal &= report(
            "summaries", answers["before"] == answers["after"], seconds, documents=options.documents
        )
        for model in sorted(path for path in (HERE / "saved_models").iterdir() if path.is_dir()):
            found = [json.loads(c.python(VERB, "verify", model, "--format", "json")) for c in both]
            equal &= report(
                f"verify {model.name}",
                found[0] == found[1],
                {},
                largest_score_difference=found[1]["largest_score_difference"],
            )
        overrides, seconds = ["evaluate.documents=20", *options.overrides], {}
        for checkout in both:
            run = checkout.folder / "run"
            seconds[checkout.name] = [
                checkout.train(options.recipe.resolve(), run, options.steps, overrides)
            ]
        count, different = same_files(*(c.folder / "records" for c in both), "*.tfrecord")
        equal &= report("records", not different, {}, files=count, different=different)
        weights = [checkpoint(c.folder / "run", options.steps) for c in both]
        different = sorted(
            name
            for name in weights[0].keys() | weights[1].keys()
            if not all(name in w for w in weights)
            or not np.array_equal(weights[0][name], weights[1][name])
        )
        equal &= report(
            f"first {options.steps} steps",
            not different,
            seconds,
            arrays=len(weights[0]),
            different=different,
        )
        seconds = {checkout.name: [] for checkout in both}
        for i in range(options.rounds):
            for checkout in both:
                start = time.perf_counter()
                checkout.python(
                    VERB,
                    "export",
                    checkout.folder / "run" / "best",
                    checkout.folder / "news" / str(i + 1),
                    "--storage",
                    "small",
                )
                seconds[checkout.name].append(time.perf_counter() - start)
        count, different = same_files(
            *(c.folder / "news" / "1" / "variables" for c in both), "*.data*"
        )
        golden = [
            json.loads((c.folder / "news" / "1" / "assets.extra" / "golden.json").read_text())
            for c in both
        ]
        equal &= report("export", not different and golden[0] == golden[1], seconds)
    return 0 if equal else 1


if __name__ == "__main__":
    sys.exit(main())
