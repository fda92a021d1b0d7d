"""The committed table against the library it was read from, and against what both kinds of ops make
of it."""

import unicodedata

import numpy as np
import pytest
import tensorflow as tf

from tfsum.text import core_word_piece, normalizer

SETTINGS = [(True, True), (True, False), (False, False), (False, True)]


def code_points() -> list[str]:
    """All Unicode scalar values."""
    return [chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000]


@pytest.mark.parametrize(
    "character, uncased, cased",
    [
        ("A", "a", None),
        ("É", "e", None),
        ("한", "\u1112\u1161\u11ab", None),
        ("Σ", "σ", None),
        ("ς", None, None),
        ("…", " … ", " … "),
        ("）", " ） ", " ） "),
        ("中", " 中 ", " 中 "),
        ("½", None, None),
        ("\u0e33", None, None),
        ("\0", "", ""),
        ("\ufffd", "", ""),
        ("\uf2f5", "", ""),
        ("\u200d", "", ""),
        ("\v", "", ""),
        ("\x85", "", ""),
        ("\u0301", "", None),
        ("\xa0", " ", " "),
        ("\u2028", " ", " "),
        ("\n", " ", " "),
        ("[", " [ ", " [ "),
        ("ﬁ", "fi", "fi"),
    ],
)
def test_what_characters_turn_into(character, uncased, cased):
    """Cases of text_in_graph's list of deviations; None: it stays."""
    assert normalizer.load_code_point_map(True, True).get(ord(character)) == uncased
    assert normalizer.load_code_point_map(False, False).get(ord(character)) == cased


@pytest.mark.parametrize(
    "setting",
    [SETTINGS[0], *(pytest.param(setting, marks=pytest.mark.slow) for setting in SETTINGS[1:])],
    ids=str,
)
def test_the_table_is_what_tokenizers_does(setting):
    """All 1,112,064 code points; a newer `tokenizers` may know a newer Unicode: then the table
    stays."""
    tokenizers = pytest.importorskip("tokenizers")
    with np.load(normalizer.TABLES) as tables:
        made_with = str(tables["tokenizers_version"])
    if tokenizers.__version__ != made_with:
        pytest.skip(
            f"the tables were made with tokenizers {made_with}, installed is"
            f" {tokenizers.__version__}"
        )
    import make_normalizer_tables as script

    assert script.SETTINGS["uncased"] == SETTINGS[0]
    expected = script.code_point_map(*setting) | normalizer.LIGATURES
    assert normalizer.load_code_point_map(*setting) == expected


@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_both_kinds_of_ops_read_the_same_map(setting):
    """All code points through FastBertNormalize, and through the pages of the core ops."""
    text = pytest.importorskip("tensorflow_text")
    changed = normalizer.load_code_point_map(*setting)
    expected = [changed.get(ord(c), c) for c in code_points()]
    model = tf.constant(normalizer.fast_bert_model(*setting))
    found = (
        text.FastBertNormalizer(model_buffer=model).normalize(tf.constant(code_points())).numpy()
    )
    assert [value.decode() for value in found] == expected
    page_of, pages, pool = core_word_piece._pages(*setting)
    entries = pages.reshape(-1, 256)[page_of].reshape(-1).tolist()
    pool = "".join(map(chr, pool.tolist()))
    found = {c: pool[e // 64 : e // 64 + e % 64] for c, e in enumerate(entries) if e >= 0}
    found |= {
        c: f" {chr(c)} " for c, e in enumerate(entries) if e == core_word_piece._BETWEEN_SPACES
    }
    assert found == changed


def test_ligatures_are_the_plain_letters_of_unicode():
    for point, letters in normalizer.LIGATURES.items():
        assert letters == unicodedata.normalize("NFKC", chr(point))


def test_the_tables_are_small():
    assert normalizer.TABLES.stat().st_size < 200_000
