"""Fixtures of the tests of all tasks."""

import pytest


@pytest.fixture(scope="module", autouse=True)
def no_estimate_of_activations():
    """The report at the start of a training leaves out the memory of the activations, which takes a
    graph of the step more; tests/training/test_activations.py tests it, and bert_classifier has
    it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tfsum.training.train.activation_bytes", lambda *_: 0)
        yield
