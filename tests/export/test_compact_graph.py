"""A SavedModel says the same with fewer operations and shorter names, whatever refers to them."""

import pytest

tf = pytest.importorskip("tensorflow")

from tensorflow.core.protobuf import saved_model_pb2

from tfsum.export.compact_graph import compact_graph, merge_equal_nodes
from tfsum.inference.allowed_operations import read_graphs


class Counter(tf.Module):
    """A loop, a condition, operations that wait, one with two outputs, arguments named as new names
    are."""

    def __init__(self):
        super().__init__()
        self.total = tf.Variable(1.0)

    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32, name=name) for name in "ab"])
    def serve(self, a, b):
        tf.debugging.assert_non_negative(a, "numbers from 0 are expected")
        self.total.assign_add(tf.reduce_sum(a))
        best = tf.math.top_k(a, 2)
        count, value = tf.while_loop(
            lambda i, v: i < 3, lambda i, v: (i + 1, v * b + best.values[0]), [0, a]
        )
        chosen = tf.cond(value[0] > 10.0, lambda: value - self.total, lambda: value + self.total)
        return {"chosen": chosen, "index": best.indices, "count": count}


def read_nodes(folder):
    """All nodes of a SavedModel, including those of its functions."""
    content = (folder / "saved_model.pb").read_bytes()
    graph = saved_model_pb2.SavedModel.FromString(content).meta_graphs[0].graph_def
    functions = [node for function in graph.library.function for node in function.node_def]
    return [*graph.node, *functions]


def answers(folder, *inputs):
    """Twice, since a variable changes in between."""
    serve = tf.saved_model.load(str(folder)).signatures["serving_default"]
    return [
        {k: v.numpy().tolist() for k, v in serve(a=inputs[0], b=inputs[1]).items()}
        for _ in range(2)
    ]


def test_the_same_answers_from_a_compact_graph(tmp_path):
    module = Counter()
    tf.saved_model.save(module, str(tmp_path), signatures=module.serve)
    graph, inputs = (
        tmp_path / "saved_model.pb",
        (tf.constant([1.0, 5.0, 2.0]), tf.constant([3.0, 0.5, 2.0])),
    )
    before, long = answers(tmp_path, *inputs), graph.stat().st_size
    operations = [node.op for node in read_nodes(tmp_path)]
    compact_graph(tmp_path)
    assert answers(tmp_path, *inputs) == before and before[0] != before[1]
    fewer = [node.op for node in read_nodes(tmp_path)]
    assert len(fewer) < 0.9 * len(operations) and set(fewer) == set(operations)
    for stateful in ("AssignAddVariableOp", "ReadVariableOp", "Assert"):
        assert fewer.count(stateful) == operations.count(stateful)
    assert graph.stat().st_size < 0.8 * long
    assert not any("_output_shapes" in node.attr for node in read_nodes(tmp_path))
    content = graph.read_bytes()
    compact_graph(tmp_path)  # once more changes nothing
    assert graph.read_bytes() == content
    with pytest.raises(tf.errors.InvalidArgumentError, match="numbers from 0 are expected"):
        answers(tmp_path, -inputs[0], inputs[1])


def definition(function, *specs):
    return function.get_concrete_function(*specs).function_def


def operations(function):
    return [node.op for node in function.node_def]


def test_equal_results_are_computed_once():
    @tf.function
    def distance(x):
        return (x - 2.0) * (x - 2.0) + tf.zeros_like(x - 2.0)

    function = definition(distance, tf.TensorSpec([None]))
    merge_equal_nodes(function)
    assert operations(function).count("Sub") == 1 and operations(function).count("Const") == 1


def test_random_numbers_are_drawn_as_often_as_before():
    @tf.function
    def draw():
        return tf.random.uniform([2]) + tf.random.uniform([2])

    function = definition(draw)
    merge_equal_nodes(function)
    assert operations(function).count("RandomUniform") == 2


def test_operations_that_differ_in_an_attribute_stay_two():
    @tf.function
    def both(x):
        return tf.reduce_sum(x, 0, keepdims=True) + tf.reduce_sum(x, 0)

    function = definition(both, tf.TensorSpec([None, None]))
    merge_equal_nodes(function)
    assert operations(function).count("Sum") == 2


class Loops(tf.Module):
    @tf.function(input_signature=[tf.TensorSpec([], tf.float32)])
    def serve(self, x):
        for factor in (2.0, 2.0, 3.0):
            _, x = tf.while_loop(
                lambda i, x: i < 3, lambda i, x, by=factor: (i + 1, x * by), (0, x)
            )
        return {"x": x}


def test_equal_bodies_of_loops_become_one(tmp_path):
    module = Loops()
    tf.saved_model.save(module, str(tmp_path), signatures=module.serve)

    def loops():
        (graph,) = read_graphs(tmp_path)
        return [f for f in graph.graph_def.library.function if "while" in f.signature.name]

    assert len(loops()) == 6  # a body and a condition each
    compact_graph(tmp_path)
    assert len(loops()) == 3  # bodies with 2 and 3, one condition
    serve = tf.saved_model.load(str(tmp_path)).signatures["serving_default"]
    assert float(serve(x=tf.constant(1.0))["x"]) == 8 * 8 * 27
