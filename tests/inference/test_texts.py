"""Tokens of texts, counted by the library `tokenizers` itself, in answers by every entrance."""

import json
import math
import urllib.request

import pytest
from hypothesis import given
from hypothesis import strategies as st
from patient_client import TIMEOUT, Client

pytest.importorskip("tensorflow")
tokenizers = pytest.importorskip("tokenizers", reason="needs the library tokenizers")

import tfsum
from tfsum.cli.main import main
from tfsum.errors import DataError, Error
from tfsum.inference.texts import token_counter, tokens_of
from tfsum.serving import Server, ServerSettings

pytestmark = pytest.mark.usefixtures("opened_once")


@pytest.fixture(scope="module")
def tokenizer():
    """A tokenizer of bytes with some pairs, which would cut, pad and add tokens of its own."""
    made = tokenizers.Tokenizer(tokenizers.models.BPE())
    made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    letters = tokenizers.pre_tokenizers.ByteLevel.alphabet()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=300, initial_alphabet=letters, special_tokens=["<s>"], show_progress=False
    )
    made.train_from_iterator(["The bridge was closed on Monday."] * 3, trainer)
    made.post_processor = tokenizers.processors.TemplateProcessing(
        single="<s> $A", special_tokens=[("<s>", 0)]
    )
    return made


@pytest.fixture(scope="module")
def file(tokenizer, tmp_path_factory):
    path = tmp_path_factory.mktemp("tokenizer") / "tokenizer.json"
    tokenizer.enable_truncation(5)
    tokenizer.enable_padding(length=9)
    tokenizer.save(str(path))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return path


@pytest.fixture(scope="module")
def count(tokenizer):
    return lambda text: len(tokenizer.encode(text, add_special_tokens=False).ids)


@pytest.fixture(scope="module")
def summarize(transformer, file):
    return tfsum.load(transformer.folder, tokenizer=file)


@given(text=st.text(max_size=40))
def test_counts(file, count, text):
    assert token_counter(str(file))(text) == count(text)
    assert token_counter(None)(text) == tokens_of(text) == math.ceil(len(text.encode()) / 4)


def test_half_of_a_pair(file, count):
    assert token_counter(file)("a\ud800") == count("a?")


@pytest.mark.parametrize("content", [None, "{}", "[1]", "no json"])
def test_files_of_another_kind(tmp_path, content):
    path = tmp_path / "tokenizer.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(DataError, match="tokenizer.json: is no tokenizer"):
        token_counter(path)


@pytest.mark.parametrize("tokens", [3, 30, 60, 120])
def test_answers_fit(summarize, count, article, tokens):
    answer = summarize(article, tokens=tokens)
    assert answer.tokens == count(answer.summary)
    is_over = len(answer.sentences) == 1 and answer.tokens > tokens
    assert is_over or answer.tokens <= tokens
    assert ({"code": "limit"} in answer.warnings) == is_over
    assert summarize.read(article)(tokens=tokens) == answer
    assert summarize([article, "It rained."], tokens=tokens)[0] == answer


def test_together(summarize, count, article):
    answer = summarize.together([article, article[::-1]], tokens=60)
    assert answer.tokens == count(answer.summary) <= 60


def test_there_is_as_much_as_has_room(transformer, summarize, article):
    """The tokens are shorter than four bytes here: so many of the estimate would be too many."""
    estimated = tfsum.load(transformer.folder)(article, tokens=60, fill=True)
    answer = summarize(article, tokens=60, fill=True)
    assert estimated.tokens == tokens_of(estimated.summary) <= 60
    assert 0 < len(answer.summary) < len(estimated.summary)
    assert summarize(article, words=10).tokens is None


def post(url, body):
    request = urllib.request.Request(url, json.dumps(body).encode(), method="POST")
    with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:
        return json.load(answer)


def test_every_entrance(transformer, summarize, file, article, count, tmp_path, capsys):
    expected = summarize(article, tokens=60)
    settings = ServerSettings(port=0, tokenizer=str(file), timeout=TIMEOUT)
    (tmp_path / "a.txt").write_text(article)
    asked = ["summarize", str(tmp_path / "a.txt"), "--tokens", "60", "--format", "json"]
    with Server(transformer.folder.parent.parent, settings) as server:
        url, name = f"http://127.0.0.1:{server.port}", transformer.folder.parent.name
        body = {"text": article, "tokens": 60, "model": name}
        record = post(f"{url}/summarize", body)
        assert (record["summary"], record["tokens"]) == (expected.summary, expected.tokens)
        asks = [{"role": "user", "content": f"Summarize:\n{article}"}]
        chat = {"model": name, "messages": asks, "max_tokens": 60}
        answered = post(f"{url}/v1/chat/completions", chat)
        content = answered["choices"][0]["message"]["content"]
        assert answered["usage"]["completion_tokens"] == count(content) <= 60
        with Client(url, name, tokenizer=file) as client:
            assert client.summarize(article, tokens=60).summary == expected.summary
        for where in (["--model", str(transformer.folder)], ["--model", name, "--server", url]):
            assert main([*asked, *where, "--tokenizer", str(file)]) == 0
            found = json.loads(capsys.readouterr().out)
            assert (found["summary"], found["tokens"]) == (expected.summary, expected.tokens)


def test_models_that_write(writer, file):
    with pytest.raises(Error, match="tokenizer: counts the tokens of sentences"):
        tfsum.load(writer.folder, tokenizer=file)
