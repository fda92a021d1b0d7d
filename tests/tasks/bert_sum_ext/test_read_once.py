"""A text that was read once answers as the summarizer does that reads it each time."""

import dataclasses
import io

import numpy as np
import pytest

pytest.importorskip("tensorflow")

import tfsum
from tfsum.errors import DataError, Error

pytestmark = pytest.mark.usefixtures("opened_once")
KOREAN = "월요일에 다리가 폐쇄되었다.\n비가 하루 종일 내렸다. 기술자들이 균열을 발견했다."


@pytest.fixture(scope="module")
def summarize(transformer, opened_once):
    return tfsum.load(transformer.folder)


@pytest.fixture(params=["read", "opened"])
def document(request, summarize, article):
    found = summarize.read(article)
    return found if request.param == "read" else summarize.open(found.to_bytes())


def assert_same(found, expected):
    assert found.scores == pytest.approx(expected.scores, abs=1e-6)
    assert dataclasses.replace(found, scores=expected.scores) == expected


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"sentences": 2},
        {"sentences": "auto"},
        {"words": 20},
        {"characters": 90, "fill": True},
        {"tokens": 25},
        {"share": 0.4, "keywords": 3},
        {"query": "the bridge", "sentences": 1},
        {"query": "the bridge", "words": 30, "query_weight": 1.0},
        {"all": True},
        {"all": True, "query": "the bridge"},
        {"sentences": 3, "block_trigrams": True},
    ],
    ids=str,
)
def test_the_answer_is_that_of_the_summarizer(document, summarize, article, asked):
    assert_same(document(**asked), summarize(article, **asked))


def test_keywords_and_scores(document, summarize, article):
    assert document.keywords(3) == summarize.keywords([article], 3)[0]
    assert document.score() == summarize.score(article)
    assert_same(document.score("the bridge"), summarize(article, all=True, query="the bridge"))
    assert document.embeddings.shape == (len(document.score().sentences), 8)
    np.testing.assert_allclose(np.linalg.norm(document.embeddings, axis=1), 1, atol=1e-5)


def test_texts_of_different_sizes_are_read_at_once(summarize, article):
    texts = ["", article, KOREAN, "It rained."]
    documents = summarize.read(texts)
    assert [document.text for document in documents] == texts
    for document, text in zip(documents, texts, strict=True):
        assert document(sentences=2, keywords=2) == summarize(text, sentences=2, keywords=2)
        assert summarize.open(document.to_bytes())() == summarize(text)


def test_new_lines_as_asked(summarize):
    for newline in ("sentence", "paragraph", "space"):
        document = summarize.read(KOREAN, newline=newline)
        for found in (document, summarize.open(document.to_bytes())):
            assert_same(found(sentences=2), summarize(KOREAN, sentences=2, newline=newline))


@pytest.mark.parametrize("asked", [{"newline": "space"}, {"together": True}])
def test_what_is_settled_when_a_text_is_read(document, asked):
    with pytest.raises(Error, match=f"{next(iter(asked))}: is settled when a text is read"):
        document(**asked)


def test_another_model_s_document_and_broken_ones(document, summarize, monkeypatch):
    data = document.to_bytes()
    for broken in (b"", data[:100], data[:-40], b"PK" + data[2:50]):
        with pytest.raises(DataError, match="is broken .*; read its text again"):
            summarize.open(broken)

    with np.load(io.BytesIO(data)) as file:
        some = {name: file[name] for name in file if name != "text"}
    file = io.BytesIO()
    np.savez(file, **some)
    with pytest.raises(DataError, match="'text' is not a file|is broken"):
        summarize.open(file.getvalue())

    monkeypatch.setitem(summarize.description, "licence", "another")
    with pytest.raises(DataError, match="was read by news/1 .*; expected news/1 "):
        summarize.open(data)
