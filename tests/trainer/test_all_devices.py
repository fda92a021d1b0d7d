"""All GPUs of this machine: the four calls of each model, in three precisions, with XLA and
without."""

import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf

import tfsum

SCRIPT = pathlib.Path(__file__).with_name("all_devices.py")
# of losses of about 1 to 3: how each precision rounds
TOLERANCE = {"float32": 1e-4, "bfloat16": 3e-2, "float16": 1e-2}
MODELS = ("extractive", "classifier", "transformer", "pretraining")


def check(found, precision):
    for name in sorted({*found} - {"devices"}):
        many, one = found[name]["all"], found[name]["one"]
        assert many["predicted"] and one["predicted"]
        assert many["losses"][1] < many["losses"][0], f"{name} does not learn"
        assert many["losses"] == pytest.approx(one["losses"], abs=TOLERANCE[precision]), name
        np.testing.assert_allclose(
            many["weights"], one["weights"], atol=10 * TOLERANCE[precision], err_msg=name
        )
        assert many["evaluated"] == pytest.approx(one["evaluated"], abs=TOLERANCE[precision]), name
        assert many["exported"] <= TOLERANCE[precision], name


@pytest.mark.gpu
@pytest.mark.parametrize("precision", TOLERANCE)
@pytest.mark.parametrize("jit", [False, True])
def test_all_gpus(tmp_path, precision, jit):
    if not (gpus := tf.config.list_physical_devices("GPU")):
        pytest.skip("TensorFlow finds no GPU on this machine")
    fixtures = SCRIPT.parents[1] / "fixtures"
    path = os.pathsep.join(
        [str(pathlib.Path(tfsum.__file__).parents[1]), str(SCRIPT.parent), str(fixtures)]
    )
    subprocess.run(
        [sys.executable, str(SCRIPT), str(tmp_path), precision, str(jit), *MODELS],
        check=True,
        env={**os.environ, "PYTHONPATH": path},
    )
    found = json.loads((tmp_path / "found.json").read_text())
    assert found["devices"] == len(gpus)
    check(found, precision)


# the graphs of eight models; with XLA, which takes minutes for each on a CPU, of two
@pytest.mark.slow
@pytest.mark.parametrize(
    ("precision", "jit", "models"),
    [
        ("float32", False, MODELS),
        ("bfloat16", False, MODELS),
        ("float16", False, MODELS),
        ("float32", True, MODELS[:1]),
    ],
)
def test_two_logical_processors(on_two_devices, tmp_path, precision, jit, models):
    on_two_devices(SCRIPT, tmp_path, precision, str(jit), *models)
    check(json.loads((tmp_path / "found.json").read_text()), precision)
