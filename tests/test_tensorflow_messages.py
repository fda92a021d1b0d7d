"""The messages of TensorFlow Serving beside those of tensorflow-serving-api."""

import pathlib
import subprocess
import sys

import pytest

pytest.importorskip("tensorflow_serving.apis", reason="needs tensorflow-serving-api")


@pytest.mark.parametrize(
    "order",
    [
        ("tfsum.tensorflow_messages", "tensorflow_serving.apis.predict_pb2"),
        ("tensorflow_serving.apis.predict_pb2", "tfsum.tensorflow_messages"),
    ],
)
@pytest.mark.slow  # processes that load TensorFlow; that of test_c_session.py has the first order
def test_the_messages_live_beside_those_of_tensorflow_serving_api(order):
    program = (
        f"import {order[0]}, {order[1]}\n"
        "from tfsum.tensorflow_messages import message\n"
        "from tensorflow_serving.apis.predict_pb2 import PredictRequest\n"
        "ours = message('PredictRequest')()\n"
        "ours.model_spec.name = 'news'\n"
        "assert PredictRequest.FromString(ours.SerializeToString()).model_spec.name == 'news'\n"
    )
    subprocess.run(
        [sys.executable, "-c", program], check=True, cwd=pathlib.Path(__file__).parents[1]
    )
