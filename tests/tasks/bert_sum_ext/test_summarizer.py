"""`tfsum.load`: texts in, summaries with character offsets out."""

import pytest

tf = pytest.importorskip("tensorflow")

import tfsum
from tfsum.errors import Error, ExportError
from tfsum.inference.texts import batches
from tfsum.request import sentence_of
from tfsum.tasks import load as loading
from tfsum.tasks.model_choice import NEWS

pytestmark = pytest.mark.usefixtures("opened_once")


@pytest.fixture(scope="module")
def summarize(transformer, opened_once):
    return tfsum.load(transformer.folder.parent)  # NAME: its newest version


def test_a_text_gives_a_summary_and_a_list_gives_a_list(summarize, article, report):
    one = summarize(article)
    assert one.summary == " ".join(one.sentences) == str(one) and len(one.sentences) == 3
    assert all(0 <= score <= 1 for score in one.scores) and one.coverage == 1
    several = summarize([report, article, ""], sentences=2, block_trigrams=False)
    assert [len(s.sentences) for s in several] == [2, 2, 0]
    assert several[1].sentences == summarize(article, sentences=2, block_trigrams=False).sentences
    assert summarize([]) == [] and summarize((article,))[0].sentences == one.sentences


def test_as_many_sentences_as_the_model_was_exported_with(summarize, article, monkeypatch):
    monkeypatch.setitem(summarize.description, "sentences", 2)
    assert len(summarize(article).sentences) == 2


def test_offsets_are_characters(summarize):
    text = "비가 왔다. “Ünï” was it 😀! Hello world. \ud800 lone. The\u0301 end."
    answer = summarize(text, sentences=10, block_trigrams=False)
    assert [text[start:end] for start, end in answer.offsets] == answer.sentences
    assert answer.sentences[0] == "비가 왔다." and answer.sentences[-1] == "The\u0301 end."
    assert answer.offsets == sorted(answer.offsets)


def test_every_sentence_of_a_text_can_be_scored(summarize, article):
    every, chosen = summarize.score(article), summarize(article, sentences=3, block_trigrams=False)
    score_of = dict(zip(every.offsets, every.scores))
    assert [article[start:end] for start, end in every.offsets] == every.sentences and len(
        every.sentences
    ) > 3
    assert [score_of[place] for place in chosen.offsets] == pytest.approx(chosen.scores)
    assert every.coverage == chosen.coverage and summarize.score("").sentences == []
    with pytest.raises(Error, match="texts is bytes"):
        summarize.score(b"bytes")


def test_trigram_blocking_is_an_option(summarize, article):
    more = article + " The mayor said the river and the school were far from the city at night."
    assert len(summarize(more, sentences=10, block_trigrams=False).sentences) == 8
    assert len(summarize(more, sentences=10, block_trigrams=True).sentences) == 7
    assert summarize(more, sentences=9) == summarize(more, sentences=9, block_trigrams=True)


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"sentences": 10},
        {"sentences": "auto"},
        {"words": 80},
        {"characters": 500},
        {"share": 0.9},
        {"min_score": 0.001},
        {"query": "Which ferry?", "words": 80, "fill": True},
    ],
    ids=str,
)
def test_nothing_is_said_twice(summarize, asked):
    said = "The ferry to Skerrin is cancelled today because of the storm."
    like = "The ferry to Skerrin is cancelled tomorrow because of the wind."
    assert summarize(" ".join([said] * 12), block_trigrams=False, **asked).sentences == [said]
    answer = summarize.together(["Why? " + said, f"{like} Why?"], block_trigrams=False, **asked)
    assert len(answer.sentences) == 2 and "Why?" in answer.sentences


def test_what_a_reader_should_know(summarize, article):
    assert summarize("The bridge was closed on one night.").warnings == []
    foreign = summarize("정부는 목요일 새 법안을 발표했다. 야당은 비판했다.").warnings[0]
    assert foreign["code"] == "language" and foreign["known"] < 0.6
    assert summarize(" \n").warnings == [{"code": "empty"}]
    (warning,) = summarize("the " * 100).warnings
    assert "read 38% of the text" in sentence_of(warning)


@pytest.mark.parametrize(
    "texts, message",
    [
        (b"bytes", "texts is bytes"),
        (None, "texts is NoneType"),
        (3, "texts is int"),
        ({"a": "It rained."}, r"texts is dict; .* list\(texts.values\(\)\)"),
        (["a", None], r"texts\[1\] is NoneType"),
        ([b"a"], r"texts\[0\] is bytes"),
    ],
)
def test_what_is_no_text(summarize, texts, message):
    with pytest.raises(Error, match=message):
        summarize(texts)


@pytest.mark.parametrize("sentences", [0, -1, 2.0, True, "3"])
def test_a_number_of_sentences_that_cannot_be(summarize, sentences):
    with pytest.raises(Error, match='expected a whole number from 1 or "auto"'):
        summarize("a", sentences=sentences)


def test_a_number_that_the_model_chooses(summarize, article, monkeypatch):
    assert len(summarize(article, sentences="auto").sentences) in (2, 3, 4)
    monkeypatch.delitem(summarize.description, "automatic")  # as of an export by score
    with pytest.raises(Error, match="'auto': .* not exported to choose .*='expected_rouge'"):
        summarize(article, sentences="auto")


def test_no_model(tmp_path, monkeypatch):
    with pytest.raises(ExportError, match="absent: no such folder; expected NAME or NAME/VERSION"):
        tfsum.load(tmp_path / "absent")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "config.json").touch()
    with pytest.raises(
        ExportError, match="folder: is a model folder, expected an exported model; export it first"
    ):
        tfsum.load(tmp_path / "folder")
    (tmp_path / "news" / "x").mkdir(parents=True)
    with pytest.raises(ExportError, match="holds no SavedModel and no version of one"):
        tfsum.load(tmp_path / "news")
    (tmp_path / "news" / "best").mkdir()
    (tmp_path / "news" / "best" / "config.json").touch()
    with pytest.raises(ExportError, match=r"news: is the folder of a run; its model is .*best"):
        tfsum.load(tmp_path / "news")
    (tmp_path / "saved_model.pb").touch()
    with pytest.raises(
        ExportError,
        match=r"tfsum.json: no such file; expected a SavedModel that `tfsum export` wrote",
    ):
        tfsum.load(tmp_path)


def test_without_a_path_the_shipped_model(transformer, monkeypatch, article):
    monkeypatch.setattr(loading, "shipped_models", lambda: {NEWS: transformer.folder})
    assert tfsum.load()(article).sentences


def test_texts_of_like_size_go_together_within_bounds():
    sizes = [5, 700_000, 1, 300_000, 400_000] + [2] * 40
    groups = batches(sizes)
    assert sorted(i for group in groups for i in group) == list(range(45))
    assert all(len(group) <= 32 for group in groups) and [1] in groups and [4] in groups
    assert batches([]) == []


def test_several_texts_say_nothing_twice(summarize, article):
    texts = [f"Why? {article} Very few.", f"{article} Why? Very few."]
    for words in (10, 60, 400):
        answer = summarize.together(texts, words=words)
        assert len(set(answer.sentences)) == len(answer.sentences) > 0
        assert answer.summary == " ".join(answer.sentences)
        for i, (start, end), said in zip(answer.documents, answer.offsets, answer.sentences):
            assert texts[i][start:end] == said
    assert "Why?" in answer.sentences
