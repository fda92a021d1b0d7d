"""A graph in parts: each part has what it needs, and the parts are the graph."""

import numpy as np
import pytest

pytest.importorskip("tensorflow")

from tfsum.inference import c_session
from tfsum.inference.allowed_operations import calls_of, read_graphs
from tfsum.inference.c_session import CSession
from tfsum.inference.graph_parts import GraphParts
from tfsum.inference.saved_model import read_description, shipped_model

TEXT = b"It rained. The river rose by two metres. Nobody was hurt, the mayor said."
VALUES = {3: 2, 1: 0.5, 10: True, 7: TEXT}  # TensorFlow's number of a type -> an option's value


@pytest.fixture(scope="module")
def graph():
    (graph,) = read_graphs(shipped_model())
    return graph


def names_of(graph):
    return [node.name for node in graph.node], [
        function.signature.name for function in graph.library.function
    ]


def test_a_part_lacks_nothing_that_it_refers_to(graph):
    for signature, definition in graph.signature_def.items():
        part = GraphParts(graph.graph_def).take(info.name for info in definition.outputs.values())
        nodes, functions = map(set, names_of(part))
        for node in part.node:
            assert {name.lstrip("^").partition(":")[0] for name in node.input} <= nodes, signature
        inner = [node for function in part.library.function for node in function.node_def]
        known = {function.signature.name for function in graph.graph_def.library.function}
        for node in (*part.node, *inner):
            assert calls_of(node) & known <= functions, signature
        assert len(functions) < len(known)
        assert part.versions == graph.graph_def.versions != b""


def test_the_parts_are_the_graph_each_node_and_function_once(graph):
    parts = GraphParts(graph.graph_def)
    taken = [names_of(parts.take([node.name])) for node in graph.graph_def.node]
    nodes, functions = ([name for part in taken for name in part[i]] for i in range(2))
    expected = names_of(graph.graph_def)
    assert sorted(nodes) == sorted(expected[0])
    assert len(functions) == len({*functions}) and {*functions} <= {*expected[1]}
    assert names_of(parts.take(expected[0])) == ([], [])


class Whole(GraphParts):
    """Gives all at once."""

    def take(self, names):
        return super().take([*self._nodes])


def answers(folder):
    """The answers of all signatures, of which some take what `read` and `windows` give."""
    session = CSession(folder, {"ops": "core"})
    given = {**session.call("read", {"text": [TEXT]}), **session.call("windows", {"text": [TEXT]})}
    given["sentence_starts"] = [[0, -1]]
    width = read_description(folder)["config"]["hidden_size"]
    given["sequence"] = np.ones((*given["token_ids"].shape, width), np.float32)

    found = {}
    for name in session.signatures.keys() - {"__saved_model_init_op"}:
        definition = session._definitions[name]
        inputs = {
            key: given.get(key, [VALUES[info.dtype]]) for key, info in definition.inputs.items()
        }
        found[name] = session.call(name, inputs)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("model", ["transformer", "bert_sum_ext_multilingual"])
def test_answers_are_those_of_the_whole_graph(model, request, monkeypatch):
    folder = shipped_model(model) if "_" in model else request.getfixturevalue(model).folder
    found = answers(folder)
    monkeypatch.setattr(c_session, "GraphParts", Whole)
    expected = answers(folder)
    assert found.keys() == expected.keys() >= {"extract", "read", "score_ids"}
    for signature, arrays in expected.items():
        for name, values in arrays.items():
            np.testing.assert_array_equal(found[signature][name], values, err_msg=signature)
