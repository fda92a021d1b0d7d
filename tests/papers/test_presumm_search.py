"""PreSumm's search against what the original PreSumm returned."""

import json

import numpy as np
import pytest
from cases import first_by_default

from tfsum.cli.export import take_search
from tfsum.decoding import named_strategy
from tfsum.errors import Error
from tfsum.papers.checkpoint_reader import read_bertsum
from tfsum.papers.presumm_search import PreSummBeamSearch, word_hashes

SETTINGS = ("beam_size", "alpha", "block_trigram", "min_length", "max_length")


@pytest.fixture(scope="module")
def model(shared):
    parity = shared / "parity"
    return read_bertsum(
        parity / "presumm_abs_step0.pt",
        json.loads((parity / "bert_config_tiny48.json").read_text()),
    )[0]


@pytest.mark.reference
@pytest.mark.parametrize("limit", first_by_default([1, None]), ids=["one search", "every search"])
def test_the_ids_and_scores_of_the_original(shared, model, limit):
    stored = json.loads((shared / "parity" / "presumm_abs_decode.json").read_text())
    vocabulary = tuple((shared / "parity" / "vocab_tiny48.txt").read_text().splitlines())
    compared = 0
    searches = {tuple(result[name] for name in SETTINGS) for result in stored["results"]}
    for settings in sorted(searches, reverse=True)[:limit]:
        beams, alpha, block, shortest, longest = settings
        search = PreSummBeamSearch(
            beams,
            length_penalty=alpha,
            min_length=shortest + 1,
            no_repeat_ngram=3 if block else 0,
            vocabulary=vocabulary,
        )
        results = [r for r in stored["results"] if tuple(r[name] for name in SETTINGS) == settings]
        sources = [stored["sources"][result["source"]] for result in results]
        width = max(len(source["src"]) for source in sources)
        rows = {
            name: np.array([source[file] + [0] * (width - len(source[file])) for source in sources])
            for name, file in (("source_ids", "src"), ("segment_ids", "segs"))
        }
        ids, log_probability, lengths = model.generate(rows, search, longest)
        for i, result in enumerate(results):
            if result["ambiguous"]:
                continue
            assert ids[i, 0, : lengths[i, 0]].tolist() == result["ids"], result
            score = log_probability[i, 0] / ((5 + lengths[i, 0]) / 6) ** alpha
            assert score == pytest.approx(result["score"], abs=1e-5)
            compared += 1
    assert compared == (12 if limit else 79)


def test_hashes_of_words_do_not_depend_on_their_pieces():
    words = ["[unused0]", "play", "##ing", "playing", "##yi", "##ng", "pla", "er"]
    hashes = word_hashes(words)
    with np.errstate(over="ignore"):
        cut = hashes.piece[6].copy()
        for piece in (4, 5):
            cut = cut * hashes.factor[piece] + hashes.piece[piece]
    np.testing.assert_array_equal(cut, hashes.piece[3])
    assert len({tuple(row) for row in hashes.piece[[0, 1, 3, 6, 7]].tolist()}) == 5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_best": 2}, "'presumm_beam' has no option n_best; it has min_length,"),
        ({"normalization": "length"}, "'presumm_beam' has no option normalization"),
        ({"no_repeat_ngram": 2}, "no_repeat_ngram is 2; PreSumm's search has 0 or 3"),
        ({"width": 0}, "PreSummBeamSearch: width=0"),
        ({"length_penalty": 11}, "PreSummBeamSearch: length_penalty=11"),
    ],
)
def test_what_the_original_does_not_have_is_refused(options, message):
    with pytest.raises(Error, match=message):
        named_strategy("presumm_beam", **options)


def test_trigrams_of_words_need_the_vocabulary():
    with pytest.raises(Error, match="no_repeat_ngram is 3, and there is no vocabulary"):
        PreSummBeamSearch(no_repeat_ngram=3)(None, [[4]], 5)


def test_the_command_line_s_legacy_is_this_search():
    assert take_search({"legacy": True, "width": 5}) == {"strategy": PreSummBeamSearch(width=5)}
    with pytest.raises(Error, match="search is 'presumm_greedy'; known are greedy, beam"):
        take_search({"legacy": True, "search": "greedy"})
