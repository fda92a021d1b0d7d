"""`tfsum summarize`: what it reads, what it prints, and where; the model is a stand-in."""

import contextlib
import io
import json
import os
import types

import pytest

import tfsum
from tfsum.cli import summaries, summarize
from tfsum.cli.main import main
from tfsum.inference.texts import TEXTS_AT_ONCE

CUT = (
    "tfsum: {}: warning: the answer is as long as this export lets it be, and stops there: it may"
    " lack its end\n"
)
TEXT = "One came. Two went. Three stayed."
EXTRACTIVE = {"kind": "extractive", "config": {"model_type": "bert", "bert_sum_ext": {}}}
CLASSIFIER = {
    "kind": "classifier",
    "config": {"architectures": ["BertForSequenceClassification"]},
}


class Lead:
    """A stand-in for an extractive model: the first sentences, which end at ". "."""

    description = EXTRACTIVE

    def __init__(self, path=None, model_licence="any", compute="float32", tokenizer=None):
        self.path = path

    def answer(self, texts, request):
        return [lead(text, request.sentences or 3) for text in texts]


def lead(text, sentences):
    """The first sentences of a text; an empty one gets a warning."""
    parts = [part.strip(".") + "." for part in text.strip().split(". ") if part][:sentences]
    starts = [text.index(part) for part in parts]
    return tfsum.SummaryAnswer(
        summary=" ".join(parts),
        sentences=parts,
        scores=[0.5] * len(parts),
        offsets=[(start, start + len(part)) for start, part in zip(starts, parts)],
        coverage=1.0,
        warnings=[] if parts else [{"code": "empty"}],
    )


class Writer:
    """A stand-in for an abstractive model."""

    path, description = "writer", {"kind": "abstractive", "config": {"model_type": "transformer"}}

    def __call__(self, texts):
        warnings = [{"code": "unended"}]
        return [tfsum.Generated(text.upper(), -1.23456789, 0.5, True, warnings) for text in texts]


@pytest.fixture
def asked(monkeypatch):
    """The models that were asked for."""
    models = []

    def load(path=None, model_licence="any", compute="float32", tokenizer=None):
        models.append(path)
        if path == "writer":
            return Writer()
        if path == "classifier":
            return types.SimpleNamespace(path=path, description=CLASSIFIER)

        return Lead(path)

    monkeypatch.setattr("tfsum.tasks.load.load", load)
    return models


@pytest.fixture
def article(tmp_path):
    path = tmp_path / "article.txt"
    path.write_text(TEXT, encoding="utf-8")
    return path


def stdin(monkeypatch, data: bytes):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))


def test_a_classifier_writes_no_summary(asked, article, capsys):
    assert main(["summarize", "--model", "classifier", str(article)]) == 1
    assert (
        "classifier: is a classifier, which writes no summary; use `tfsum classify`"
        in capsys.readouterr().err
    )


def test_a_file_gives_a_sentence_a_line(asked, article, capsys):
    assert main(["summarize", str(article), "-n", "2"]) == 0
    assert capsys.readouterr() == ("One came.\nTwo went.\n", "")
    assert asked == [None]


def test_standard_input_and_json(asked, monkeypatch, capsys):
    stdin(monkeypatch, TEXT.encode())
    assert main(["summarize", "-n", "2", "--format", "json", "--model", "m/1"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["sentences"] == ["One came.", "Two went."] and asked == ["m/1"]
    assert [TEXT[start:end] for start, end in answer["offsets"]] == answer["sentences"]
    assert set(answer) == {
        "file",
        "summary",
        "sentences",
        "scores",
        "offsets",
        "coverage",
        "warnings",
        "newline",
        "model",
    }


def test_a_model_that_writes(asked, article, capsys):
    assert main(["summarize", str(article), "--model", "writer"]) == 0
    assert capsys.readouterr() == (TEXT.upper() + "\n", CUT.format(article))
    main(["summarize", str(article), "--model", "writer", "--format", "json"])
    said = {
        "file": str(article),
        "summary": TEXT.upper(),
        "log_probability": -1.234568,
        "coverage": 0.5,
        "ended": True,
    }
    assert json.loads(capsys.readouterr().out) == {**said, "warnings": [{"code": "unended"}]}
    assert main(["summarize", str(article), "--model", "writer", "-n", "2"]) == 2
    assert "--sentences 2: writer is not extractive" in capsys.readouterr().err


def test_several_files_have_headings_and_json_lines(asked, article, tmp_path, capsys):
    other = tmp_path / "other.txt"
    other.write_text("바다가 보인다. Yes.", encoding="utf-8")
    assert main(["summarize", str(article), str(other), "-n", "1"]) == 0
    assert (
        capsys.readouterr().out
        == f"==> {article} <==\nOne came.\n\n==> {other} <==\n바다가 보인다.\n\n"
    )
    main(["summarize", str(article), str(other), "--format", "json"])
    lines = capsys.readouterr().out.splitlines()
    assert [json.loads(line)["file"] for line in lines] == [str(article), str(other)]


def test_more_files_than_a_batch(asked, tmp_path, capsys):
    paths = [tmp_path / f"{i}.txt" for i in range(summaries.DOCUMENTS * 2 + 1)]
    for i, path in enumerate(paths):
        path.write_text(f"Number {i} came.")
    assert main(["summarize", *map(str, paths), "--format", "json"]) == 0
    answers = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [answer["summary"] for answer in answers] == [
        f"Number {i} came." for i in range(len(paths))
    ]


def test_warnings_and_broken_bytes_go_to_stderr(asked, monkeypatch, capsys):
    stdin(monkeypatch, b"")
    assert main(["summarize"]) == 0
    out, err = capsys.readouterr()
    assert out.strip() == "" and err == "tfsum: -: warning: there is no word in the text\n"
    stdin(monkeypatch, b"\xef\xbb\xbfcaf\xe9 here.")
    assert main(["summarize"]) == 0
    out, err = capsys.readouterr()
    assert out == "caf\ufffd here.\n" and "1 place(s) were not UTF-8" in err


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_other_encodings_are_recognized_and_named(asked, tmp_path, capsys, encoding):
    path = tmp_path / "wide.txt"
    path.write_text(TEXT, encoding=encoding)
    assert main(["summarize", str(path)]) == 0
    out, err = capsys.readouterr()
    assert out == "One came.\nTwo went.\nThree stayed.\n" and f"wide.txt: read as {encoding}" in err


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["absent.txt"], "no such file: absent.txt"),
        (["-n", "0"], "sentences=0: expected a whole number from 1"),
        (["-", "-"], "can be read only once"),
        (["-n", "two"], 'sentences="two": expected a whole number'),
    ],
)
def test_wrong_calls(asked, argv, words, capsys):
    assert main(["summarize", *argv]) == 2
    assert words in capsys.readouterr().err and not asked


def test_answers_in_a_folder_are_resumed_and_failures_are_listed(asked, tmp_path, capsys):
    for name, content in (
        ("a.txt", b"One came."),
        ("deep/b.txt", b"Two went."),
        ("c.bin", b"\x7fELF" + bytes(9)),
    ):
        (tmp_path / "texts" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "texts" / name).write_bytes(content)
    call = ["summarize", "--recursive", str(tmp_path / "texts"), "--output", f"{tmp_path / 'out'}/"]
    assert main(call) == 1
    out, err = capsys.readouterr()
    assert (
        out == "" and "1 could not be summarized:\n  " in err and "c.bin: is an ELF program" in err
    )
    assert (tmp_path / "out" / "a.txt.txt").read_text() == "One came.\n"
    (tmp_path / "out" / "a.txt.txt").write_text("kept")
    (tmp_path / "out" / "deep" / "b.txt.txt").unlink()
    assert main(call) == 1
    assert (tmp_path / "out" / "a.txt.txt").read_text() == "kept"
    assert (tmp_path / "out" / "deep" / "b.txt.txt").read_text() == "Two went.\n"


def test_answers_among_the_texts_are_not_read(asked, tmp_path, capsys):
    (tmp_path / "a.txt").write_text("One came.")
    call = ["summarize", "--recursive", str(tmp_path), "--output"]
    for _ in range(2):
        assert main([*call, f"{tmp_path / 'out'}/"]) == 0
        assert [file.name for file in tmp_path.glob("out/*.txt")] == ["a.txt.txt"]
    assert main([*call, f"{tmp_path}/"]) == 2
    assert "is to be read, and the answers would take its place" in capsys.readouterr().err


def test_a_file_that_tfsum_did_not_write_is_kept(asked, tmp_path, capsys):
    notes, own = tmp_path / "notes", tmp_path / "notes.txt"
    notes.write_text("One came. Two went.")
    own.write_text("my own")
    for age in (0, 4_000_000_000):  # a newer one is no answer either
        os.utime(own, (age, age))
        assert main(["summarize", str(notes), "--output", str(tmp_path)]) == 1
        assert "notes.txt: is no answer that tfsum wrote" in capsys.readouterr().err
    assert own.read_text() == "my own" and not (tmp_path / ".tfsum-answers").exists()

    own.unlink()
    assert main(["summarize", str(notes), "--output", str(tmp_path)]) == 0
    os.utime(notes, (4_000_000_000, 4_000_000_000))
    assert main(["summarize", str(notes), "--output", str(tmp_path)]) == 0  # its own is replaced
    assert (tmp_path / ".tfsum-answers").read_text().splitlines()[1:] == ["notes.txt"]


@pytest.mark.parametrize("name", ["notes.txt", ".tfsum-answers"])
def test_a_link_to_nothing_is_not_followed(asked, tmp_path, capsys, name):
    notes, folder, target = tmp_path / "notes", tmp_path / "answers", tmp_path / "target"
    notes.write_text("One came. Two went.")
    folder.mkdir()
    (folder / name).symlink_to(target)
    assert main(["summarize", str(notes), "--output", str(folder)]) == 1
    assert name in capsys.readouterr().err and not target.exists()


def test_rows_are_read_by_their_field(asked, tmp_path, capsys):
    (tmp_path / "news.jsonl").write_text('{"text": "One came."}\n{"text": "Two went."}\n')
    assert main(["summarize", str(tmp_path / "news.jsonl")]) == 1
    assert (
        "holds rows (the first has the fields text); `tfsum summarize --field text` reads"
        in capsys.readouterr().err
    )
    assert (
        main(["summarize", str(tmp_path / "news.jsonl"), "--field", "text", "--format", "json"])
        == 0
    )
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(row["file"].rpartition("/")[2], row["summary"]) for row in rows] == [
        ("news.jsonl:1", "One came."),
        ("news.jsonl:2", "Two went."),
    ]


def test_no_control_character_reaches_the_terminal(asked, tmp_path, capsys):
    path = tmp_path / "a\x1b[31m.txt"
    path.write_text("One\x1b]0;title\x1b came \x9b31m\u202e there.", encoding="utf-8")
    for form in ("text", "json"):
        assert main(["summarize", str(path), str(path), "--format", form]) == 0
        out, err = capsys.readouterr()
        assert not {
            c
            for c in out + err
            if (ord(c) < 32 and c != "\n") or 127 <= ord(c) < 160 or c == "\u202e"
        }
    assert json.loads(out.splitlines()[0])["file"] == str(path)


def test_two_answers_of_one_name_are_refused(asked, tmp_path, capsys):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "x.txt").write_text("One came.")
    call = [
        "summarize",
        str(tmp_path / "a" / "x.txt"),
        str(tmp_path / "b" / "x.txt"),
        "-o",
        f"{tmp_path / 'out'}/",
    ]
    assert main(call) == 1
    assert "would both be x.txt; name their folder with --recursive" in capsys.readouterr().err


def test_an_answer_that_is_older_than_its_text_is_written_again(asked, tmp_path, capsys):
    (tmp_path / "in").mkdir()
    for name in ("a", "b"):
        (tmp_path / "in" / name).write_text(TEXT)
    command = ["summarize", "-r", str(tmp_path / "in"), "-o", f"{tmp_path / 'out'}/"]
    assert main(command) == 0
    capsys.readouterr()
    (tmp_path / "in" / "a").write_text("Another text came.")
    os.utime(tmp_path / "in" / "a", ns=(2**62, 2**62))
    assert main(command) == 0
    assert "Another text came." in (tmp_path / "out" / "a.txt").read_text()
    assert f"tfsum: 1 answer(s) in {tmp_path / 'out'}/ already" in capsys.readouterr().err


def test_answers_go_into_a_file(asked, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text(TEXT)
    (tmp_path / "other").write_text("Four came.")
    assert main(["summarize", "file", "other", "-n", "1", "-o", "out.txt"]) == 0
    assert (tmp_path / "out.txt").read_text() == (
        "==> file <==\nOne came.\n\n==> other <==\nFour came.\n\n"
    )
    assert capsys.readouterr().out == ""
    for place, said in (
        ("-", "leave it out"),
        ("", "leave it out"),
        ("file", "is to be read"),
        (f"../{tmp_path.name}/file", "is to be read"),
        ("no/x", "there is no folder no"),
        ("/proc/x", "--output /proc/x: cannot be written"),
    ):
        assert exit_status(["summarize", "file", "-o", place]) in (1, 2)
        assert said in capsys.readouterr().err
    assert (tmp_path / "file").read_text() == TEXT and not (tmp_path / "-").exists()


def exit_status(words):
    try:
        return main(words)
    except SystemExit as error:
        return error.code


def test_a_folder_of_answers_remembers_its_options(asked, article, tmp_path, capsys):
    call = ["summarize", str(article), "-o", f"{tmp_path / 'out'}/"]
    assert main([*call, "-n", "2"]) == 0
    assert main([*call, "-n", "1"]) == 1
    assert 'holds answers with the options {"sentences": 2' in capsys.readouterr().err
    assert (tmp_path / "out" / "article.txt.txt").read_text() == "One came.\nTwo went.\n"


def test_a_row_is_named_by_its_id_and_stops_no_other(asked, tmp_path, capsys):
    rows = (
        '{"name": "x/1", "text": "One came."}\n{"name": "x/2", "text": null}\n'
        '{"name": "x/3", "text": NaN}\n{"name": "x/4", "text": 4}\n{"text": "No name."}\n'
        '{"name": 6, "text": "Two went."}\n'
    )
    (tmp_path / "a.jsonl").write_text(rows)
    call = ["summarize", str(tmp_path / "a.jsonl"), "--field", "text", "--id", "name"]
    assert main([*call, "--format", "json"]) == 1
    out, err = capsys.readouterr()
    assert [json.loads(line)["file"].rpartition("jsonl:")[2] for line in out.splitlines()] == [
        "x/1",
        "6",
    ]
    assert err.count("is empty, skipped") == 2 and "2 could not be summarized" in err
    assert "a.jsonl:4: field 'text': found int 4" in err and "a.jsonl:5: field 'name'" in err
    assert exit_status(["summarize", str(tmp_path / "a.jsonl"), "--id", "name"]) == 2
    assert exit_status(["summarize", str(tmp_path / "a.jsonl"), "--into", "name"]) == 2


def test_rows_of_one_name_are_told(asked, tmp_path, capsys):
    rows = [json.dumps({"n": name, "text": f"Number {i}."}) for i, name in enumerate("aab")]
    (tmp_path / "a.jsonl").write_text("\n".join(rows))
    call = ["summarize", str(tmp_path / "a.jsonl"), "--field", "text", "--id", "n"]
    assert main(call) == 1
    out, err = capsys.readouterr()
    assert "a.jsonl:a: is the name of a row before it too" in err
    assert "Number 0." in out and "Number 1." not in out and "Number 2." in out
    assert exit_status([*call, "-o", f"{tmp_path / 'out'}/"]) == 2
    assert "the answers to rows have one file" in capsys.readouterr().err


def test_options_that_cannot_be(asked, article, capsys):
    for words, said in (
        (["--share", "0"], "share=0: expected a number above 0 and at most 1"),
        (["--query-weight", "0.5"], "query_weight: goes with query; give query too"),
        (["--query", " "], 'query=" ": expected a question or a title'),
        (["--keywords", "3", "--words", "9"], "in the place of a summary, which --words is for"),
        (["--model", "writer", "--keywords", "3"], "--keywords 3: writer is not extractive"),
    ):
        assert exit_status(["summarize", str(article), *words]) == 2, words
        assert said in capsys.readouterr().err


def test_formats(asked, article, capsys):
    assert main(["summarize", str(article), "-n", "1", "--format", "markdown"]) == 0
    assert capsys.readouterr().out == "- One came.\n"
    assert main(["summarize", str(article), "-n", "1", "--format", "html"]) == 0
    page = capsys.readouterr().out
    assert page.startswith("<!doctype html>") and "<li>One came.</li>" in page
    assert main(["summarize", str(article), "-n", "1", "--format", "html", "--highlight"]) == 0
    assert "<mark>One came.</mark> Two went." in capsys.readouterr().out
    # where there is no terminal, the sentences alone
    assert main(["summarize", str(article), "-n", "1", "--highlight"]) == 0
    assert capsys.readouterr().out == "One came.\n"
    assert exit_status(["summarize", str(article), "--format", "json", "--highlight"]) == 2
    assert (
        main(["summarize", str(article), "--model", "writer", "--format", "html", "--highlight"])
        == 1
    )
    assert "which is no part of the text" in capsys.readouterr().err


def test_the_whole_text_on_a_terminal(asked, article, monkeypatch, capsys):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert main(["summarize", str(article), "-n", "1", "--highlight"]) == 0
    assert capsys.readouterr().out == "\x1b[30;43mOne came.\x1b[0m Two went. Three stayed.\n"


def test_two_answers_of_one_name_are_both_named(asked, tmp_path, capsys):
    for folder in ("d1", "d2"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a").write_text(TEXT)
    files = [str(tmp_path / folder / "a") for folder in ("d1", "d2")]
    assert main(["summarize", *files, "-o", f"{tmp_path / 'out'}/"]) == 1
    assert f"the answers to {files[0]} and {files[1]} would both be a" in capsys.readouterr().err


def test_answers_are_written_as_they_come(asked, tmp_path, monkeypatch):
    """A call that is interrupted keeps those of the parts before."""
    (tmp_path / "in").mkdir()
    for number in range(3 * TEXTS_AT_ONCE):
        (tmp_path / "in" / f"{number:03}").write_text(TEXT)
    parts = []

    class Interrupted(Lead):
        def answer(self, texts, request):
            parts.append(len(texts))
            if len(parts) == 3:
                raise KeyboardInterrupt
            return super().answer(texts, request)

    monkeypatch.setattr("tfsum.tasks.load.load", Interrupted)
    assert main(["summarize", "-r", str(tmp_path / "in"), "-o", f"{tmp_path / 'out'}/"]) == 130
    assert len(list((tmp_path / "out").glob("*.txt"))) == 2 * TEXTS_AT_ONCE


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_large_text_is_announced_on_a_terminal(asked, tmp_path):
    (tmp_path / "war.txt").write_text("It rained. " * 30_000)
    for stream, said in ((Terminal, "war.txt: is large"), (io.StringIO, "")):
        with contextlib.redirect_stderr(stream()) as shown:
            assert main(["summarize", str(tmp_path / "war.txt")]) == 0
        assert said in shown.getvalue() and bool(said) == bool(shown.getvalue())


@pytest.mark.parametrize(
    ("stream", "files", "bar"), [(Terminal, 2, "2/2"), (Terminal, 1, ""), (io.StringIO, 2, "")]
)
def test_several_documents_are_counted_on_a_terminal(asked, article, stream, files, bar):
    with contextlib.redirect_stderr(stream()) as shown:
        assert main(["summarize", *[str(article)] * files]) == 0
    assert bar in shown.getvalue() and bool(bar) == bool(shown.getvalue())


def test_the_environment_names_a_server(asked, article, monkeypatch, capsys):
    """It is asked unless the command names a model of this machine."""
    asked_of = []

    def connect(arguments, request, settings):
        asked_of.append(arguments.server)
        return contextlib.nullcontext(lambda texts: Lead().answer(texts, request))

    monkeypatch.setattr(summarize, "connect", connect)
    monkeypatch.setenv("TFSUM_SERVER", "http://localhost:8501")
    assert main(["summarize", str(article)]) == 0
    assert main(["summarize", str(article), "--model", "a model of this machine"]) == 0
    assert main(["summarize", str(article), "--server", "http://other:8501"]) == 0
    assert asked_of == ["http://localhost:8501", "http://other:8501"] and len(asked) == 1
