"""The counts of a small folder, which are counted here by hand."""

import subprocess
import sys

import pytest

from benchmarks.__main__ import main
from benchmarks.code import metrics

FILES = {
    "one.py": '''
"""A file."""
import os  # a comment

LEGACY = 1 if os.name else 2  # "legacy" and a conditional outside a body


class Reader:
    """Reads."""

    def read(self, one: Any, *two: int | Any, three: dict[str, Any], **four: typing.Any): ...


def outer(a):
    """Docstring."""
    b = a if a else 1

    def inner():
        return 2 if b else 3

    # a comment

    return inner
''',
    "long.py": "def whole(\n    a,\n):\n"
    + "    a += 1\n" * 48
    + "def body():\n    "
    + "\n    ".join(["a = 1"] * 51)
    + "\n" * 330,
    "papers/old.py": "legacy = 1\n",
}


@pytest.fixture
def folder(tmp_path):
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_the_row_of_a_folder(folder):
    row = metrics.measure(metrics.read(folder))
    assert [len(text.splitlines()) for text in FILES.values()] == [23, 432, 1]
    assert row == {
        "files": "3",
        "lines": "456",
        # one.py: import, LEGACY, Reader, read, outer, b, inner and two returns; long.py: two
        # functions; papers/old.py: one
        "statements": f"{9 + 2 + 48 + 51 + 1}",
        "functions > 50": "2",
        "bodies > 50": "1",
        "files > 400": "1",
        "comments %": "0.7",  # 3
        "blank %": "2.8",  # 3 of 108 lines: `...`, 8 of outer, 48 and 51 of the others
        "a if b else c": "1.9",  # 2
        "Any": "3",  # all but three
        "legacy": "1",
    }


def test_two_checkouts_and_no_tensorflow(folder, tmp_path):
    for name in ("before", "after"):
        (tmp_path / name / "tfsum").mkdir(parents=True)
        (tmp_path / name / "benchmarks").mkdir()
        (tmp_path / name / "tfsum" / "errors.py").write_text("x = 1\n")
        (tmp_path / name / "benchmarks" / "run.py").write_text("x = 1\n")
    (tmp_path / "after" / "tfsum" / "more.py").write_text("x = 1\ny = 2\n")

    alone = "import sys; sys.modules['tensorflow'] = None; from benchmarks.__main__ import main; "
    call = f"main(['code', '{tmp_path}/after', '--before', '{tmp_path}/before'])"
    root = metrics.__file__.rpartition("/benchmarks/")[0]
    done = subprocess.run(
        [sys.executable, "-c", alone + call], capture_output=True, text=True, check=True, cwd=root
    )
    lines = [line.replace(f"{tmp_path}/", "") for line in done.stdout.splitlines()]
    assert [line.split()[1] for line in lines[2:4]] == ["after/tfsum", "after/benchmarks"]
    assert lines[4:] == [
        "after/tfsum: 1 -> 3 statements (+2)",
        "after/benchmarks: 1 -> 1 statements (+0)",
    ]


def test_a_folder_without_python_is_refused(tmp_path):
    with pytest.raises(SystemExit, match="holds no Python file"):
        main(["code", str(tmp_path)])
