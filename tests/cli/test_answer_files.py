"""Rows with their answers: each format, and calls that were killed and are resumed."""

import csv
import json
import signal
import subprocess
import sys
import time

import pytest

from tfsum.cli.answer_files import RowFile
from tfsum.cli.main import main
from tfsum.cli.summaries import count_rows
from tfsum.errors import DataError, Error
from tfsum.inputs.documents import Document
from tfsum.inputs.sources import Source

TEXTS = ["It rained all day in the north.", "The bridge was closed at noon.", "We stayed at home."]
ROWS = [{"id": f"n{number}", "text": text} for number, text in enumerate(TEXTS)]


def add(file, rows=ROWS):
    for number, row in enumerate(rows, start=1):
        file.add(Document(row["text"], name=f"a.jsonl:{number}", row=row))


def test_a_link_to_nothing_is_not_followed(tmp_path):
    (tmp_path / "out.jsonl.partial").symlink_to(tmp_path / "target")
    with pytest.raises(Error, match="cannot be written"):
        RowFile(str(tmp_path / "out.jsonl"), {})
    assert not (tmp_path / "target").exists()


def test_answers_of_a_killed_call_are_kept_but_a_cut_one(tmp_path):
    path = tmp_path / "out.jsonl"
    file = RowFile(str(path), {"words": 5})
    add(file)
    file.write("a.jsonl:1", {"summary": "one"})
    file.write("a.jsonl:2", {"summary": "two"})
    file.close()
    partial = tmp_path / "out.jsonl.partial"
    partial.write_text(partial.read_text()[:-4])
    assert not path.exists()

    with pytest.raises(Error, match="holds answers with other options: .*words.: 5"):
        RowFile(str(path), {"words": 6})
    file = RowFile(str(path), {"words": 5})
    assert file.existing == 1 and file.has("a.jsonl:1") and not file.has("a.jsonl:2")
    add(file)
    file.write("a.jsonl:1", {"summary": "another"})  # the one that is there stays
    file.write("a.jsonl:2", {"summary": "two"})
    file.write("a.jsonl:3", {"error": "a summary in a field of that name"})
    file.add(Document("", name="a.jsonl:4", error=DataError("wrong")))
    file.finish()
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    added = [{"summary": "one"}, {"summary": "two"}, {"error": "a summary in a field of that name"}]
    assert rows == [row | more for row, more in zip(ROWS, added)]
    errors = (tmp_path / "out.jsonl.errors.jsonl").read_text()
    assert json.loads(errors) == {"row": "a.jsonl:4", "error": "wrong"}
    assert not partial.exists()


def test_a_field_that_the_rows_have_is_refused_at_once(tmp_path):
    with pytest.raises(Error, match="a.jsonl:1: has the field text already; .* --into"):
        add(RowFile(str(tmp_path / "out.csv"), {"into": "text"}))
    file = RowFile(str(tmp_path / "out.csv"), {"into": "short"})
    add(file)
    with pytest.raises(Error, match="a.jsonl:1: has the field id already"):
        file.write("a.jsonl:1", {"short": "one", "id": 1})
    assert not (tmp_path / "out.csv").exists()


def test_a_call_that_answered_nothing_is_not_in_the_way_of_the_right_one(tmp_path, capsys):
    source, path = tmp_path / "rows.jsonl", tmp_path / "out.jsonl"
    source.write_text('{"id": "1", "text": ""}\nnull\n{"id": "2", "text": "", "summary": "no"}\n')
    words = ["summarize", str(source), "-o", str(path)]
    assert main([*words, "--field", "txt"]) == 1
    assert "no row has the field 'txt'" in capsys.readouterr().err
    assert main([*words, "--field", "text"]) == 1
    assert "rows.jsonl:3: has the field summary already" in capsys.readouterr().err
    assert main([*words, "--field", "text", "--into", "short"]) == 1
    assert f"1 could not be summarized ({path}.errors.jsonl has them)" in capsys.readouterr().err
    assert [row["short"] for row in written(path)] == ["", ""]


@pytest.mark.usefixtures("opened_once")
def test_a_remark_that_many_rows_have_is_printed_for_the_first_ones(tmp_path, capsys):
    source = tmp_path / "rows.csv"
    source.write_text("text\n" + '"It rained. It rained."\n' * 5 + '""\n' * 5)
    assert main(["summarize", str(source), "--field", "text", "--words", "1"]) == 0
    err = capsys.readouterr().err.splitlines()
    assert sum("is empty, skipped" in line for line in err) == 3 + 1
    assert sum("rows.csv:2: warning:" in line for line in err) == 1
    assert not any("rows.csv:5: warning:" in line for line in err)
    assert (
        "tfsum: 2 more rows: the warning 'limit'" in err
        and "tfsum: 2 more rows: is empty, skipped" in err
    )


def written(path):
    if path.suffix == ".parquet":
        return pytest.importorskip("pyarrow.parquet").read_table(path).to_pylist()
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".json":
        return json.loads(text)
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in text.splitlines()]
    return list(csv.DictReader(text.splitlines(), delimiter=",\t"[path.suffix == ".tsv"]))


@pytest.mark.usefixtures("opened_once")
@pytest.mark.parametrize("suffix", [".jsonl", ".json", ".csv", ".tsv", ".parquet"])
def test_every_format_keeps_the_columns_and_adds_the_summary(tmp_path, suffix, capsys):
    source, path = tmp_path / "rows.jsonl", tmp_path / f"out{suffix}"
    lines = [json.dumps(row) for row in ROWS]
    source.write_text("\n".join([lines[0], '{"text": "cut', *lines[1:]]))
    words = ["summarize", str(source), "--field", "text", "-o", str(path), "--into", "short"]
    assert main([*words, "-n", "1"]) == 1
    assert written(path) == [row | {"short": row["text"]} for row in ROWS]
    assert "rows.jsonl:2: not JSON" in capsys.readouterr().err

    assert main([*words, "-n", "1", "--format", "json"]) == 1
    first = written(path)[0]
    places = first["sentences"]
    places = json.loads(places) if isinstance(places, str) else places
    assert [(place["text"], place["start"]) for place in places] == [(TEXTS[0], 0)]
    assert float(first["coverage"]) == 1


def test_rows_are_counted_where_that_is_cheap(tmp_path):
    for name in ("a.jsonl", "b.csv", "c.json"):
        (tmp_path / name).write_text("1\n2\n3\n")
    sources = [Source(str(tmp_path / name)) for name in ("a.jsonl", "b.csv")]
    assert count_rows(sources) == 6
    assert count_rows([*sources, Source(str(tmp_path / "c.json"))]) is None
    assert count_rows([Source("-")]) is None


@pytest.mark.slow  # processes of their own; .ci/run runs it
def test_a_call_that_is_killed_three_times_gives_the_file_of_one_that_was_not(tmp_path):
    rows = [json.dumps({"id": n, "text": f"{TEXTS[n % 3]} {n} people saw it."}) for n in range(600)]
    rows[7::60] = ["null"] * len(rows[7::60])
    (tmp_path / "rows.jsonl").write_text("\n".join(rows))
    start = "import sys; from tfsum.cli.main import main; sys.exit(main())"
    command = [sys.executable, "-c", start, "summarize", str(tmp_path / "rows.jsonl")]
    command += ["--field", "text", "--format", "json", "-o"]
    whole, killed = tmp_path / "whole.jsonl", tmp_path / "killed.jsonl"
    assert subprocess.run([*command, str(whole)], capture_output=True).returncode == 1

    partial = tmp_path / "killed.jsonl.partial"
    for answers in (20, 150, 400):
        process = subprocess.Popen([*command, str(killed)], stderr=subprocess.DEVNULL)
        while process.poll() is None:
            if partial.exists() and partial.read_bytes().count(b"\n") > answers:
                process.send_signal(signal.SIGKILL)
                process.wait()
            time.sleep(0.01)
    assert not killed.exists()
    done = subprocess.run([*command, str(killed)], capture_output=True, text=True)
    assert done.returncode == 1 and "answer(s)" in done.stderr
    assert killed.read_bytes() == whole.read_bytes()
    errors = [tmp_path / f"{name}.jsonl.errors.jsonl" for name in ("whole", "killed")]
    assert len(written(errors[0])) == 10 and errors[0].read_bytes() == errors[1].read_bytes()
