"""NFKC against Python's own, and WordPiece with it against Hugging Face's tokenizer."""

import unicodedata

import hypothesis
import pytest
import tensorflow as tf
from hypothesis import strategies as st

from tfsum.text.nfkc import MARK, Nfkc
from tfsum.text.word_piece import WordPiece

PIECES = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    MARK,
    "T",
    "##o",
    "fi",
    "##ne",
    "1",
    "カ",
    "ガ",
    "##ก",
]


@pytest.fixture(scope="module")
def normalize():
    nfkc = tf.function(Nfkc(), input_signature=[tf.TensorSpec([None], tf.string)], autograph=False)
    return lambda texts: [text.decode() for text in nfkc(tf.constant(texts, tf.string)).numpy()]


def test_every_character(normalize):
    characters = [chr(point) for point in range(0x110000) if not 0xD800 <= point < 0xE000]
    assert normalize(characters) == [unicodedata.normalize("NFKC", c) for c in characters]


@hypothesis.given(st.lists(st.text(st.characters(exclude_categories=["Cs", "Mn"])), max_size=5))
def test_texts_decomposed_and_not(normalize, texts):
    expected = [unicodedata.normalize("NFKC", text) for text in texts]
    decomposed = [unicodedata.normalize("NFD", text) for text in texts]
    assert [normalize(texts), normalize(decomposed)] == [expected, expected]


@pytest.mark.parametrize("ops", ["text", "core"])
def test_a_vocabulary_says_that_its_texts_are_normalized(ops):
    tokenizers = pytest.importorskip("tokenizers")
    theirs = tokenizers.Tokenizer(
        tokenizers.models.WordPiece(vocab={p: i for i, p in enumerate(PIECES)}, unk_token="[UNK]")
    )
    bert = tokenizers.normalizers.BertNormalizer(lowercase=False, strip_accents=False)
    theirs.normalizer = tokenizers.normalizers.Sequence([tokenizers.normalizers.NFKC(), bert])
    theirs.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()

    texts = ["Ｔo ﬁne①", "ｶﾞ ｶ", "カ\u3099", "①ne", "", "x"]
    ours = WordPiece(PIECES, lowercase=False, ops=ops)
    assert ours.tokenize(texts).to_list() == [theirs.encode(text).ids for text in texts]
    without = WordPiece([piece for piece in PIECES if piece != MARK], lowercase=False, ops=ops)
    assert without.tokenize(["Ｔo"]).to_list() == [[without.unk_id]]


def test_a_run_of_letters_is_read_by_its_pieces():
    """Thai has no spaces, and a word of over a hundred characters is unknown."""
    word_piece = WordPiece([*PIECES, "ก"], lowercase=False)
    part = [len(PIECES)] + [PIECES.index("##ก")] * 99
    assert word_piece.tokenize(["ก" * 250]).to_list() == [part + part + part[:50]]
