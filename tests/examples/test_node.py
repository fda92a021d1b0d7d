"""examples/node: a program on @tensorflow/tfjs-node gives the bytes that Python gives."""

import pathlib
import shutil
import subprocess

import pytest

from tfsum.inference.saved_model import shipped_model

HERE = pathlib.Path(__file__).parents[2] / "examples" / "node"
BUILT = HERE / "node_modules" / "@tensorflow" / "tfjs-node" / "lib"
pytestmark = [
    pytest.mark.slow,  # loads TensorFlow and a model in Node
    pytest.mark.skipif(
        not (shutil.which("node") and list(BUILT.glob("napi-v*/*.node"))),
        reason="needs node, and the addon that examples/node/build.sh builds",
    ),
]


def run(*words):
    return subprocess.run(["node", HERE / "summarize.js", *words], capture_output=True)


def test_it_gives_the_bytes_that_python_gives(documents, summaries):
    done = run(shipped_model(), *documents)
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout == summaries


def test_wrong_calls():
    for words, said in (
        ((shipped_model(),), b"usage"),
        ((shipped_model(), "no file"), b"no such file"),
    ):
        done = run(*words)
        assert done.returncode == 1 and said in done.stderr and not done.stdout
