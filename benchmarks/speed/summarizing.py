"""The figures of speed of one or more exports and of other programs, in turns in one run: size of
the graph, memory, seconds from start, milliseconds of the encoder and of documents, documents a
second.

    python -m benchmarks summarizing
    python -m benchmarks summarizing saved_models/bert_sum_ext_news_en/3 served/news/1 \\
        --rivals lexrank openvino-int8 --corpus ../shared/data/news/validation.jsonl.gz

Prints tables in Markdown: medians of the rounds, the least in parentheses, and the ratio to the
first row (or to `import tensorflow`). `--quick` takes one round of everything and ten documents.
With a corpus also the documents a second, and the share of the sentences that are those of the
first row. The others (summarizing_rivals.py) run in an environment of their own, which is made from
requirements/rivals.txt the first time; `--rivals` without names leaves them out. Run it when
nothing else runs; the load is printed.
"""

import argparse
import functools
import os
import pathlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from operator import methodcaller

import numpy as np

from benchmarks import corpora, results
from benchmarks.other_interpreter import OtherInterpreter, environment
from benchmarks.serving.server import TFSUM, Serving
from tfsum.inference.allowed_operations import read_graphs
from tfsum.inference.exported_model import computed_in
from tfsum.inference.saved_model import read_description, shipped_model
from tfsum.tasks.bert_sum_ext.summarizer import Summarizer

SHAPES = ((1, 128), (1, 512), (8, 512))
KILOBYTES = (1, 5, 20)
SENTENCE = 25  # tokens of a sentence of the random windows
BATCH = 32
SILENT = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
RIVALS = (
    "transformers",
    "transformers-bfloat16",
    "onnxruntime",
    "onnxruntime-int8",
    "openvino",
    "openvino-bfloat16",
    "openvino-int8",
    "lexrank",
    "textrank",
)
PRODUCT = (4096, 384, 1536)  # by which the speed of products is measured


def name_of(export: pathlib.Path) -> str:
    return "/".join(export.parts[-2:])


def graph_row(export: pathlib.Path) -> results.Row:
    """Nodes, functions and bytes of an export, and the most memory of a summary by it."""
    (graph,) = read_graphs(export)
    functions = graph.graph_def.library.function
    nodes = len(graph.graph_def.node) + sum(len(function.node_def) for function in functions)
    process = subprocess.Popen(summarize(export), **SILENT)
    return {
        "nodes": f"{nodes:,}",
        "functions": str(len(functions)),
        "bytes of saved_model.pb": f"{(export / 'saved_model.pb').stat().st_size:,}",
        "MB of `tfsum summarize`": f"{os.wait4(process.pid, 0)[2].ru_maxrss / 1000:,.0f}",
    }


def summarize(export: pathlib.Path) -> tuple[str, ...]:
    """The command for one article."""
    return (*TFSUM, "summarize", "--model", str(export), str(corpora.ARTICLE))


def seconds_of(*command: str) -> float:
    """The seconds of a process."""
    return results.seconds(lambda: subprocess.run(command, check=True, **SILENT))


def seconds_until_ready(*exports: pathlib.Path) -> float:
    """The seconds from the start of `tfsum serve` until it answers."""
    with tempfile.TemporaryDirectory() as folder:
        for number, export in enumerate(exports):
            pathlib.Path(folder, f"model_{number}").mkdir()
            pathlib.Path(folder, f"model_{number}", "1").symlink_to(export.resolve())
        with Serving(pathlib.Path(folder), "--no-access-log") as server:
            return server.seconds


def start_calls(exports: list[pathlib.Path]) -> dict[str, Callable[[], float]]:
    """What a person waits for, `import tensorflow` first."""
    importing = (sys.executable, "-c", "import tensorflow")
    calls = {
        "import tensorflow": functools.partial(seconds_of, *importing),
        "tfsum --help": functools.partial(seconds_of, *TFSUM, "--help"),
    }
    for export in exports:
        calls[f"tfsum summarize, {name_of(export)}"] = functools.partial(
            seconds_of, *summarize(export)
        )
        calls[f"tfsum serve, {name_of(export)}"] = functools.partial(seconds_until_ready, export)
    calls[f"tfsum serve, {len(exports)} models"] = functools.partial(seconds_until_ready, *exports)
    return calls


def windows(rows: int, length: int) -> dict[str, np.ndarray]:
    """Windows without padding, of random tokens."""
    ids = np.random.default_rng(0).integers(5, 60, (rows, length))
    places = np.arange(length)
    return {
        "token_ids": ids,
        "segment_ids": np.tile(places // SENTENCE % 2, (rows, 1)),
        "sentence_starts": np.tile(places[::SENTENCE], (rows, 1)),
    }


def open_rivals(names: list[str], export: pathlib.Path) -> dict[str, OtherInterpreter]:
    """The others, each in a process, with a model of the sizes of an export."""
    task = {
        "threads": os.cpu_count(),
        "config": read_description(export)["config"],
        "vocabulary": str((export / "assets" / "vocab.txt").resolve()),
        "text": corpora.article(max(KILOBYTES)),
    }
    python = environment("rivals") if names else ""
    rivals = {
        name: OtherInterpreter(python, "speed.summarizing_rivals", {**task, "who": name})
        for name in names
    }
    for rival in rivals.values():
        print("; ".join(f"{key} {value}" for key, value in rival.facts.items()), flush=True)
    return rivals


def questions() -> dict[str, tuple[Callable[[Summarizer], object], dict]]:
    """Column -> what ours are called with, and the question to the others."""
    encoders = {
        "{} x {}".format(*shape): (
            methodcaller("call", "score_ids", windows(*shape)),
            {"windows": shape},
        )
        for shape in SHAPES
    }
    texts = {f"{size} kB": corpora.article(size) for size in KILOBYTES}
    return encoders | {
        column: (methodcaller("__call__", text), {"characters": len(text)})
        for column, text in texts.items()
    }


def model_rows(
    models: dict[str, Summarizer], rivals: dict[str, OtherInterpreter], rounds: int
) -> dict[str, results.Row]:
    """Milliseconds of the encoder and of documents by each model and each of the others."""
    rows: dict[str, results.Row] = {name: {} for name in (*models, *rivals)}

    def theirs(rival: OtherInterpreter, question: dict) -> float:
        return rival.ask(**question)["seconds"]

    for column, (ask, question) in questions().items():
        calls = {
            name: functools.partial(results.seconds, functools.partial(ask, model))
            for name, model in models.items()
            if "characters" in question or not name.endswith("openvino")  # of texts alone
        }
        for name, rival in rivals.items():
            if rival.facts["encoder"] or "characters" in question:
                calls[name] = functools.partial(theirs, rival, question)
        for call in calls.values():
            call()  # compiles for the shapes

        taken = results.in_turns(calls, rounds)
        for name, cell in results.beside_first(taken, scale=1000).items():
            rows[name][column] = cell
    return rows


def product_speed(dtype: str) -> float:
    """The operations a second of one large product."""
    import tensorflow as tf

    rows, columns, inner = PRODUCT
    a, b = tf.ones([rows, columns], dtype), tf.ones([columns, inner], dtype)
    product = tf.function(tf.matmul)
    product(a, b)
    taken = [results.seconds(lambda: product(a, b).numpy()) for _ in range(20)]
    return 2 * rows * columns * inner / min(taken)


def floor(config: dict, lengths: Iterable[int], speed: float) -> float:
    """Seconds that the products of the encoder take for windows, at so many operations a second."""
    layers, width = config["num_hidden_layers"], config["hidden_size"]
    weights = 2 * layers * width * (4 * width + 2 * config["intermediate_size"])  # a token
    return sum(length * (weights + 4 * layers * length * width) for length in lengths) / speed


def floor_rows(config: dict) -> dict[str, results.Row]:
    """Milliseconds that the products of the encoder take at the speed of one large product."""
    rows = {}
    for dtype in ("float32", "bfloat16"):
        speed = product_speed(dtype)
        rows[f"floor, {dtype}, {speed / 1e9:.0f} GF/s"] = {
            f"{b} x {t}": f"{1000 * floor(config, b * [t], speed):.1f}" for b, t in SHAPES
        }
    return rows


def corpus_rows(
    models: dict[str, Summarizer], corpus: pathlib.Path, documents: int
) -> dict[str, results.Row]:
    """Documents a second in batches by length, and the share of the first row's sentences."""
    texts = sorted((row["text"] for row in corpora.read(corpus, documents)), key=len)
    chosen: dict[str, set] = {}
    rows = {}
    for name, model in models.items():
        begin, chosen[name] = time.perf_counter(), set()
        for at in range(0, len(texts), BATCH):
            found = enumerate(model(texts[at : at + BATCH]), at)
            chosen[name] |= {(place, *each) for place, answer in found for each in answer.offsets}
        rate = len(texts) / (time.perf_counter() - begin)
        first = next(iter(chosen.values()))
        rows[name] = {
            "documents a second": f"{rate:.1f}",
            "sentences of the first": f"{len(first & chosen[name]) / len(first):.2%}",
        }
    return rows


OPTIONS = {
    "exports": {"nargs": "*", "type": pathlib.Path, "default": [shipped_model()]},
    "--compute": {"nargs": "+", "default": ["float32", computed_in("auto")]},
    "--rivals": {"nargs": "*", "choices": RIVALS, "default": RIVALS},
    "--corpus": {"type": pathlib.Path},
    "--documents": {"type": int, "default": 1000},
    "--quick": {"action": "store_true"},
}


def run(options: argparse.Namespace) -> None:
    names = [name_of(export) for export in options.exports]
    if len({*names}) < len(names):
        sys.exit(f"two exports have one name ({', '.join(names)}); name their folders apart")
    rounds, more_rounds, documents = (1, 1, 10) if options.quick else (5, 9, options.documents)

    print(results.machine())
    results.show({name_of(export): graph_row(export) for export in options.exports})
    started = results.beside_first(results.in_turns(start_calls(options.exports), rounds), digits=2)
    results.show({name: {"seconds from start": cell} for name, cell in started.items()})

    models = {
        f"{name_of(export)}, {compute}": Summarizer(export, compute)
        for export in options.exports
        for compute in dict.fromkeys(options.compute)
    }
    rivals = open_rivals(options.rivals, options.exports[0])
    rows = model_rows(models, rivals, more_rounds)
    for rival in rivals.values():
        rival.close()
    results.show(rows | floor_rows(read_description(options.exports[0])["config"]))
    if options.corpus:
        results.show(corpus_rows(models, options.corpus, documents))
