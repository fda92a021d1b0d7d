"""Removes from the functions of a graph what they say twice.

TensorFlow makes a constant for each number of a Python expression, asks for one shape again and
again, and makes new functions for each loop. The first call of a model is slow for them: it
instantiates every function, and its optimizers pass over every operation. (They would merge equal
operations too, but at each start of each host, and only within a function.)

Operations that have a state or a side effect stay, and so do the names of arguments, results and
functions that something outside the functions refers to.
"""

from collections.abc import Collection, Iterable

from tensorflow.core.framework.attr_value_pb2 import AttrValue
from tensorflow.core.framework.function_pb2 import FunctionDef
from tensorflow.core.framework.node_def_pb2 import NodeDef
from tensorflow.python.framework import op_def_registry

from tfsum.private_names import check_private_names


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
        (node.name, _computes(node)) for node in function.node_def if not _has_state(node)
    ):
        replace_references(function, same)
        _remove(function, same)

    _pass_by_identities(function)
    nodes = {node.name: node for node in function.node_def}
    needed = set[str]()
    reached = [node.name for node in nodes.values() if _has_state(node)]
    reached += map(_node_of, (*function.ret.values(), *function.control_ret.values()))
    while reached:
        name = reached.pop()
        if name in nodes and name not in needed:
            needed.add(name)
            reached += map(_node_of, nodes[name].input)
    _remove(function, nodes.keys() - needed)


def merge_equal_functions(functions: list[FunctionDef], named: Iterable[str]) -> dict[str, str]:
    """Finds functions that do the same.

    Args:
        functions: Functions; those that are not `named` get short names of arguments and results.
        named: Names of functions that are known outside of the functions.

    Returns:
        Name of a function that others do the work of -> name of the first that does the same.

    Example:
        >>> functions = [FunctionDef(), FunctionDef()]
        >>> for name, function in zip("fg", functions):
        ...     function.signature.name = name
        ...     _ = function.signature.input_arg.add(name=f"argument_of_{name}")
        >>> merge_equal_functions(functions, [])
        {'g': 'f'}
    """
    bodies = []
    for function in functions:
        name = function.signature.name
        if name not in named:
            _shorten_arguments(function)
            body = FunctionDef()
            body.CopyFrom(function)
            body.signature.name = ""
            bodies.append((name, body.SerializeToString(deterministic=True)))
    return _equal(bodies)


def rename_functions(nodes: Iterable[NodeDef], names: dict[str, str]) -> None:
    """Makes operations call other functions.

    Args:
        nodes: Operations, changed in place.
        names: Name of a function -> name of the one to call.

    Example:
        >>> node = NodeDef(name="w", op="While")
        >>> node.attr["body"].func.name = "g"
        >>> rename_functions([node], {"g": "f"})
        >>> node.attr["body"].func.name
        'f'
    """
    for node in nodes:
        node.op = names.get(node.op, node.op)
        for value in node.attr.values():
            for called in (value.func, *value.list.func):
                if called.name in names:
                    called.name = names[called.name]


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


def _pass_by_identities(function: FunctionDef) -> None:
    """Gives to operations what they took from an Identity; results and control stay with it."""
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


def _computes(node: NodeDef) -> bytes:
    """All of an operation but its name."""
    same = NodeDef()
    same.CopyFrom(node)
    same.name = ""
    same.ClearField("experimental_debug_info")
    same.attr.pop("_output_shapes", AttrValue())
    return same.SerializeToString(deterministic=True)


def _remove(function: FunctionDef, names: Collection[str]) -> None:
    kept = [node for node in function.node_def if node.name not in names]
    del function.node_def[:]
    function.node_def.extend(kept)


def _node_of(reference: str) -> str:
    return reference.removeprefix("^").partition(":")[0]


def _replaced(reference: str, names: dict[str, str]) -> str:
    """A reference such as "name:output:0" or "^name", to the operation that took its place."""
    caret = "^" * reference.startswith("^")
    name, colon, output = reference.removeprefix("^").partition(":")
    return caret + names.get(name, name) + colon + output
