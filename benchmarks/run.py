"""The figures of speed of one or more exports and of other programs, in turns in one run: size of
the graph, seconds from start, milliseconds of the encoder and of documents, documents a second.

    python benchmarks/run.py
    python benchmarks/run.py saved_models/bert_sum_ext_news_en/2 served/news/1 \\
        --rivals lexrank openvino-int8 --corpus ../shared/data/news/validation.jsonl.gz

Prints tables in Markdown: medians of the rounds, the least in parentheses, and the ratio to the
first row (or to `import tensorflow`). `--quick` takes one round of everything and ten documents.
With a corpus also the documents a second, and the share of the sentences that are those of the
first row. The others (rivals.py) run in an environment of their own, which is made from
requirements/rivals.txt the first time; `--rivals` without names leaves them out. Run it when
nothing else runs; the load is printed.
"""

import argparse
import datetime
import functools
import gzip
import importlib.metadata
import itertools
import json
import os
import pathlib
import platform
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
from other_interpreter import OtherInterpreter, environment

from tfsum.inference.allowed_operations import read_graphs
from tfsum.inference.c_session import CSession
from tfsum.inference.compute import computed_in
from tfsum.inference.saved_model import read_description
from tfsum.inference.shipped import shipped_model

ROOT = pathlib.Path(__file__).resolve().parents[1]
ARTICLE = ROOT / "examples" / "article.txt"
SHAPES = ((1, 128), (1, 512), (8, 512))
KILOBYTES = (1, 5, 20)
SENTENCE = 25  # tokens of a sentence of the random windows
READY_SECONDS = 120
PAUSE = 0.5  # seconds before a turn: threads of some programs spin for a while after theirs
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


def machine() -> str:
    """Date, versions, processor and load."""
    cpuinfo = pathlib.Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.is_file() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    processor = f"{len(names)} x {names[0]}" if names else platform.processor()
    versions = ", ".join(f"{p} {importlib.metadata.version(p)}" for p in ("tensorflow", "numpy"))
    load = os.getloadavg()[0]
    return f"{datetime.date.today()}; {processor}; {versions}; load {load:.1f}"


def name_of(export: pathlib.Path) -> str:
    return "/".join(export.parts[-2:])


def table(head: list[str], rows: list[list[str]]) -> None:
    print("\n| " + " | ".join(head) + " |\n|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(row) + " |", flush=True)


def graph_rows(exports: list[pathlib.Path]) -> list[list[str]]:
    """Nodes, functions and bytes of each export."""
    rows = []
    for export in exports:
        (graph,) = read_graphs(export)
        functions = graph.graph_def.library.function
        nodes = len(graph.graph_def.node) + sum(len(function.node_def) for function in functions)
        size = (export / "saved_model.pb").stat().st_size
        rows.append([name_of(export), f"{nodes:,}", str(len(functions)), f"{size:,}"])
    return rows


def in_turns(calls: dict[str, Callable[[], float]], rounds: int) -> dict[str, list[float]]:
    """The seconds that each call returns, all of them in turns, in an order that changes."""
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    names = list(calls)
    for i in range(rounds):
        for name in names if i % 2 == 0 else reversed(names):
            time.sleep(PAUSE)
            seconds[name].append(calls[name]())
    return seconds


def seconds_of(*command: str) -> float:
    """The seconds of a process."""
    begin = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - begin


def seconds_until_ready(export: pathlib.Path) -> float:
    """The seconds from the start of `tfsum serve` until /readyz answers 200."""
    with tempfile.TemporaryDirectory() as folder, socket.socket() as free:
        (pathlib.Path(folder) / "model").mkdir()
        (pathlib.Path(folder) / "model" / "1").symlink_to(export.resolve())
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        begin = time.perf_counter()
        server = subprocess.Popen(
            [*TFSUM, "serve", folder, "--port", str(port), "--no-access-log"],
            stderr=subprocess.DEVNULL,
        )
        try:
            while not is_ready(port):
                seconds = time.perf_counter() - begin
                assert server.poll() is None and seconds < READY_SECONDS, "tfsum serve: not ready"
                time.sleep(0.02)
            return time.perf_counter() - begin
        finally:
            server.terminate()
            server.wait()


def is_ready(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=5) as answer:
            return answer.status == 200
    except OSError:
        return False


TFSUM = (sys.executable, "-c", "import sys; from tfsum.cli.main import main; sys.exit(main())")


def start_calls(exports: list[pathlib.Path]) -> dict[str, Callable[[], float]]:
    """What a person waits for, `import tensorflow` first."""
    calls = {
        "import tensorflow": lambda: seconds_of(sys.executable, "-c", "import tensorflow"),
        "tfsum --help": lambda: seconds_of(*TFSUM, "--help"),
    }
    for export in exports:
        words = ("summarize", "--model", str(export), str(ARTICLE))
        calls[f"tfsum summarize, {name_of(export)}"] = lambda words=words: seconds_of(
            *TFSUM, *words
        )
        calls[f"tfsum serve, {name_of(export)}"] = lambda export=export: seconds_until_ready(export)
    return calls


def windows(rows: int, length: int) -> dict[str, np.ndarray]:
    """Windows without padding, of random tokens."""
    ids = np.random.default_rng(0).integers(5, 60, (rows, length))
    starts = np.arange(0, length, SENTENCE)
    return {
        "token_ids": ids,
        "segment_ids": np.tile(np.arange(length) // SENTENCE % 2, (rows, 1)),
        "sentence_starts": np.tile(starts, (rows, 1)),
    }


def open_rivals(names: list[str], export: pathlib.Path) -> dict[str, OtherInterpreter]:
    """The others, each in a process, with a model of the sizes of an export."""
    task = {
        "threads": os.cpu_count(),
        "config": read_description(export)["config"],
        "vocabulary": str((export / "assets" / "vocab.txt").resolve()),
        "text": document(max(KILOBYTES)),
    }
    python = environment() if names else ""
    rivals = {name: OtherInterpreter(python, "rivals.py", {**task, "who": name}) for name in names}
    for rival in rivals.values():
        print("; ".join(f"{key} {value}" for key, value in rival.facts.items()), flush=True)
    return rivals


def document(kilobytes: int) -> str:
    """So much of the article, again and again."""
    text = ARTICLE.read_text(encoding="utf-8")
    return (text * (1000 * kilobytes // len(text) + 1))[: 1000 * kilobytes]


def model_rows(
    sessions: dict[str, CSession], rivals: dict[str, OtherInterpreter], rounds: int
) -> tuple[list[str], list[list[str]]]:
    """Milliseconds of the encoder and of documents by each session and each of the others."""
    asked: dict[str, dict] = {f"{b} x {t}": {"windows": (b, t)} for b, t in SHAPES}
    asked |= {f"{size} kB": {"characters": 1000 * size} for size in KILOBYTES}

    cells: dict[str, list[str]] = {name: [name] for name in [*sessions, *rivals]}
    for question in asked.values():
        if "windows" in question:
            signature, given = "score_ids", windows(*question["windows"])
        else:
            text = document(max(KILOBYTES))[: question["characters"]]
            signature, given = "serving_default", {"text": [text.encode()]}

        def ours(session: CSession, signature: str = signature, given: dict = given) -> float:
            begin = time.perf_counter()
            session.call(signature, given)
            return time.perf_counter() - begin

        calls: dict[str, Callable[[], float]] = {
            name: functools.partial(ours, session) for name, session in sessions.items()
        }
        for name, rival in rivals.items():
            if rival.facts["encoder"] or "characters" in question:
                calls[name] = lambda r=rival, q=question: r.ask(q)["seconds"]
        for call in calls.values():
            call()  # compiles for the shapes
        taken = in_turns(calls, rounds)
        first = statistics.median(next(iter(taken.values())))
        for name, row in cells.items():
            seconds = taken.get(name)
            row.append(
                f"{1000 * statistics.median(seconds):.1f} ({1000 * min(seconds):.1f})"
                f" {statistics.median(seconds) / first:.2f}"
                if seconds
                else ""
            )
    return ["ms", *asked], list(cells.values())


def floor_rows(config: dict) -> list[list[str]]:
    """Milliseconds that the products of the encoder take at the speed of one large product."""
    import tensorflow as tf

    rows, columns, inner = PRODUCT
    layers, width = config["num_hidden_layers"], config["hidden_size"]
    weights = 2 * layers * width * (4 * width + 2 * config["intermediate_size"])  # a token
    floors = []
    for dtype in (tf.float32, tf.bfloat16):
        product = tf.function(tf.matmul)
        a, b = tf.ones([rows, columns], dtype), tf.ones([columns, inner], dtype)

        def seconds(product: Callable = product, a: tf.Tensor = a, b: tf.Tensor = b) -> float:
            begin = time.perf_counter()
            product(a, b).numpy()
            return time.perf_counter() - begin

        seconds()
        speed = 2 * rows * columns * inner / min(seconds() for _ in range(20))
        floors.append(
            [f"floor, {dtype.name}, {speed / 1e9:.0f} GF/s"]
            + [
                f"{1000 * b * t * (weights + 4 * layers * t * width) / speed:.1f}"
                for b, t in SHAPES
            ]
            + [""] * len(KILOBYTES)
        )
    return floors


def corpus_rows(sessions: dict[str, CSession], corpus: pathlib.Path, documents: int) -> list:
    """Documents a second in batches of 32, and the share of the first row's sentences."""
    opened = gzip.open if corpus.suffix == ".gz" else open
    with opened(corpus, "rt", encoding="utf-8") as lines:
        texts = [json.loads(line)["text"] for line in itertools.islice(lines, documents)]
    texts = [t if isinstance(t, str) else "\n".join(t) for t in texts]
    order = sorted(range(len(texts)), key=lambda i: len(texts[i]))

    chosen: dict[str, set] = {}
    rows = []
    for name, session in sessions.items():
        begin, chosen[name] = time.perf_counter(), set()
        for at in range(0, len(order), 32):
            places = order[at : at + 32]
            found = session.call("serving_default", {"text": [texts[i].encode() for i in places]})
            for i, starts in zip(places, found["start"]):
                chosen[name] |= {(i, int(start)) for start in starts if start >= 0}
        rate = len(texts) / (time.perf_counter() - begin)
        first = next(iter(chosen.values()))
        rows.append([name, f"{rate:.1f}", f"{len(first & chosen[name]) / len(first):.2%}"])
    return rows


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("exports", nargs="*", type=pathlib.Path, default=[shipped_model()])
    parser.add_argument("--compute", nargs="+", default=["float32", computed_in("auto")])
    parser.add_argument("--rivals", nargs="*", choices=RIVALS, default=RIVALS)
    parser.add_argument("--corpus", type=pathlib.Path)
    parser.add_argument("--documents", type=int, default=1000)
    parser.add_argument("--quick", action="store_true")
    arguments = parser.parse_args(argv)
    names = [name_of(export) for export in arguments.exports]
    if len({*names}) < len(names):
        parser.error(f"two exports have one name ({', '.join(names)}); name their folders apart")
    rounds = 1 if arguments.quick else 5

    print(machine())
    head = ["export", "nodes", "functions", "bytes of saved_model.pb"]
    table(head, graph_rows(arguments.exports))

    taken = in_turns(start_calls(arguments.exports), rounds)
    base = statistics.median(taken["import tensorflow"])
    rows = [
        [name, f"{statistics.median(s):.2f} ({min(s):.2f})", f"{statistics.median(s) / base:.2f}"]
        for name, s in taken.items()
    ]
    table(["from start", "seconds", "ratio"], rows)

    sessions = {
        f"{name_of(export)}, {compute}": CSession(export, read_description(export), compute)
        for export in arguments.exports
        for compute in dict.fromkeys(arguments.compute)
    }
    rivals = open_rivals(arguments.rivals, arguments.exports[0])
    head, rows = model_rows(sessions, rivals, 1 if arguments.quick else 9)
    for rival in rivals.values():
        rival.close()
    table(head, rows + floor_rows(read_description(arguments.exports[0])["config"]))
    if arguments.corpus:
        documents = 10 if arguments.quick else arguments.documents
        head = ["corpus", "documents a second", "sentences of the first row"]
        table(head, corpus_rows(sessions, arguments.corpus, documents))


if __name__ == "__main__":
    main()
