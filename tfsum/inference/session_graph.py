"""The graph of an exported model as a session gets it: its kernels in the type that the session
computes in, and in parts.

The kernels are stored as float16 and cast at each call, which takes a third of the time of a short
text in bfloat16. Here the graph is changed before it is loaded: the variables of the kernels are of
the other type, and the casts stand where they are restored and saved. The products get the same
values. Other hosts load the graph as it is. The export cannot have it so: TensorFlow's Python
restores a variable in no other type than it is stored in, and a resource that is restored by a
function of its own takes 3.5 kB of saved_model.pb for each kernel.

A model has many signatures, and a process often asks for one. TensorFlow takes time for each
function that it is given, whenever it is asked for other outputs than before.
"""

import collections
import functools
from collections.abc import Iterable, Sequence

from tfsum.inference.allowed_operations import calls_of
from tfsum.tensorflow_messages import Fields, message

FLOAT, BFLOAT16, HALF = 1, 14, 19  # TensorFlow's numbers of types
OTHER_USES = ("AssignVariableOp", "DisableCopyOnRead", "ReadVariableOp")  # of the saver
CONDITIONAL = ("If", "StatelessIf")  # their first input is no argument of the functions


class _Body:
    """The nodes of a function, or of the graph outside of functions.

    Args:
        nodes: The nodes.
        arguments: Names of the function's arguments.
        results: References to what the function returns.

    Attributes:
        takers: Name of a node or an argument -> the nodes that take a tensor of it, and as which
            of their inputs.
    """

    def __init__(
        self, nodes: Fields, arguments: Sequence[str] = (), results: Iterable[str] = ()
    ) -> None:
        self.nodes, self.arguments, self._results = nodes, arguments, results

    @functools.cached_property
    def takers(self) -> dict[str, list[tuple[Fields, int]]]:
        takers = collections.defaultdict(list)
        for node in (*self.nodes, message("NodeDef")(op="_Retval", input=self._results)):
            for place, reference in enumerate(node.input):  # "^name" is no tensor
                takers[reference.partition(":")[0]].append((node, place))
        return takers

    def operations(self, nodes: Iterable[Fields]) -> set[str]:
        """The operations that take a tensor of these nodes."""
        return {taker.op for node in nodes for taker, _ in self.takers[node.name]}

    def casts_of(self, node: Fields) -> list[Fields]:
        """The casts of a variable that a node reads, if products alone take it, cast."""
        casts = [cast for cast, _ in self.takers[node.name]]
        operations = node.op, self.operations([node]), self.operations(casts)
        return casts if operations == ("ReadVariableOp", {"Cast"}, {"MatMul"}) else []


# The nodes that take the handle of a variable, each by its function and its name.
_Uses = dict[tuple[_Body, str], Fields]


def convert_kernels(graph: Fields, dtype: int) -> int:
    """Gives the kernels of a graph another type.

    Args:
        graph: A `MetaGraphDef`, changed in place.
        dtype: TensorFlow's number of the type, `FLOAT` or `BFLOAT16`.

    Returns:
        The number of kernels, which are float16 variables that are read for products alone.

    Raises:
        LookupError: The graph calls a function that it has not.

    Example:
        >>> from tfsum.inference.allowed_operations import read_graphs
        >>> from tfsum.inference.saved_model import shipped_model
        >>> (graph,) = read_graphs(shipped_model())
        >>> convert_kernels(graph, BFLOAT16)
        51
    """
    functions = {
        function.signature.name: _Body(
            function.node_def,
            [argument.name for argument in function.signature.input_arg],
            function.ret.values(),
        )
        for function in graph.graph_def.library.function
    }
    main = _Body(graph.graph_def.node)
    variables = {
        node.name: node
        for node in main.nodes
        if node.op == "VarHandleOp" and node.attr["dtype"].type == HALF
    }
    uses = {name: _uses_of(name, main, functions) for name in variables}

    kernels = {name for name, found in uses.items() if _are_of_kernel(found)}
    shared = {use for name in uses.keys() - kernels for use in uses[name]}
    while others := {name for name in kernels if uses[name].keys() & shared}:
        kernels -= others
        shared |= {use for name in others for use in uses[name]}

    for name in kernels:
        variables[name].attr["dtype"].type = dtype
    for (body, _), node in {use: uses[name][use] for name in kernels for use in uses[name]}.items():
        _convert(body, node, dtype)
    return len(kernels)


def _uses_of(handle: str, main: _Body, functions: dict[str, _Body]) -> _Uses:
    """The uses of a handle in the graph and in the functions that get it."""
    uses: _Uses = {}
    seen, waiting = set(), [(main, handle)]
    while waiting:
        body, name = waiting.pop()
        if (body, name) in seen:
            continue
        seen.add((body, name))
        for node, place in body.takers[name]:
            called = [value.func.name for value in node.attr.values() if value.func.name]
            for function in (functions[name] for name in called):
                waiting.append((function, function.arguments[place - (node.op in CONDITIONAL)]))
            if not called and node.op != "_Retval":  # a loop returns what it got
                uses[body, node.name] = node
    return uses


def _are_of_kernel(uses: _Uses) -> bool:
    """Whether a variable is read for products alone, and to be saved."""
    others = [(body, node) for (body, _), node in uses.items() if not body.casts_of(node)]
    return len(others) < len(uses) and all(
        node.op in OTHER_USES and body.operations([node]) <= {"SaveV2"} for body, node in others
    )


def _convert(body: _Body, node: Fields, dtype: int) -> None:
    """Gives what a node reads or restores another type."""
    for taker, place in body.takers[node.name]:
        if taker.op == "Cast":
            taker.attr["SrcT"].type = dtype
        else:  # saves it
            _add_cast(body, taker, place, dtype, HALF)
    if node.op == "AssignVariableOp":
        _add_cast(body, node, 1, HALF, dtype)
    if "dtype" in node.attr:
        node.attr["dtype"].type = dtype


def _add_cast(body: _Body, taker: Fields, place: int, source: int, target: int) -> None:
    """Casts an input of a node from one type to another."""
    name = f"{taker.name}_cast_{place}"
    cast = body.nodes.add(name=name, op="Cast", input=[taker.input[place]])
    cast.attr["SrcT"].type, cast.attr["DstT"].type = source, target
    taker.input[place] = f"{name}:y:0"


class GraphParts:
    """The nodes and functions of a graph that were not taken yet: a session is given what its calls
    need, each once.

    Args:
        graph: A `GraphDef`, which must not change any more.
    """

    def __init__(self, graph: Fields) -> None:
        self._versions = graph.versions
        self._nodes = {node.name: node for node in graph.node}
        self._functions = {function.signature.name: function for function in graph.library.function}

    def take(self, names: Iterable[str]) -> Fields:
        """Takes what some nodes need.

        Args:
            names: References to nodes, such as "name:0"; those that the graph lacks are ignored.

        Returns:
            A `GraphDef` of these nodes, of all that they depend on, and of the functions that they
            call, without what was taken before.

        Example:
            >>> graph = message("GraphDef")()
            >>> graph.node.extend(message("NodeDef")(name=name) for name in "abc")
            >>> graph.node[1].input.append("^a")
            >>> parts = GraphParts(graph)
            >>> [[node.name for node in parts.take([name]).node] for name in ("b:0", "b:0", "c")]
            [['b', 'a'], [], ['c']]
        """
        part = message("GraphDef")(versions=self._versions)
        waiting = [*names]
        while waiting:
            name = waiting.pop().removeprefix("^").partition(":")[0]
            if (node := self._nodes.pop(name, None)) is not None:
                part.node.append(node)
                waiting += node.input

        functions = _called_by(part.node)
        while functions:
            if (function := self._functions.pop(functions.pop(), None)) is not None:
                part.library.function.append(function)
                functions |= _called_by(function.node_def)
        return part


def _called_by(nodes: Iterable[Fields]) -> set[str]:
    return set[str]().union(*map(calls_of, nodes))
