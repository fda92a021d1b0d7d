"""Composition against Python's own NFC."""

import functools
import unicodedata

import hypothesis
import tensorflow as tf
from hypothesis import strategies as st

from tfsum.text.compose import Compose, canonical_pairs


@functools.cache
def graph():
    compose = Compose()

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string)], autograph=False)
    def function(texts):
        decoded = tf.strings.unicode_decode(texts, "UTF-8")
        return compose(decoded.flat_values, decoded.value_rowids())

    return function


def composed(texts: list[str]) -> list[str]:
    codes, row = graph()(tf.constant(texts, tf.string))
    rows = [""] * len(texts)
    for code, number in zip(codes.numpy().tolist(), row.numpy().tolist(), strict=True):
        rows[number] += chr(code)
    return rows


def test_every_character_of_nfc_is_composed_from_its_parts():
    kept = [
        chr(c)
        for c in range(0x110000)
        if not 0xD800 <= c < 0xE000 and unicodedata.is_normalized("NFC", chr(c))
    ]
    assert composed([unicodedata.normalize("NFD", character) for character in kept]) == kept
    assert len(canonical_pairs()) > 11_172 + 900


ANY = st.characters(exclude_categories=["Cs"])
MARKED = st.sampled_from("aeouAEiнι한국어각가ệǻ\u0301\u0302\u0308\u0323\u1161\u11a8\u1100 .")


@hypothesis.given(st.lists(st.text(st.one_of(MARKED, ANY), max_size=12), max_size=5))
def test_nfc_stays_and_texts_do_not_touch_each_other(texts):
    texts = [unicodedata.normalize("NFC", text) for text in texts]
    assert composed(texts) == texts
    # What the parts of NFC lack for NFC is canonical equivalence, never another text.
    apart = [unicodedata.normalize("NFD", text) for text in texts]
    assert [unicodedata.normalize("NFC", text) for text in composed(apart)] == texts
    assert composed(["e", "\u0301"]) == ["e", "\u0301"]
