"""Makes saved_model.pb smaller: nothing is said twice, and names, two fifths of it, are short.

TensorFlow makes a constant for each number of a Python expression, asks for one shape again and
again, and makes new functions for each loop. The first call of a model is slow for them: it
instantiates every function, and its optimizers pass over every operation. (They would merge equal
operations too, but at each start of each host, and only within a function.)

Operations that have a state or a side effect stay, and so do the names of arguments, results,
functions and operations that something outside the functions refers to. TensorFlow's optimizer
depends on names, so that sums may be rounded differently (by 1e-7).
"""

import copy
import itertools
import pathlib
import string
from collections.abc import Iterable, Iterator, MutableSequence

from tensorflow.core.framework.attr_value_pb2 import AttrValue
from tensorflow.core.framework.function_pb2 import FunctionDef
from tensorflow.core.framework.node_def_pb2 import NodeDef
from tensorflow.core.protobuf.meta_graph_pb2 import MetaGraphDef
from tensorflow.core.protobuf.saved_model_pb2 import SavedModel
from tensorflow.python.framework import op_def_registry

from tfsum.atomic_files import write_atomically
from tfsum.private_names import check_private_names

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
        for holder in (meta_graph.graph_def.node, *(function.node_def for function in functions)):
            for node in holder:
                node.attr.pop(SHAPES, None)
                node.ClearField("experimental_debug_info")

        for function in functions:
            merge_equal_nodes(function)
            shorten_names(function)
        _merge_functions(meta_graph)
    write_atomically(path, model.SerializeToString(deterministic=True))
    path.with_name("fingerprint.pb").unlink(missing_ok=True)


def _merge_functions(meta_graph: MetaGraphDef) -> None:
    """Keeps one of all functions that do the same, the ones that they call first."""
    functions, nodes = meta_graph.graph_def.library.function, meta_graph.graph_def.node
    named = {
        *meta_graph.object_graph_def.concrete_functions,
        *(node.op for node in nodes),
        *(value.func.name for node in nodes for value in node.attr.values()),
    }
    for function in functions:
        if function.signature.name not in named:
            _shorten_arguments(function)

    while same := _equal(
        (function.signature.name, _but_its_name(function))
        for function in functions
        if function.signature.name not in named
    ):
        _keep(functions, [each for each in functions if each.signature.name not in same])
        for node in (node for function in functions for node in function.node_def):
            node.op = same.get(node.op, node.op)
            for value in node.attr.values():
                for called in (value.func, *value.list.func):
                    if called.name in same:
                        called.name = same[called.name]


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
            yield from (first + "".join(rest) for first in string.ascii_lowercase)


def merge_equal_nodes(function: FunctionDef) -> None:
    """Keeps one of all operations that compute the same, and removes those that nothing needs.

    Args:
        function: Function, changed in place.

    Example:
        >>> function = FunctionDef()
        >>> for name in "ab":
        ...     _ = function.node_def.add(name=name, op="Shape", input=["x"])
        >>> _ = function.node_def.add(name="c", op="Equal", input=["a:output:0", "b:output:0"])
        >>> function.ret["y"] = "c:z:0"
        >>> merge_equal_nodes(function)
        >>> [(node.name, [*node.input]) for node in function.node_def]
        [('a', ['x']), ('c', ['a:output:0', 'a:output:0'])]
    """
    check_private_names("tensorflow", op_def_registry, "get")
    while same := _equal(  # one merger makes others equal
        (node.name, _but_its_name(node)) for node in function.node_def if not _has_state(node)
    ):
        replace_references(function, same)
        _keep(function.node_def, [node for node in function.node_def if node.name not in same])

    # Others take what an Identity takes; results and control stay with it.
    passed = {
        f"{node.name}:output:0": node.input[0]
        for node in function.node_def
        if node.op == "Identity" and len(node.input) == 1 and "_class" not in node.attr
    }
    for node in function.node_def:
        for i, reference in enumerate(node.input):
            while reference in passed:
                reference = passed[reference]
            node.input[i] = reference

    nodes = {node.name: node for node in function.node_def}
    needed = set[str]()
    reached = [
        *(node.name for node in nodes.values() if _has_state(node)),
        *map(_node_of, (*function.ret.values(), *function.control_ret.values())),
    ]
    while reached:
        name = reached.pop()
        if name in nodes and name not in needed:
            needed.add(name)
            reached += map(_node_of, nodes[name].input)
    _keep(function.node_def, [node for node in function.node_def if node.name in needed])


def _shorten_arguments(function: FunctionDef) -> None:
    """Numbers the arguments and results of a function, which others give and take in order."""
    signature = function.signature
    short = {}
    for i, argument in enumerate(signature.input_arg):
        short[argument.name] = argument.name = f"in_{i}"
    for attributes in function.arg_attr.values():
        attributes.attr.pop("_user_specified_name", AttrValue())
    for i, result in enumerate(signature.output_arg):
        function.ret[f"out_{i}"] = function.ret.pop(result.name)
        result.name = f"out_{i}"

    replace_references(function, short)


def replace_references(function: FunctionDef, names: dict[str, str]) -> None:
    """Replaces the names of operations and arguments wherever a function refers to them.

    Args:
        function: Function, changed in place.
        names: Name that is referred to -> name to refer to.

    Example:
        >>> function = FunctionDef()
        >>> _ = function.node_def.add(name="c", op="Shape", input=["x", "^a"])
        >>> function.ret["y"] = "c:output:0"
        >>> replace_references(function, {"a": "b", "c": "d"})
        >>> [*function.node_def[0].input], function.ret["y"]
        (['x', '^b'], 'd:output:0')
    """
    for node in function.node_def:
        node.input[:] = [_replaced(reference, names) for reference in node.input]
    for results in (function.ret, function.control_ret):
        for result, reference in list(results.items()):
            results[result] = _replaced(reference, names)


def _equal(contents: Iterable[tuple[str, bytes]]) -> dict[str, str]:
    """Name -> the first name whose content is the same, for all but those first ones."""
    first: dict[bytes, str] = {}
    kept = {name: first.setdefault(content, name) for name, content in contents}
    return {name: other for name, other in kept.items() if other != name}


def _has_state(node: NodeDef) -> bool:
    """Whether an operation may differ from another one with the same inputs; a function that is
    called under its own name may."""
    definition = op_def_registry.get(node.op)
    return definition is None or definition.is_stateful or node.op == "Placeholder"


def _but_its_name(item: NodeDef | FunctionDef) -> bytes:
    """All of an operation or a function but its name."""
    same = copy.deepcopy(item)
    getattr(same, "signature", same).name = ""
    return same.SerializeToString(deterministic=True)


def _keep(items: MutableSequence, kept: list) -> None:
    """Removes all but some of the operations of a function, or of the functions of a graph."""
    del items[:]
    items.extend(kept)


def _node_of(reference: str) -> str:
    return reference.removeprefix("^").partition(":")[0]


def _replaced(reference: str, names: dict[str, str]) -> str:
    """A reference such as "name:output:0" or "^name", to the operation that took its place."""
    name, colon, output = reference.removeprefix("^").partition(":")
    return "^" * reference.startswith("^") + names.get(name, name) + colon + output
