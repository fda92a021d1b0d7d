"""examples/c: a program over TensorFlow's C API gives the bytes that Python gives."""

import os
import pathlib
import shutil
import subprocess
import sys

import pytest

from tfsum.inference.saved_model import shipped_model

HERE = pathlib.Path(__file__).parents[2] / "examples" / "c"
pytestmark = pytest.mark.skipif(
    not (shutil.which("cc") and shutil.which("make")), reason="needs cc and make"
)


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """The program, built with the headers and the libraries of TensorFlow's Python package."""
    folder = tmp_path_factory.mktemp("c") / "program"
    shutil.copytree(HERE, folder)
    python = f"{pathlib.Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    built = subprocess.run(
        ["make", "-C", str(folder), "CFLAGS=-Werror"],
        env={**os.environ, "PATH": python},
        capture_output=True,
        text=True,
    )
    assert built.returncode == 0, built.stderr
    return folder / "summarize"


@pytest.mark.slow
def test_it_gives_the_bytes_that_python_gives(program, documents, summaries):
    done = subprocess.run([program, shipped_model(), *documents], capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout == summaries


@pytest.mark.slow
@pytest.mark.parametrize(
    "words, said",
    [
        ((), "usage"),
        (("nowhere", __file__), "nowhere: Could not find SavedModel"),
        ((shipped_model(), "no file"), "no file: cannot be opened"),
    ],
)
def test_wrong_calls(program, words, said):
    done = subprocess.run([program, *words], capture_output=True, text=True)
    assert done.returncode == 1 and f"summarize: {said}" in done.stderr and not done.stdout
