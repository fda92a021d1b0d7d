"""Kernels in the type that a model is computed in: the same answers without casts."""

import numpy as np
import pytest
from cases import first_by_default

tf = pytest.importorskip("tensorflow")

from tensorflow.core.protobuf.meta_graph_pb2 import MetaGraphDef

from tfsum.export.compact_graph import compact_graph
from tfsum.inference import c_session
from tfsum.inference.allowed_operations import read_graphs
from tfsum.inference.c_session import CSession
from tfsum.inference.kernels import BFLOAT16, HALF, convert_kernels
from tfsum.inference.saved_model import shipped_model

TEXT = b"It rained. The river rose by two metres. Nobody was hurt, the mayor said."
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
