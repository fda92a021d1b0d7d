"""Makes saved_model.pb smaller by shortening names, which are two fifths of it.

Only the operations inside functions are renamed, since nothing outside a function refers to them.
The names of arguments, results, functions and of the outer graph stay. TensorFlow's optimizer
depends on names, so that sums may be rounded differently (by 1e-7).
"""

import itertools
import pathlib
import string
from collections.abc import Iterator

from tensorflow.core.framework.function_pb2 import FunctionDef
from tensorflow.core.protobuf.saved_model_pb2 import SavedModel

from tfsum.atomic_files import write_atomically

SHAPES = "_output_shapes"  # an annotation that TensorFlow infers again when it loads the graph
LETTERS = string.ascii_lowercase + string.digits


def compact_graph(folder: str | pathlib.Path) -> None:
    """Shortens the names in the functions of a SavedModel and removes its shape annotations.

    Args:
        folder: SavedModel, changed in place; the fingerprint.pb of the old graph is removed.

    Example:
        >>> import os, shutil, tempfile
        >>> from tfsum.inference.shipped import shipped_model
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
            shorten_names(function)
        for holder in (meta_graph.graph_def.node, *(function.node_def for function in functions)):
            for node in holder:
                node.attr.pop(SHAPES, None)
    write_atomically(path, model.SerializeToString(deterministic=True))
    path.with_name("fingerprint.pb").unlink(missing_ok=True)


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

    def renamed(reference: str) -> str:
        # "name:output:0", "^name" of a control dependency, or the name of an argument
        caret = "^" * reference.startswith("^")
        name, colon, output = reference.removeprefix("^").partition(":")
        return caret + names.get(name, name) + colon + output

    for node in function.node_def:
        node.name = names[node.name]
        node.input[:] = [renamed(reference) for reference in node.input]
        if "_class" in node.attr:  # b"loc:@name": on the device of that operation
            places = node.attr["_class"].list.s
            places[:] = [
                b"loc:@" + renamed(place.decode().removeprefix("loc:@")).encode()
                for place in places
            ]
    for results in (function.ret, function.control_ret):
        for result, reference in list(results.items()):
            results[result] = renamed(reference)


def _names() -> Iterator[str]:
    for length in itertools.count():
        for rest in itertools.product(LETTERS, repeat=length):
            for first in string.ascii_lowercase:
                yield first + "".join(rest)
