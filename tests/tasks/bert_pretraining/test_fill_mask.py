"""Guesses of masked words: against the model's own logits, in every script, and what cannot be
guessed."""

import json
import pathlib
import shutil
import warnings

import numpy as np
import pytest

from tfsum.errors import CheckpointError, Error
from tfsum.models import Bert, BertForPretraining
from tfsum.tasks.bert_pretraining.fill_mask import fill_mask, masked_ids
from tfsum.text.escape import PIECES
from tfsum.text.word_piece import WordPiece

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
LETTERS = "나는밥을먹었다"
PLAIN = [
    *SPECIAL,
    *"thecasomun.",
    *LETTERS,
    *(f"##{c}" for c in f"thecasomun{LETTERS}"),
    "the",
    "cat",
    "sat",
    "나는",
]
REVERSIBLE = [
    *SPECIAL,
    *map(chr, range(33, 127)),
    *LETTERS,
    *(f"##{c}" for c in LETTERS),
    *(f"##{chr(c)}" for c in (*range(65, 91), *range(97, 123), *range(48, 58))),
    *PIECES,
    *(f"##{p}" for p in PIECES),
    "▁밥",
    "⌣을",
]
SIZES = {
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 24,
    "max_position_embeddings": 24,
    "initializer_range": 0.4,
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("masked")
    BertForPretraining({**SIZES, "vocab_size": len(PLAIN)}).save_pretrained(
        place, PLAIN, {"text": {"lowercase": False, "strip_accents": None}}
    )
    return place


def test_the_likeliest_pieces_of_every_mask(folder):
    guesses = fill_mask("the [MASK] sat [MASK].", folder, k=len(PLAIN))
    ids = [
        PLAIN.index(piece) for piece in ("[CLS]", "the", "[MASK]", "sat", "[MASK]", ".", "[SEP]")
    ]
    model = BertForPretraining.from_pretrained(folder)
    logits = np.asarray(model({"token_ids": np.array([ids])})["masked_lm_logits"])[
        0, [2, 4]
    ].astype(np.float64)
    expected = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
    assert len(guesses) == 2
    for found, row in zip(guesses, expected, strict=True):
        assert sum(guess.probability for guess in found) == pytest.approx(1.0, abs=1e-5)
        assert sorted(found, key=lambda guess: -guess.probability) == found
        for guess in found:
            assert guess.probability == pytest.approx(row[PLAIN.index(guess.token)], abs=1e-5)
    again = fill_mask("the [MASK] sat [MASK].", model, 3, WordPiece(PLAIN, lowercase=False))
    assert [[g.token for g in row] for row in again] == [
        [g.token for g in row[:3]] for row in guesses
    ]


def test_korean(folder):
    (guesses,) = fill_mask("나는 [MASK] 먹었다", folder)
    assert len(guesses) == 5 and {guess.token for guess in guesses} <= set(PLAIN)


@pytest.mark.parametrize(
    ("whole", "parts", "piece"),
    [
        ("나는 밥", ["나는 ", ""], "▁밥"),
        ("밥 나는", ["", " 나는"], "▁밥"),
        ("나는 밥 먹었다.", ["나는 ", " 먹었다."], "▁밥"),
        ("나는 밥을", ["나는 밥", ""], "##을"),
    ],
)
def test_a_mask_stands_where_the_piece_stood(whole, parts, piece):
    """Of a vocabulary whose pieces know the spaces before them."""
    word_piece = WordPiece(REVERSIBLE, lowercase=False)
    assert word_piece.reversible
    ids = word_piece.encode([whole]).to_list()[0]
    ids[ids.index(REVERSIBLE.index(piece))] = word_piece.mask_id
    assert masked_ids(parts, word_piece) == ids


@pytest.mark.parametrize(
    ("text", "k", "says"),
    [
        ("no mask", 5, r"'no mask' has no \[MASK\]"),
        ("[mask]", 5, r"has no \[MASK\]"),
        ("a [MASK]", 0, "k is 0; expected a whole number from 1 to"),
        ("a [MASK]", 10**6, "k is 1000000"),
        (["a [MASK]"], 5, "is list; expected str"),
        (None, 5, "is NoneType; expected str"),
        (
            "the " * 30 + "[MASK]",
            5,
            "fill_mask: 33 tokens in a row, and the model has positions for 24",
        ),
    ],
)
def test_what_cannot_be_asked(folder, text, k, says):
    with pytest.raises(Error, match=says):
        fill_mask(text, folder, k)


def test_models_that_cannot_guess(tmp_path, folder):
    Bert(**SIZES, vocab_size=len(PLAIN)).save_pretrained(tmp_path / "encoder")
    shutil.copyfile(folder / "vocab.txt", tmp_path / "encoder" / "vocab.txt")
    with pytest.raises(
        CheckpointError, match=r"has no masked-language-model head \(cls.predictions\)"
    ):
        fill_mask("a [MASK]", tmp_path / "encoder")
    model = BertForPretraining.from_pretrained(folder)
    with pytest.raises(Error, match="needs its tokenizer"):
        fill_mask("a [MASK]", model)
    with pytest.raises(CheckpointError, match=r"the vocabulary has no \[MASK\]"):
        fill_mask(
            "a [MASK]", model, word_piece=WordPiece([word for word in PLAIN if word != "[MASK]"])
        )


def test_a_model_of_masked_words_alone_has_no_pooler_and_needs_none(tmp_path, folder):
    from safetensors.numpy import load_file, save_file

    place = pathlib.Path(shutil.copytree(folder, tmp_path / "alone"))
    kept = {
        name: value
        for name, value in load_file(place / "model.safetensors").items()
        if "pooler" not in name and "seq_relationship" not in name
    }
    save_file(kept, place / "model.safetensors")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert fill_mask("the [MASK]", place, 1) == fill_mask("the [MASK]", folder, 1)


def test_a_vocabulary_in_tokenizer_json(tmp_path, folder):
    """As transformers 5 saves it: the pieces in any order, the case in the normalizer."""
    place = pathlib.Path(shutil.copytree(folder, tmp_path / "newer"))
    (place / "vocab.txt").unlink()
    (place / "tfsum.json").unlink()
    with pytest.raises(
        CheckpointError, match="vocab.txt: cannot read the vocabulary .* tokenizer.json of a Word"
    ):
        fill_mask("the [MASK]", place)
    vocabulary = {piece: i for i, piece in reversed([*enumerate(PLAIN)])}
    content = {
        "added_tokens": [{"id": i, "content": piece} for i, piece in enumerate(SPECIAL)],
        "normalizer": {"type": "BertNormalizer", "strip_accents": None, "lowercase": False},
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "vocab": vocabulary},
    }
    (place / "tokenizer.json").write_text(json.dumps(content))
    assert fill_mask("나는 [MASK].", place) == fill_mask("나는 [MASK].", folder)
