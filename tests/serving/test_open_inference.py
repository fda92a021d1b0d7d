"""The Open Inference Protocol as tritonclient speaks it, and its errors case by case."""

import json

import numpy as np
import pytest
import tritonclient.http as triton
from patient_client import TIMEOUT

import tfsum
from tfsum.serving.server import Server
from tfsum.serving.settings import ServerSettings

MODEL = "/v2/models/text"


@pytest.fixture(scope="module")
def client(models):
    with Server(models, ServerSettings(port=0, timeout=TIMEOUT)) as server:
        made = triton.InferenceServerClient(f"127.0.0.1:{server.port}")
        yield made
        made.close()


def _input(name, values, datatype):
    array = np.array(values, object if datatype == "BYTES" else None)
    tensor = triton.InferInput(name, list(array.shape), datatype)
    tensor.set_data_from_numpy(array, binary_data=False)
    return tensor


def _outputs(*names):
    return [triton.InferRequestedOutput(name, binary_data=False) for name in names]


def test_health_and_metadata(client):
    assert client.is_server_live() and client.is_server_ready() and client.is_model_ready("text")
    assert not client.is_model_ready("nope")
    assert client.get_server_metadata() == {
        "name": "tfsum",
        "version": tfsum.__version__,
        "extensions": [],
    }
    metadata = client.get_model_metadata("text")
    assert metadata["inputs"] == [{"name": "text", "datatype": "BYTES", "shape": [-1]}]
    assert [(o["name"], o["datatype"]) for o in metadata["outputs"]] == [
        ("count", "INT32"),
        ("score", "FP32"),
        ("summary", "BYTES"),
    ]
    assert metadata["versions"] == ["2"]


def test_texts(client):
    texts = ["It rained.", "Caf\u00e9 \U0001f600", ""]
    answer = client.infer(
        "text",
        [_input("text", texts, "BYTES")],
        outputs=_outputs("summary", "count"),
        request_id="7",
    )
    response = answer.get_response()
    assert (response["model_name"], response["model_version"], response["id"]) == ("text", "2", "7")
    assert answer.as_numpy("summary").tolist() == texts
    assert answer.as_numpy("count").tolist() == [10, 10, 0] and answer.as_numpy("score") is None


def test_numbers_and_another_signature(client):
    half = client.infer(
        "numbers", [_input("x", np.array([2.0, 4.0], "f"), "FP32")], outputs=_outputs("y")
    )
    assert half.as_numpy("y").tolist() == [3.0, 4.0]
    inputs = [
        _input("x", np.array([1, 2], np.int32), "INT32"),
        _input("z", np.array([2**40, 1]), "INT64"),
    ]
    whole = client.infer(
        "numbers",
        inputs,
        model_version="123",
        outputs=_outputs("sum"),
        parameters={"signature": "whole"},
    )
    assert whole.as_numpy("sum").tolist() == [2**40 + 1, 3]


def test_what_the_client_is_told(client):
    with pytest.raises(triton.InferenceServerException, match="Servable not found"):
        client.infer("nope", [_input("text", ["a"], "BYTES")])
    with pytest.raises(triton.InferenceServerException, match="no such extension; send JSON"):
        tensor = triton.InferInput("text", [1], "BYTES")
        tensor.set_data_from_numpy(np.array(["a"], object))
        client.infer("text", [tensor])


def _tensor(**fields):
    return {"name": "text", "shape": [1], "datatype": "BYTES", "data": ["a"], **fields}


@pytest.mark.parametrize(
    "body, message",
    [
        ({}, "inputs: found none; the signature serving_default expects text"),
        ({"inputs": "text"}, "inputs: expected a list of objects"),
        ({"inputs": [_tensor(name="texts")]}, "inputs: found texts; "),
        ({"inputs": [_tensor(), _tensor()]}, "inputs: found text, text; the signature"),
        ({"inputs": [_tensor(datatype="INT32")]}, "its datatype is INT32; expected BYTES"),
        ({"inputs": [_tensor(shape=[2])]}, "cannot reshape array of size 1 into shape (2,)"),
        ({"inputs": [_tensor(shape=[1, 1])]}, "has the shape [1,1], expected [-1]"),
        ({"inputs": [_tensor(shape=[-1])]}, "expected a shape, at most 64 sizes from 0"),
        ({"inputs": [_tensor(shape=None)]}, "expected a shape, at most 64 sizes from 0"),
        ({"inputs": [_tensor(shape=[10**299] * 300)]}, "expected a shape, at most 64 sizes from 0"),
        ({"inputs": [_tensor(data=[3])]}, "3 Type: Number is not of expected type: string"),
        ({"inputs": [_tensor(data=None)]}, "null Type: Null is not of expected type: string"),
        (
            {"inputs": [_tensor()], "outputs": [{"name": "x"}]},
            "alias not found in signature: x Outputs",
        ),
        ({"inputs": [_tensor()], "parameters": 3}, 'expected {"signature": "NAME"}'),
        ({"inputs": [_tensor()], "parameters": {"signature": "nope"}}, "nope"),
    ],
)
def test_wrong_requests(ask, body, message):
    answer = ask("POST", f"{MODEL}/infer", json.dumps(body).encode())
    assert answer.status_code == 400 and message in answer.json()["error"], answer.text


def test_nested_data(ask):
    body = {"inputs": [_tensor(shape=[2], data=[["a"], ["b"]])]}
    answer = ask("POST", f"{MODEL}/versions/1/infer", json.dumps(body).encode()).json()
    (summary,) = [output for output in answer["outputs"] if output["name"] == "summary"]
    assert summary == {"name": "summary", "datatype": "BYTES", "shape": [2], "data": ["a", "b"]}
    assert "id" not in answer and answer["model_version"] == "1"
    assert ask("GET", f"{MODEL}/infer").status_code == 405


def test_an_output_is_given_once(ask):
    body = {"inputs": [_tensor()], "outputs": [{"name": "score"}] * 2}
    answer = ask("POST", f"{MODEL}/infer", json.dumps(body).encode())
    assert answer.status_code == 400 and "duplicate output tensor" in answer.json()["error"]
