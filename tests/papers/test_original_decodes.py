"""The SavedModel of PreSumm's converted checkpoint gives the ids that PreSumm gave, in Python and
in the C library."""

import json
import pathlib
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf

import tfsum
from tfsum.papers import PreSummBeamSearch

CLIENT = pathlib.Path(__file__).parents[1] / "fixtures" / "c_api.py"
SETTINGS = ("beam_size", "alpha", "min_length", "max_length", "block_trigram")

pytestmark = pytest.mark.reference


@pytest.fixture(scope="module")
def converted(shared, tmp_path_factory):
    """The model folder of the checkpoint."""
    folder = tmp_path_factory.mktemp("converted") / "model"
    tfsum.convert(
        shared / "parity/presumm_abs_step0.pt",
        folder,
        "tfsum",
        bert={"num_attention_heads": 4},
        vocabulary=shared / "parity/vocab_tiny48.txt",
    )
    return folder


@pytest.fixture(scope="module")
def decodes(shared):
    """The original's answers, without those that its own rounding decides: (setting, sources, ids)
    of each setting."""
    stored = json.loads((shared / "parity/presumm_abs_decode.json").read_text())
    groups: dict[tuple, list] = {}
    for result in stored["results"]:
        if not result["ambiguous"]:
            groups.setdefault(tuple(result[name] for name in SETTINGS), []).append(result)
    assert sum(map(len, groups.values())) == 79
    return [
        (
            dict(zip(SETTINGS, setting)),
            [stored["sources"][result["source"]] for result in results],
            [result["ids"] for result in results],
        )
        for setting, results in groups.items()
    ]


def inputs(sources):
    """Sources of unequal length as the rectangles that the signature takes."""
    longest = max(len(source["src"]) for source in sources)
    rows = {"source_ids": "src", "segment_ids": "segs"}
    return {
        name: [[*source[key], *[0] * (longest - len(source[key]))] for source in sources]
        for name, key in rows.items()
    }


@pytest.mark.slow  # an export and a process each; test_presumm_search.py compares the plain model
@pytest.mark.parametrize("number", range(7))
def test_ids(converted, decodes, number, tmp_path):
    setting, sources, expected = decodes[number]
    strategy = PreSummBeamSearch(
        setting["beam_size"],
        length_penalty=setting["alpha"],
        min_length=setting["min_length"] + 1,
        no_repeat_ngram=3 if setting["block_trigram"] else 0,
    )
    exported = tfsum.export_model(
        converted, tmp_path / "model", strategy=strategy, max_length=setting["max_length"]
    )
    given = inputs(sources)
    signature = tf.saved_model.load(str(exported)).signatures["generate_ids"]
    found = signature(**{name: tf.constant(rows, tf.int32) for name, rows in given.items()})
    request = json.dumps({"signature": "generate_ids", "inputs": given})
    done = subprocess.run(
        [sys.executable, "-I", str(CLIENT), str(exported)],
        input=request,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    for answer in ({name: value.numpy() for name, value in found.items()}, json.loads(done.stdout)):
        ids = np.array(answer["ids"]).reshape(len(sources), setting["max_length"])
        assert [row[:length].tolist() for row, length in zip(ids, answer["length"])] == expected
