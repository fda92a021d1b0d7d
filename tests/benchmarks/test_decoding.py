"""benchmarks/decoding.py at a toy size: it times what it says, and its table says what it
measured."""

import json
import pathlib
import sys

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")
import keras

if keras.backend.backend() != "tensorflow":
    pytest.skip("the benchmark is one of graphs of TensorFlow", allow_module_level=True)

from tfsum.decoding import BeamSearch, Greedy

BENCHMARKS = pathlib.Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def decoding(monkeypatch):
    """The benchmark, which sets no threads: other tests run in this process."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import decoding

    monkeypatch.setattr(decoding, "use_threads", lambda number: None)
    return decoding


@pytest.mark.parametrize("strategy", [Greedy(), BeamSearch(4)], ids=["greedy", "beam"])
def test_the_uncached_decoder_writes_the_same(decoding, strategy):
    size = decoding.SIZES["tiny"]
    model, source_ids = decoding.our_model(size, 5), decoding.sources(size, 3)
    ids, log_probability, lengths = strategy(decoding.Uncached(model), source_ids, 5)
    wanted = strategy(model, source_ids, 5)
    np.testing.assert_array_equal(ids, wanted[0])
    np.testing.assert_allclose(log_probability, wanted[1], rtol=1e-5)
    assert np.all(lengths == 5)


def test_weights_of_a_step(decoding):
    size = decoding.SIZES["tiny"]
    D, F, V = size.width, size.feed_forward, size.vocabulary
    attention = 6 * (D * D + D)  # of 8 projections, the keys and values of the source are made once
    layer = attention + D * F + F + F * D + D + 3 * 2 * D
    assert decoding.weights_of_a_step(decoding.our_model(size, 5)) == 4 * (
        size.layers * layer + V * D + V
    )


@pytest.mark.slow  # compiles every strategy; no part of the package
def test_it_goes_through_and_says_what_it_leaves_out(decoding, monkeypatch, capsys):
    monkeypatch.setattr(
        sys,
        "argv",
        [
            "decoding.py",
            "--size",
            "tiny",
            "--tokens",
            "4",
            "--rounds",
            "1",
            "--batches",
            "1",
            "9",
            "--only",
            "tfsum",
            "uncached",
            "marian",
        ],
    )
    decoding.main()
    lines = capsys.readouterr().out.splitlines()
    facts = [json.loads(line) for line in lines if line.startswith("{")]
    assert [fact["skipped"] for fact in facts if "skipped" in fact] == ["marian"]
    assert [fact["measured"] for fact in facts if "measured" in fact] == [
        {"batch": batch, "beams": beams} for beams in (1, 4) for batch in (1, 9)
    ]
    heads, floor, ours, uncached = lines[-4:]
    assert "greedy, batch 9" in heads and "beam 4, batch 1" in heads
    assert floor.split()[0] == "floor" and ours.split()[2::2] == ["(1.00)"] * 4
    assert uncached.split()[-1] == "-"  # too many rows


def test_the_ratio_is_of_medians(decoding):
    seconds = {("tfsum", 8, 1): [1.0, 2.0, 9.0], ("marian", 8, 1): [4.0, 5.0, 6.0]}
    rows = [line.split() for line in decoding.table(seconds, 10, 0.1).splitlines()]
    assert rows[1:] == [
        ["floor", "80", "(0.50)"],
        ["tfsum", "40", "(1.00)"],
        ["marian", "16", "(2.50)"],
    ]


def test_a_program_that_ends_says_so(decoding):
    with pytest.raises(SystemExit, match=r"decoding_torch.py ended with status 1"):
        decoding.OtherInterpreter(sys.executable, "decoding_torch.py", {})
