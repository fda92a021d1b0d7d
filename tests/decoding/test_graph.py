"""Decoding as a graph of TensorFlow: the same answers, of core operations, from a SavedModel and under XLA."""

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")
import keras

if keras.backend.backend() != "tensorflow":
    pytest.skip("graphs of TensorFlow need its backend", allow_module_level=True)

from tfsum.decoding import BeamSearch, Greedy, Sampling

SOURCES = np.array([[3, 4, 5], [9, 0, 0], [7, 7, 0]], "int32")
CASES = {"greedy": Greedy(min_length=3, no_repeat_ngram=2),
         "beam": BeamSearch(4, n_best=2, min_length=3, no_repeat_ngram=2),
         "sampling": Sampling(0.9, top_k=6, top_p=0.9, n_samples=3, no_repeat_ngram=2)}
ANY = [tf.TensorSpec([None, None], tf.int32, name="source_ids")]


def same(found, wanted):
    np.testing.assert_array_equal(found[0], wanted[0])
    np.testing.assert_allclose(found[1], wanted[1], rtol=1e-5)
    np.testing.assert_array_equal(found[2], wanted[2])


@pytest.mark.parametrize("strategy", CASES.values(), ids=CASES)
def test_a_graph_of_any_batch_saved_and_loaded(toy_model, tmp_path, strategy):
    model = toy_model(9, 1, (-1.0,))
    wanted = strategy(model, SOURCES, 6)
    module = tf.Module()
    module.generate = tf.function(lambda source_ids: strategy(model, source_ids, 6), input_signature=ANY)
    same(module.generate(SOURCES), wanted)
    graph = module.generate.get_concrete_function().graph.as_graph_def()
    operations = {node.op for part in (graph, *graph.library.function)
                  for node in (part.node if part is graph else part.node_def)}
    assert "StatelessWhile" in operations
    assert not {op for op in operations if "Xla" in op or "Random" in op or "PyFunc" in op}
    tf.saved_model.save(module, str(tmp_path / "model"))
    same(tf.saved_model.load(str(tmp_path / "model")).generate(SOURCES), wanted)


@pytest.mark.parametrize("strategy", CASES.values(), ids=CASES)
def test_xla(toy_model, strategy):
    model = toy_model(9, 1, (-1.0,))
    compiled = tf.function(lambda source_ids: strategy(model, source_ids, 6), jit_compile=True)
    same(compiled(tf.constant(SOURCES)), strategy(model, SOURCES, 6))


def test_state_that_never_changes_is_not_gathered(toy_model):
    """Beams of one source share what was made of it: only the prefix's hash changes places."""
    model, gathered = toy_model(9, 1), {}
    for name in ("as it was", "made anew"):
        step = model.step if name == "as it was" else _copying(model)
        model_like = type("M", (), {"start": model.start, "step": staticmethod(step), "start_id": 1, "end_id": 2})()
        function = tf.function(lambda ids, m=model_like: BeamSearch(4)(m, ids, 6), input_signature=ANY)
        graph = function.get_concrete_function().graph.as_graph_def()
        gathered[name] = sum(node.op == "GatherV2" for part in graph.library.function for node in part.node_def)
    assert gathered["made anew"] == gathered["as it was"] + 1


def _copying(model):
    def step(token_ids, position, state):
        logits, state = model.step(token_ids, position, state)
        return logits, {**state, "source": {"ids": tf.identity(state["source"]["ids"])}}

    return step
