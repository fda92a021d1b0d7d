"""The operations allowed in an exported model: any host of TensorFlow 2 has them.

No operation of XLA (Keras's `slice_update` makes one), none that draws random numbers, none of Python. Before
adding a name, check that TensorFlow Serving's binary has its kernel.
"""

import pathlib
from typing import Any

import tensorflow as tf
from google.protobuf.message import DecodeError
from tensorflow.core.protobuf import saved_model_pb2

from tfsum.errors import ExportError

FLOW = """Assert Const Identity If NoOp PartitionedCall Placeholder StatefulPartitionedCall StatelessIf StatelessWhile
    StopGradient While"""
FILES = """AssignVariableOp DisableCopyOnRead MergeV2Checkpoints ReadVariableOp ResourceGather RestoreV2 SaveV2
    ShardedFilename VarHandleOp"""
# LogSoftmax scores the tokens of an answer, Min cuts the unlikely ones off before one is drawn: kernels of the first
# TensorFlow, registered in every build.
NUMBERS = """AddV2 All Any ArgMax BatchMatMulV2 BiasAdd Cast Cos Cumsum DenseBincount Equal Erf Erfc FloorDiv FloorMod
    Greater GreaterEqual IsNan Less LessEqual Log LogSoftmax LogicalAnd LogicalNot LogicalOr MatMul Max Maximum Mean
    Min Minimum Mul Neg NotEqual Pow Prod RealDiv Relu Rsqrt Sigmoid Sin Softmax Sqrt Square SquaredDifference Sub Sum
    Tanh TopKV2 UnsortedSegmentMax UnsortedSegmentSum"""
SHAPES = """BroadcastTo ConcatV2 ExpandDims Fill GatherNd GatherV2 LowerBound OneHot OnesLike Pack Pad PadV2
    RaggedGather RaggedTensorToTensor Range Reshape ReverseV2 ScatterNd Select SelectV2 Shape Size Slice
    Split StridedSlice Squeeze TensorListConcatV2 TensorListFromTensor TensorListGetItem TensorListReserve
    TensorListSetItem TensorListStack TensorScatterUpdate TensorStridedSliceUpdate Tile Transpose Unique Unpack
    UpperBound Where ZerosLike"""
STRINGS = """HashTableV2 LookupTableFindV2 LookupTableImportV2 ReduceJoin StaticRegexFullMatch StaticRegexReplace
    StringJoin StringLength StringSplit StringSplitV2 StringToHashBucketFast StringUpper Substr UnicodeDecode
    UnicodeDecodeWithOffsets UnicodeEncode UnicodeTranscode UnsortedSegmentJoin"""
CORE = frozenset(" ".join((FLOW, FILES, NUMBERS, SHAPES, STRINGS)).split())
TEXT = CORE | {
    "FastBertNormalize",
    "FastWordpieceTokenizeWithOffsets",
    "TFText>WhitespaceTokenizeWithOffsetsV2",
}
ALLOWED = {"core": CORE, "text": TEXT}

FOLDED = 4096  # more float numbers than this in one constant are weights that someone folded into the graph


def read_nodes(folder: str | pathlib.Path) -> list:
    """Reads all nodes of a SavedModel, including those of its functions.

    Args:
        folder: the SavedModel.

    Returns:
        A list of `NodeDef`.

    Raises:
        ExportError: the file is not a SavedModel.

    Example:
        >>> from tfsum.inference.shipped import shipped_model
        >>> "StringSplitV2" in {node.op for node in read_nodes(shipped_model())}
        True
    """
    proto = saved_model_pb2.SavedModel()
    path = pathlib.Path(folder) / "saved_model.pb"
    try:
        proto.ParseFromString(path.read_bytes())
    except DecodeError:
        raise ExportError(
            f"{path}: no SavedModel, or one cut short; fetch or export it again"
        ) from None
    graph = proto.meta_graphs[0].graph_def
    return [
        *graph.node,
        *(node for function in graph.library.function for node in function.node_def),
    ]


def check_operations(folder: str | pathlib.Path, ops: str) -> list[str]:
    """Checks every operation of a SavedModel.

    Args:
        folder: the SavedModel.
        ops: "core" or "text".

    Returns:
        The names of its operations, sorted.

    Raises:
        ExportError: an operation is not allowed, or a constant holds weights.

    Example:
        >>> from tfsum.inference.shipped import shipped_model
        >>> check_operations(shipped_model(), "core")[:2]
        ['AddV2', 'All']
    """
    nodes = read_nodes(folder)
    found = {node.op for node in nodes}
    if found - ALLOWED[ops]:
        raise ExportError(
            f"{folder}: operations {', '.join(sorted(found - ALLOWED[ops]))} are not among those that every host of "
            f"ops={ops!r} has; find what makes them, or allow them in tfsum/export/allowed_operations.py"
        )
    for node in nodes:
        if node.op == "Const" and _floats(node.attr["value"].tensor) > FOLDED:
            raise ExportError(
                f"{folder}: the constant {node.name} holds weights; store each once, as a variable"
            )
    return sorted(found)


def _floats(tensor: Any) -> int:
    """The number of floats that a TensorProto stores (a repeated value is stored once)."""
    size = tf.dtypes.as_dtype(tensor.dtype).size if tensor.dtype else 0
    if not size or not tf.dtypes.as_dtype(tensor.dtype).is_floating:
        return 0
    return max(len(tensor.tensor_content) // size, len(tensor.float_val), len(tensor.half_val))
