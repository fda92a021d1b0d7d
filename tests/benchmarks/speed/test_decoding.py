"""The comparison of decoding at a toy size: it times what it says, and its table says what it
measured."""

import json
import sys

import numpy as np
import pytest

pytest.importorskip("tensorflow")
import keras

if keras.backend.backend() != "tensorflow":
    pytest.skip("the benchmark is one of graphs of TensorFlow", allow_module_level=True)

from benchmarks import __main__ as benchmarks
from benchmarks.other_interpreter import OtherInterpreter
from benchmarks.speed import decoding
from tfsum.decoding import BeamSearch, Greedy

SIZE = decoding.SIZES["tiny"]


@pytest.mark.parametrize("strategy", [Greedy(), BeamSearch(4)], ids=["greedy", "beam"])
def test_the_uncached_decoder_writes_the_same(strategy):
    model, source_ids = decoding.our_model(SIZE, 5), decoding.sources(SIZE, 3)
    ids, log_probability, lengths = strategy(decoding.Uncached(model), source_ids, 5)
    wanted = strategy(model, source_ids, 5)
    np.testing.assert_array_equal(ids, wanted[0])
    np.testing.assert_allclose(log_probability, wanted[1], rtol=1e-5)
    assert np.all(lengths == 5)


def test_weights_of_a_step():
    D, F, V = SIZE.width, SIZE.feed_forward, SIZE.vocabulary
    attention = 6 * (D * D + D)  # of 8 projections, the keys and values of the source are made once
    layer = attention + D * F + F + F * D + D + 3 * 2 * D
    assert decoding.weights_of_a_step(decoding.our_model(SIZE, 5)) == 4 * (
        SIZE.layers * layer + V * D + V
    )


@pytest.mark.slow  # compiles every strategy; no part of the package
def test_it_goes_through_and_says_what_it_leaves_out(monkeypatch, capsys):
    # other tests run in this process
    monkeypatch.setattr(decoding, "use_threads", lambda number: None)
    words = "--size tiny --tokens 4 --rounds 1 --batches 1 9 --only tfsum uncached marian"
    benchmarks.main(["decoding", *words.split()])
    lines = capsys.readouterr().out.splitlines()
    facts = [json.loads(line) for line in lines if line.startswith("{")]
    assert [fact["skipped"] for fact in facts if "skipped" in fact] == ["marian"]

    heads, _, floor, ours, uncached = (
        [cell.strip() for cell in line.split("|")[1:-1]] for line in lines[-5:]
    )
    assert heads[1:] == [f"{batch} rows, {beams} beams" for beams in (1, 4) for batch in (1, 9)]
    assert floor[0] == "floor" and all(cell.endswith("(1.00)") for cell in ours[1:])
    assert uncached[0] == "uncached" and uncached[-1] == ""  # too many rows


def test_the_ratio_is_of_times():
    found = decoding.cells(80, {"tfsum": 2.0, "marian": 5.0})
    assert found == {"tfsum": "40 (1.00)", "marian": "16 (2.50)"}


def test_a_program_that_ends_says_so():
    with pytest.raises(SystemExit, match=r"benchmarks.speed.decoding_torch ended with status 1"):
        OtherInterpreter(sys.executable, "speed.decoding_torch", {})
