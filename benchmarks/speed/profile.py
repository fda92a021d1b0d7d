"""Where the time of a call goes, on one thread: milliseconds by kind of work, beside the floor.

    python -m benchmarks profile
    python -m benchmarks profile served/news/4 --compute bfloat16 --rounds 9

The kinds add up to the processor's time of the call, the least of some runs. What an operation
takes is the least of as many runs that TensorFlow records; which kind it is, follows from the
function that it stands in, and in the encoder from the operation and the width of what it gives.
"Executor" is the rest: to find the next operation, and to start it. "Python" is what the call takes
outside of the C library. The floor is the products of the encoder at the speed of one large one.
Run it when nothing else runs: an operation that waits for the processor counts as slow.
"""

import argparse
import collections
import ctypes
import os
import pathlib
import time
from collections.abc import Iterator

import numpy as np

from benchmarks import corpora, results
from benchmarks.speed import summarizing
from tfsum.inference import c_session
from tfsum.inference.allowed_operations import read_graphs
from tfsum.inference.saved_model import read_description, shipped_model
from tfsum.tensorflow_messages import Fields

COLUMNS = ("1 x 128", "1 kB", "5 kB", "8 x 512")

# Kind -> a part of the name of the function that it stands in, the innermost that is one of these.
FUNCTIONS = {
    "attention": "encoder_",  # the loop over rows
    "encoder": "_encode_",
    "head": "_score_sentences_",
    "pooling, words": "_pool_",
    "text": "_split_",
    "traits, groups": "_read_",
    "choice": "_inference_",
}
# Kind -> operations of the encoder outside of its attention; by their width the others are of the
# GELU or of normalizations, residuals and biases.
OPERATIONS = {
    "products": ("MatMul",),
    "casts": ("Cast",),
    "gathers": ("Gather", "Scatter", "Concat", "StridedSlice", "ReadVariable"),
}
KINDS = (
    *("products", "attention", "GELU", "normalization", "casts", "gathers", "pooling, words"),
    *("head", "choice", "text", "traits, groups", "executor", "Python"),
)


class Buffer(ctypes.Structure):
    """`TF_Buffer` of c_api.h."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("length", ctypes.c_size_t),
        ("deallocator", ctypes.c_void_p),
    )


def recorded(session: c_session.CSession, signature: str, given: dict) -> tuple[Fields, float]:
    """TensorFlow's record of a call, and its seconds outside of the C library."""
    from tensorflow.core.protobuf import config_pb2

    options = config_pb2.RunOptions(trace_level=3).SerializeToString()
    asked = Buffer(ctypes.cast(options, ctypes.c_void_p), len(options))
    record, inside, run = Buffer(), [], c_session.tf.TF_Run

    def with_record(session: int, _: None, *others: object) -> None:
        *inputs, _, status = others
        call = (session, ctypes.byref(asked), *inputs, ctypes.byref(record), status)
        inside.append(results.seconds(lambda: run(*call)))

    c_session.tf.TF_Run = with_record
    try:
        whole = results.seconds(lambda: session.call(signature, given))
    finally:
        c_session.tf.TF_Run = run
    return (
        config_pb2.RunMetadata.FromString(ctypes.string_at(record.data, record.length)),
        whole - inside[0],
    )


def functions_around(bodies: dict[str, dict], name: str) -> Iterator[str]:
    """The functions that a node stands in, from the outermost: "a/body/_7/b" is the node b of the
    function `body` of the node a. The bodies are by function, "" for the graph."""
    function, calling = "", None
    for part in name.split("/"):
        calling = bodies[function].get(part, calling)
        places = (part if part in ("body", "cond") else "f", f"{part}_branch")
        for called in (calling[place].func.name for place in places if calling):
            if called:
                yield called
                function, calling = called, None


def kind_of(node: Fields, bodies: dict[str, dict], intermediate: int) -> str:
    """The kind of a node of a record."""
    kind = "executor"
    for name in functions_around(bodies, node.node_name):
        found = (kind for kind, part in FUNCTIONS.items() if part in name)
        kind = next(found, kind) if kind != "head" else kind
    if kind != "encoder":
        return kind

    operation = node.timeline_label.partition(" = ")[2].partition("(")[0]
    for kind, parts in OPERATIONS.items():
        if any(part in operation for part in parts):
            return kind
    shapes = (output.tensor_description.shape for output in node.output)
    widths = [shape.dim[-1].size for shape in shapes if shape.dim]
    return "GELU" if intermediate in widths else "normalization"


def profile(
    session: c_session.CSession, bodies: dict, intermediate: int, call: tuple, rounds: int
) -> dict[str, float]:
    """Seconds of a call by kind."""
    least: dict[tuple, float] = {}  # of each operation, each time that it is computed
    whole, python = [], []
    for _ in range(rounds):
        begin = time.process_time()
        session.call(*call)
        whole.append(time.process_time() - begin)

        record, outside = recorded(session, *call)
        python.append(outside)
        times: collections.Counter[str] = collections.Counter()
        for node in (node for each in record.step_stats.dev_stats for node in each.node_stats):
            name = node.node_name
            times[name] += 1
            key = kind_of(node, bodies, intermediate), name, times[name]
            taken = (node.op_end_rel_nanos - node.op_start_rel_nanos) / 1e9
            least[key] = min(taken, least.get(key, taken))

    found = collections.Counter({"Python": min(python)})
    for (kind, *_), seconds in least.items():
        found[kind] += seconds
    found["executor"] += min(whole) - found.total()
    return found


def call_of(column: str) -> tuple[str, dict]:
    """The signature that a column calls, and its inputs."""
    first, unit, *width = column.split()
    return (
        ("serving_default", {"text": [corpora.article(int(first)).encode()]})
        if unit == "kB"
        else ("score_ids", summarizing.windows(int(first), *map(int, width)))
    )


OPTIONS = {
    "export": {"nargs": "?", "type": pathlib.Path, "default": shipped_model()},
    "--compute": summarizing.OPTIONS["--compute"],
    "--columns": {"nargs": "+", "choices": COLUMNS, "default": COLUMNS},
    "--rounds": {"type": int, "default": 7},
}


def run(options: argparse.Namespace) -> None:
    # read when TensorFlow starts
    os.environ |= {"TF_NUM_INTRAOP_THREADS": "1", "TF_NUM_INTEROP_THREADS": "1"}
    description, (graph,) = read_description(options.export), read_graphs(options.export)
    config, bodies = (
        description["config"],
        {"": {node.name: node.attr for node in graph.graph_def.node}}
        | {
            each.signature.name: {node.name: node.attr for node in each.node_def}
            for each in graph.graph_def.library.function
        },
    )
    print(
        f"{results.machine()}; one thread; AMX:",
        "amx_" in pathlib.Path("/proc/cpuinfo").read_text(),
    )

    for compute in dict.fromkeys(options.compute):
        session = c_session.CSession(options.export, description, compute)
        speed = summarizing.product_speed(compute)
        rows: dict[str, results.Row] = {kind: {} for kind in (*KINDS, "sum", "floor")}
        for column in options.columns:
            signature, given = call = call_of(column)
            taken = profile(session, bodies, config["intermediate_size"], call, options.rounds)
            windows = given if signature == "score_ids" else session.call("windows", given)
            floor = summarizing.floor(config, np.count_nonzero(windows["token_ids"], 1), speed)
            taken |= {"sum": sum(taken.values()), "floor": floor}
            for kind, row in rows.items():
                row[f"{compute}, {column}"] = f"{1000 * taken[kind]:.1f}"
        results.show(rows)
