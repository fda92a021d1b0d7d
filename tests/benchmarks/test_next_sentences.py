"""benchmarks/next_sentences.py: what it counts, and that its scores and labels are of the same
pairs."""

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

tf = pytest.importorskip("tensorflow")
import next_sentences

from tfsum.models import Bert
from tfsum.tasks.bert_pretraining.batches import SentencePairs
from tfsum.text.word_piece import WordPiece

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b", "c", "d", "e", "f"]


@pytest.fixture
def word_piece(tmp_path):
    (tmp_path / "vocab.txt").write_text("\n".join(WORDS) + "\n")
    return WordPiece.from_file(tmp_path / "vocab.txt")


def pairs_of(*rows):
    """Pairs of (first, second, label)."""
    return SentencePairs(
        np.array([p for first, second, _ in rows for p in (*first, *second)], np.int32),
        np.array([len(first) + len(second) for first, second, _ in rows]),
        np.array([len(first) for first, _, _ in rows]),
        np.array([row[2] for row in rows], np.int32),
    )


@given(
    st.lists(st.tuples(st.integers(-3, 3), st.integers(0, 1)), min_size=2).filter(
        lambda rows: {label for _, label in rows} == {0, 1}
    )
)
def test_area_counts_every_pair_of_a_false_and_a_true_one(rows):
    false, true = ([score for score, label in rows if label == wanted] for wanted in (1, 0))
    wins = [1.0 if f > t else 0.5 if f == t else 0.0 for f in false for t in true]
    scores, labels = np.array(rows).T
    assert next_sentences.area(scores.astype(np.float32), labels) == pytest.approx(
        sum(wins) / len(wins)
    )


def test_rarity_weighs_shared_words_by_how_rare_they_are():
    pairs = pairs_of(([5, 6], [5, 6], 0), ([5, 7], [5, 8], 1), ([5, 9], [10, 9], 0), ([5], [10], 1))
    equal, common, rare, nothing = next_sentences.rarity(pairs, len(WORDS))
    # "a" is in 6 of the 8 segments, "c" and "d" in one each, "e" in 2, "f" in 2; each stands there
    # once
    a, c, e, f = (np.log(8 / n) for n in (6, 1, 2, 2))
    assert equal == pytest.approx(-1) and nothing == pytest.approx(0)
    assert common == pytest.approx(-a * a / (a * a + c * c))
    assert rare == pytest.approx(-e * e / np.sqrt((a * a + e * e) * (f * f + e * e)))


def test_scores_and_labels_are_of_the_same_pairs(word_piece):
    """Batches sort pairs by length; here the label says whether the length is odd, and the score is
    the length."""
    rng = random.Random(0)
    lengths = [(rng.randint(1, 40), rng.randint(1, 40)) for _ in range(300)]
    pairs = pairs_of(
        *([[5] * first, [6] * second, (first + second) % 2] for first, second in lengths)
    )
    assert [len(part) for part in next_sentences.segments(pairs)] == [
        length for row in lengths for length in row
    ]

    def lengths_of(batch, training):
        length = tf.math.count_nonzero(batch["token_ids"], axis=1)
        return {"next_sentence_logits": tf.stack([length - 3, 2 * length - 6], axis=1)}

    scores, labels = next_sentences.answers(lengths_of, pairs, word_piece, 0.15)
    assert sorted(scores) == sorted(map(sum, lengths))
    np.testing.assert_array_equal(labels, scores % 2)


def test_means_are_cosines_of_segments_read_alone(word_piece):
    encoder = Bert(
        vocab_size=len(WORDS),
        hidden_size=8,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=12,
        max_position_embeddings=16,
    )
    encoder.build()
    pairs = pairs_of(([5, 6], [5, 6], 0), ([5], [7, 8, 9], 1))
    same, other = next_sentences.means(pairs, encoder, word_piece)

    def mean(part):
        return np.asarray(encoder(np.array([[2, *part, 3]], np.int32))["sequence_output"])[0].mean(
            0
        )

    a, b = mean([5]), mean([7, 8, 9])
    assert same == pytest.approx(-1, abs=1e-5)
    assert other == pytest.approx(-a @ b / np.sqrt((a @ a) * (b @ b)), abs=1e-5)
