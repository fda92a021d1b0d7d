"""Decoding as a graph of TensorFlow: the same answers, of core operations, from a SavedModel and
under XLA."""

import numpy as np
import pytest
from cases import first_by_default

tf = pytest.importorskip("tensorflow")
import keras

if keras.backend.backend() != "tensorflow":
    pytest.skip("graphs of TensorFlow need its backend", allow_module_level=True)

from tfsum.decoding import BeamSearch, Greedy, Sampling
from tfsum.decoding.strategy import reorder_rows

SOURCES = np.array([[3, 4, 5], [9, 0, 0], [7, 7, 0]], "int32")
CASES = {
    "greedy": Greedy(min_length=3, no_repeat_ngram=2),
    "beam": BeamSearch(4, n_best=2, min_length=3, no_repeat_ngram=2),
    "sampling": Sampling(0.9, top_k=6, top_p=0.9, n_samples=3, no_repeat_ngram=2),
}
ANY = [tf.TensorSpec([None, None], tf.int32, name="source_ids")]


def same(found, wanted):
    np.testing.assert_array_equal(found[0], wanted[0])
    np.testing.assert_allclose(found[1], wanted[1], rtol=1e-5)
    np.testing.assert_array_equal(found[2], wanted[2])


@pytest.mark.parametrize("strategy", first_by_default(CASES.values()), ids=CASES)
def test_a_graph_of_any_batch_saved_and_loaded(toy_model, tmp_path, strategy):
    model = toy_model(9, 1, (-1.0,))
    wanted = strategy(model, SOURCES, 6)
    module = tf.Module()
    module.generate = tf.function(
        lambda source_ids: strategy(model, source_ids, 6), input_signature=ANY
    )
    same(module.generate(SOURCES), wanted)
    graph = module.generate.get_concrete_function().graph.as_graph_def()
    operations = {
        node.op
        for part in (graph, *graph.library.function)
        for node in (part.node if part is graph else part.node_def)
    }
    assert "StatelessWhile" in operations
    assert not {op for op in operations if "Xla" in op or "Random" in op or "PyFunc" in op}
    tf.saved_model.save(module, str(tmp_path / "model"))
    same(tf.saved_model.load(str(tmp_path / "model")).generate(SOURCES), wanted)


@pytest.mark.parametrize("strategy", first_by_default(CASES.values()), ids=CASES)
def test_xla(toy_model, strategy):
    model = toy_model(9, 1, (-1.0,))
    compiled = tf.function(lambda source_ids: strategy(model, source_ids, 6), jit_compile=True)
    same(compiled(tf.constant(SOURCES)), strategy(model, SOURCES, 6))


def test_only_what_belongs_to_hypotheses_is_gathered():
    state = {
        "hypotheses": {"a": np.arange(6), "b": {"c": np.arange(12).reshape(6, 2)}},
        "source": np.arange(3),
    }
    moved = reorder_rows(state, np.array([1, 1, 3, 2, 4, 4]))
    assert moved["source"] is state["source"]
    np.testing.assert_array_equal(moved["hypotheses"]["a"], [1, 1, 3, 2, 4, 4])
    np.testing.assert_array_equal(moved["hypotheses"]["b"]["c"][2:4], [[6, 7], [4, 5]])
