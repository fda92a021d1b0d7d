"""A graph in parts, so that a host is given what the calls need, each node and function once.

A model has many signatures, and a process often asks for one. TensorFlow takes time for each
function that it is given, whenever it is asked for other outputs than before.
"""

from collections.abc import Iterable

from tfsum.inference.allowed_operations import calls_of
from tfsum.tensorflow_messages import Fields, message


class GraphParts:
    """The nodes and functions of a graph that were not taken yet.

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
