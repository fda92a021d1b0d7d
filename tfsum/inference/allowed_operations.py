"""Checks that an exported model has only operations that every host of TensorFlow 2 has.

A SavedModel is a program, and loading one runs its initializers: it is checked before. Only the
saver may call operations on files. Operations of XLA (Keras's `slice_update` makes one), of Python
and those that draw random numbers are not allowed. Before adding a name, check that TensorFlow
Serving's binary has its kernel.
"""

import itertools
import math
import pathlib
import re

from google.protobuf.message import DecodeError

from tfsum.errors import ExportError, as_error, require
from tfsum.tensorflow_messages import Fields, message

CORE = frozenset(
    (
        # control flow
        "Assert Const Identity If NoOp PartitionedCall Placeholder StatefulPartitionedCall "
        "StatelessIf StatelessWhile StopGradient While "
        # files and variables
        "AssignVariableOp DisableCopyOnRead MergeV2Checkpoints ReadVariableOp ResourceGather "
        "RestoreV2 SaveV2 ShardedFilename VarHandleOp "
        # numbers
        "AddV2 All Any ArgMax BatchMatMulV2 BiasAdd Cast Cos Cumsum DenseBincount Equal Erf Erfc "
        "FloorDiv FloorMod Greater GreaterEqual IsNan Less LessEqual Log LogSoftmax LogicalAnd "
        "LogicalNot LogicalOr MatMul Max Maximum Mean Min Minimum Mul Neg NotEqual Pow Prod "
        "RealDiv Relu Rsqrt Sigmoid Sin Softmax Softplus Sqrt Square SquaredDifference Sub Sum "
        "Tanh TopKV2 UnsortedSegmentMax UnsortedSegmentSum "
        # shapes
        "BroadcastTo ConcatV2 ExpandDims Fill GatherNd GatherV2 LowerBound OneHot OnesLike Pack "
        "Pad PadV2 RaggedGather RaggedTensorToTensor Range Reshape ReverseV2 ScatterNd Select "
        "SelectV2 Shape Size Slice Split StridedSlice Squeeze TensorListConcatV2 "
        "TensorListFromTensor TensorListGetItem TensorListReserve TensorListSetItem "
        "TensorListStack TensorScatterUpdate TensorStridedSliceUpdate Tile Transpose Unique "
        "Unpack UpperBound Where ZerosLike "
        # strings
        "HashTableV2 LookupTableFindV2 LookupTableImportV2 ReduceJoin StaticRegexFullMatch "
        "StaticRegexReplace StringJoin StringLength StringSplit StringSplitV2 "
        "StringToHashBucketFast StringUpper Substr UnicodeDecode UnicodeDecodeWithOffsets "
        "UnicodeEncode UnicodeTranscode UnsortedSegmentJoin "
    ).split()
)
TEXT = CORE | {
    "FastBertNormalize",
    "FastWordpieceTokenizeWithOffsets",
    "TFText>WhitespaceTokenizeWithOffsetsV2",
}
ALLOWED = {"core": CORE, "text": TEXT}

FOLDED = 4096  # floats; a larger constant holds weights that were folded into the graph
LARGEST = 1 << 24  # values of a constant, which TensorFlow does not check: it would end the process
FLOATS = {1: 4, 2: 8, 14: 2, 19: 2}  # TensorFlow's number of a type -> bytes of a value


# Operations that reach files, the network or Python, by parts of their names. A table may be read
# from a file, as assets are.
REACHING = re.compile(
    "File|Dataset|Reader|PyFunc|Save|Restore|Print|Summary|Rpc|Recv|Send|Checkpoint|Remap"
    "|ImmutableConst|codeProto|Debug"
)
TABLES = ("InitializeTableFromTextFile", "InitializeTableFromTextFileV2")
GIVEN = re.compile("^Placeholder$|HandleOp|Table")  # the folder, and what is restored
FILES = frozenset(("SaveV2", "RestoreV2", "MergeV2Checkpoints", "ShardedFilename"))


def check_operations(folder: str | pathlib.Path, ops: str | None) -> list[str]:
    """Checks the operations and constants of a SavedModel, without loading it.

    Args:
        folder: SavedModel, `.../NAME/VERSION`.
        ops: "core" or "text"; None for a model that tfsum did not export, which may have any
            operations but those that reach files, the network or Python.

    Returns:
        Sorted names of its operations, those of its functions among them.

    Raises:
        ExportError: It is no SavedModel, an operation is not allowed, one on files is not the
            saver's, or a constant holds weights.

    Example:
        >>> from tfsum.inference.saved_model import shipped_model
        >>> check_operations(shipped_model(), "core")[:2]
        ['AddV2', 'All']
    """
    graphs = read_graphs(folder)
    require(
        not ops or len(graphs) == 1,
        f"{folder}: has {len(graphs)} graphs, expected the one that tfsum exports",
        ExportError,
    )
    nodes: list[Fields] = []
    for graph in graphs:
        functions = {one.signature.name: one.node_def for one in graph.graph_def.library.function}
        nodes += [*graph.graph_def.node, *itertools.chain.from_iterable(functions.values())]
        if calls := _calls_of_files(graph, functions):
            raise ExportError(
                f"{folder}: {calls[0]} reads or writes files, which only the saver of a model may"
                " do; take models from people whom you trust"
            )
    operations = {node.op for node in nodes}

    if ops is None:
        reaching = {op for op in operations - FILES if REACHING.search(op)} - {*TABLES}
        require(
            not reaching,
            f"{folder}: operations {', '.join(sorted(reaching))} reach files, the network or"
            " Python, which no model here may do; take models from people whom you trust",
            ExportError,
        )
        return sorted(operations)

    require(
        ops in ALLOWED, f"{folder}: its ops are {ops!r}, expected 'core' or 'text'", ExportError
    )
    unknown = operations - ALLOWED[ops]
    require(
        not unknown,
        f"{folder}: operations {', '.join(sorted(unknown))} are not among those"
        f" that every host of ops={ops!r} has; find what makes them, or allow them in"
        " tfsum/inference/allowed_operations.py",
        ExportError,
    )
    for node in nodes:
        if node.op == "Const":
            _check_constant(node, f"{folder}: the constant {node.name}")
    return sorted(operations)


def read_graphs(folder: str | pathlib.Path) -> list[Fields]:
    """Reads the graphs of a SavedModel, of which TensorFlow loads the one with the tag "serve".

    Args:
        folder: SavedModel, `.../NAME/VERSION`.

    Returns:
        A list of `MetaGraphDef`.

    Raises:
        ExportError: The file is missing, or no SavedModel.

    Example:
        >>> from tfsum.inference.saved_model import shipped_model
        >>> len(read_graphs(shipped_model()))
        1
    """
    path = pathlib.Path(folder) / "saved_model.pb"
    with as_error(
        f"{path}: cannot be read",
        *(OSError, DecodeError),
        kind=ExportError,
        cure="; fetch or export the model again",
    ):
        return [*message("SavedModel").FromString(path.read_bytes()).meta_graphs]


def read_definitions(folder: str | pathlib.Path) -> dict[str, Fields]:
    """Reads the signatures of a SavedModel.

    Args:
        folder: SavedModel, `.../NAME/VERSION`.

    Returns:
        Name -> `SignatureDef`.

    Raises:
        ExportError: The file cannot be read, or there is nothing to serve in it.

    Example:
        >>> from tfsum.inference.saved_model import shipped_model
        >>> {"extract", "keywords", "score"} <= set(read_definitions(shipped_model()))
        True
    """
    for graph in read_graphs(folder):
        if "serve" in graph.meta_info_def.tags:
            return dict(graph.signature_def)
    raise ExportError(f"{folder}: has no graph to serve (tag 'serve'); export it again")


def calls_of(node: Fields) -> set[str]:
    """The operation of a node and the functions that it names.

    Args:
        node: A `NodeDef`.

    Example:
        >>> node = message("NodeDef")(op="If")
        >>> node.attr["then_branch"].func.name = "f"
        >>> sorted(calls_of(node))
        ['If', 'f']
    """
    found = {node.op}
    for value in node.attr.values():  # asked for with HasField, since each access takes its time
        if value.HasField("func"):
            found.add(value.func.name)
        if value.HasField("list"):
            found.update(function.name for function in value.list.func)
    return found


def _calls_of_files(graph: Fields, functions: dict[str, Fields]) -> list[str]:
    """The nodes and functions that reach an operation on files, the saver's own aside."""
    called = {name: set[str]().union(*map(calls_of, nodes)) for name, nodes in functions.items()}
    reaching = set(FILES)
    while more := {name for name, calls in called.items() if calls & reaching} - reaching:
        reaching |= more

    saver = {graph.saver_def.save_tensor_name.partition(":")[0], graph.saver_def.restore_op_name}
    found = [
        node.name
        for node in graph.graph_def.node
        if node.op in FILES or (calls_of(node) & reaching and node.name not in saver)
    ]
    objects = graph.object_graph_def
    named = {
        *objects.concrete_functions,
        *(thing.bare_concrete_function.concrete_function_name for thing in objects.nodes),
        *(name for thing in objects.nodes for name in thing.function.concrete_functions),
    }
    given = {node.name: node.op for node in graph.graph_def.node}
    restores = [
        node for node in graph.graph_def.node if node.name == graph.saver_def.restore_op_name
    ]
    for restore in restores:  # it runs when the model is loaded
        found += [
            node.name
            for name in calls_of(restore)
            for node in functions.get(name, ())
            if calls_of(node) & reaching
            # and which does not read the file whose name is an argument of the function
            and not (node.op == "RestoreV2" and ":" not in node.input[0])
        ]
        found += [name for name in restore.input if not GIVEN.search(given.get(name, ""))]
    return found + sorted(reaching & named)


def _check_constant(node: Fields, what: str) -> None:
    """Checks that a constant can be a tensor, and holds no weights."""
    tensor = node.attr["value"].tensor
    sizes = [dim.size for dim in tensor.tensor_shape.dim]
    is_possible = not tensor.tensor_shape.unknown_rank and min(sizes, default=0) >= 0
    require(
        is_possible and math.prod(sizes) <= LARGEST,
        f"{what} has a shape that no tensor has; fetch or export the model again",
        ExportError,
    )
    require(
        _floats(tensor) <= FOLDED,
        f"{what} holds weights; store each once, as a variable",
        ExportError,
    )


def _floats(tensor: Fields) -> int:
    """The number of floats that a TensorProto stores; a repeated value is stored once."""
    if tensor.dtype not in FLOATS:
        return 0
    stored = len(tensor.tensor_content) // FLOATS[tensor.dtype]
    return max(stored, len(tensor.float_val), len(tensor.double_val), len(tensor.half_val))
