"""The models on JAX: the answers of TensorFlow, without TensorFlow."""

import importlib.util
import os
import pathlib
import subprocess
import sys

import keras
import pytest

from tfsum.errors import Error
from tfsum.models import Bert, BertClassifier, BertSumExt, Transformer

ROOT = pathlib.Path(__file__).resolve().parents[2]
needs_jax = pytest.mark.skipif(
    importlib.util.find_spec("jax") is None, reason="jax is not installed: pip install jax"
)
ENCODER = {
    "vocab_size": 9,
    "hidden_size": 8,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 8,
}
MODELS = {
    "Bert": lambda: Bert(**ENCODER),
    "BertClassifier": lambda: BertClassifier(dict(ENCODER), ["a", "b"]),
    "BertSumExt": lambda: BertSumExt(dict(ENCODER), "classifier"),
    "Transformer": lambda: Transformer(9, 9, 1, 1, 8, 2, 8),
}


def run(*arguments, **environment):
    paths = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    return subprocess.run(
        [sys.executable, *arguments],
        env={**os.environ, **environment, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow  # a minute and a half of compiling; .ci/run runs it
@needs_jax
def test_jax_gives_the_answers_of_tensorflow():
    done = run(str(pathlib.Path(__file__).with_name("compare_backends.py")))
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1].endswith("0 differ (floats: tolerance 1e-05)")


@needs_jax
def test_the_packages_do_not_import_tensorflow():
    code = (
        "import sys, tfsum.layers, tfsum.decoding, tfsum.models; sys.exit('tensorflow' in"
        " sys.modules)"
    )
    done = run("-c", code, KERAS_BACKEND="jax")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", MODELS)
def test_another_backend_is_named(monkeypatch, name):
    monkeypatch.setattr(keras.backend, "backend", lambda: "torch")
    with pytest.raises(
        Error, match="backend of Keras is 'torch', which is not supported.*tensorflow, jax"
    ):
        MODELS[name]()
