"""What can be asked of a summary beside its number of sentences: limits, a query, keywords, several
texts."""

import pathlib

import pytest

tf = pytest.importorskip("tensorflow")

import tfsum
from tfsum.errors import Error
from tfsum.inference.saved_model import DEFAULT_MODEL
from tfsum.request import SummaryRequest
from tfsum.tasks.bert_sum_ext import answering
from tfsum.tasks.bert_sum_ext.answering import (
    LARGEST,
    Defaults,
    Question,
    defaults_of,
    request_warnings,
)

pytestmark = pytest.mark.usefixtures("opened_once")


@pytest.fixture(scope="module")
def summarize(opened_once):
    return tfsum.load(DEFAULT_MODEL)


def _words(summary):
    return len(summary.summary.split())


@pytest.fixture(scope="module")
def story():
    return (pathlib.Path(__file__).parents[3] / "examples" / "article.txt").read_text("utf-8")


@pytest.fixture(scope="module")
def of_today(transformer, opened_once):
    """A small model that has every input of today."""
    return tfsum.load(transformer.folder)


@pytest.mark.parametrize("words", [15, 30, 60, 100])
def test_never_over_the_words_and_full(of_today, story, report, words):
    texts = [story, report]
    full = of_today(texts, words=words, fill=True, block_trigrams=False)
    for text, summary in zip(texts, full):
        assert _words(summary) <= words
        others = set(of_today.score(text).sentences) - set(summary.sentences)
        least = min((len(s.split()) for s in others), default=words)
        assert _words(summary) + least > words or words == 100  # nothing else has room
        assert [text[a:b] for a, b in summary.offsets] == summary.sentences


def test_characters_share_and_scores(summarize, of_today, story):
    assert 200 < len(of_today(story, characters=280, fill=True).summary) <= 280
    third = of_today(story, share=0.3, fill=True)
    assert _words(third) <= 0.3 * len(story.split()) < _words(third) + 30
    every = summarize.score(story)
    best = summarize(story, min_score=0.3, block_trigrams=False)
    likely = [end for (_, end), score in zip(every.offsets, every.scores) if score >= 0.3]
    assert [end for _, end in best.offsets] == likely and len(likely) < len(every.sentences)
    assert summarize(story, min_score=1.0).sentences == []


@pytest.mark.parametrize(
    "usual, least",
    [({}, 0.6), ({"least_known": 0.9}, 0.6), ({"least_known": 0.16}, 0.04)],
    ids=["one language", "one that was counted", "many languages"],
)
def test_the_whole_words_that_a_known_language_has(usual, least):
    text = {"newline": "auto"}
    description = {"sentences": 3, "block_trigrams": True, "text": text, "frequent": usual}
    assert defaults_of(description).least_known == pytest.approx(least)


def test_every_sentence_by_a_query(of_today, article):
    (found,) = of_today.answer([article], SummaryRequest(all=True, query="the river fell"))
    assert found.sentences == of_today.score(article).sentences
    best = of_today(article, query="the river fell", query_weight=1.0, sentences=1)
    assert found.scores[found.sentences.index(best.sentences[0])] == max(found.scores) == 1.0
    with pytest.raises(
        Error, match="all: gives every sentence; leave it out, or query_weight, words"
    ):
        SummaryRequest(all=True, query="river", query_weight=0.5, words=9)


def test_a_limit_is_no_duty(of_today, article):
    asked = {"query": "bridge", "query_weight": 1.0}
    for limit in ({"words": 30}, {"characters": 160}, {"share": 0.8}):
        some, full = (of_today(article, **limit, **asked, fill=fill) for fill in (False, True))
        assert some.sentences == ["The mayor said the bridge was closed."]
        assert len(full.sentences) > 2
        assert of_today(article, **limit, **asked) == some
    # those who ask for a number, or for a score, get what they ask for
    assert len(of_today(article, sentences=5, **asked).sentences) == 5
    some = of_today(article, words=30, min_score=1e-6, **asked)
    assert some == of_today(article, words=30, fill=True, **asked)


def test_a_question_is_answered_by_what_has_to_do_with_it(summarize, story):
    answer = summarize(story, query="Who signed the petition?")
    assert len(answer.sentences) == 1 and "petition, signed by 4,200" in answer.summary
    assert not answer.warnings and len(summarize(story).sentences) > 1
    pancakes = summarize(story, query="What is the best recipe for pancakes?")
    assert [warning["code"] for warning in pancakes.warnings] == ["query"]
    costs = (summarize(story, query=query, sentences=1).summary for query in ("cost", "costs"))
    assert all("cost" in summary for summary in costs)


def test_several_limits_and_a_number(summarize, story):
    narrow = summarize(story, sentences=2, words=60, characters=250)
    assert len(narrow.sentences) <= 2 and _words(narrow) <= 60 and len(narrow.summary) <= 250
    assert len(summarize(story, sentences=1, words=500).sentences) == 1


def test_a_sentence_that_is_longer_than_the_limit_stands_alone(summarize):
    text = (
        "Rain fell on the whole of the northern coast. It fell all the day in May."
        " Unintelligibly extraordinary circumstances."
    )
    assert summarize(text, words=2).sentences == ["Unintelligibly extraordinary circumstances."]
    assert summarize(text, characters=9).sentences == ["It fell all the day in May."]


def test_a_text_without_a_limit_is_answered_as_ever_and_alone_as_among_others(
    summarize, article, report
):
    for text, among in zip(
        (article, report, ""), summarize([article, report, ""], words=50), strict=True
    ):
        alone = summarize(text, words=50)
        assert (among.sentences, among.offsets) == (alone.sentences, alone.offsets)
        assert among.scores == pytest.approx(alone.scores, abs=1e-5)
    # more than the outputs of `summarize` hold
    assert len(summarize(report, sentences=15, words=10**6).sentences) == 15


def test_a_text_with_a_longer_neighbour(summarize):
    """Of more sentences than candidates are looked at where the limit is small."""
    short, long = (
        " ".join(f"Item {i} of {n} says that {i * i % 97} of the ships sank." for i in range(n))
        for n in (90, 200)
    )
    alone = summarize(short, share=0.3)
    assert summarize([short, long], share=0.3)[0].offsets == alone.offsets


def test_the_signature_of_keywords_has_a_limit(summarize):
    inputs = {"text": [b"Rain fell in Paris."], "max_keywords": [2**31 - 1]}
    outputs = summarize._model.call("keywords", inputs)
    assert outputs["count"].tolist() == [2] and outputs["keyword"].shape == (1, 100)
    with pytest.raises(Error, match="texts is a str; expected a sequence"):
        summarize.keywords("Rain fell in Paris.")


def test_what_a_query_is_about(summarize):
    text = (
        "The council met on Monday. The bridge will cost forty million dollars. Mayor Anna Holt"
        " spoke of the flood of last year. Trains run again from May."
    )
    ask = lambda query, **options: summarize(text, sentences=1, query=query, **options).sentences  # noqa: E731
    assert ask("What does the bridge cost?") == ["The bridge will cost forty million dollars."]
    assert ask("When do trains run?", query_weight=1.0) == ["Trains run again from May."]
    assert ask("flood") == ["Mayor Anna Holt spoke of the flood of last year."]
    nothing = summarize(text, sentences=2).sentences
    assert summarize(text, sentences=2, query="flood", query_weight=0.0).sentences == nothing
    assert len(summarize(text, query="flood").sentences) == 1  # none that fills up


def test_a_number_may_be_any():
    question = Question(["It rained."], SummaryRequest(sentences=10**12, words=9), Defaults())
    inputs = question.calls["extract"]
    assert (inputs["max_sentences"], inputs["max_words"]) == (LARGEST, 9)


def test_keywords_are_parts_of_the_text(summarize, article):
    (found, none) = summarize.keywords([article, "  "], 6)
    assert none == [] and len(found) == 6 and all(type(k) is tfsum.Keyword for k in found)
    assert [article[k.start : k.end] for k in found] == [str(k) for k in found]
    assert all(k.score > 0 for k in found)
    assert found[0].score == max(k.score for k in found)
    folded = [set(str(k).casefold().split()) for k in found]
    assert not any(a & b for i, a in enumerate(folded) for b in folded[:i])  # a word once
    for number in (0, 101, True, 2.0):
        with pytest.raises(Error, match="expected a whole number from 1 to 100"):
            summarize.keywords([article], number)


def test_keywords_of_a_script_without_spaces(summarize):
    text = "東京でカメラを買った。カメラは高い。"
    (found,) = summarize.keywords([text])
    assert {str(word) for word in found} == {"カメラ", "東京"}
    assert [text[word.start : word.end] for word in found] == [str(word) for word in found]


def test_several_texts_give_one_summary_that_says_a_thing_once(summarize):
    texts = [
        "Rain fell in Paris on Monday, and the river rose by two metres.",
        "",
        "Rain fell in Paris on Monday, it was said. Trains stopped for three hours on Tuesday.",
    ]
    summary = summarize.together(texts, sentences=2)
    assert summary.documents == [0, 2] and len(summary.sentences) == 2
    assert [texts[i][a:b] for i, (a, b) in zip(summary.documents, summary.offsets)] == (
        summary.sentences
    )
    assert summary.sentences[1].startswith("Trains stopped")
    assert _words(summarize.together(texts, words=14)) <= 14
    assert summarize.together([]).sentences == []


def test_so_many_sentences_of_each_of_several_texts(transformer):
    """The best of what is left are taken in place of those that a text has too many of."""
    summarize = tfsum.load(transformer.folder)
    texts = [
        "The bridge was closed. Rain fell on the town. The mayor said so. It was repaired.",
        "",
        "Two fires were seen. The market was flooded at night. Fish is sold there.",
    ]
    every = summarize.together(texts, sentences=9, block_trigrams=False)
    assert every.documents == [0, 0, 0, 0, 2, 2, 2]
    for most in (1, 2, 3):
        found = summarize.together(texts, sentences=9, max_per_document=most, block_trigrams=False)
        assert found.documents == [0] * most + [2] * most
        assert set(found.sentences) < set(every.sentences) or most > 2
    within = summarize.together(texts, words=12, max_per_document=1)
    assert within.documents in ([0, 2], [0], [2]) and _words(within) <= 12
    assert summarize.together(texts, max_per_document=9) == summarize.together(texts)
    assert summarize.together(texts, sentences=1, max_per_document=1).documents in ([0], [2])


def test_a_document_of_several_is_read_as_if_it_were_alone(summarize, article, report):
    both = summarize.score(f"{article}\x1e{report}")
    alone = summarize.score([article, report])
    assert both.sentences == alone[0].sentences + alone[1].sentences
    assert both.scores == pytest.approx(alone[0].scores + alone[1].scores, abs=1e-5)


def test_an_older_export_says_so(summarize, monkeypatch):
    monkeypatch.setattr(summarize._model, "signatures", {"summarize": frozenset({"text"})})
    with pytest.raises(Error, match="has no signature extract; an older tfsum exported it"):
        summarize("It rained.", words=9)


def test_an_older_export_lacks_an_input(summarize, monkeypatch):
    """A field that is newer than the model is left out, and refused where it is asked for."""
    inputs = summarize._model.signatures["extract"] - {"min_score"}
    monkeypatch.setitem(summarize._model.signatures, "extract", inputs)
    question = Question(["a"], SummaryRequest(words=9), Defaults(), inputs)
    assert "min_score" not in question.calls["extract"]
    with pytest.raises(Error, match="min_score: this model was exported by an older tfsum"):
        summarize("It rained.", min_score=0.5)


@pytest.mark.parametrize(
    "text",
    [
        "고양이가 잔다. 개가 짖는다.",
        "주문이 취소되었습니다. 환불은 사흘 안에 처리됩니다.",
        "Sataa vettä. Silta suljettiin maanantaina.",
    ],
)
def test_a_few_words_do_not_tell_a_language(text):
    """Each may be several pieces in a model of many languages, which knows most of them."""
    known = {"coverage": 1.0, "known": 0.0, "count": 2}
    many = Defaults(least_known=0.04)
    assert answering._warnings(text, known, many) == []
    assert [each["code"] for each in answering._warnings(text * 9, known, many)] == ["language"]
    assert [each["code"] for each in answering._warnings(text, known, Defaults())] == ["language"]
    georgian = "ხიდი დაიკეტა. წვიმდა."  # of whose letters a model may have no pieces
    assert [each["code"] for each in answering._warnings(georgian, known, many)] == ["language"]


@pytest.mark.parametrize(
    "text, given, codes",
    [
        ("It rained all day.", {"words": 3}, ["limit"]),
        ("It rained all day.", {"words": 4}, []),
        ("It rained all day.", {"characters": 17}, ["limit"]),
        ("It rained all day.", {"query": "Where is the ferry?"}, ["query"]),
        ("", {"query": "rain"}, []),
    ],
)
def test_what_of_a_request_could_not_be_kept(text, given, codes):
    found = request_warnings(SummaryRequest(**given), text, text, is_about=False)
    assert [warning["code"] for warning in found] == codes


@pytest.mark.parametrize(
    "row, is_about",
    [
        ({"shared": 0.5}, True),
        ({"shared": 0.1}, False),
        ({"shared": 0.0, "nearest": 0.8}, True),  # of a model that embeds
        ({"shared": 0.0, "nearest": 0.7}, False),
        ({}, True),  # an older export
    ],
)
def test_a_text_is_about_a_query_by_words_or_by_meaning(row, is_about):
    assert answering._is_about(row) == is_about
