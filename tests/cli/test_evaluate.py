"""`tfsum evaluate`: a stand-in for the model, everything else as it is; scores against rouge-score itself."""

import json
import types

import pytest
from rouge_score.rouge_scorer import RougeScorer

import tfsum
from tfsum.cli import evaluate as verb
from tfsum.cli.main import main

DOCUMENTS = [
    {
        "text": "A ferry stopped. It was old. Residents were angry. The council promised a boat.",
        "summary": "The council promised a boat.\nResidents were angry about the ferry.",
    },
    {"text": "Rain fell on Monday. Snow fell on Tuesday. Nobody came.", "summary": "Snow fell."},
]


@pytest.fixture
def corpus(tmp_path):
    path = tmp_path / "test.jsonl"
    rows = [*DOCUMENTS, {"text": "No summary here.", "summary": " "}]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


@pytest.fixture
def model(tmp_path, monkeypatch):
    """A model that chooses the last sentences, in the place of the one in a folder."""

    def last(texts, sentences=3):
        split = [[part.strip(". ") + "." for part in text.split(". ")] for text in texts]
        return [types.SimpleNamespace(sentences=row[-sentences:]) for row in split]

    last.description = {"text": {"newline": "sentence"}}
    monkeypatch.setitem(vars(tfsum), "load", lambda path: last)
    return str(tmp_path)


def test_all_four_systems_by_rouge_score(model, corpus, capsys):
    assert main(["evaluate", model, corpus, "-n", "1", "--format", "json", "--samples", "50"]) == 0
    out, err = capsys.readouterr()
    report = json.loads(out)
    assert report["documents"] == 2 and set(report["systems"]) == {"model", "lead", "random", "oracle"}
    assert "left out 1 without_summary" in err
    scorer = RougeScorer(["rouge1"], use_stemmer=True)
    for system, chosen in {
        "model": ["The council promised a boat.", "Nobody came."],
        "lead": ["A ferry stopped.", "Rain fell on Monday."],
    }.items():
        pairs = zip(DOCUMENTS, chosen)
        mean = sum(scorer.score(document["summary"], text)["rouge1"].fmeasure for document, text in pairs) / 2
        assert report["systems"][system]["rouge1"]["f"] == pytest.approx(100 * mean)


def test_the_table_and_the_limit(model, corpus, capsys):
    assert main(["evaluate", model, corpus, "--limit", "1", "--samples", "10"]) == 0
    out = capsys.readouterr().out
    assert "difference to lead" in out and out.rstrip().splitlines()[-1].startswith("1 documents")


def test_a_corpus_without_summaries_is_an_error_with_the_cure(model, tmp_path, capsys):
    path = tmp_path / "bare.jsonl"
    path.write_text('{"text": "One.", "summary": ""}\n')
    assert main(["evaluate", model, str(path)]) == 1
    assert "expected fields named text and summary" in capsys.readouterr().err


def test_what_is_missing_is_a_wrong_call(model, capsys):
    assert main(["evaluate", model, "absent.jsonl"]) == 2
    assert "no such file or folder: absent.jsonl" in capsys.readouterr().err


def test_a_model_folder_is_exported_for_the_occasion(tmp_path, monkeypatch):
    import tfsum.export

    asked = []
    monkeypatch.setitem(
        vars(tfsum.export), "export_extractive", lambda *a, **options: asked.append((a, options)) or a[1]
    )
    with verb.exported(str(tmp_path)) as place:
        assert place == str(tmp_path) and not asked
    (tmp_path / "config.json").touch()
    with verb.exported(str(tmp_path)) as place:
        assert asked[0][0][0] == str(tmp_path) and place.endswith("model/1")
