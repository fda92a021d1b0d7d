"""The tables of speed, on a tiny export."""

import json

import pytest

pytest.importorskip("tensorflow")

from benchmarks import __main__ as benchmarks
from benchmarks import results
from benchmarks.speed import summarizing


@pytest.mark.slow  # no part of the package
def test_tables_of_two_exports(transformer, tmp_path, monkeypatch, capsys):
    """The start of processes, which takes the time, and the other programs are left out."""
    calls = {"import tensorflow": lambda: 1.0}
    monkeypatch.setattr(summarizing, "start_calls", lambda exports: calls)
    monkeypatch.setattr(results.time, "sleep", lambda seconds: None)
    corpus = tmp_path / "corpus.jsonl"
    rows = [{"text": "The cat sat in the city. It rained on the bridge."}, {"text": ["A.", "B."]}]
    corpus.write_text("\n".join(map(json.dumps, rows)))

    folder, other = transformer.folder, tmp_path / "other" / "1"
    other.parent.mkdir()
    other.symlink_to(folder)
    options = ["--compute", "float32", "--rivals", "--corpus", str(corpus), "--quick"]
    benchmarks.main(["summarizing", str(folder), str(other), *options])
    machine, *tables = capsys.readouterr().out.split("\n\n")
    assert len(tables) == 4 and "tensorflow" in machine

    cells = [[row.split("|") for row in table.splitlines()] for table in tables]
    nodes = [int(row[2].replace(",", "")) for row in cells[0][2:]]
    assert nodes[0] == nodes[1] > 1000
    columns = [cell.strip() for cell in cells[2][0][2:-1]]
    assert columns == ["1 x 128", "1 x 512", "8 x 512", "1 kB", "5 kB", "20 kB"]
    assert tables[3].strip().endswith("| 100.00%                |")
