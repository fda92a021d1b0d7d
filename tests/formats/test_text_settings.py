"""Case and accents, told by a folder's files or by its vocabulary."""

import json

import pytest
from tokenizers import normalizers

from tfsum.errors import CheckpointError
from tfsum.formats import text_settings
from tfsum.formats.text_settings import google_keys, read_text_settings

UNCASED, CASED = "[PAD]\n[UNK]\nthe\n##s\n東\n", "[PAD]\n[UNK]\nthe\nThe\n"


@pytest.mark.parametrize(
    ("vocabulary", "lowercase", "strip_accents"),
    [
        (UNCASED, True, None),
        (CASED, False, None),
        ("[PAD]\n##É\n", False, None),
        ("[PAD]\n[unused1]\nß\n東\n", True, None),
        ("[PAD]\nthe\n##é\n", True, False),
        ("[PAD]\nthe\n한\n", True, False),
    ],
)
def test_a_capital_is_a_sign_of_case_and_an_accent_of_accents(
    tmp_path, vocabulary, lowercase, strip_accents
):
    """What the tokenizers of that setting could never give: proven by tokenizers' own
    normalizer."""
    (tmp_path / "vocab.txt").write_text(vocabulary, encoding="utf-8")
    told = {"lowercase": lowercase, "strip_accents": strip_accents}
    assert read_text_settings(tmp_path) == read_text_settings(tmp_path / "vocab.txt") == told
    pieces = [piece for piece in vocabulary.split() if not piece.startswith("[")]
    same = [
        normalizers.BertNormalizer(handle_chinese_chars=False, **told).normalize_str(piece)
        for piece in pieces
    ]
    assert same == pieces


def test_files_that_say_it_come_first(tmp_path):
    (tmp_path / "vocab.txt").write_text(UNCASED, encoding="utf-8")
    written = {"lowercase": False, "strip_accents": True}
    (tmp_path / "bert_config.json").write_text(
        json.dumps(google_keys(written, tmp_path / "vocab.txt"))
    )
    assert read_text_settings(tmp_path) == written
    written = {"lowercase": True, "strip_accents": False}
    (tmp_path / "tokenizer_config.json").write_text(text_settings.tokenizer_config(written))
    assert read_text_settings(tmp_path) == written
    written = {"lowercase": False, "strip_accents": None}
    (tmp_path / "tfsum.json").write_text(json.dumps({"text": written}))
    assert read_text_settings(tmp_path) == written


def test_google_is_told_only_what_the_vocabulary_does_not(tmp_path):
    path = tmp_path / "vocab.txt"
    path.write_text(UNCASED, encoding="utf-8")
    assert google_keys({"lowercase": True, "strip_accents": None}, path) == {}
    assert google_keys({"lowercase": True, "strip_accents": True}, path) == {}
    kept = {"lowercase": True, "strip_accents": False}
    assert google_keys(kept, path) == {"do_lower_case": True, "strip_accents": False}


@pytest.mark.parametrize(
    ("said", "what"),
    [
        ('"lowercase": "yes"', "lowercase is 'yes'"),
        ('"lowercase": true, "strip_accents": 1', "strip_accents is 1"),
    ],
)
def test_settings_are_true_or_false(tmp_path, said, what):
    (tmp_path / "tfsum.json").write_text('{"text": {' + said + "}}")
    with pytest.raises(
        CheckpointError, match=f"tfsum.json: {what}; expected true, false or nothing"
    ):
        read_text_settings(tmp_path)


def test_text_settings_that_are_none(tmp_path):
    (tmp_path / "tfsum.json").write_text('{"text": 3}')
    with pytest.raises(CheckpointError, match='tfsum.json: "text" is 3; expected an object'):
        read_text_settings(tmp_path)


def test_tokenizer_json_says_it_by_its_normalizer(tmp_path):
    (tmp_path / "vocab.txt").write_text(UNCASED, encoding="utf-8")
    written = {"lowercase": False, "strip_accents": None}
    for normalizer, expected in (
        ({"type": "BertNormalizer", **written}, written),
        (None, {"lowercase": True, "strip_accents": None}),
    ):
        (tmp_path / "tokenizer.json").write_text(json.dumps({"normalizer": normalizer}))
        assert read_text_settings(tmp_path) == expected
