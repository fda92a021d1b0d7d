"""A further question about a document that was read is answered without reading it again."""

import json

import pytest
from opened_models import unverified

from tfsum.inference.exported_model import CSession
from tfsum.inference.texts import DocumentCache

QUESTIONS = (
    {"sentences": 2},
    {"words": 12, "keywords": 3},
    {"query": "the bridge", "sentences": 1},
    {"all": True},
    {"all": True, "query": "the bridge"},
)


@pytest.fixture(scope="module", params=[1 << 20, 0], ids=["kept", "not kept"])
def asked(request, serving, transformer):
    with unverified():
        asked = serving.Asked(transformer.folder.parent, document_cache=request.param)
    return request.param, lambda **fields: asked("POST", "/summarize", json.dumps(fields).encode())


@pytest.mark.usefixtures("opened_once")
def test_the_answers_are_equal_and_a_text_is_read_once(asked, article, transformer, monkeypatch):
    import tfsum

    limit, ask = asked
    calls, call = [], CSession.call
    monkeypatch.setattr(
        CSession, "call", lambda self, name, inputs: calls.append(name) or call(self, name, inputs)
    )
    answers = [ask(text=article, **question).json() for question in QUESTIONS]
    expected_calls = ["read", *(["extract_of_reading"] * 2), "keywords_of_reading"]
    expected_calls += ["extract_of_reading", "relevance_of_reading"]
    if not limit:
        expected_calls = ["extract", "extract", "keywords", "extract", "score", "relevance"]
    assert calls == expected_calls

    summarize = tfsum.load(transformer.folder)
    for question, answer in zip(QUESTIONS, answers, strict=True):
        expected = summarize(article, **question)
        assert [s["text"] for s in answer["sentences"]] == expected.sentences
        assert [s["score"] for s in answer["sentences"]] == pytest.approx(expected.scores, abs=1e-5)
        assert answer["warnings"] == expected.warnings
        assert [w["text"] for w in answer.get("keywords", [])] == [
            str(word) for word in expected.keywords or []
        ]


def test_the_page_reads_a_long_text_once(serving, transformer, article, monkeypatch):
    monkeypatch.setattr("tfsum.serving.page_api.LONG", 10)
    ask, calls, call = serving.Asked(transformer.folder.parent), [], CSession.call
    answers = []
    for words in (12, 20):
        body = {"text": article, "words": words, "keywords": 2}
        lines = ask("POST", "/page/summarize", json.dumps(body).encode()).text.splitlines()
        answers += [json.loads(line)["answer"] for line in lines if '"answer"' in line][1:]
        monkeypatch.setattr(
            CSession,
            "call",
            lambda self, name, given: calls.append(name) or call(self, name, given),
        )
    assert calls == ["extract_of_reading", "keywords_of_reading"]
    for answer, words in zip(answers, (12, 20), strict=True):
        body = {"text": article, "words": words, "keywords": 2}
        assert answer == ask("POST", "/summarize", json.dumps(body).encode()).json()


def test_another_text_is_another_document(asked, article):
    _, ask = asked
    first = ask(text=article, sentences=1).json()["summary"]
    assert ask(text=article.split(". ", 1)[1], sentences=1).json()["summary"] != ""
    assert ask(text=article, sentences=1).json()["summary"] == first


def test_the_oldest_make_room_and_what_is_too_large_is_not_kept():
    cache = DocumentCache(100)
    for number in range(4):
        cache.keep(number, number, 40)
        cache.find(0)  # asked about again and again
    assert [cache.find(number) for number in range(4)] == [0, None, None, 3]
    cache.keep(9, 9, 104)
    assert cache.find(9) is None and cache.size == 80 and cache.values() == [0, 3]
    cache.keep(3, "three", 50)
    assert cache.find(3) == "three" and cache.size == 90


def test_the_signatures_of_readings_are_not_served(serving, transformer):
    with unverified():
        asked = serving.Asked(transformer.folder.parent)
    (model,) = asked("GET", "/models").json()["models"]
    assert "read" in model["signatures"]
    assert not [name for name in model["signatures"] if name.endswith("_of_reading")]
