"""`POST /summarize` and `GET /models`: plain JSON beside TensorFlow Serving's paths."""

import json

import pytest

from tfsum.inference.saved_model import DEFAULT_MODEL, shipped_models

TEXT = (
    "Seoul (AP) -- The council met on Monday, the caf\u00e9 \U0001f600 was full. The bridge will"
    " cost forty million dollars. Rain fell all night. Mayor Anna Holt said that it begins in May."
)


@pytest.fixture(scope="module")
def post(ask_shipped):
    def post(status=200, **fields):
        answer = ask_shipped("POST", "/summarize", json.dumps(fields).encode())
        assert answer.status_code == status, answer.text
        return answer.json()

    return post


def test_the_answers_are_those_of_python(post, shipped):
    for options in ({}, {"sentences": 1}, {"words": 20}, {"query": "cost", "query_weight": 0.9}):
        expected, answer = shipped(TEXT, **options), post(text=TEXT, **options)
        assert answer["summary"] == expected.summary and answer["model"] == DEFAULT_MODEL
        assert [(s["start"], s["end"]) for s in answer["sentences"]] == expected.offsets
        assert [s["text"] for s in answer["sentences"]] == expected.sentences
        assert [s["score"] for s in answer["sentences"]] == pytest.approx(expected.scores, abs=1e-5)
        assert (answer["coverage"], answer["warnings"]) == (expected.coverage, expected.warnings)
    (words,) = shipped.keywords([TEXT], 3)
    found = post(text=TEXT, keywords=3)["keywords"]
    assert [word["text"] for word in found] == [str(word) for word in words]
    assert [TEXT[word["start"] : word["end"]] for word in found] == [str(word) for word in words]


def test_every_sentence_with_its_score(post, shipped):
    (expected,) = shipped.score([TEXT])
    answer = post(text=TEXT, all=True)
    assert [(s["start"], s["end"]) for s in answer["sentences"]] == expected.offsets
    assert [s["score"] for s in answer["sentences"]] == pytest.approx(expected.scores, abs=1e-5)
    assert len(expected.offsets) == 4


def test_texts_together(post, shipped):
    texts = ["Rain fell on Monday. The river rose.", "Trains stopped on Tuesday."]
    expected = shipped.together(texts, sentences=2)
    answer = post(text=texts, together=True, sentences=2)
    assert [s["document"] for s in answer["sentences"]] == expected.documents
    assert [(s["start"], s["end"]) for s in answer["sentences"]] == expected.offsets


def test_a_model_that_writes(post):
    answer = post(text="I am cold.", model="transformer_tatoeba_en_fr")
    assert answer["summary"] == "J'ai froid."
    error = post(400, text="I am cold.", model="transformer_tatoeba_en_fr", words=9)["error"]
    assert "words: transformer_tatoeba_en_fr is not extractive" in error


@pytest.mark.parametrize(
    "fields, message",
    [
        ({}, "text is missing: The text; a list of texts to summarize together."),
        ({"text": 3}, "text=3: expected a text or a list"),
        ({"text": "a", "wordz": 1, "n": 2}, "wordz: unknown; did you mean words?"),
        ({"text": "a", "self": 1}, "self: unknown; there are sentences"),
        ({"text": "a"} | {f"x{i}": 1 for i in range(5000)}, "x0: unknown"),
        ({"text": "a", "words": "9"}, 'words="9": expected a whole number from 1'),
        ({"text": "a", "sentences": 0}, "sentences=0: expected a whole number from 1"),
        ({"text": "a", "sentences": True}, "sentences=true: expected"),
        ({"text": "a", "all": 1}, "all=1: expected true or false"),
        (
            {"text": "a", "all": True, "words": 9},
            "all: gives every sentence; leave it out, or words",
        ),
        ({"text": "a", "keywords": 1000}, "keywords=1000: expected a whole number from 1 to 100"),
        ({"text": ["a", "b"]}, "text: expected one text, or a list of texts and together=true"),
        ({"text": "a", "model": 3}, "model=3: expected a text"),
        ({"text": "a", "model": "not there", "words": 0}, "words=0: expected a whole number"),
    ],
)
def test_wrong_requests(post, fields, message):
    assert message in post(400, **fields)["error"]


def test_a_model_that_is_not_there(post, ask_shipped):
    assert "Servable not found" in post(404, text="a", model="nope")["error"]
    assert ask_shipped("GET", "/summarize").status_code == 405


def test_it_counts_as_a_request_of_its_model(post, ask_shipped):
    post(text="It rained.")
    metrics = ask_shipped("GET", "/metrics").text
    assert any(DEFAULT_MODEL in line and "summarize" in line for line in metrics.splitlines())


def test_the_models(ask_shipped):
    models = ask_shipped("GET", "/models").json()["models"]
    assert [model["name"] for model in models] == [*shipped_models()]
    assert models[0]["kind"] == "extractive" and "extract" in models[0]["signatures"]
