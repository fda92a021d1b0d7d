"""A model in bfloat16 chooses what it chooses in float32; a processor without it says so."""

import json

import numpy as np
import pytest

pytest.importorskip("tensorflow")

import tfsum
from tfsum.cli.main import main
from tfsum.errors import Error
from tfsum.inference import exported_model
from tfsum.inference.exported_model import computed_in, has_bfloat16
from tfsum.inference.saved_model import read_description
from tfsum.serving.version_folders import load_servable

pytestmark = pytest.mark.usefixtures("opened_once")
needs_bfloat16 = pytest.mark.skipif(
    not has_bfloat16(), reason="the processor has no instructions for bfloat16"
)


@pytest.fixture
def without_bfloat16(monkeypatch):
    monkeypatch.setattr(exported_model, "has_bfloat16", lambda: False)


def test_a_processor_without_it(without_bfloat16):
    assert computed_in("auto") == computed_in("float32") == "float32"
    with pytest.raises(Error, match="compute is 'bfloat16', and this processor has no instruct"):
        computed_in("bfloat16")


def test_another_type():
    with pytest.raises(Error, match="compute is 'int8'; expected one of float32, bfloat16, auto"):
        tfsum.load(compute="int8")


@pytest.fixture(scope="module")
def documents():
    long = " ".join(f"The bridge was closed for {i} days, since it rained." for i in range(90))
    return [long.encode(), b"It rained. The bridge was closed.", b""]


@needs_bfloat16
def test_scores_are_nearly_the_same_and_are_not_those_of_float32(documents, transformer):
    description = read_description(transformer.folder)
    exact, rounded = (
        exported_model.open_model(transformer.folder, description, each).call(
            "score", {"text": documents}
        )
        for each in ("float32", "bfloat16")
    )
    difference = np.abs(exact["score"] - rounded["score"]).max()
    assert 0 < difference < 0.02
    np.testing.assert_array_equal(exact["start"], rounded["start"])


@needs_bfloat16
def test_a_server_computes_in_it_after_it_has_verified_in_float32(documents, transformer):
    texts = {"text": np.array(documents, object)}
    description = read_description(transformer.folder)
    session = exported_model.open_model(transformer.folder, description, "bfloat16")
    servable = load_servable("news", 1, transformer.folder, "bfloat16")
    given, expected = servable.run("score", texts), session.call("score", texts)
    np.testing.assert_array_equal(given["score"], expected["score"])


@needs_bfloat16
def test_the_command_line(transformer, tmp_path, capsys):
    (tmp_path / "a.txt").write_text("It rained. The bridge was closed. A man sang.")
    words = ["summarize", "--model", str(transformer.folder), "-n", "1", "--format", "json"]
    words.append(str(tmp_path / "a.txt"))
    assert main([*words, "--compute", "auto"]) == main(words) == 0
    rounded, exact = (json.loads(line) for line in capsys.readouterr().out.splitlines())
    assert rounded["sentences"] == exact["sentences"]
    assert rounded["scores"] == pytest.approx(exact["scores"], abs=0.02)
