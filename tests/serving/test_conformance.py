"""Each case of TensorFlow Serving's REST API that our references list is tested, or named in the
docs."""

import ast
import pathlib
import re

HERE = pathlib.Path(__file__).parent
# Of `tf_serving_rest.md`; those beyond its table that a case is named after (29, 41, 57, ...) are
# tested too.
CASES = {
    int(number)
    for number in """
    1 2 3 4 6 7 8 10 11 12 14 15 16 18 19 20 21 22 23 24 26 27 28 30 31 32 34 35 36 38 39 40
    42 43 44 46 47 48 50 51 52 54 55 56 58 59 60 62 63 64 66 67 68 70 71 72 74 75 76 78 79 80
    81 82 83 84 86 87 88 90 91 92 94 95 96 98 99 100 102 103 104 106 107 108 110 111 112 114
    115 116 118 119
    """.split()
}
NOT_APPLICABLE = {3, 104}


def find_tested() -> set[int]:
    """The numbers of the cases in test_rest.py's table, and of those that end a line of a test as a
    comment."""
    tree = ast.parse((HERE / "test_rest.py").read_text(encoding="utf-8"))
    (table,) = (
        node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "CASES"
    )
    tested = {row.elts[0].value for row in table.elts}
    for file in HERE.glob("test_*.py"):
        for numbers in re.findall(r"  # (\d+(?:, \d+)*)\n", file.read_text(encoding="utf-8")):
            tested |= set(map(int, numbers.split(", ")))
    return tested


def named_in_docs() -> set[int]:
    page = (HERE.parents[1] / "docs" / "serving_differences.md").read_text(encoding="utf-8")
    return {int(number) for number in re.findall(r"^\| (\d+) \|", page, re.MULTILINE)}


def test_there_are_92_cases():
    assert len(CASES) == 92


def test_each_case_is_tested():
    assert CASES - NOT_APPLICABLE - find_tested() == set() and named_in_docs() >= NOT_APPLICABLE
    assert not NOT_APPLICABLE & find_tested()


def test_each_case_of_the_docs_is_one_of_them():
    assert named_in_docs() <= CASES


def test_the_references_list_the_same_cases(shared):
    text = (shared / "reference" / "tf_serving_rest.md").read_text(encoding="utf-8")
    assert {int(number) for number in re.findall(r"^\| (\d+) \|", text, re.MULTILINE)} == CASES
