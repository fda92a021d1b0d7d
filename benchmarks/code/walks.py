"""What a command, a request and a training run execute of tfsum/: files, lines, and how a reader
who follows them goes through the rooms.

    python -m benchmarks walks [summarize|request|train|row ...] [--files]

    summarize    `tfsum summarize examples/article.txt`
    request      `POST /summarize` to a server that has answered another text before
    train        `tfsum train` with one step of tests/fixtures/tiny_corpus/extractive.toml, from
                 prepared records
    row          the way of a batch of rows in that training: from the opening of the records to the
                 changed weights

A file counts when a function of it begins; what an import executes is not counted. Files are in the
order in which they are first run. A return is a new file in a room that was left before.
"""

import argparse
import contextlib
import inspect
import io
import json
import pathlib
import shutil
import sys
import tempfile
import threading
import urllib.request
from collections.abc import Callable, Iterator
from types import FrameType

import tfsum
from benchmarks import results
from benchmarks.corpora import ARTICLE, ROOT

PACKAGE = pathlib.Path(tfsum.__file__).parent

Walk = dict[str, set[tuple[str, int]]]  # file of tfsum/ -> the places of its lines that ran


def trace_into(walk: Walk) -> Callable:
    """A trace function that adds the lines of tfsum/, those of new threads too."""

    def trace_call(frame: FrameType, event: str, argument: object) -> Callable | None:
        if frame.f_trace is not None:  # a coroutine goes on, in the walk in which it began
            return frame.f_trace
        # Functions that AutoGraph has rewritten keep the globals of the module that they are of.
        file = frame.f_globals.get("__file__") or ""
        is_function = frame.f_code.co_flags & inspect.CO_OPTIMIZED  # and no module or class body
        if not is_function or not file.startswith(f"{PACKAGE}/") or is_import(frame):
            return None

        lines = walk.setdefault(file.removeprefix(f"{PACKAGE}/"), set())

        def trace_line(frame: FrameType, event: str, argument: object) -> Callable:
            lines.add((frame.f_code.co_filename, frame.f_lineno))
            return trace_line

        return trace_line(frame, event, argument)

    return trace_call


def is_import(frame: FrameType | None) -> bool:
    """Whether an import executes a frame, as it does a dataclass or a table that a module makes."""
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


@contextlib.contextmanager
def traced() -> Iterator[Walk]:
    """What runs inside, in the threads that begin there too."""
    walk: Walk = {}
    trace = trace_into(walk)
    threading.settrace(trace)
    sys.settrace(trace)
    try:
        yield walk
    finally:
        sys.settrace(None)
        threading.settrace(None)


def run_command(*words: str) -> None:
    """Runs a command without what it prints."""
    from tfsum.cli.main import main as tfsum_main

    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        status = tfsum_main(words)
    if status:
        sys.exit(f"tfsum {' '.join(words)}: exit status {status}\n{printed.getvalue()}")


def summarize() -> Walk:
    """The walk of `tfsum summarize`."""
    with traced() as walk:
        run_command("summarize", str(ARTICLE))
    return walk


def request() -> Walk:
    """The walk of a request from its arrival to its answer."""
    from tfsum.serving.server import Server
    from tfsum.serving.settings import ServerSettings

    settings = ServerSettings(port=0, poll_seconds=3600.0)
    with traced() as walk, Server(settings=settings) as server:
        # A signature's first call also gives TensorFlow its part of the graph.
        url = f"http://127.0.0.1:{server.port}/summarize"
        for end in (" It rained.", ""):
            body = json.dumps({"text": ARTICLE.read_text(encoding="utf-8") + end}).encode()
            walk.clear()
            urllib.request.urlopen(urllib.request.Request(url, body)).read()
        return walk.copy()


@contextlib.contextmanager
def prepared_recipe() -> Iterator[str]:
    """A recipe in the working folder, whose records are prepared."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        shutil.copytree(ROOT / "tests" / "fixtures" / "tiny_corpus", folder, dirs_exist_ok=True)
        run_command("prepare", "extractive.toml")
        yield "extractive.toml"


def train() -> Walk:
    """The walk of a training run from its records to its first step."""
    with prepared_recipe() as recipe, traced() as walk:
        run_command("train", recipe, "--set", "train.steps=1")
    return walk


def row() -> Walk:
    """The walk of a batch of rows from the opening of the records to the changed weights."""
    from tfsum.tasks.bert_sum_ext.train import build_model, make_run, prepare_data
    from tfsum.tasks.recipes import load_recipe

    with prepared_recipe() as file, contextlib.redirect_stderr(io.StringIO()):
        recipe = load_recipe(file)
        data = prepare_data(recipe)
        model = build_model(recipe, data)
        run = make_run(recipe, data, model)
        seed = recipe.train.seed

        with traced() as walk:
            batches = run.batches(0)
            # Here too: tf.data assembles in threads of its own, which no trace function sees.
            batches.batcher.assemble(batches.batcher.rows_of(0, seed))
            dataset = batches.dataset(model.distribute_strategy, seed)
            model.fit(dataset, steps_per_epoch=1, verbose=0)
    return walk


def returns(files: list[str]) -> int:
    """How often a reader of files in this order comes back to a room that was left before."""
    rooms = [file.rpartition("/")[0] for file in files]
    entered = [room for room, before in zip(rooms, [None, *rooms]) if room != before]
    return len(entered) - len(set(entered))


def counts(walk: Walk) -> dict[str, str]:
    """The counts of a walk, by column."""
    return {
        "files": f"{len(walk)}",
        "lines": f"{sum(map(len, walk.values())):,}",
        "returns": f"{returns(list(walk))}",
    }


WALKS = {"summarize": summarize, "request": request, "train": train, "row": row}


OPTIONS = {
    "walks": {"metavar": "WALK", "nargs": "*", "help": f"{', '.join(WALKS)}; all"},
    "--files": {"action": "store_true", "help": "also list the files of each walk"},
}


def run(options: argparse.Namespace) -> None:
    walked = {name: WALKS[name]() for name in options.walks or WALKS}
    print(results.table({name: counts(walk) for name, walk in walked.items()}))
    for name, walk in walked.items() if options.files else ():
        print(f"\n{name}\n" + "\n".join(f"  {file}: {len(walk[file])}" for file in walk))
