"""All GPUs of this machine: the four calls of each model, in three precisions, with XLA and without."""

import json
import os
import pathlib
import subprocess
import sys

import pytest
import tensorflow as tf

import tfsum

SCRIPT = pathlib.Path(__file__).with_name("all_devices.py")
TOLERANCE = {"float32": 1e-4, "bfloat16": 3e-2, "float16": 1e-2}  # of losses of about 1 to 3: how each precision rounds
CASES = [(precision, jit) for precision in TOLERANCE for jit in (False, True)]


def check(found, precision):
    for name in ("extractive", "classifier", "transformer", "pretraining"):
        many, one = found[name]["all"], found[name]["one"]
        assert many["predicted"] and one["predicted"]
        assert many["losses"][1] < many["losses"][0], f"{name} does not learn"
        # The same batches per device: the loss of a global batch of equal parts is that of one part.
        assert many["losses"] == pytest.approx(one["losses"], abs=TOLERANCE[precision]), name
        assert many["evaluated"] == pytest.approx(one["evaluated"], abs=TOLERANCE[precision]), name
        assert many["exported"] <= TOLERANCE[precision], name


@pytest.mark.gpu
@pytest.mark.parametrize(("precision", "jit"), CASES)
def test_all_gpus(tmp_path, precision, jit):
    if not (gpus := tf.config.list_physical_devices("GPU")):
        pytest.skip("TensorFlow finds no GPU on this machine")
    fixtures = SCRIPT.parents[1] / "fixtures"
    path = os.pathsep.join([str(pathlib.Path(tfsum.__file__).parents[1]), str(SCRIPT.parent), str(fixtures)])
    subprocess.run([sys.executable, str(SCRIPT), str(tmp_path), precision, str(jit)], check=True,
                   env={**os.environ, "PYTHONPATH": path})
    found = json.loads((tmp_path / "found.json").read_text())
    assert found["devices"] == len(gpus)
    check(found, precision)


@pytest.mark.slow  # the graphs of eight models, twice with XLA
@pytest.mark.parametrize(("precision", "jit"), CASES)
def test_two_logical_processors(on_two_devices, tmp_path, precision, jit):
    on_two_devices(SCRIPT, tmp_path, precision, str(jit))
    check(json.loads((tmp_path / "found.json").read_text()), precision)
