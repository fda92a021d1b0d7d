"""`tfsum classify`, and `tfsum evaluate` of a classifier: a stand-in for the model, everything else
as it is."""

import io
import json
import types

import pytest

from tfsum.cli.main import main
from tfsum.request import sentence_of
from tfsum.tasks import load as loading

LABELS = ["calm", "alarm"]
LONG = {"code": "long_text", "coverage": 0.5}


@pytest.fixture
def model(tmp_path, monkeypatch):
    """A model that hears an alarm in texts with "fire", in the place of the one in a folder."""

    def answer(text):
        loud = "fire" in text.lower()
        probabilities = {"calm": 1 - 0.9 * loud, "alarm": 0.9 * loud}
        return types.SimpleNamespace(
            label=LABELS[loud],
            probability=max(probabilities.values()),
            coverage=0.5 + 0.5 * (len(text) < 50),
            probabilities=probabilities,
            warnings=[LONG] if len(text) >= 50 else [],
        )

    def classify(texts, pairs=None):
        assert (pairs is not None) == classify.description["text"]["pair"]
        return [answer(f"{text} {pair}") for text, pair in zip(texts, pairs or [""] * len(texts))]

    classify.description = {
        "kind": "classifier",
        "config": {"architectures": ["BertForSequenceClassification"]},
        "labels": LABELS,
        "text": {"pair": False},
    }
    classify.path = tmp_path
    monkeypatch.setattr(loading, "load", lambda path: classify)
    return types.SimpleNamespace(folder=str(tmp_path), description=classify.description)


def write(tmp_path, *lines, name="texts.txt"):
    path = tmp_path / name
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return str(path)


def test_a_label_and_its_probability_a_line(model, tmp_path, capsys):
    path = write(tmp_path, "A cat sat.", "", "Fire near the school", "long " * 20)
    assert main(["classify", model.folder, path]) == 0
    out, err = capsys.readouterr()
    assert out == "calm\t1.0000\ncalm\t1.0000\nalarm\t0.9000\ncalm\t1.0000\n"
    assert err == f"tfsum: {path}:4: warning: {sentence_of(LONG)}\n"


def test_json_from_standard_input(model, monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", io.StringIO("fire!\n" * 300 + "고양이"))
    assert main(["classify", model.folder, "--format", "json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["line"] for row in rows] == list(range(1, 302))
    assert rows[299]["label"] == "alarm" and rows[300]["probabilities"] == {
        "calm": 1.0,
        "alarm": 0.0,
    }


def test_pairs_have_a_tab_between_them(model, tmp_path, capsys):
    model.description["text"]["pair"] = True
    assert main(["classify", model.folder, write(tmp_path, "a\tb", "a cat\ta fire")]) == 0
    assert capsys.readouterr().out == "calm\t1.0000\nalarm\t0.9000\n"
    assert main(["classify", model.folder, write(tmp_path, "a\tb", "alone")]) == 1
    assert (
        "texts.txt:2: found 1 texts, expected 2 with a tab between them" in capsys.readouterr().err
    )


@pytest.mark.parametrize("name", ["a.jsonl", "a.csv.gz", "a.tsv"])
def test_rows_of_columns_are_no_texts(model, tmp_path, capsys, name):
    assert main(["classify", model.folder, write(tmp_path, "fire\tcalm", name=name)]) == 1
    out, err = capsys.readouterr()
    assert out == "" and f"{name}: a .{name.split('.')[1]} file holds rows of columns" in err
    model.description["text"]["pair"] = True
    assert main(["classify", model.folder, write(tmp_path, "a cat\tfire", name="pairs.tsv")]) == 0


def test_wrong_calls(model, tmp_path, capsys):
    assert main(["classify", model.folder, "absent.txt"]) == 2
    assert main(["classify", str(tmp_path / "none"), "-"]) == 2
    assert main(["classify", model.folder, "-", "-"]) == 2
    model.description |= {
        "kind": "extractive",
        "config": {"model_type": "bert", "bert_sum_ext": {}},
    }
    assert main(["classify", model.folder, write(tmp_path, "a")]) == 1
    assert "is extractive, no classifier; use `tfsum summarize`" in capsys.readouterr().err


ROWS = [
    "a cat sat\tcalm",
    "fire in town\talarm",
    "all is well\talarm",
    "the fire is out\tcalm",
    "fire! fire!\talarm",
]


def test_evaluate_gives_accuracy_and_f1_with_intervals(model, tmp_path, capsys):
    path = write(tmp_path, *ROWS, name="test.tsv")
    columns = ["--text", "1", "--label", "2"]
    assert (
        main(["evaluate", model.folder, path, *columns, "--format", "json", "--samples", "50"]) == 0
    )
    report = json.loads(capsys.readouterr().out)
    scores = report["systems"]["model"]
    assert report["texts"] == 5 and report["label_names"] == LABELS
    assert scores["accuracy"]["value"] == pytest.approx(60) and scores["f1"][
        "value"
    ] == pytest.approx(100 * 4 / 6)
    assert scores["accuracy"]["low"] <= 60 <= scores["accuracy"]["high"]
    model.description["recipe"] = {"data": {"text": "1", "label": "2", "text_pair": None}}
    assert main(["evaluate", model.folder, path, "--limit", "2", "--samples", "10"]) == 0
    out, err = capsys.readouterr()
    assert (
        "accuracy (95 %)" in out
        and out.rstrip().endswith("2 texts; samples 10, seed 0")
        and "cut" not in err
    )


def test_evaluate_tells_how_many_were_cut_and_which_labels_are_strange(model, tmp_path, capsys):
    columns = ["--text", "1", "--label", "2", "--samples", "10"]
    path = write(tmp_path, "long " * 20 + "\tcalm", "fire\talarm", name="test.tsv")
    assert main(["evaluate", model.folder, path, *columns]) == 0
    assert f"tfsum: {path}: 1 of 2 texts were cut" in capsys.readouterr().err
    assert (
        main(["evaluate", model.folder, write(tmp_path, "a\tloud", name="test.tsv"), *columns]) == 1
    )
    told = (
        "1 of 1 texts have labels outside the list, the first is text 1: 'loud' (1) (a header line?"
    )
    assert told in capsys.readouterr().err
