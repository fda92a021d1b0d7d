"""examples/fit_by_hand: each model is trained by `fit` and learns its few texts."""

import re

import pytest


@pytest.mark.slow  # half a minute of tracing; tests/test_readme.py runs those of docs/python.md
def test_every_model_learns(tmp_path, capsys):
    import fit_by_hand

    fit_by_hand.main(tmp_path)
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0] for line in lines] == [
        "BertSumExt",
        "BertClassifier",
        "BertForPretraining",
        "Transformer",
    ]
    assert float(re.search(r"accuracy ([\d.]+)", lines[0])[1]) == 1.0
    assert "9 of 9 right" in lines[1] and "9 of 9 sentences" in lines[3]
    assert float(re.search(r"([\d.]+) of the masked", lines[2])[1]) > 0.8
    assert (tmp_path / "classifier.keras").is_file() and "loss" in (
        tmp_path / "extractive.csv"
    ).read_text()
