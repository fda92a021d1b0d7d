"""Vocabularies learned from small texts: what is in them, always the same, and that both graphs
read them."""

import json
import random
import sys
import unicodedata

import pytest
import tensorflow as tf

from tfsum.errors import Error
from tfsum.text.escape import PIECES
from tfsum.text.vocabulary import SPECIAL_TOKENS, learn_vocabulary, write_vocabulary
from tfsum.text.word_piece import WordPiece

pytest.importorskip("tokenizers")
TEXTS = [
    "The cats sat on the mats.",
    "Cats, mats and more cats!",
    "the theatre, there they sat",
    "Ça c'était l'été à Noël.",
    "고양이가 앉았다. 고양이!",
    "我喜欢猫。猫也喜欢我。",
] * 3


def test_special_tokens_come_first_and_padding_is_0():
    pieces = learn_vocabulary(TEXTS, 300)
    assert tuple(pieces[:5]) == SPECIAL_TOKENS and len(pieces) == len(set(pieces)) <= 300
    assert tuple(pieces[5 : 5 + len(PIECES)]) == PIECES
    assert {"▁cats", "▁the", "##고", "##é", "我", ".", "'", "▁고양이"} <= set(pieces)
    # words begin with a mark, and these are words
    assert not {"c", "고", "##我", "##."} & set(pieces)


def test_a_plain_vocabulary_is_berts():
    pieces = learn_vocabulary(TEXTS, 300, reversible=False, lowercase=True)
    assert tuple(pieces[:5]) == SPECIAL_TOKENS and not set(PIECES) & set(pieces)
    assert {"the", "cats", "c", "##c", "我", "ete"} <= set(pieces) and "é" not in pieces
    assert not WordPiece(pieces, ops="core").reversible


def test_the_same_texts_give_the_same_pieces_in_any_process(bare_python):
    code = (
        "import json; from tfsum.text.vocabulary import learn_vocabulary; "
        f"print(json.dumps(learn_vocabulary({TEXTS!r}, 280)))"
    )
    here = learn_vocabulary(TEXTS, 280)
    assert json.loads(bare_python(code)) == here == learn_vocabulary(TEXTS, 280)


def test_decomposed_texts_give_the_same_pieces():
    decomposed = [unicodedata.normalize("NFD", text) for text in TEXTS]
    assert learn_vocabulary(decomposed, 300) == learn_vocabulary(TEXTS, 300)


@pytest.mark.parametrize("reversible", [True, False])
@pytest.mark.parametrize("lowercase", [True, False])
def test_no_word_of_the_texts_is_unknown(reversible, lowercase):
    pieces = learn_vocabulary(TEXTS, 400, reversible=reversible, lowercase=lowercase)
    shuffled = ["".join(random.Random(text).sample(text, len(text))) for text in TEXTS]
    texts = tf.constant([unicodedata.normalize("NFC", text) for text in TEXTS + shuffled])
    both = [
        WordPiece(pieces, lowercase=lowercase, ops=ops).tokenize(texts).to_list()
        for ops in ("text", "core")
    ]
    assert both[0] == both[1] and not any(1 in ids for ids in both[0])


def test_rare_characters_are_bytes_or_unknown():
    texts = [*TEXTS * 40, "龘"]  # one character of more than 2,000
    for reversible in (True, False):
        pieces = learn_vocabulary(texts, 400, reversible=reversible)
        ids = WordPiece(pieces, lowercase=False, ops="core").tokenize(["龘"]).to_list()[0]
        assert [pieces[i] for i in ids] == (["⣩", "⢾", "⢘"] if reversible else ["[UNK]"])
    assert "龘" in learn_vocabulary([*TEXTS, "龘"], 400)


def test_files_are_written_whole(tmp_path):
    pieces = learn_vocabulary(TEXTS, 260)
    write_vocabulary(pieces, tmp_path / "vocab.txt")
    assert (
        WordPiece.from_file(tmp_path / "vocab.txt", lowercase=False, ops="core").vocabulary
        == pieces
    )
    assert [path.name for path in tmp_path.iterdir()] == ["vocab.txt"]
    write_vocabulary(pieces, tmp_path / "new" / "folder" / "vocab.txt")
    assert (tmp_path / "new" / "folder" / "vocab.txt").is_file()


@pytest.mark.parametrize(
    ("texts", "options", "message"),
    [
        ([], {}, "found no text in the corpus"),
        (["", " \n"], {}, "found no text in the corpus"),
        (iter(TEXTS), {}, "can be read only once"),
        (
            TEXTS,
            {"size": 100},
            r"size is 100, and special tokens and the alphabet alone are \d+ pieces; take",
        ),
    ],
)
def test_what_cannot_be_is_named(texts, options, message):
    with pytest.raises(Error, match=message):
        learn_vocabulary(texts, **{"size": 300, **options})


def test_without_the_library_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(Error, match=r"needs the package tokenizers; pip install 'tfsum\[vocab\]'"):
        learn_vocabulary(TEXTS, 300)
