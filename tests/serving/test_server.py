"""The server as a process: SIGTERM under load, a second signal, slow and half-closed sockets, a
port that is taken.

What is waited for has a limit of minutes, which ends what hangs."""

import asyncio
import concurrent.futures
import contextlib
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

import pytest
import tensorflow as tf
from patient_client import TIMEOUT, Client

import tfsum
from tfsum.cli.main import main
from tfsum.serving import RequestError, Server, ServerSettings
from tfsum.serving.predictor import Predictor
from tfsum.shipped_files import SAVED_MODELS

START = "import sys; from tfsum.cli.main import main; sys.exit(main())"
# Accepts requests for ten times as long after a signal.
LONG_DRAIN = f"import tfsum.serving.server as server; server.DRAIN_SECONDS = 5.0; {START}"
LIMIT = 300  # seconds
OURS = str(pathlib.Path(tfsum.__file__).parents[1])


class Slow(tf.Module):
    """Takes a while for each text."""

    @tf.function(input_signature=[tf.TensorSpec((None,), tf.string, "text")])
    def default(self, text):
        x = tf.random.stateless_normal([400, 400], [1, 2])
        x = tf.while_loop(lambda i, x: i < 100, lambda i, x: (i + 1, tf.tanh(x @ x)), [0, x])[1]
        with tf.control_dependencies([tf.reduce_sum(x)]):
            return {"summary": tf.identity(text)}


@pytest.fixture(scope="module")
def slow_models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("slow")
    model = Slow()
    tf.saved_model.save(
        model, str(folder / "slow" / "1"), signatures={"serving_default": model.default}
    )
    return folder


@pytest.fixture
def start():
    """A function: starts `tfsum serve`, waits until it is ready, and gives the process and its
    address."""
    processes = []

    def begin(*words, program=START, until=r"(http://\S+) answers for"):
        process = subprocess.Popen(
            [sys.executable, "-c", program, "serve", *map(str, words), "--port", "0"],
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": OURS},
        )
        processes.append(process)
        for line in process.stderr:
            if found := re.search(until, line):
                return process, found[1]
        raise AssertionError(f"it ended with {process.wait()}")

    yield begin
    for process in processes:
        process.kill()
        process.communicate()


def said(process, text):
    """Waits until a process writes a line with a text."""
    assert any(text in line for line in process.stderr)


def ask(url, count=1):
    """The status of a request, 0 where it was not accepted, and -1 where it was lost."""
    texts = ["a text"] * count
    request = urllib.request.Request(
        f"{url}/v1/models/slow:predict", json.dumps({"instances": texts}).encode()
    )
    try:
        with urllib.request.urlopen(request, timeout=LIMIT) as answer:
            return answer.status if json.load(answer) == {"predictions": texts} else -2
    except urllib.error.HTTPError as error:
        return error.code
    except urllib.error.URLError as error:
        return 0 if isinstance(error.reason, ConnectionRefusedError) else -1
    except OSError:
        return -1


@pytest.mark.slow
def test_accepted_requests_are_answered_after_sigterm(start, slow_models):  # 111
    words = ("--threads", 1, "--batch-characters", 1, "--timeout", LIMIT, "--grace", LIMIT)
    process, url = start(slow_models, *words, program=LONG_DRAIN)
    with concurrent.futures.ThreadPoolExecutor(12) as pool:
        asked = [pool.submit(ask, url) for _ in range(12)]
        wait_until(lambda: waiting(url))
        process.send_signal(signal.SIGTERM)
        said(process, "stopping when the accepted requests are answered")
        with pytest.raises(urllib.error.HTTPError) as caught:
            urllib.request.urlopen(f"{url}/readyz", timeout=LIMIT)
        assert caught.value.code == 503
        assert [answer.result() for answer in asked] == [200] * 12
    assert process.wait(LIMIT) == 0 and ask(url) == 0


@pytest.mark.slow  # a process of its own; .ci/run runs it
@pytest.mark.parametrize("grpc", [False, True])
def test_what_is_not_answered_within_the_grace_is_given_up(start, slow_models, grpc):
    port = free_port()
    words = ("--threads", 1, "--batch-characters", 1, "--timeout", LIMIT, "--grace", 1)
    process, url = start(slow_models, *words, "--grpc-port", port)
    asked = f"grpc://127.0.0.1:{port}" if grpc else url
    texts = ["a text"] * 900
    with (
        concurrent.futures.ThreadPoolExecutor(1) as pool,
        Client(asked, "slow", batch_documents=1000, batch_characters=1 << 20, retries=0) as client,
    ):
        answer = pool.submit(client.predict, {"text": texts})
        wait_until(lambda: waiting(url))
        process.send_signal(signal.SIGTERM)
        _, log = process.communicate(timeout=LIMIT)
        assert process.returncode == 1
        assert "before every accepted request was answered" in log and "Traceback" not in log
        assert isinstance(answer.exception(LIMIT), RequestError)


@pytest.mark.slow  # a process of its own; .ci/run runs it
def test_idle_servers_stop_at_once(start, slow_models):
    process, _ = start(slow_models, "--grpc-port", free_port(), "--grace", 10 * LIMIT)
    process.send_signal(signal.SIGTERM)
    assert process.wait(LIMIT) == 0


def waiting(url):
    """How many requests wait for a batch."""
    with urllib.request.urlopen(f"{url}/monitoring/prometheus/metrics", timeout=LIMIT) as answer:
        return float(
            re.search(r"^tfsum_queue_requests (\S+)", answer.read().decode(), re.MULTILINE)[1]
        )


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as found:
        return found.getsockname()[1]


@pytest.mark.slow  # a process of its own; .ci/run runs it
def test_a_second_signal_ends_it_at_once(start, slow_models):
    words = ("--threads", 1, "--batch-characters", 1, "--timeout", LIMIT)
    process, url = start(slow_models, *words)
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        asked = pool.submit(ask, url, 900)
        wait_until(lambda: waiting(url))
        process.send_signal(signal.SIGTERM)
        said(process, "stopping when the accepted requests are answered")
        process.send_signal(signal.SIGTERM)
        _, log = process.communicate(timeout=LIMIT)
        assert process.returncode == 1 and "Traceback" not in log
        assert asked.result() != 200


# A server whose models take long to load ("asleep" says that it does so), and that accepts requests
# for so many seconds after a signal.
LOADING = """import sys, time, tfsum.serving.server as server
from tfsum.cli.main import main
def load(*arguments, **options):
    print("asleep", file=sys.stderr, flush=True)
    time.sleep(600)
server.load_servable, server.DRAIN_SECONDS = load, {drain}
sys.exit(main())
"""


@pytest.mark.slow  # a process of its own; .ci/run runs it
@pytest.mark.parametrize("signals, drain, status", [(1, 0.5, 0), (2, 10 * LIMIT, 1)])
def test_a_signal_while_models_are_loaded(start, slow_models, signals, drain, status):
    words = ("--label", "slow/stable=1", "--grace", 20 * LIMIT)
    process, _ = start(slow_models, *words, program=LOADING.format(drain=drain), until="(asleep)")
    process.send_signal(signal.SIGTERM)
    if signals == 2:
        said(process, "stopping when the accepted requests are answered")
        process.send_signal(signal.SIGTERM)
    assert process.wait(LIMIT) == status  # the models would take twice as long


@pytest.mark.slow  # a process of its own; .ci/run runs it
def test_the_access_log_has_no_text_and_the_client_works(start):
    process, url = start(
        *("--no-access-log", "--timeout", LIMIT),
        SAVED_MODELS / "transformer_tatoeba_en_fr",
    )
    with Client(url, "transformer_tatoeba_en_fr") as client:
        assert client.generate("I am cold.").summary == "J'ai froid."
    process.send_signal(signal.SIGINT)
    assert process.wait(LIMIT) == 0


@pytest.mark.slow  # a process of its own; .ci/run runs it
def test_texts_are_not_logged(start, models):
    process, url = start(models)
    request = urllib.request.Request(
        f"{url}/v1/models/text:predict", b'{"instances": ["secret words", 1]}'
    )
    with pytest.raises(urllib.error.HTTPError):
        urllib.request.urlopen(request, timeout=LIMIT)
    process.send_signal(signal.SIGTERM)
    _, log = process.communicate(timeout=LIMIT)
    line = next(json.loads(line) for line in log.splitlines() if line.startswith("{"))
    assert (line["method"], line["path"], line["status"], line["bytes_in"]) == (
        "POST",
        "/v1/models/text:predict",
        400,
        34,
    )
    assert "secret" not in log


def head(size):
    """The head of a request whose body has that many bytes."""
    host = "Host: localhost\r\n"
    path = "/v1/models/text:predict"
    return f"POST {path} HTTP/1.1\r\n{host}Content-Length: {size}\r\n\r\n".encode()


@pytest.mark.slow
def test_slow_and_half_closed_sockets_hold_nobody_up(start, models):
    process, url = start(models, "--timeout", LIMIT)
    port = int(url.rpartition(":")[2])
    sockets = [socket.create_connection(("127.0.0.1", port)) for _ in range(20)]
    for number, open_socket in enumerate(sockets):
        open_socket.sendall(head(25)[: 10 * number] if number % 2 else head(25) + b'{"inst')
    half = socket.create_connection(("127.0.0.1", port))
    half.sendall(head(25) + b'{"instances": ["a text"]}')
    half.shutdown(socket.SHUT_WR)
    half.settimeout(LIMIT)
    with urllib.request.urlopen(f"{url}/healthz", timeout=LIMIT) as answer:
        assert answer.status == 200
    assert b" 200 " in half.recv(4096)
    sockets[0].setblocking(False)
    with pytest.raises(BlockingIOError):  # it is still held up itself
        sockets[0].recv(4096)
    for open_socket in (*sockets, half):
        open_socket.close()
    assert process.poll() is None


def test_a_body_that_does_not_come_is_not_waited_for(models):
    settings = ServerSettings(port=0, timeout=0.2)
    with (
        Server(models, settings) as server,
        socket.create_connection(("127.0.0.1", server.port), LIMIT) as client,
    ):
        wait_until(lambda: server.versions.ready)
        client.sendall(head(25) + b'{"inst')
        assert b" 408 " in client.recv(4096)


def test_a_client_that_does_not_read_its_answer_is_dropped(models, monkeypatch):
    monkeypatch.setattr("tfsum.serving.application.READ_SECONDS", 0.2)
    body = json.dumps({"signature_name": "raw", "instances": ["a" * 8_000_000]}).encode()
    settings = ServerSettings(port=0, max_document_bytes=9_000_000, timeout=TIMEOUT)
    with Server(models, settings) as server, socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.connect(("127.0.0.1", server.port))
        wait_until(lambda: server.versions.ready)
        client.sendall(head(len(body)) + body)
        # It has read the body, so that there was a connection.
        wait_until(lambda: not server._http.server_state.connections)


def test_requests_have_a_limit_but_for_probes(models, monkeypatch):
    monkeypatch.setattr(Predictor, "predict", lambda *_: asyncio.sleep(LIMIT))
    settings = ServerSettings(port=0, max_connections=1, timeout=TIMEOUT, grace=0.0)
    with (
        Server(models, settings) as server,
        socket.create_connection(("127.0.0.1", server.port)) as first,
    ):
        first.sendall(head(20) + b'{"instances": ["a"]}')
        wait_until(lambda: server.predictor.answering)
        url = f"http://127.0.0.1:{server.port}"
        with pytest.raises(urllib.error.HTTPError, match="503"):
            urllib.request.urlopen(f"{url}/models", timeout=LIMIT)
        with urllib.request.urlopen(f"{url}/healthz", timeout=LIMIT) as answer:
            assert answer.status == 200


@pytest.mark.parametrize("most, sent", [(2000, b""), (9, b"GET /models HT"), (9, head(9) + b"{")])
def test_silent_connections_give_way(models, most, sent):
    with (
        Server(models, ServerSettings(port=0, max_connections=most, timeout=TIMEOUT)) as server,
        contextlib.ExitStack() as stack,
    ):
        most, address = server.settings.max_connections, ("127.0.0.1", server.port)
        silent = []
        for _ in range(most + 9):
            silent.append(stack.enter_context(socket.create_connection(address, LIMIT)))
            silent[-1].sendall(sent)
        for path in ("healthz", "readyz", "models"):
            with urllib.request.urlopen(f"http://127.0.0.1:{server.port}/{path}") as answer:
                assert answer.status == 200
        wait_until(lambda: len(server._http.server_state.connections) <= most)
        with contextlib.suppress(ConnectionResetError):
            assert silent[0].recv(1) == b""  # the oldest


@pytest.mark.skipif(sys.platform != "linux", reason="127.0.0.2 is of this machine on Linux")
def test_silent_connections_leave_other_addresses_theirs(models):
    with (
        Server(models, ServerSettings(port=0, max_connections=3, timeout=TIMEOUT)) as server,
        contextlib.ExitStack() as stack,
    ):
        address, sources = ("127.0.0.1", server.port), [("127.0.0.2", 0), *[("127.0.0.1", 0)] * 9]
        first, *_, last = (
            stack.enter_context(socket.create_connection(address, LIMIT, source))
            for source in sources
        )
        last.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert b" 200 " in last.recv(4096)
        first.sendall(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert b" 200 " in first.recv(4096)


@pytest.mark.parametrize(
    "soft, hard, connections, raised",
    [(256, 1024, 768, 1024), (1024, 524288, 2000, 4256), (8192, 8192, 2000, 8192), (64, 64, 1, 64)],
)
def test_the_limit_of_descriptors_is_raised(monkeypatch, soft, hard, connections, raised):
    resource, asked = pytest.importorskip("resource"), []
    monkeypatch.setattr(resource, "getrlimit", lambda _: (soft, hard))
    monkeypatch.setattr(resource, "setrlimit", lambda _, limits: asked.append(limits))
    server = Server(settings=ServerSettings(port=0))
    server._socket.close()
    assert server.settings.max_connections == connections
    assert asked == [(raised, hard)]


def test_two_servers_share_a_port(models):
    both = {"reuse_port": True, "timeout": TIMEOUT}
    with Server(models, ServerSettings(port=0, grpc_port=0, **both)) as first:
        ports = {"port": first.port, "grpc_port": first.grpc_port}
        with Server(models, ServerSettings(**ports, **both)) as second:
            wait_until(lambda: first.versions.ready and second.versions.ready)
            for scheme, port in (("http", first.port), ("grpc", first.grpc_port)):
                for _ in range(4):
                    with Client(f"{scheme}://127.0.0.1:{port}", "text") as client:
                        assert client.predict({"text": ["It rained."]})
        with pytest.raises(tfsum.Error, match="cannot be listened on"):
            Server(models, ServerSettings(port=first.port))


def wait_until(condition):
    """Waits until a condition holds."""
    end = time.monotonic() + LIMIT
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_wrong_calls(capsys, tmp_path, models):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        assert main(["serve", str(models), "--port", str(taken.getsockname()[1])]) == 1
    assert "cannot be listened on" in capsys.readouterr().err
    for words, said, status in (
        (["nowhere"], "no such folder", 1),
        (["--version-policy", "newest"], "expected versions to serve: latest:N", 2),
        (["--label", "a=1"], "expected NAME/LABEL=VERSION", 2),
        (["--timeout", "0"], "timeout=0: expected a number above 0", 2),
        (["--token-file", str(tmp_path / "none")], "cannot be read", 1),
    ):
        assert main(["serve", *words, "--port", "0"]) == status
        assert said in capsys.readouterr().err
