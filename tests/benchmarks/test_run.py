"""The tables of speed, on a tiny export."""

import json

import pytest

pytest.importorskip("tensorflow")

import run


def test_tables_of_two_exports(transformer, tmp_path, monkeypatch, capsys):
    """The start of processes, which takes the time, and the other programs are left out."""
    monkeypatch.setattr(run, "start_calls", lambda exports: {"import tensorflow": lambda: 1.0})
    corpus = tmp_path / "corpus.jsonl"
    rows = [{"text": "The cat sat in the city. It rained on the bridge."}, {"text": ["A.", "B."]}]
    corpus.write_text("\n".join(map(json.dumps, rows)))

    folder, other = transformer.folder, tmp_path / "other" / "1"
    other.parent.mkdir()
    other.symlink_to(folder)
    options = ["--compute", "float32", "--rivals", "--corpus", str(corpus), "--quick"]
    run.main([str(folder), str(other), *options])
    tables = capsys.readouterr().out.split("\n\n")
    assert len(tables) == 5 and "tensorflow" in tables[0]
    nodes = [int(row.split(" | ")[1].replace(",", "")) for row in tables[1].splitlines()[2:]]
    assert nodes[0] == nodes[1] > 1000
    assert tables[3].splitlines()[0] == "| ms | 1 x 128 | 1 x 512 | 8 x 512 | 1 kB | 5 kB | 20 kB |"
    assert tables[4].strip().endswith("| 100.00% |")
