"""Makes saved_model.pb smaller without changing operations: two fifths of it are names.

Only a function's own operations refer to its operations by name, and those references are updated. The names
of arguments, results and functions stay, and those of the outer graph, which signatures and variables refer to.
TensorFlow's optimizer depends on names, so sums may be rounded differently than before (by 1e-7).
"""

import itertools
import pathlib
import string
from collections.abc import Iterator

from tensorflow.core.framework.function_pb2 import FunctionDef
from tensorflow.core.protobuf.saved_model_pb2 import SavedModel

from tfsum.atomic_files import write_atomically

SHAPES = "_output_shapes"  # a note that TensorFlow infers again when it loads the graph
LETTERS = string.ascii_lowercase + string.digits


def compact_graph(folder: str | pathlib.Path) -> None:
    """Shortens the names in a SavedModel's functions and removes the shape annotations of operations.

    Args:
        folder: the SavedModel; its fingerprint.pb, of the old graph, is removed.

    Example:
        >>> compact_graph("saved_models/my_model/1")  # doctest: +SKIP
    """
    path = pathlib.Path(folder) / "saved_model.pb"
    model = SavedModel.FromString(path.read_bytes())
    for graph in (meta.graph_def for meta in model.meta_graphs):
        for function in graph.library.function:
            shorten_names(function)
        for node in itertools.chain(
            graph.node, *(function.node_def for function in graph.library.function)
        ):
            node.attr.pop(SHAPES, None)
    write_atomically(path, model.SerializeToString(deterministic=True))
    path.with_name("fingerprint.pb").unlink(missing_ok=True)


def shorten_names(function: FunctionDef) -> None:
    """Gives every operation of a function a name of a few letters, and updates all references to it.

    Args:
        function: changed in place.

    Example:
        >>> function = FunctionDef()
        >>> _ = function.node_def.add(name="a_long_name", op="NoOp")
        >>> shorten_names(function)
        >>> function.node_def[0].name
        'a'
    """
    taken = {argument.name for argument in function.signature.input_arg}
    free = (name for name in _names() if name not in taken)
    names = dict(zip([node.name for node in function.node_def], free))

    def renamed(
        reference: str,
    ) -> str:  # "name:output:0", "^name" where one waits for the other, or an argument
        waits = "^" if reference.startswith("^") else ""
        name, colon, output = reference.removeprefix("^").partition(":")
        return waits + names.get(name, name) + colon + output

    for node in function.node_def:
        node.name = names[node.name]
        node.input[:] = [renamed(reference) for reference in node.input]
        beside = node.attr["_class"].list.s if "_class" in node.attr else []
        beside[:] = [
            b"loc:@" + renamed(place.decode().removeprefix("loc:@")).encode() for place in beside
        ]
    for results in (function.ret, function.control_ret):
        for result, reference in list(results.items()):
            results[result] = renamed(reference)


def _names() -> Iterator[str]:
    for length in itertools.count():
        for rest in itertools.product(LETTERS, repeat=length):
            for first in string.ascii_lowercase:
                yield first + "".join(rest)
