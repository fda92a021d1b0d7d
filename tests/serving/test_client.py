"""The client, over REST and gRPC, against our server; and the answers of `tfsum.load`."""

import asyncio
import http.server
import json
import pathlib
import subprocess
import sys
import threading
import time
from typing import ClassVar

import numpy as np
import pytest
from cases import first_by_default
from patient_client import TIMEOUT, Client

import tfsum
from tfsum.cli.main import main
from tfsum.serving import AsyncClient, RequestError

TEXTS = [
    "It rained. The bridge was closed on Monday. Engineers found cracks in two of its pillars.",
    "",
    "日本語。今日は晴れ。",
    "Caf\u00e9 \U0001f600! Rain fell. The end\u2026",
]


@pytest.fixture(params=first_by_default(["http", "grpc"]))
def url(request, shipped_server):
    port = shipped_server.port if request.param == "http" else shipped_server.grpc_port
    return f"{request.param}://127.0.0.1:{port}"


def test_summaries_are_those_of_the_model_in_this_process(url, shipped):
    with Client(url, batch_documents=2) as client:
        found, expected = client.summarize(TEXTS, sentences=2), shipped(TEXTS, sentences=2)
        for ours, theirs in zip(found, expected, strict=True):
            assert type(ours) is tfsum.Summary
            assert (ours.summary, ours.sentences, ours.offsets, ours.newline) == (
                theirs.summary,
                theirs.sentences,
                theirs.offsets,
                theirs.newline,
            )
            np.testing.assert_allclose(ours.scores, theirs.scores, atol=1e-5)
        assert (
            client.summarize(TEXTS[0], sentences=1).sentences
            == shipped(TEXTS[0], sentences=1).sentences
        )
        assert client.summarize([]) == []


def test_limits_keywords_and_texts_together_are_those_of_the_model_in_this_process(url, shipped):
    with Client(url) as client:
        for options in ({"words": 12}, {"query": "cracks", "sentences": 1}, {"min_score": 0.2}):
            found = client.summarize(TEXTS, **options)
            theirs = shipped(TEXTS, block_trigrams=False, **options)
            assert [answer.sentences for answer in found] == [one.sentences for one in theirs]
        assert [list(map(str, words)) for words in client.keywords(TEXTS, 2)] == [
            list(map(str, words)) for words in shipped.keywords(TEXTS, 2)
        ]
        together = client.together(TEXTS, sentences=2)
        assert together.documents == shipped.together(TEXTS, sentences=2).documents
        assert [len(one.sentences) for one in client.score(TEXTS)] == [3, 0, 2, 3]
        with pytest.raises(tfsum.Error, match="share=2"):
            client.summarize(TEXTS, share=2)


def test_generated_texts(url):
    with Client(url, "transformer_tatoeba_en_fr") as client:
        answers = client.generate(["I am cold.", "The cat is on the table."])
        assert answers[1].summary == "Le chat est sur la table." and answers[1].ended
        assert client.generate("I am cold.").summary == answers[0].summary


def test_rows_of_any_number_keep_their_order(url):
    texts = [f"Number {i} rained. The bridge was closed." for i in range(70)]
    with Client(url, batch_documents=8) as client:
        scored = client.predict({"text": texts}, "score")
    assert scored["count"].tolist() == [2] * 70 and scored["start"].shape[0] == 70


def test_errors(url):
    with Client(url, "nope", retries=0) as client, pytest.raises(RequestError) as caught:
        client.summarize("It rained.")
    assert caught.value.code == "NOT_FOUND"
    with Client(url) as client:
        with pytest.raises(RequestError, match="does not have|Missing|match signature"):
            client.predict({"texts": ["a"]})
        with pytest.raises(tfsum.Error, match="number of rows"):
            client.predict({"text": ["a"], "more": ["a", "b"]})
        with pytest.raises(tfsum.Error, match="is int"):
            client.summarize([1])
    with pytest.raises(tfsum.Error, match="closed"):
        client.summarize("It rained.")


def test_coroutines(url, shipped):
    async def ask():
        async with AsyncClient(url, timeout=TIMEOUT) as client:
            return await asyncio.gather(*(client.summarize(text, sentences=1) for text in TEXTS))

    assert [answer.summary for answer in asyncio.run(ask())] == [
        answer.summary for answer in shipped(TEXTS, sentences=1)
    ]


class Unsteady(http.server.BaseHTTPRequestHandler):
    """Answers the metadata (first with the statuses of `loading`), and requests (first with those
    of `statuses`)."""

    protocol_version = "HTTP/1.1"  # keeps connections
    outputs: ClassVar = {"summary": ["yes"]}
    loading: ClassVar[list[int]] = []
    signature, retry_after, free = "serving_default", None, None
    asked = described = connections = 0
    error = "busy"

    def setup(self):
        type(self).connections += 1
        super().setup()

    def do_GET(self):
        type(self).described += 1
        if self.loading:
            return self.answer(self.loading.pop(0), {"error": "models are still being loaded"})
        info = {"dtype": "DT_STRING", "tensor_shape": {"dim": [{"size": "-1"}]}}
        self.answer(
            200,
            {
                "metadata": {
                    "signature_def": {
                        "signature_def": {
                            self.signature: {
                                "inputs": {"text": info},
                                "outputs": dict.fromkeys(self.outputs, info),
                            }
                        }
                    }
                }
            },
        )

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        type(self).asked += 1
        if self.free is not None:
            self.free.wait(600)
        status = self.statuses.pop(0) if self.statuses else 200
        if status is None:  # the server ends
            self.close_connection = True
            return
        outputs = self.outputs if len(self.outputs) > 1 else next(iter(self.outputs.values()))
        self.answer(status, {"outputs": outputs} if status == 200 else {"error": self.error})

    def answer(self, status, value):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        if status != 200 and self.retry_after:
            self.send_header("Retry-After", self.retry_after)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture
def unsteady():
    """A function: starts a server of such a handler with settings, and gives the handler and the
    address."""
    servers = []

    def begin(statuses=(), **settings):
        handler = type("Handler", (Unsteady,), {"statuses": list(statuses), **settings})
        listening = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        listening.daemon_threads, listening.block_on_close = True, False
        servers.append(listening)
        threading.Thread(target=listening.serve_forever, daemon=True).start()
        return handler, f"http://127.0.0.1:{listening.server_address[1]}"

    yield begin
    for listening in servers:
        listening.shutdown()
        listening.server_close()


def test_the_error_of_a_server_is_cut(unsteady):
    _, url = unsteady([400], error="x" * 1_000_000)
    with Client(url, "m") as client, pytest.raises(RequestError) as caught:
        client.predict({"text": ["a"]})
    assert len(str(caught.value)) < 2100


@pytest.mark.parametrize(
    "statuses, asked, code",
    [
        ([429, 503], 3, None),
        ([400], 1, "INVALID_ARGUMENT"),
        ([500], 1, None),
        ([504], 1, "DEADLINE_EXCEEDED"),
        ([503] * 9, 3, "UNAVAILABLE"),
    ],
)
def test_a_busy_server_is_asked_again_and_no_other(unsteady, statuses, asked, code):
    handler, url = unsteady(statuses)
    with Client(url, "m", retries=2) as client:
        if statuses == [429, 503]:
            assert client.predict({"text": ["a"]})["summary"].tolist() == [b"yes"]
        else:
            with pytest.raises(RequestError, match="busy") as caught:
                client.predict({"text": ["a"]})
            assert code in (None, caught.value.code)
    assert handler.asked == asked


def test_what_a_server_that_ended_did_not_answer_is_asked_again(unsteady):
    handler, url = unsteady([None, None])
    with Client(url, "m", retries=2) as client:
        assert client.predict({"text": ["a"]})["summary"].tolist() == [b"yes"]
    assert handler.asked == 3


def test_a_connection_is_used_again(unsteady):
    handler, url = unsteady()
    with Client(url, "m", at_once=1, batch_documents=1) as client:
        client.predict({"text": ["a", "b", "c"]})
        client.predict({"text": ["d"]})
    assert (handler.asked, handler.connections) == (4, 1)


def test_an_answer_is_waited_for_as_long_as_told(unsteady):
    handler, url = unsteady(free=(free := threading.Event()))
    with (
        Client(url, "m", timeout=0.5) as client,
        pytest.raises(RequestError, match="no answer in 0.5 s") as caught,
    ):
        client.predict({"text": ["a"]})
    free.set()
    assert caught.value.code == "DEADLINE_EXCEEDED"
    assert handler.described <= 1 and handler.asked <= 1  # it is not repeated


def test_a_busy_server_is_left_alone_as_long_as_it_says(unsteady):
    handler, url = unsteady(statuses=[503], retry_after="0.7")
    begin = time.monotonic()
    with Client(url, "m") as client:
        client.predict({"text": ["a"]})
    assert handler.asked == 2 and time.monotonic() - begin > 0.7


def test_a_server_cannot_make_a_client_wait_for_ever(unsteady, monkeypatch):
    monkeypatch.setattr("tfsum.serving.served_models.LONGEST_ASKED", 0.1)
    handler, url = unsteady(statuses=[429], retry_after="99999")
    with Client(url, "m") as client:
        client.predict({"text": ["a"]})
    assert handler.asked == 2


def test_what_is_for_this_machine_goes_through_no_proxy(unsteady, monkeypatch):
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")  # where nobody listens
    handler, url = unsteady()
    with Client(url, "m", token="secret", retries=0) as client:
        client.predict({"text": ["a"]})
    assert handler.asked == 1


def test_the_signatures_of_a_model_that_is_being_loaded_are_asked_for_again(unsteady):
    handler, url = unsteady(loading=[503, 503])
    with Client(url, "m", retries=2) as client:
        assert list(client.signatures()) == [handler.signature]
    assert handler.described == 3 and handler.loading == []


def test_models_that_are_being_loaded_are_waited_for_as_long_as_told(unsteady):
    handler, url = unsteady(loading=[503] * 3)
    with Client(url, "m", retries=0) as client:
        assert list(client.signatures()) == [handler.signature]
    assert handler.described == 4

    handler, url = unsteady(loading=[503] * 1000)
    with (
        Client(url, "m", timeout=0.3, retries=0) as client,
        pytest.raises(RequestError, match=f"^{url}/.*: models are still being loaded") as caught,
    ):
        client.signatures()
    assert caught.value.code == "UNAVAILABLE" and handler.described > 1


def test_a_new_version_with_other_outputs(unsteady):
    handler, url = unsteady()
    with Client(url, "m") as client:
        assert client.predict({"text": ["a"]})["summary"].tolist() == [b"yes"]
        handler.outputs = {"label": ["yes"], "summary": ["no"]}
        assert client.predict({"text": ["a"]})["label"].tolist() == [b"yes"]
        handler.outputs, handler.signature = {"answer": ["yes"], "label": ["no"]}, "other"
        assert client.predict({"text": ["a"]}, "other")["answer"].tolist() == [b"yes"]
        assert list(client.signatures()) == ["other"] and handler.described == 4


def test_the_address_of_an_error_is_whole(unsteady):
    _, url = unsteady(statuses=[400])
    with (
        Client(url, "m") as client,
        pytest.raises(RequestError, match=f"^{url}/v1/models/m:predict: busy"),
    ):
        client.predict({"text": ["a"]})


def test_inputs_that_are_no_tables(url):
    with Client(url) as client:
        with pytest.raises(tfsum.Error, match="rows of input token_ids differ in their lengths"):
            client.predict({"token_ids": [[1], [1, 2]]}, "score_ids")
        with pytest.raises(tfsum.Error, match="row 1 of input text is int"):
            client.predict({"text": ["a", 1]})


def test_a_model_of_another_kind(url):
    with Client(url) as client:
        for ask in (client.generate, client.classify):
            with pytest.raises(tfsum.Error, match="a model of another kind"):
                ask("It rained.")
        with pytest.raises(tfsum.Error, match="2 texts and 1 second texts"):
            client.classify(["a", "b"], ["c"])
        with pytest.raises(RequestError, match="text_pair"):
            client.classify("a", "b")


def test_a_server_of_something_else_is_told_in_a_line():
    with http.server.HTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler) as pages:
        threading.Thread(target=pages.handle_request, daemon=True).start()
        url = f"http://127.0.0.1:{pages.server_address[1]}"
        with Client(url, "m", retries=0) as client, pytest.raises(RequestError) as caught:
            client.signatures()
    assert "metadata: expected JSON, found '<" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("url", ["http://127.0.0.1:9", "grpc://127.0.0.1:9"])
def test_nobody_listens(url):
    how = "correct the address, or start a server there: `tfsum serve"
    with Client(url, retries=1) as client, pytest.raises(RequestError, match=how) as caught:
        client.summarize("It rained.")
    assert caught.value.code == "UNAVAILABLE"


def test_a_client_loads_no_tensorflow():
    program = (
        "import sys, tfsum.serving\n"
        "for url in ('http://localhost:9', 'grpc://localhost:9'):\n"
        "    tfsum.serving.Client(url).close()\n"
        "assert not {'tensorflow', 'keras'} & set(sys.modules)\n"
    )
    subprocess.run(
        [sys.executable, "-c", program], check=True, cwd=pathlib.Path(tfsum.__file__).parents[1]
    )


def test_the_command_line_asks_a_server(url, capsys, tmp_path):
    news, french = tmp_path / "news.txt", tmp_path / "french.txt"
    news.write_text(TEXTS[0], encoding="utf-8")
    french.write_text("I am cold.", encoding="utf-8")
    assert main(["summarize", str(news), "-n", "1", "--format", "json"]) == 0
    expected = json.loads(capsys.readouterr().out)
    assert main(["summarize", str(news), "-n", "1", "--format", "json", "--server", url]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {**found, "scores": 0} == {**expected, "scores": 0}
    np.testing.assert_allclose(found["scores"], expected["scores"], atol=1e-5)
    translate = ["summarize", str(french), "--server", url, "--model", "transformer_tatoeba_en_fr"]
    assert main(translate) == 0 and capsys.readouterr().out == "J'ai froid.\n"
    for words, status, said in (
        (["-n", "1"], 2, "not extractive"),
        (["--newline", "space"], 2, "not extractive"),
        (["--model", "nope"], 1, "Servable not found"),
    ):
        assert exit_status([*translate, *words]) == status and said in capsys.readouterr().err
    assert exit_status(["summarize", "--token-file", "x"]) == 2
    assert "tfsum client" not in {thread.name for thread in threading.enumerate()}  # it is closed


def exit_status(words):
    try:
        return main(words)
    except SystemExit as error:
        return error.code


def test_the_command_line_loads_no_tensorflow_for_a_server(shipped_server):
    url = f"http://127.0.0.1:{shipped_server.port}"
    program = (
        "import sys; from tfsum.cli.main import main; status = main(sys.argv[1:]); "
        "sys.exit(status or 'tensorflow' in sys.modules or 'keras' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, "summarize", "--server", url],
        input="It rained. The bridge was closed.",
        text=True,
        capture_output=True,
        timeout=TIMEOUT,
    )
    assert (done.returncode, done.stdout) == (
        0,
        "It rained.\nThe bridge was closed.\n",
    ), done.stderr
