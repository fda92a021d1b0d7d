"""`tfsum evaluate`: a stand-in for the model, everything else as it is; scores against rouge-score
itself."""

import json
import re
import types

import pytest
import sacrebleu
from rouge_score.rouge_scorer import RougeScorer

import tfsum
from tfsum.cli.main import main
from tfsum.tasks import load as loading

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

    config = {"model_type": "bert", "bert_sum_ext": {}}
    last.description = {"kind": "extractive", "config": config, "text": {"newline": "sentence"}}
    last.path = tmp_path
    monkeypatch.setattr(loading, "load", lambda path: last)
    return str(tmp_path)


def test_all_five_systems_by_rouge_score(model, corpus, capsys):
    assert main(["evaluate", model, corpus, "-n", "1", "--format", "json", "--samples", "50"]) == 0
    out, err = capsys.readouterr()
    report = json.loads(out)
    assert report["documents"] == 2 and set(report["systems"]) == {
        "model",
        "lead",
        "longest",
        "random",
        "oracle",
    }
    assert "left out 1 without_summary" in err
    scorer = RougeScorer(["rouge1"], use_stemmer=True)
    for system, chosen in {
        "model": ["The council promised a boat.", "Nobody came."],
        "lead": ["A ferry stopped.", "Rain fell on Monday."],
    }.items():
        pairs = zip(DOCUMENTS, chosen)
        mean = (
            sum(
                scorer.score(document["summary"], text)["rouge1"].fmeasure
                for document, text in pairs
            )
            / 2
        )
        assert report["systems"][system]["rouge1"]["f"] == pytest.approx(100 * mean)


def test_chosen_as_the_originals_choose(model, corpus, capsys, monkeypatch):
    """By score and without repeated trigrams; or cut to the length of the reference."""

    def score(text):
        sentences = [part.strip(". ") + "." for part in text.split(". ")]
        return types.SimpleNamespace(
            sentences=sentences, scores=[0.1, 0.9, 0.2, 0.3][: len(sentences)]
        )

    monkeypatch.setattr(loading.load(model), "score", score, raising=False)
    systems = {}
    for selection in ("bertsum", "bertsum_recall"):
        options = ["--selection", selection, "--format", "json", "--samples", "10"]
        assert main(["evaluate", model, corpus, *options]) == 0
        report = json.loads(capsys.readouterr().out)
        assert report["settings"]["selection"] == selection and set(report["systems"]) == {
            "model",
            "lead",
            "oracle",
        }
        systems[selection] = report["systems"]["model"]
    assert systems["bertsum"]["sentences"] == 3 and systems["bertsum_recall"]["sentences"] < 3


@pytest.mark.parametrize(
    "words, message",
    [
        (["--limit", "-1"], "limit=-1: expected a whole number from 1"),
        (["--samples", "0", "--seed", "x"], 'samples=0: .*; seed="x": expected a whole number'),
        (["--seed", "-1"], "seed=-1: expected a whole number from 0"),
    ],
)
def test_numbers_that_are_not_possible_are_refused_before_the_work(
    model, corpus, capsys, words, message
):
    assert main(["evaluate", model, corpus, *words]) == 2
    assert re.search(f"^tfsum evaluate: error: {message}", capsys.readouterr().err)


def test_python_refuses_them_as_the_command_line_does(model, corpus):
    with pytest.raises(tfsum.Error, match="^limit=0: expected a whole number from 1$"):
        tfsum.evaluate(model, corpus, limit=0)


def test_the_table_and_the_limit(model, corpus, capsys):
    assert main(["evaluate", model, corpus, "--limit", "1", "--samples", "10"]) == 0
    out = capsys.readouterr().out
    assert "difference to lead" in out and out.rstrip().splitlines()[-1].startswith("1 documents")


def test_a_corpus_without_summaries_is_an_error_with_the_cure(model, tmp_path, capsys):
    path = tmp_path / "bare.jsonl"
    path.write_text('{"text": "One.", "summary": ""}\n')
    assert main(["evaluate", model, str(path)]) == 1
    assert (
        "no document has a text and a summary in its fields text and summary; name"
        in capsys.readouterr().err
    )


def test_what_is_missing_is_a_wrong_call(model, capsys):
    assert main(["evaluate", model, "absent.jsonl"]) == 2
    assert "no such file or folder: absent.jsonl" in capsys.readouterr().err


@pytest.fixture
def writer(tmp_path, monkeypatch):
    """An abstractive model that writes its source in lower case, and cuts long ones."""

    def write(texts):
        return [
            types.SimpleNamespace(
                summary=text.lower(), coverage=0.5 if len(text) > 40 else 1.0, ended=len(text) != 12
            )
            for text in texts
        ]

    write.description = {"kind": "abstractive", "config": {"model_type": "transformer"}}
    write.path = tmp_path
    monkeypatch.setattr(loading, "load", lambda path: write)
    return str(tmp_path)


PAIRS = [
    ("The cat sat on the mat today", "the cat sat on a mat today"),
    ("IT IS A DOG.", "it is a dog."),
    ("A LONG LINE OF WORDS THAT DOES NOT FIT IN THE MODEL", "one long line of words"),
    ("no target", ""),
]


@pytest.mark.parametrize("form", ["table", "parallel files"])
def test_a_model_that_writes_by_bleu_and_rouge(writer, form, tmp_path, capsys):
    if form == "table":
        (tmp_path / "pairs.tsv").write_text("".join(f"{a}\t{b}\n" for a, b in PAIRS))
        words = [str(tmp_path / "pairs.tsv"), "--source", "1", "--target", "2"]
    else:
        for name, column in (("en", 0), ("fr", 1)):
            (tmp_path / f"pairs.{name}").write_text("".join(f"{pair[column]}\n" for pair in PAIRS))
        words = [str(tmp_path / "pairs.en"), "--targets", str(tmp_path / "pairs.fr")]
    assert main(["evaluate", writer, *words, "--samples", "20", "--format", "json"]) == 0
    out, err = capsys.readouterr()
    report = json.loads(out)
    assert "left out 1 pairs without a text" in err
    assert report["texts"] == 3 and report["settings"]["cut"] == report["settings"]["unended"] == 1
    answers, references = (
        [source.lower() for source, _ in PAIRS[:3]],
        [target for _, target in PAIRS[:3]],
    )
    assert report["bleu"]["score"] == pytest.approx(
        sacrebleu.corpus_bleu(answers, [references]).score
    )
    assert (
        report["bleu"]["signature"].startswith("nrefs:1|bs:20|")
        and "tok:13a" in report["bleu"]["signature"]
    )
    assert report["bleu"]["low"] <= report["bleu"]["high"]
    scorer = RougeScorer(["rougeLsum"], use_stemmer=True)
    mean = sum(scorer.score(b, a)["rougeLsum"].fmeasure for a, b in zip(answers, references)) / 3
    assert report["rouge"]["rougeLsum"]["f"] == pytest.approx(100 * mean)
    assert main(["evaluate", writer, *words, "--samples", "20", "--limit", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert (
        lines[0].startswith("BLEU")
        and lines[1].startswith("rouge1 F")
        and lines[-1].startswith("2 texts; words")
    )


@pytest.mark.parametrize(
    "asked, trained, kept", [(["--target-lines", "1"], None, 1), ([], 1, 1), ([], None, 2)]
)
def test_the_first_lines_of_a_target(writer, tmp_path, monkeypatch, capsys, asked, trained, kept):
    (tmp_path / "pairs.jsonl").write_text(
        json.dumps({"source": "ONE TWO", "target": "one two\nthree"}) + "\n"
    )
    monkeypatch.setitem(
        loading.load(writer).description, "recipe", {"data": {"target_lines": trained}}
    )
    assert (
        main(
            [
                "evaluate",
                writer,
                str(tmp_path / "pairs.jsonl"),
                *asked,
                "--format",
                "json",
                "--samples",
                "2",
            ]
        )
        == 0
    )
    found = json.loads(capsys.readouterr().out)["rouge"]["rouge1"]
    assert found["recall"] == pytest.approx(100 * 2 / (1 + kept))  # of two words, or of three
    assert main(["evaluate", writer, str(tmp_path / "pairs.jsonl"), "--target-lines", "0"]) == 2
    assert "target_lines=0: expected a whole number from 1" in capsys.readouterr().err


def test_pairs_without_texts_and_columns_that_are_not_there(writer, tmp_path, capsys):
    (tmp_path / "pairs.tsv").write_text("source\ttarget\na\t\n")
    assert main(["evaluate", writer, str(tmp_path / "pairs.tsv")]) == 1
    assert "no pair has both texts; name their columns" in capsys.readouterr().err
    assert main(["evaluate", writer, str(tmp_path / "pairs.tsv"), "--source", "en"]) == 1
    assert "en" in capsys.readouterr().err
    assert main(["evaluate", writer, str(tmp_path / "pairs.tsv"), "--targets", "absent.fr"]) == 2
