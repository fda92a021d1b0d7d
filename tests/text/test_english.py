"""Which texts are English, on documents of several languages."""

import gzip
import itertools
import json

import pytest
import tensorflow as tf

from tfsum.text.english import is_english


def share(path, characters: int) -> float:
    """The share of the first documents of a file whose beginning is English."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line)["text"] for line in itertools.islice(lines, 100)]
    texts = [[(row if isinstance(row, str) else " ".join(row))[:characters]] for row in rows]
    return float(is_english(tf.ragged.constant(texts)).numpy().mean())


@pytest.mark.reference
@pytest.mark.parametrize(
    "file", ["cnndm/validation", "free_docs/validation", "openstax/validation"]
)
def test_english(shared, file):
    path = shared / f"data/{file}.jsonl.gz"
    assert share(path, 1000) >= 0.97 and share(path, 5000) >= 0.99


@pytest.mark.reference
@pytest.mark.parametrize(
    "file", ["openstax/train_es", "openstax/train_pl", "orangesum_fr/valid", "ko_press/all"]
)
def test_other_languages(shared, file):
    path = shared / f"data/{file}.jsonl.gz"
    assert share(path, 200) <= 0.02 and share(path, 1000) == 0.0


def test_a_text_without_words():
    texts = tf.ragged.constant([["", "42 + 7"], [], ["The ship of the line sank."]], tf.string)
    assert is_english(texts).numpy().tolist() == [False, False, True]
