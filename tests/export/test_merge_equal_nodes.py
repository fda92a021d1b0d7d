"""Functions with fewer operations give the same results."""

import pytest

tf = pytest.importorskip("tensorflow")

from tfsum.export.compact_graph import compact_graph
from tfsum.export.merge_equal_nodes import merge_equal_nodes
from tfsum.inference.allowed_operations import read_graphs


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
