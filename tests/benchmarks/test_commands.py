"""Every command and every script of a benchmark that a page names is there."""

import pathlib
import re
import shlex

import pytest

pytest.importorskip("tensorflow")

from benchmarks.__main__ import BENCHMARKS, parse

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = sorted(
    [
        *ROOT.glob("*.md"),
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "saved_models").rglob("README.md"),
        *(ROOT / "training").glob("*.toml"),
        *(ROOT / "benchmarks").glob("[a-z]*/*.py"),
        ROOT / "benchmarks" / "README.md",
    ]
)
EARLIER = "6b7bca6"  # the commit that has the scripts of studies


def commands(text: str) -> list[list[str]]:
    """The words of each `python -m benchmarks`, to the end of its line or its code."""
    lines = re.sub(r"\\+\n", " ", text)
    found = re.findall(r"`(?:\w+=\S+ )*python -m benchmarks ([^`]+)`", lines)
    found += re.findall(r"^[^`|\n]*python -m benchmarks ([^`\n]+)$", lines, re.MULTILINE)
    words = [shlex.split(each, comments=True) for each in found]
    return [each for each in words if each[:1] != ["NAME"]]


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_every_command_is_understood(page):
    for words in commands(page.read_text(encoding="utf-8")):
        if len(words) == 1:  # the name alone, in a sentence
            assert words[0] in BENCHMARKS
        else:
            parse(words)


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_every_script_is_there_or_in_the_commit_that_is_named(page):
    text = page.read_text(encoding="utf-8")
    scripts = re.findall(r"\bbenchmarks/[\w/]+\.py\b", text)
    gone = [script for script in scripts if not (ROOT / script).exists()]
    assert not gone or EARLIER in text, gone


def test_commands_of_pages_are_found():
    text = "run\n`KERAS_BACKEND=jax python -m benchmarks training\n--rows 4` and\n    python -m"
    text += " benchmarks asked \\\n  budgets C   # why\n| `python -m benchmarks fuzz` |"
    assert commands(text) == [["training", "--rows", "4"], ["fuzz"], ["asked", "budgets", "C"]]


def test_each_benchmark_is_a_module_that_says_what_it_is_called():
    for name, (module, _) in BENCHMARKS.items():
        path = ROOT / "benchmarks" / f"{module.replace('.', '/')}.py"
        assert f"python -m benchmarks {name}" in path.read_text(encoding="utf-8"), name


def test_another_name_is_answered_by_the_list():
    with pytest.raises(SystemExit, match=r"usage: python -m benchmarks NAME[^$]*summarizing"):
        parse(["speed"])
