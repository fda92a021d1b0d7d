"""Makes saved_model.pb smaller: nothing is said twice, and names, two fifths of it, are short.

Only the operations inside functions are renamed, since nothing outside a function refers to them.
The names of arguments, results, functions and of the outer graph stay. TensorFlow's optimizer
depends on names, so that sums may be rounded differently (by 1e-7).
"""

import itertools
import pathlib
import string
from collections.abc import Iterator

from tensorflow.core.framework.function_pb2 import FunctionDef
from tensorflow.core.protobuf.meta_graph_pb2 import MetaGraphDef
from tensorflow.core.protobuf.saved_model_pb2 import SavedModel

from tfsum.atomic_files import write_atomically
from tfsum.export.merge_equal_nodes import (
    merge_equal_functions,
    merge_equal_nodes,
    rename_functions,
    replace_references,
)

SHAPES = "_output_shapes"  # an annotation that TensorFlow infers again when it loads the graph
LETTERS = string.ascii_lowercase + string.digits


def compact_graph(folder: str | pathlib.Path) -> None:
    """Shortens the names in the functions of a SavedModel and removes its shape annotations.

    Args:
        folder: SavedModel, changed in place; the fingerprint.pb of the old graph is removed.

    Example:
        >>> import os, shutil, tempfile
        >>> from tfsum.inference.saved_model import shipped_model
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = shutil.copy(shipped_model() / "saved_model.pb", folder)
        ...     size = os.path.getsize(path)
        ...     compact_graph(folder)
        ...     os.path.getsize(path) <= size
        True
    """
    path = pathlib.Path(folder) / "saved_model.pb"
    model = SavedModel.FromString(path.read_bytes())
    for meta_graph in model.meta_graphs:
        functions = meta_graph.graph_def.library.function
        for function in functions:
            merge_equal_nodes(function)
            shorten_names(function)
        _merge_functions(meta_graph)
        for holder in (meta_graph.graph_def.node, *(function.node_def for function in functions)):
            for node in holder:
                node.attr.pop(SHAPES, None)
    write_atomically(path, model.SerializeToString(deterministic=True))
    path.with_name("fingerprint.pb").unlink(missing_ok=True)


def _merge_functions(meta_graph: MetaGraphDef) -> None:
    """Keeps one of all functions that do the same, the ones that they call first."""
    functions, nodes = meta_graph.graph_def.library.function, meta_graph.graph_def.node
    named = {*meta_graph.object_graph_def.concrete_functions, *(node.op for node in nodes)}
    named |= {value.func.name for node in nodes for value in node.attr.values()}
    while same := merge_equal_functions(list(functions), named):
        kept = [function for function in functions if function.signature.name not in same]
        rename_functions((node for function in kept for node in function.node_def), same)
        del functions[:]
        functions.extend(kept)


def shorten_names(function: FunctionDef) -> None:
    """Renames the operations of a function to a few letters and updates all references to them.

    Args:
        function: Function, changed in place.

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

    for node in function.node_def:
        node.name = names[node.name]
        if "_class" in node.attr:  # b"loc:@name": on the device of that operation
            places = node.attr["_class"].list.s
            old = [place.decode().removeprefix("loc:@") for place in places]
            places[:] = [b"loc:@" + names.get(name, name).encode() for name in old]
    replace_references(function, names)


def _names() -> Iterator[str]:
    for length in itertools.count():
        for rest in itertools.product(LETTERS, repeat=length):
            for first in string.ascii_lowercase:
                yield first + "".join(rest)
