"""benchmarks/code_metrics.py: its counts of a small tree, which are counted here by hand."""

import ast
import pathlib
import subprocess
import sys

import code_metrics
import pytest

SAME = "".join(f"{name} = {name} + 1\n" for name in "abcdef")
FILES = {
    "tfsum/__init__.py": '"""The root."""\n\nVERSION = "1"\n',
    "tfsum/errors.py": "class Error(Exception):\n    pass\n",
    "tfsum/text/__init__.py": "",
    "tfsum/text/words.py": (
        f"from tfsum.errors import Error\nfrom tfsum.models import bert\n\n{SAME}\nlast = 1\n"
    ),
    "tfsum/models/__init__.py": "",
    "tfsum/models/bert.py": (
        '''
"""A model
of two lines."""
import os  # a comment

SIZE = 3
"""What stands behind an attribute is no code."""


def build(a,
          b):
    """Builds."""
    # nothing else
    text = """one

    two"""

    return os.path.join(*a, text)


def load():
    from tfsum.text import words

    return words
'''
    ),
    "tfsum/tasks/__init__.py": "import tfsum.tasks.bert_sum_ext.train\n",
    "tfsum/tasks/bert_sum_ext/__init__.py": "",
    "tfsum/tasks/bert_sum_ext/train.py": (
        "import tfsum.training.run\nfirst ="
        f" 0\n{SAME.replace('c =', '# between' + chr(10) + chr(10) + 'c  =')}run(**options)\nrun(a,"
        " *b, **c)\nrun(a=1)\n"
    ),
    "tfsum/training/__init__.py": "",
    "tfsum/training/run.py": "\n".join(
        ["def run(*a, **b):", *(f"    call({i})" for i in range(40)), "", "", "run(*run.x)", ""]
    ),
    "tests/test_imports.py": 'EXCEPTIONS = {\n    # why\n    ("models", "text"),\n}\n',
}


@pytest.fixture
def tree(tmp_path):
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_the_rows_of_a_tree(tree):
    rows = code_metrics.measure(tree)
    assert rows == {
        "tfsum/": "   2 files       5 lines       3 code",
        "tfsum/models": "   2 files      24 lines      10 code",
        "tfsum/tasks": "   1 files       1 lines       1 code",
        "tfsum/tasks/bert_sum_ext": "   2 files      13 lines      11 code",
        "tfsum/text": "   2 files      11 lines       9 code",
        "tfsum/training": "   2 files      44 lines      42 code",
        "total": "  11 files      98 lines      76 code",
        "arrows between packages": "4 imports, 4 pairs",
        "and between top folders": "3 imports, 3 pairs",
        "circles of packages": "1 (models text)",
        "exceptions in test_imports": "1",
        "functions over 40 code lines": "1 of 3, the longest run with 41",
        "call splats in training/": "1",
        "and in tasks/*/train.py": "3",
        "blocks of 6+ lines twice": "1, 6 lines",
    }


def code_of(text):
    return code_metrics.code_lines(text, ast.parse(text))


def test_lines_that_hold_code():
    code = code_of(FILES["tfsum/models/bert.py"])
    assert list(code) == [4, 6, 10, 11, 14, 16, 18, 21, 22, 24]
    assert code[10] == "def build ( a ," and code[14] == 'text = """one' and code[16] == 'two"""'


def test_spaces_comments_and_breaks_between_lines_do_not_hide_a_copy():
    assert list(code_of("f( a,b )  # why\n").values()) == list(code_of("\n\nf(a, b)\n").values())


@pytest.mark.parametrize(
    ("one", "other", "found"),
    [
        (SAME, SAME, 1),
        (SAME, "x = 1\n" + SAME + "y = 1\n", 1),
        (SAME + "x = 1\n", SAME + "x = 1\n", 1),  # a longer run, once
        (SAME, SAME + "x = 1\n" + SAME, 1),  # three times, one block
        (SAME, SAME.replace("c = c", "c = d"), 0),
        ("import a\n" * 9, "import a\n" * 9, 0),
        (SAME[:-10], SAME[:-10], 0),  # five lines
        ("x = 1\n" * 20, "y = 1\n", 1),  # one line again and again
        (
            SAME + "x = 1\n",
            SAME + "x = 1\ny = 1\n" + SAME,
            1,
        ),  # the third is a part of the first two
    ],
)
def test_blocks_that_stand_twice(tmp_path, one, other, found):
    for name, text in (("one.py", one), ("other.py", other)):
        (tmp_path / name).write_text(text)
    blocks = code_metrics.duplicated(
        [code_metrics.read(path, tmp_path) for path in sorted(tmp_path.iterdir())]
    )
    assert len(blocks) == found


def test_circles_of_more_than_two():
    pairs = [("a", "b"), ("b", "c"), ("c", "a"), ("c", "d"), ("e", "a"), ("d", "d2"), ("d2", "d")]
    assert code_metrics.circles(pairs) == [["a", "b", "c"], ["d", "d2"]]


def test_two_trees_stand_side_by_side_and_no_tensorflow_is_needed(tree, tmp_path):
    other = tmp_path / "other"
    (other / "tfsum" / "serving").mkdir(parents=True)
    (other / "tfsum" / "serving" / "server.py").write_text("x = 1\n")
    alone = (
        "import runpy, sys; sys.modules['tensorflow'] = None; sys.argv = sys.argv[1:]; "
        "runpy.run_path(sys.argv[0], run_name='__main__')"
    )
    done = subprocess.run(
        [sys.executable, "-c", alone, pathlib.Path(code_metrics.__file__), tree, other],
        capture_output=True,
        text=True,
        check=True,
    )
    lines = {line[:28].strip(): line for line in done.stdout.splitlines()}
    assert lines["tfsum/serving"].split()[1:] == ["-", "1", "files", "1", "lines", "1", "code"]
    assert lines["tfsum/text"].split()[-1] == "-"
    with pytest.raises(SystemExit):
        code_metrics.main([str(tree / "tfsum")])


STYLED = {
    "one.py": '''
"""A file.

Args:
    x: Of no function.
"""
import os  # a comment

LEGACY = 1 if os.name else 2  # "legacy" and a conditional outside a body


class Reader:
    """Reads.

    Args:
        folder, name: of the run.
            see: this line goes on.
        *parts: likewise.
        size (int): See `read`.
        count: Often a number.
            of: this line goes on, too.

    Attributes:
        path: of the file.

    Returns:
        value: of nothing.
    """

    def read(self): ...


def outer(a):
    """Docstring."""
    b = a if a else 1

    def inner():
        return 2 if b else 3

    # a comment

    return inner
''',
    "two.py": "class Reader:\n    pass\nclass ReadSettings:\n    pass\n",
    "three.py": "class Twice: ...\nclass Twice: ...\nclass ReadSettings: ...\n\n\n"
    f"x = '{'y' * 96}'\n",
    "papers/old.py": "legacy = 1\n",
}


def test_the_style_of_a_folder(tmp_path):
    for name, text in STYLED.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    lines = sorted(len(text.splitlines()) for text in STYLED.values())
    assert lines == [1, 4, 6, 42]
    assert code_metrics.style(tmp_path) == {
        "files": "4",
        "lines": "5/42/42",
        "functions": "3",  # read, outer, inner
        "code lines": "2/5/5",
        # one.py: import, LEGACY, Reader, read, outer, b, inner and two returns; two.py: two classes
        # and two `pass`; three.py: three classes and x; papers/old.py: one
        "statements": "18",
        "comments": "5.7",  # 3 of 53 lines
        "blank": "33.3",  # 3 of 9 lines: `...` and the 8 lines of outer
        "over 100": "2.7",  # 1 of 37
        "a if b else c": "22.2",  # 2 in 9 lines
        "classes twice": "1",
        "of, see": "5",  # the module's x, of Reader all but count
        "legacy": "1",
    }


def test_the_table_of_style_has_a_row_for_each_folder(tree, capsys):
    folders = [str(tree / "tfsum" / name) for name in ("text", "models")]
    code_metrics.main(["--style", *folders])
    head, line, *rows = capsys.readouterr().out.splitlines()
    assert head.count("|") == line.count("|") == 14
    assert [row.split()[1] for row in rows] == folders
    with pytest.raises(SystemExit):
        code_metrics.main(["--style", str(tree / "no_folder")])
