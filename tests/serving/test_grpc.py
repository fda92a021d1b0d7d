"""The gRPC services, asked by the stubs of tensorflow-serving-api; numbers as in test_rest.py."""

import asyncio
import concurrent.futures
import contextlib
import json
import logging
import socket
import threading
import time
import urllib.request

import grpc
import numpy as np
import pytest
import tensorflow as tf
from patient_client import TIMEOUT, Client
from tensorflow.core.framework.tensor_pb2 import TensorProto

from tfsum.serving import grpc_services
from tfsum.serving.request_error import RequestError
from tfsum.serving.server import Server
from tfsum.serving.settings import ServerSettings

api = pytest.importorskip("tensorflow_serving.apis", reason="needs tensorflow-serving-api")
from tensorflow_serving.apis import (
    get_model_metadata_pb2,
    get_model_status_pb2,
    model_service_pb2_grpc,
    predict_pb2,
    prediction_service_pb2_grpc,
)


@pytest.fixture(scope="module")
def server(models):
    settings = ServerSettings(
        port=0,
        grpc_port=0,
        timeout=TIMEOUT,
        version_policy="all",
        labels={"text/stable": 1},
        poll_seconds=0.1,
        max_document_bytes=6_000_000,
    )
    with Server(models, settings) as started:
        while not started.versions.ready or len(started.versions.available().get("text", [])) < 2:
            time.sleep(0.05)
        yield started


@pytest.fixture(scope="module")
def stub(server):
    sizes = [("grpc.max_receive_message_length", -1)]
    with grpc.insecure_channel(f"127.0.0.1:{server.grpc_port}", options=sizes) as channel:
        yield prediction_service_pb2_grpc.PredictionServiceStub(channel)


def request(model="text", signature="", output_filter=(), **inputs):
    made = predict_pb2.PredictRequest(output_filter=output_filter)
    made.model_spec.name, made.model_spec.signature_name = model, signature
    for name, value in inputs.items():
        made.inputs[name].CopyFrom(
            value if isinstance(value, TensorProto) else tf.make_tensor_proto(value)
        )
    return made


def refused(call, made):
    with pytest.raises(grpc.RpcError) as caught:
        call(made)
    return caught.value.code().name, caught.value.details()


def test_predict(stub):
    made = request(text=["It rained.", "日本"])
    answer = stub.Predict(made)
    assert answer.model_spec.name == "text" and answer.model_spec.version.value == 2
    assert answer.model_spec.signature_name == "serving_default"
    outputs = {name: tf.make_ndarray(tensor) for name, tensor in answer.outputs.items()}
    assert outputs["summary"].tolist() == [b"It rained.", "日本".encode()]
    np.testing.assert_array_equal(outputs["score"], np.array([12, 8], np.float32))
    assert outputs["count"].dtype == np.int32
    made.model_spec.version.value = 1
    assert tf.make_ndarray(stub.Predict(made).outputs["score"]).tolist() == [11.0, 7.0]
    made.model_spec.version_label = "stable"
    assert stub.Predict(made).model_spec.version.value == 1


@pytest.mark.parametrize("value", [[1.0, 3.0], [[0.5], [1.5]], 7.0])
def test_numbers(stub, value):
    answer = stub.Predict(request("numbers", x=value))
    np.testing.assert_array_equal(tf.make_ndarray(answer.outputs["y"]), np.float32(value) / 2 + 2)
    listed = TensorProto(dtype=1, float_val=[5.0])  # the last value goes on
    for size in (2, 3):
        listed.tensor_shape.dim.add(size=size)
    answer = stub.Predict(request("numbers", x=listed))
    np.testing.assert_array_equal(
        tf.make_ndarray(answer.outputs["y"]), np.full([2, 3], 4.5, np.float32)
    )


@pytest.mark.parametrize(
    "shape", [[0, 1 << 62], [1] * 70, [0, 1 << 40, 1 << 40], [-1], [1, *[1 << 62] * 300]]
)
def test_shapes_that_no_array_has_are_refused(stub, shape):
    listed = TensorProto(dtype=1)
    for size in shape:
        listed.tensor_shape.dim.add(size=size)
    code, said = refused(stub.Predict, request("numbers", x=listed))
    assert code == "INVALID_ARGUMENT" and "expected a shape, at most 64 sizes from 0" in said


def test_the_filter(stub):
    assert list(stub.Predict(request(output_filter=["count"], text=["a"])).outputs) == ["count"]
    code, said = refused(stub.Predict, request(output_filter=["nope"], text=["a"]))  # 115
    assert code == "INVALID_ARGUMENT" and "output tensor alias not found in signature: nope" in said
    code, said = refused(stub.Predict, request(output_filter=["count", "count"], text=["a"]))
    assert code == "INVALID_ARGUMENT" and "duplicate output tensor alias: count" in said


def access_records(caplog):
    return [record for record in caplog.records if record.name.endswith("access")]


def wait_for_records(caplog, count):
    """The server logs a call after the client has its answer, each on a thread of its own."""
    end = time.monotonic() + 300
    while len(access_records(caplog)) < count:
        assert time.monotonic() < end
        time.sleep(0.01)


def test_calls_are_logged_without_texts(stub, caplog, monkeypatch):
    # However `tfsum serve` has set the log up: one handler, or each record is caught twice.
    log = logging.getLogger("tfsum.serving.access")
    monkeypatch.setattr(log, "handlers", [caplog.handler])
    monkeypatch.setattr(log, "propagate", False)
    with caplog.at_level(logging.INFO, "tfsum.serving.access"):
        stub.Predict(request(text=["secret words"]))
        wait_for_records(caplog, 1)
        refused(stub.Predict, request("nope", text=["secret words"]))
        wait_for_records(caplog, 2)
    lines = [json.loads(record.getMessage()) for record in access_records(caplog)]
    assert [(line["method"], line["model"], line["status"]) for line in lines] == [
        ("grpc Predict", "text", "OK"),
        ("grpc Predict", "nope", "NOT_FOUND"),
    ]
    assert (
        set(lines[0]) == {"time", "method", "model", "status", "milliseconds"}
        and "secret" not in caplog.text
    )


def test_calls_continue_the_trace_of_the_client(stub, monkeypatch):
    opened = []

    @contextlib.contextmanager
    def span(name, headers=None, **attributes):
        opened.append((name, (headers or {}).get("traceparent"), found := {}))
        yield found

    monkeypatch.setattr(grpc_services, "span", span)
    stub.Predict(request(text=["a"]), metadata=[("traceparent", "00-1-2-01")])
    refused(stub.Predict, request("nope", text=["a"]))
    assert opened == [
        ("grpc Predict", "00-1-2-01", {"rpc.grpc.status_code": 0}),
        ("grpc Predict", None, {"rpc.grpc.status_code": 5}),
    ]


def test_wrong_requests(stub):
    assert refused(stub.Predict, predict_pb2.PredictRequest())[0] == "INVALID_ARGUMENT"  # 112
    assert refused(stub.Predict, request("", text=["a"]))[0] == "INVALID_ARGUMENT"
    assert refused(stub.Predict, request("nope", text=["a"]))[0] == "NOT_FOUND"
    code, said = refused(stub.Predict, request(texts=["a"]))  # 114
    assert (
        code == "INVALID_ARGUMENT" and "Sent extra: {texts}. Missing but required: {text}." in said
    )
    assert refused(stub.Predict, request(text=[1.0]))[0] == "INVALID_ARGUMENT"
    assert refused(stub.Predict, request(text="a"))[0] == "INVALID_ARGUMENT"
    code, said = refused(stub.Predict, request(signature="x", text=["a"]))  # 116
    assert code == "FAILED_PRECONDITION" and said == 'Serving signature key "x" not found.'
    torn = TensorProto(dtype=1, tensor_content=b"abc")
    assert refused(stub.Predict, request("numbers", x=torn))[0] == "INVALID_ARGUMENT"


def test_what_is_not_there_while_models_are_loaded(stub, server, monkeypatch):
    # The server's scans go on and would end it.
    monkeypatch.setattr(
        type(server.versions), "starting", property(lambda _: True, lambda *_: None), raising=False
    )
    labelled = request(text=["a"])
    labelled.model_spec.version_label = "stable"
    assert stub.Predict(labelled).model_spec.version.value == 1
    code, said = refused(stub.Predict, request("nope", text=["a"]))
    assert code == "UNAVAILABLE" and "models are still being loaded" in said


def test_metadata(stub):
    made = get_model_metadata_pb2.GetModelMetadataRequest(metadata_field=["signature_def"])
    made.model_spec.name = "text"
    answer = stub.GetModelMetadata(made)
    found = get_model_metadata_pb2.SignatureDefMap()
    assert answer.metadata["signature_def"].Unpack(found) and answer.model_spec.version.value == 2
    assert found.signature_def["serving_default"].inputs["text"].dtype == tf.string.as_datatype_enum
    made.metadata_field[:] = []
    assert refused(stub.GetModelMetadata, made)[0] == "INVALID_ARGUMENT"  # 118
    made.metadata_field[:] = ["nope"]
    assert refused(stub.GetModelMetadata, made)[0] == "INVALID_ARGUMENT"


def test_status(server):
    with grpc.insecure_channel(f"127.0.0.1:{server.grpc_port}") as channel:
        stub = model_service_pb2_grpc.ModelServiceStub(channel)
        made = get_model_status_pb2.GetModelStatusRequest()
        made.model_spec.name = "text"
        found = stub.GetModelStatus(made).model_version_status
        states = get_model_status_pb2.ModelVersionStatus.State
        assert [(one.version, one.state, one.status.error_code) for one in found] == [
            (2, states.AVAILABLE, 0),
            (1, states.AVAILABLE, 0),
        ]
        made.model_spec.name = "nope"
        assert refused(stub.GetModelStatus, made)[0] == "NOT_FOUND"


def test_large_messages(models, stub):  # 119
    text = "a" * (5 << 20)  # gRPC's own limit is 4 MB
    assert len(stub.Predict(request(text=[text])).outputs["summary"].string_val[0]) == len(text)
    with (
        Server(
            models, ServerSettings(port=0, grpc_port=0, timeout=TIMEOUT, max_body=1000)
        ) as small,
        grpc.insecure_channel(f"127.0.0.1:{small.grpc_port}") as channel,
    ):
        asked = prediction_service_pb2_grpc.PredictionServiceStub(channel).Predict
        code, said = refused(asked, request(text=["a" * 2000]))
        assert code == "RESOURCE_EXHAUSTED" and "larger than max" in said


def test_a_value_for_many_rows_counts_as_often(stub):
    many = TensorProto(dtype=7, string_val=[b"a" * 100_000])
    many.tensor_shape.dim.add(size=1000)
    code, details = refused(stub.Predict, request(text=many))
    assert code == "INVALID_ARGUMENT" and "--max-body" in details


@pytest.mark.parametrize("rows, values", [(2000, 2000), (1, 2000)])
def test_values_are_counted_before_an_array_is_made_of_them(stub, monkeypatch, rows, values):
    monkeypatch.setattr("tfsum.serving.tensor_proto.np.array", None)
    many = TensorProto(dtype=7, string_val=[b""] * values)
    many.tensor_shape.dim.add(size=rows)
    code, said = refused(stub.Predict, request(text=many))
    assert code == "INVALID_ARGUMENT" and f"{values} " in said


def test_what_is_no_request_is_refused(server):
    with grpc.insecure_channel(f"127.0.0.1:{server.grpc_port}") as channel:
        call = channel.unary_unary("/tensorflow.serving.PredictionService/Predict")
        code, details = refused(call, b"\xff")
    assert code == "INVALID_ARGUMENT" and "no PredictRequest" in details


def test_nothing_is_decoded_before_the_token_is_checked(models, monkeypatch):
    monkeypatch.setattr(grpc_services, "message", lambda name: pytest.fail("decoded"))
    settings = ServerSettings(port=0, grpc_port=0, timeout=TIMEOUT, token="secret")
    with (
        Server(models, settings) as server,
        grpc.insecure_channel(f"127.0.0.1:{server.grpc_port}") as channel,
    ):
        call = channel.unary_unary("/tensorflow.serving.PredictionService/Predict")
        assert refused(call, b"\xff" * 100_000)[0] == "UNAUTHENTICATED"


@pytest.fixture
def asking_without_end(models):
    """Starts a server, and gives a function that makes a call whose message does not come."""
    ended = threading.Event()

    def messages():
        ended.wait(TIMEOUT)
        yield b""

    @contextlib.contextmanager
    def started(**settings):
        with (
            Server(models, ServerSettings(port=0, grpc_port=0, **settings)) as server,
            grpc.insecure_channel(f"127.0.0.1:{server.grpc_port}") as channel,
        ):
            call = channel.stream_unary("/tensorflow.serving.PredictionService/Predict")
            yield lambda: call.future(messages())
            ended.set()

    return started


def code_of(call):
    return call.exception(TIMEOUT).code().name


def test_the_token_is_checked_before_a_message_comes(asking_without_end):
    with asking_without_end(timeout=TIMEOUT, token="secret") as ask:
        assert code_of(ask()) == "UNAUTHENTICATED"


def test_messages_that_do_not_come_are_not_waited_for(asking_without_end):
    """Nor longer for the room that others have while they are read."""
    with asking_without_end(timeout=0.2, max_body=1000, max_bodies=1000) as ask:
        calls = [ask() for _ in range(3)]
        assert [*map(code_of, calls)] == ["DEADLINE_EXCEEDED"] * 3


def test_calls_have_a_limit(asking_without_end):
    with asking_without_end(timeout=TIMEOUT, max_connections=1) as ask:
        calls = [ask(), ask()]
        while not (ended := [call for call in calls if call.done()]):
            time.sleep(0.01)
        assert [*map(code_of, ended)] == ["RESOURCE_EXHAUSTED"]


def test_what_nobody_waits_for_is_given_up(server, stub, monkeypatch):
    asked, cancelled = threading.Event(), threading.Event()

    async def answer(*_):
        asked.set()
        try:
            await asyncio.sleep(600)
        except asyncio.CancelledError:
            cancelled.set()
            raise

    monkeypatch.setattr(server.predictor, "predict", answer)
    call = stub.Predict.future(request(text=["a text"]))
    assert asked.wait(300)
    call.cancel()
    assert cancelled.wait(300)


def frame(kind, flags, stream, content):
    """A frame of HTTP/2 (RFC 9113, section 4.1)."""
    return len(content).to_bytes(3, "big") + bytes([kind, flags, 0, 0, 0, stream]) + content


def test_a_client_that_does_not_read_its_answer_is_given_up(models, monkeypatch):
    monkeypatch.setattr("tfsum.serving.server.AGE_SECONDS", 1)
    content = request(text=["It rained."]).SerializeToString()
    headers = {
        b":method": b"POST",
        b":scheme": b"http",
        b":path": b"/tensorflow.serving.PredictionService/Predict",
        b":authority": b"localhost",
        b"te": b"trailers",
        b"content-type": b"application/grpc",
    }
    written = (b"\0%c%b%c%b" % (len(k), k, len(v), v) for k, v in headers.items())
    with (
        Server(models, ServerSettings(port=0, grpc_port=0, timeout=0.5)) as server,
        socket.create_connection(("127.0.0.1", server.grpc_port), TIMEOUT) as client,
    ):
        # INITIAL_WINDOW_SIZE=0, of which no more is said: no answer may be sent.
        settings = frame(4, 0, 0, b"\0\4\0\0\0\0") + frame(4, 1, 0, b"")
        client.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + settings)
        client.sendall(frame(1, 4, 1, b"".join(written)))
        client.sendall(frame(0, 1, 1, b"\0" + len(content).to_bytes(4, "big") + content))
        received = b""
        while chunk := client.recv(4096):
            received += chunk
        assert b"max_age" in received
        end = time.monotonic() + TIMEOUT
        while server.predictor.bodies or server.predictor.answering:
            assert time.monotonic() < end
            time.sleep(0.01)


def test_connections_have_a_limit(models, monkeypatch):
    monkeypatch.setattr("tfsum.serving.server.HEAD_SECONDS", 10 * TIMEOUT)
    settings = ServerSettings(port=0, grpc_port=0, timeout=TIMEOUT, max_connections=3)
    with Server(models, settings) as server, contextlib.ExitStack() as stack:
        address = ("127.0.0.1", server.grpc_port)
        *_, last = (
            stack.enter_context(socket.create_connection(address, TIMEOUT)) for _ in range(9)
        )
        with contextlib.suppress(ConnectionResetError):
            while last.recv(100):  # what gRPC says first
                pass
        with urllib.request.urlopen(f"http://127.0.0.1:{server.port}/healthz") as answer:
            assert answer.status == 200


def test_a_token(models):
    with (
        Server(
            models, ServerSettings(port=0, grpc_port=0, timeout=TIMEOUT, token="secret")
        ) as closed,
        grpc.insecure_channel(f"127.0.0.1:{closed.grpc_port}") as channel,
    ):
        stub = prediction_service_pb2_grpc.PredictionServiceStub(channel)
        assert refused(stub.Predict, request(text=["a"]))[0] == "UNAUTHENTICATED"
        code, _ = refused(
            lambda made: stub.Predict(made, metadata=[("authorization", "Bearer secret")]),
            request("nope", text=["a"]),
        )
        assert code == "NOT_FOUND"


UNLIMITED = [("grpc.max_receive_message_length", -1)]


class Theirs(prediction_service_pb2_grpc.PredictionServiceServicer):
    """A server made of tensorflow-serving-api: it is busy at first, and gives each text and its
    length."""

    def __init__(self):
        self.asked, self.peers, self.ended = [], set(), threading.Event()

    def Predict(self, request, context):  # noqa: N802  gRPC's name
        texts = tf.make_ndarray(request.inputs["text"])
        self.peers.add(context.peer())
        self.asked.append(
            (
                request.model_spec.name,
                request.model_spec.version.value,
                request.model_spec.signature_name,
                len(texts),
            )
        )
        if len(self.asked) == 1:
            context.abort(grpc.StatusCode.UNAVAILABLE, "busy")
        if b"slow" in texts:
            self.ended.wait(600)
        if b"bad" in texts:
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, "a bad text")
        answer = predict_pb2.PredictResponse()
        answer.outputs["summary"].CopyFrom(tf.make_tensor_proto(texts))
        answer.outputs["length"].CopyFrom(
            tf.make_tensor_proto([len(text) for text in texts], tf.int64)
        )
        return answer


@contextlib.contextmanager
def serving_theirs():
    """The servicer and the port of a server of their messages."""
    theirs, server = (
        Theirs(),
        grpc.server(concurrent.futures.ThreadPoolExecutor(4), options=UNLIMITED),
    )
    prediction_service_pb2_grpc.add_PredictionServiceServicer_to_server(theirs, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield theirs, port
    finally:
        theirs.ended.set()
        server.stop(None)


def test_our_client_asks_a_server_of_their_messages():
    with serving_theirs() as (theirs, port):
        with Client(
            f"grpc://127.0.0.1:{port}", "m", version=3, batch_documents=2, at_once=1
        ) as client:
            answer = client.predict({"text": ["a", "日本", "", "b" * 5_000_000]}, "default")
            assert answer["summary"].tolist() == [b"a", "日本".encode(), b"", b"b" * 5_000_000]
            assert answer["length"].dtype == np.int64 and answer["length"].tolist() == [
                1,
                6,
                0,
                5_000_000,
            ]
            assert theirs.asked == [("m", 3, "default", rows) for rows in (2, 2, 1, 1)]
            with pytest.raises(RequestError, match="a bad text"):
                client.predict({"text": ["bad"]})
            assert len(theirs.asked) == 5  # it is not asked again
        assert len(theirs.peers) == 1


def test_our_client_waits_as_long_as_it_is_told():
    with serving_theirs() as (theirs, port):
        url = f"grpc://127.0.0.1:{port}"
        with Client(url, "m") as client:  # until the server is not busy any more
            client.predict({"text": ["a"]})
        asked = len(theirs.asked)
        with Client(url, "m", timeout=0.5) as client, pytest.raises(RequestError) as caught:
            client.predict({"text": ["slow"]})
        assert caught.value.code == "DEADLINE_EXCEEDED" and len(theirs.asked) <= asked + 1


def test_our_client_does_not_repeat_what_is_too_large(models):
    with (
        Server(
            models, ServerSettings(port=0, grpc_port=0, timeout=TIMEOUT, max_body=1000)
        ) as small,
        Client(f"grpc://127.0.0.1:{small.grpc_port}", "text", retries=1000) as client,
        pytest.raises(RequestError, match="larger than max") as caught,
    ):
        client.predict({"text": ["a" * 2000]})
    assert (caught.value.code, caught.value.http_status) == ("INVALID_ARGUMENT", 413)
