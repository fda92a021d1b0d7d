"""`tfsum runs`: what run folders say, in lines or as JSON, without TensorFlow."""

import json
import pathlib

import pytest

from tfsum.cli.main import main
from tfsum.training.run_folder import locked

RECIPE = """\
[data]
records = "records/news"
[train]
seed = {seed}
steps = 4
"""
SCORES = {"rouge1": 42.5, "rouge2": 31.0, "rougeLsum": 42.0}


def write_run(folder: pathlib.Path, seed: int, history: list[dict]) -> None:
    """Writes what a run leaves that validated and saved at the steps of `history`."""
    (folder / "checkpoints").mkdir(parents=True)
    (folder / "recipe.toml").write_text(RECIPE.format(seed=seed))
    scores = {"best": history[-1], "seconds": 53, "history": history, "ended_early": False}
    (folder / "history.json").write_text(json.dumps(scores))
    for row in history:
        (folder / "checkpoints" / f"ckpt-{row['step']}.json").write_text("{}")


@pytest.fixture
def runs(tmp_path):
    """Two runs, the second with another seed, and further than the first."""
    first = {"step": 2, **SCORES}
    write_run(tmp_path / "one", 0, [first])
    write_run(tmp_path / "two", 7, [first, {**first, "step": 4, "rouge1": 50.0}])
    return tmp_path


def test_a_line_for_each_run(runs, capsys):
    assert main(["runs", str(runs)]) == 0
    head, one, two = (line.split() for line in capsys.readouterr().out.splitlines())
    assert head[:4] == ["run", "state", "step", "best"]
    assert one[:4] == [str(runs / "one"), "stopped", "2/4", "2"]
    assert two[:4] == [str(runs / "two"), "finished", "4/4", "4"] and "50.00" in two
    (runs / "two" / "lock").write_text("process 3 on here")  # which was killed
    with locked(runs / "one"):
        assert main(["runs", str(runs), "--format", "json"]) == 0
    assert [run["state"] for run in json.loads(capsys.readouterr().out)] == ["running", "finished"]


def test_two_runs_are_compared(runs, capsys):
    assert (
        main(["runs", "--compare", str(runs / "one"), str(runs / "two"), "--format", "json"]) == 0
    )
    found = json.loads(capsys.readouterr().out)
    assert found["recipes"] == [["[train] seed", 0, 7]]
    assert ["rouge1", 4, None, 50.0] in found["scores"] and len(found["scores"]) == 6
    assert main(["runs", "--compare", str(runs / "one"), str(runs / "two")]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["[train]", "seed", "0", "7"] in lines and ["rouge1", "4", "-", "50.00"] in lines


def test_the_curves_of_two_runs_are_drawn(runs, capsys):
    pytest.importorskip("matplotlib", reason="pip install '.[plots]'")
    names = [str(runs / "one"), str(runs / "two")]
    assert main(["runs", "--compare", *names, "--plot", str(runs / "curves.svg")]) == 0
    drawn = (runs / "curves.svg").read_text()
    assert "<svg" in drawn and capsys.readouterr().out.count("[train] seed") == 1
    assert main(["runs", "--compare", *names, "--plot", str(runs / "curves.txt")]) == 1
    assert "curves.txt: cannot be drawn" in capsys.readouterr().err
    assert main(["runs", str(runs), "--plot", "curves.svg"]) == 2


def test_what_is_no_run(tmp_path, capsys):
    assert main(["runs", str(tmp_path)]) == 1
    assert "no run is there (a folder with recipe.toml)" in capsys.readouterr().err
    (tmp_path / "recipe.toml").write_text("[train]\nsteps = ")
    assert main(["runs", "--compare", str(tmp_path), str(tmp_path)]) == 1
    assert f"{tmp_path / 'recipe.toml'}: cannot be read" in capsys.readouterr().err
    assert main(["runs"]) == 2
