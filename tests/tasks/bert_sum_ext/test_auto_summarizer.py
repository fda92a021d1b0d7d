"""The model by the text, from all entrances: the shipped one stands for both."""

import json
import os
import urllib.error
import urllib.request

import pytest
from opened_models import unverified
from patient_client import TIMEOUT, Client

pytest.importorskip("tensorflow")

import tfsum
from tfsum.cli.main import main
from tfsum.inference.saved_model import shipped_model
from tfsum.serving import Server, ServerSettings
from tfsum.tasks.model_choice import MULTILINGUAL, NEWS

ENGLISH = "The bridge was closed on Monday, the mayor said. It rained. It will be open in a week."
TRANSLATOR = shipped_model("transformer_tatoeba_en_fr").parent
KOREAN = "정부는 목요일 새 법안을 발표했다. 야당은 비판했다."

pytestmark = pytest.mark.usefixtures("opened_once")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The folder of two shipped summarizers."""
    folder = tmp_path_factory.mktemp("shipped")
    for name in (NEWS, MULTILINGUAL):
        (folder / name).mkdir()
        os.symlink(shipped_model(), folder / name / "1")
    return folder


@pytest.fixture(autouse=True)
def both(folder, monkeypatch):
    monkeypatch.setattr("tfsum.inference.saved_model.SAVED_MODELS", folder)


@pytest.fixture(scope="module")
def server(folder):
    with (
        unverified(),
        Server(folder, ServerSettings(port=0, grpc_port=0, timeout=TIMEOUT)) as started,
    ):
        yield started


def test_python():
    summarize = tfsum.load()
    answers = summarize([ENGLISH, KOREAN, ENGLISH], sentences=1)
    assert [answer.model for answer in answers] == [NEWS, MULTILINGUAL, NEWS]
    alone = tfsum.load(NEWS)
    assert [answers[0], answers[2]] == alone([ENGLISH, ENGLISH], sentences=1)
    assert summarize.keywords([KOREAN, ENGLISH], 2) == alone.keywords([KOREAN, ENGLISH], 2)
    assert summarize.together([KOREAN, KOREAN, ENGLISH], words=9).model == MULTILINGUAL
    assert summarize.score(ENGLISH).model == NEWS
    assert summarize([]) == []


def test_a_model_is_opened_by_its_first_text():
    summarize = tfsum.load()
    summarize(KOREAN)
    assert [*summarize._opened] == [MULTILINGUAL]


def test_all_opened_models_are_interrupted(monkeypatch):
    interrupted = []
    monkeypatch.setattr(
        tfsum.Summarizer, "interrupt", lambda model: interrupted.append(model.path.parent.name)
    )
    summarize = tfsum.load()
    summarize([ENGLISH, KOREAN])
    summarize.interrupt()
    assert interrupted == [NEWS, MULTILINGUAL]


@pytest.mark.parametrize("text", [ENGLISH, KOREAN])
def test_production_never_takes_the_research_model(text):
    assert tfsum.load(model_licence="production")(text).model == MULTILINGUAL
    with pytest.raises(tfsum.Error, match="licences allow research alone"):
        tfsum.load(NEWS, "production")


def test_a_name_and_a_folder():
    assert tfsum.load(MULTILINGUAL)(ENGLISH).model == MULTILINGUAL
    assert tfsum.load(shipped_model(NEWS))(KOREAN).model == NEWS
    with pytest.raises(tfsum.ExportError, match="bert_sum_ext_latin: no such folder"):
        tfsum.load("bert_sum_ext_latin")


@pytest.mark.parametrize("where", ["here", "http", "grpc"])
def test_the_command_line(server, tmp_path, capsys, where):
    url = {
        "http": f"http://127.0.0.1:{server.port}",
        "grpc": f"grpc://127.0.0.1:{server.grpc_port}",
    }
    options = ["--server", url[where]] if where in url else []
    for name, text in (("a.txt", ENGLISH), ("b.txt", KOREAN)):
        (tmp_path / name).write_text(text, encoding="utf-8")
    files = [str(tmp_path / name) for name in ("a.txt", "b.txt")]

    def models(*more):
        assert main(["summarize", *files, "--format", "json", *options, *more]) == 0
        return [json.loads(line)["model"] for line in capsys.readouterr().out.splitlines()]

    assert models() == models("--model", "auto") == [NEWS, MULTILINGUAL]
    assert models("--model-licence", "production") == [MULTILINGUAL] * 2
    assert models("--model", MULTILINGUAL) == [MULTILINGUAL] * 2
    assert main(["summarize", *files, *options, "--model", NEWS, "--model-licence", "production"])
    assert "licences allow research alone" in capsys.readouterr().err


def test_the_client(server):
    with Client(f"http://127.0.0.1:{server.port}") as client:
        answers = client.summarize([KOREAN, ENGLISH], sentences=1)
        assert [answer.model for answer in answers] == [MULTILINGUAL, NEWS]
        assert client.keywords([KOREAN, ENGLISH], 2) == tfsum.load().keywords([KOREAN, ENGLISH], 2)
        assert "extract" in client.signatures()
        assert client.predict({"text": [ENGLISH]})["count"].shape == (1,)


def ask(server, body):
    request = urllib.request.Request(
        f"http://127.0.0.1:{server.port}/summarize", json.dumps(body).encode(), method="POST"
    )
    with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:
        return json.load(answer)


@pytest.mark.parametrize(("text", "model"), [(ENGLISH, NEWS), (KOREAN, MULTILINGUAL)])
def test_rest(server, text, model):
    assert ask(server, {"text": text})["model"] == model
    assert ask(server, {"text": text, "model": "auto"})["model"] == model
    assert ask(server, {"text": [text, text], "together": True})["model"] == model
    assert ask(server, {"text": text, "model": NEWS})["model"] == NEWS
    with pytest.raises(urllib.error.HTTPError, match="400"):
        ask(server, {"text": 9})


def test_a_server_for_production(folder):
    settings = ServerSettings(port=0, timeout=TIMEOUT, model_licence="production")
    with unverified(), Server(folder, settings) as started:
        assert ask(started, {"text": ENGLISH})["model"] == MULTILINGUAL
        with pytest.raises(urllib.error.HTTPError, match="404"):
            ask(started, {"text": ENGLISH, "model": NEWS})


def test_a_server_of_translators_summarizes_nothing():
    settings = ServerSettings(port=0, timeout=TIMEOUT)
    with unverified(), Server(TRANSLATOR, settings) as started:
        with pytest.raises(urllib.error.HTTPError, match="404"):
            ask(started, {"text": ENGLISH})
        assert ask(started, {"text": "It rained.", "model": TRANSLATOR.name})["summary"]
