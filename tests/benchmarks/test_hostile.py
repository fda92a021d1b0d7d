"""benchmarks/hostile.py: its list of expressions is that of the package."""

import re

import hostile
import hostile_rows
import pytest

MODULE = '''
"""re.compile("of a docstring")"""
import re

ONE = re.compile(rb"a" rb"b", re.I | re.M)
TWO: dict = {"x": re.compile("x", flags=re.S), "y": re.compile(pattern="y")}
BETWEEN = ", ".join("re.sub")


def function(text, pattern):
    def inner():
        return re.sub("c", "", text, flags=re.A)

    return re.split("d", inner(), 1, re.S), text.split("e"), re.escape(text)


class Reader:
    def read(self, text):
        return re.fullmatch("f", text)
'''


def test_every_expression_of_the_package_is_in_the_list():
    found = {expression.name for expression in hostile.find_expressions()}
    assert sorted(found - hostile.LISTED.keys()) == []


def test_every_entry_of_the_list_is_an_expression():
    found = {expression.name for expression in hostile.find_expressions()}
    assert sorted(hostile.LISTED.keys() - found) == []


def test_expressions_are_found_wherever_they_stand(tmp_path):
    (tmp_path / "text").mkdir()
    (tmp_path / "text" / "words.py").write_text(MODULE)
    found = hostile.find_expressions(tmp_path)
    assert [(e.name.removeprefix("text/words.py "), e.pattern, e.flags) for e in found] == [
        ("ONE", "b'ab'", "re.I | re.M"),
        ("TWO 1", "'x'", "re.S"),
        ("TWO 2", "'y'", ""),
        ("function 1", "'c'", "re.A"),
        ("function 2", "'d'", "re.S"),
        ("Reader", "'f'", ""),
    ]
    assert [expression.line for expression in found] == [5, 6, 6, 12, 14, 19]


def test_no_module_hides_expressions_behind_another_name():
    """`from re import sub`, `import re as r` and the package `regex` are not found."""
    other = re.compile(r"^\s*(from re import|import re as|(from|import) regex\b)", re.M)
    modules = sorted(hostile.PACKAGE.rglob("*.py"))
    assert [str(path) for path in modules if other.search(path.read_text(encoding="utf-8"))] == []


def test_an_expression_is_that_of_its_module():
    from tfsum.inputs import formats, kinds

    found = {expression.name: expression for expression in hostile.find_expressions()}
    assert found["inputs/kinds.py _HTML"].compiled() == kinds._HTML
    left_out = [found[f"inputs/formats.py _LEFT_OUT {i}"].compiled() for i in range(1, 5)]
    assert left_out == [*formats._LEFT_OUT]


def test_the_texts_have_the_size_and_what_nearly_fits():
    made = dict(hostile.texts((("<!-- ", "x-", ">"),)))
    sizes = {len(text.encode()) for text in made.values()}
    assert hostile.MEGABYTE - 100 < min(sizes) <= max(sizes) < hostile.MEGABYTE + 100
    assert made["<!-- (x-)*>"].startswith("<!-- x-x-") and r"(\u0301)*" in made


def test_an_attack_has_a_line_whatever_it_does(capsys):
    def fails():
        raise ValueError("one\ntwo")

    hostile_rows.measure(4, "a comment", lambda: "It rained. " * 100)
    hostile_rows.measure(5, "a mail", fails)
    text, error = capsys.readouterr().out.splitlines()
    assert text.split()[:3] == ["4", "a", "comment"] and text.endswith("(1100 characters)")
    assert error.endswith("ValueError: one two")


@pytest.mark.parametrize(
    ("trials", "answers"),
    [
        (hostile_rows.comments, ["text", "text", "text", "text", "It rained."]),
        (hostile_rows.torch_bombs, ["CheckpointError"] * 4),
    ],
)
def test_the_attacks_of_a_row(tmp_path, capsys, trials, answers):
    if trials is hostile_rows.comments:
        pytest.importorskip("trafilatura")
    for sent, call in trials(tmp_path):
        hostile_rows.measure(0, sent, call)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(answers)
    assert all(answer in line for line, answer in zip(lines, answers))
