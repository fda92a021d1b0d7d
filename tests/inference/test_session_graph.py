"""Kernels in the type that a model is computed in: the same answers without casts. A graph in
parts: each part has what it needs, and the parts are the graph."""

import numpy as np
import pytest
from cases import first_by_default

tf = pytest.importorskip("tensorflow")

from tensorflow.core.protobuf.meta_graph_pb2 import MetaGraphDef

from tfsum.export.compact_graph import compact_graph
from tfsum.inference import c_session
from tfsum.inference.allowed_operations import calls_of, read_graphs
from tfsum.inference.c_session import CSession
from tfsum.inference.saved_model import read_description, shipped_model
from tfsum.inference.session_graph import BFLOAT16, HALF, GraphParts, convert_kernels

TEXT = b"It rained. The river rose by two metres. Nobody was hurt, the mayor said."
VALUES = {3: 2, 1: 0.5, 10: True, 7: TEXT}  # TensorFlow's number of a type -> an option's value
KERNELS = ("plain", "branch", "loop")
OTHERS = ("summed", "returned", "with_summed")


@tf.function(autograph=False)
def product(x, kernel):
    return x @ tf.cast(kernel, tf.float32)


class Products(tf.Module):
    """Products with kernels in a function, a branch and a loop, and with some that have other uses,
    of which `summed` has one function with `with_summed`."""

    def __init__(self):
        random = np.random.default_rng(0)
        self.kernels = {
            name: tf.Variable(random.normal(size=[2, 2]).astype(np.float16), name=name)
            for name in KERNELS + OTHERS
        }

    @tf.function(input_signature=[tf.TensorSpec([None, 2])], autograph=False)
    def call(self, x):
        def by(name):
            return x @ tf.cast(self.kernels[name], tf.float32)

        y = tf.while_loop(
            lambda i, y: i < 2, lambda i, y: (i + 1, y + by("loop")), [0, by("plain")]
        )[1]
        y += tf.cond(tf.size(x) > 2, lambda: by("branch"), lambda: x)
        y += product(x, self.kernels["summed"]) + product(x, self.kernels["with_summed"])
        y += tf.reduce_sum(tf.cast(self.kernels["summed"], tf.float32))
        returned = tf.cast(self.kernels["returned"], tf.float32)
        return {"y": y + x @ returned, "kernel": returned}


@pytest.fixture(scope="module")
def products(tmp_path_factory):
    folder = tmp_path_factory.mktemp("products")
    module = Products()
    tf.saved_model.save(module, str(folder), signatures=module.call)
    compact_graph(folder)  # as an export is
    return folder, module


def test_only_what_products_alone_take_is_a_kernel(products):
    (graph,) = read_graphs(products[0])
    assert convert_kernels(graph, BFLOAT16) == len(KERNELS)
    assert convert_kernels(graph, BFLOAT16) == 0
    changed = MetaGraphDef.FromString(graph.SerializeToString()).graph_def  # as TensorFlow reads it
    types = {
        node.attr["shared_name"].s.decode(): node.attr["dtype"].type
        for node in changed.node
        if node.op == "VarHandleOp"
    }
    assert types == {name: BFLOAT16 if name in KERNELS else HALF for name in KERNELS + OTHERS}


def test_answers_are_those_of_python(products):
    folder, module = products
    x = np.array([[1, -2], [3, 0.5]], np.float32)
    given = CSession(folder, {"ops": "core"}).call("serving_default", {"x": x})
    for name, expected in module.call(x).items():
        np.testing.assert_allclose(given[name], expected, atol=1e-5)


def test_no_product_of_the_shipped_model_casts_what_is_stored():
    (graph,) = read_graphs(shipped_model())
    convert_kernels(graph, BFLOAT16)
    changed = MetaGraphDef.FromString(graph.SerializeToString()).graph_def
    sources = []
    for function in changed.library.function:
        nodes = {node.name: node for node in function.node_def}
        for node in nodes.values():
            taken = nodes.get(node.input[1].partition(":")[0]) if node.op == "MatMul" else None
            if taken is not None and taken.op == "Cast":
                sources.append(taken.attr["SrcT"].type)
    assert {*sources} == {BFLOAT16}


@pytest.mark.parametrize("compute", first_by_default(["float32", "bfloat16"]))
def test_answers_stay_the_same_bit_by_bit(monkeypatch, compute):
    answers = []
    for kernels in (c_session.KERNELS, {}):
        monkeypatch.setattr(c_session, "KERNELS", kernels)
        answers.append(
            CSession(shipped_model(), {"ops": "core"}, compute).call("score", {"text": [TEXT]})
        )
    for name, expected in answers[1].items():
        np.testing.assert_array_equal(answers[0][name], expected)


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
