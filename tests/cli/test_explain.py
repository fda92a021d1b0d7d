"""`tfsum explain`: what it reads, where the page goes; the model is a stand-in."""

import io
import pathlib

import numpy as np
import pytest

import tfsum
from tfsum.cli.main import main

TEXT = "One came. Two <b>went</b>. Three stayed."
EXTRACTIVE = {
    "kind": "extractive",
    "config": {"model_type": "bert", "bert_sum_ext": {}},
    "selection": "score",
    "sentences": 3,
    "block_trigrams": False,
}
ABSTRACTIVE = {"kind": "abstractive", "config": {"model_type": "transformer"}}


class Lead:
    """Chooses the first sentences."""

    path = pathlib.Path("models/lead/1")
    description = EXTRACTIVE

    def answer(self, texts, request):
        return [self(text, request.sentences) for text in texts]

    def score(self, text, newline=None):
        parts = [part.strip(".") + "." for part in text.split(". ")]
        offsets = [(text.index(part), text.index(part) + len(part)) for part in parts]
        return tfsum.SummaryAnswer(text, parts, [0.5] * len(parts), offsets, 1.0, [])

    def __call__(self, text, sentences, newline=None):
        import dataclasses

        every = self.score(text)
        cut = {
            name: getattr(every, name)[:sentences] for name in ("sentences", "scores", "offsets")
        }
        return dataclasses.replace(every, **cut)


@pytest.fixture
def asked(monkeypatch):
    """The models that were asked for."""
    models = []
    monkeypatch.setitem(vars(tfsum), "load", lambda path=None: models.append(path) or Lead())
    return models


def test_a_file_becomes_a_page(asked, tmp_path, capsys):
    article, report = tmp_path / "article.txt", tmp_path / "report.html"
    article.write_text(TEXT)
    assert main(["explain", str(article), "-o", str(report), "-n", "2", "--model", "m/1"]) == 0
    assert capsys.readouterr() == (f"{report}\n", "") and asked == ["m/1"]
    page = report.read_text(encoding="utf-8")
    assert "<title>article.txt</title>" in page and page.count("<mark") == 2
    assert "Two &lt;b&gt;went&lt;/b&gt;." in page and "<b>went" not in page
    assert sorted(tmp_path.iterdir()) == [article, report]


def test_standard_input_to_standard_output(asked, monkeypatch, capsysbinary):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO("바다가 보인다. Yes.".encode())))
    assert main(["explain"]) == 0
    page = capsysbinary.readouterr().out.decode("utf-8")
    assert page.startswith("<!doctype html>") and "바다가 보인다." in page and asked == [None]


def test_a_report_that_cannot_be_written_is_one_line(asked, tmp_path, capsys):
    article = tmp_path / "article.txt"
    article.write_text(TEXT)
    assert main(["explain", str(article), "-o", str(tmp_path / "absent" / "report.html")]) == 1
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("tfsum explain: error: ") and err.count("\n") == 1


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["absent.txt"], "no such file: absent.txt"),
        (["-n", "0"], "sentences=0: expected a whole number from 1"),
    ],
)
def test_wrong_calls(asked, argv, words, capsys):
    assert main(["explain", *argv]) == 2
    assert words in capsys.readouterr().err and not asked


class Writer:
    """Writes "Oui." and looks at one word alone."""

    path = pathlib.Path("models/writer/1")
    description = ABSTRACTIVE

    def __call__(self, text):
        from tfsum.generation.generator import Generated

        return Generated("Oui.", -0.5, 1.0, True, [])

    def attend(self, text):
        from tfsum.generation.generator import CrossAttention

        words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "yes", "oui"]
        return CrossAttention([4], words, [5], words, np.ones((1, 1), np.float32))


def test_a_model_that_writes_has_a_page_of_its_own_and_chooses_no_sentences(
    asked, tmp_path, monkeypatch, capsys
):
    monkeypatch.setitem(vars(tfsum), "load", lambda path=None: Writer())
    article = tmp_path / "article.txt"
    article.write_text(TEXT)
    assert main(["explain", str(article)]) == 0
    page = capsys.readouterr().out
    assert "Oui." in page and "<bdi>yes</bdi> 1.00" in page and "<b>went" not in page
    assert main(["explain", str(article), "-n", "2", "--model", "m/1"]) == 2
    assert "m/1 is not extractive: it generates its answer" in capsys.readouterr().err


def test_a_classifier_explains_nothing(asked, tmp_path, monkeypatch, capsys):
    model = type(
        "Classifier",
        (),
        {
            "path": "m/1",
            "description": {
                "kind": "classifier",
                "config": {"architectures": ["BertForSequenceClassification"]},
            },
        },
    )
    monkeypatch.setitem(vars(tfsum), "load", lambda path=None: model)
    article = tmp_path / "article.txt"
    article.write_text(TEXT)
    assert main(["explain", str(article)]) == 1
    assert "m/1: its kind is 'classifier'; expected" in capsys.readouterr().err
