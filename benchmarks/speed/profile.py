"""Where the time of a call goes, on one thread: milliseconds by kind of work, beside the floor.

    python -m benchmarks profile
    python -m benchmarks profile served/news/4 --compute bfloat16 --rounds 9

The kinds add up to the processor's time of the call, the least of some runs. What an operation
takes is the least of as many runs that TensorFlow records; which kind it is, follows from the
function that it stands in, and in the encoder from the operation and the width of what it gives.
"Executor" is the rest: to find the next operation, and to start it. "Python" is what the call takes
outside of the C library. The floor is the products of the encoder at the speed of one large one.
"""

import argparse
import collections
import contextlib
import ctypes
import os
import pathlib
import time
from collections.abc import Iterator

import numpy as np

from benchmarks import results
from benchmarks.speed.summarizing import floor, product_speed, questions
from tfsum.inference import c_session
from tfsum.inference.allowed_operations import read_graphs
from tfsum.inference.c_session import CSession
from tfsum.inference.exported_model import computed_in
from tfsum.inference.saved_model import read_description, shipped_model
from tfsum.tensorflow_messages import Fields

COLUMNS = ("1 x 128", "1 kB", "5 kB", "8 x 512")
FULL_TRACE = 3  # TensorFlow's number
ONE_THREAD = ("TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS")  # read when TensorFlow starts

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


@contextlib.contextmanager
def recorded() -> Iterator[tuple[Buffer, list[float]]]:
    """A buffer for the record of the run in the block, and the seconds that it takes."""
    from tensorflow.core.protobuf.config_pb2 import RunOptions

    options = RunOptions(trace_level=FULL_TRACE).SerializeToString()
    asked = Buffer(ctypes.cast(options, ctypes.c_void_p), len(options))
    record = Buffer()
    taken: list[float] = []
    run = c_session.tf.TF_Run

    def with_record(session: int, _: None, *others: object) -> None:
        *inputs, _, status = others
        call = (session, ctypes.byref(asked), *inputs, ctypes.byref(record), status)
        taken.append(results.seconds(lambda: run(*call)))

    c_session.tf.TF_Run = with_record
    try:
        yield record, taken
    finally:
        c_session.tf.TF_Run = run


class Kinds:
    """Tells the kind of an operation by its name in the graph and what it gives."""

    def __init__(self, graph: Fields, intermediate: int) -> None:
        self._functions = {
            function.signature.name: {node.name: node for node in function.node_def}
            for function in graph.graph_def.library.function
        }
        self._main = {node.name: node for node in graph.graph_def.node}
        self._intermediate = intermediate

    def of(self, node: Fields) -> str:
        """The kind of a node of a record."""
        _, _, described = node.timeline_label.partition(" = ")
        operation = described.partition("(")[0]
        kind = "executor"
        for name in self._around(node.node_name):
            found = (kind for kind, part in FUNCTIONS.items() if part in name)
            kind = next(found, kind) if kind != "head" else kind
        if kind != "encoder":
            return kind
        for kind, parts in OPERATIONS.items():
            if any(part in operation for part in parts):
                return kind
        shapes = [output.tensor_description.shape.dim for output in node.output]
        is_wide = any(shape and shape[-1].size == self._intermediate for shape in shapes)
        return "GELU" if is_wide else "normalization"

    def _around(self, name: str) -> Iterator[str]:
        """The functions that a node stands in, from the outermost: "a/body/_7/b" is the node b of
        the function `body` of the node a."""
        nodes, calling = self._main, None
        for part in name.split("/"):
            if part in nodes:
                calling = nodes[part].attr
            if calling is None:
                continue
            function = calling[part if part in ("body", "cond") else "f"].func.name
            function = function or calling[f"{part}_branch"].func.name
            if function:
                yield function
                nodes, calling = self._functions[function], None


def profile(session: CSession, kinds: Kinds, question: tuple, rounds: int) -> dict[str, float]:
    """Seconds of a call by kind."""
    from tensorflow.core.protobuf.config_pb2 import RunMetadata

    signature, given, _ = question
    session.call(signature, given)
    least: dict[tuple[str, int], float] = {}  # of each operation, each time that it is computed
    kind_of: dict[str, str] = {}
    whole, python = [], []
    for _ in range(rounds):
        begin = time.process_time()
        session.call(signature, given)
        whole.append(time.process_time() - begin)

        with recorded() as (record, inside):
            python.append(results.seconds(lambda: session.call(signature, given)) - inside[0])
        data = ctypes.string_at(record.data, record.length)
        times: collections.Counter[str] = collections.Counter()
        for device in RunMetadata.FromString(data).step_stats.dev_stats:
            for node in device.node_stats:
                name = node.node_name
                kind_of[name] = kinds.of(node)
                key = name, times[name]
                times[name] += 1
                taken = (node.op_end_rel_nanos - node.op_start_rel_nanos) / 1e9
                least[key] = min(taken, least.get(key, taken))

    found: collections.Counter[str] = collections.Counter()
    for (name, _), seconds in least.items():
        found[kind_of[name]] += seconds
    found["Python"] = min(python)
    found["executor"] += min(whole) - found.total()
    return found


def lengths_of(session: CSession, question: tuple) -> list[int]:
    """The tokens of the windows that the encoder reads, without padding."""
    signature, given, _ = question
    windows = given if signature == "score_ids" else session.call("windows", given)
    return np.count_nonzero(windows["token_ids"], 1).tolist()


OPTIONS = {
    "export": {"nargs": "?", "type": pathlib.Path, "default": shipped_model()},
    "--compute": {"nargs": "+", "default": ["float32", computed_in("auto")]},
    "--columns": {"nargs": "+", "choices": COLUMNS, "default": COLUMNS},
    "--rounds": {"type": int, "default": 7},
}


def run(options: argparse.Namespace) -> None:
    os.environ |= dict.fromkeys(ONE_THREAD, "1")
    (graph,) = read_graphs(options.export)
    description = read_description(options.export)
    kinds = Kinds(graph, description["config"]["intermediate_size"])
    cpuinfo = pathlib.Path("/proc/cpuinfo")
    amx = "AMX" if cpuinfo.is_file() and "amx_" in cpuinfo.read_text() else "no AMX"
    print(f"{results.machine()}; {amx}; one thread")

    for compute in dict.fromkeys(options.compute):
        session = CSession(options.export, description, compute)
        speed = product_speed(compute)
        rows: dict[str, results.Row] = {kind: {} for kind in (*KINDS, "sum", f"floor, {compute}")}
        for column in options.columns:
            question = questions()[column]
            taken = profile(session, kinds, question, options.rounds)
            taken["sum"] = sum(taken.values())
            lengths = lengths_of(session, question)
            taken[f"floor, {compute}"] = floor(description["config"], lengths, speed)
            for kind, row in rows.items():
                row[f"{compute}, {column}"] = f"{1000 * taken[kind]:.1f}"
        results.show(rows)
