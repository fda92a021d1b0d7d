"""Case and accents, told by a folder's files or by its vocabulary."""

import json

import pytest

from tfsum.conversion import text_settings
from tfsum.conversion.text_settings import google_keys, looks_uncased, read_text_settings
from tfsum.errors import CheckpointError

UNCASED, CASED = "[PAD]\n[UNK]\nthe\n##s\n한\n", "[PAD]\n[UNK]\nthe\nThe\n"


@pytest.mark.parametrize(("vocabulary", "uncased"), [(UNCASED, True), (CASED, False), ("[PAD]\n##É\n", False),
                                                     ("[PAD]\n[unused1]\nß\n東\n", True)])
def test_a_capital_is_a_sign_of_case(tmp_path, vocabulary, uncased):
    (tmp_path / "vocab.txt").write_text(vocabulary, encoding="utf-8")
    assert looks_uncased(tmp_path / "vocab.txt") is uncased
    assert read_text_settings(tmp_path) == {"lowercase": uncased, "strip_accents": None}


def test_files_that_say_it_come_first(tmp_path):
    (tmp_path / "vocab.txt").write_text(UNCASED, encoding="utf-8")
    written = {"lowercase": False, "strip_accents": True}
    (tmp_path / "bert_config.json").write_text(json.dumps(google_keys(written, tmp_path / "vocab.txt")))
    assert read_text_settings(tmp_path) == written
    written = {"lowercase": True, "strip_accents": False}
    (tmp_path / "tokenizer_config.json").write_text(text_settings.tokenizer_config(written))
    assert read_text_settings(tmp_path) == written
    written = {"lowercase": False, "strip_accents": None}
    (tmp_path / "tfsum.json").write_text(text_settings.tfsum_json(written))
    assert read_text_settings(tmp_path) == written


def test_google_is_told_only_what_the_vocabulary_does_not(tmp_path):
    path = tmp_path / "vocab.txt"
    path.write_text(UNCASED, encoding="utf-8")
    assert google_keys({"lowercase": True, "strip_accents": None}, path) == {}
    assert google_keys({"lowercase": True, "strip_accents": True}, path) == {}
    kept = {"lowercase": True, "strip_accents": False}
    assert google_keys(kept, path) == {"do_lower_case": True, "strip_accents": False}


def test_text_settings_that_are_none(tmp_path):
    (tmp_path / "tfsum.json").write_text('{"text": 3}')
    with pytest.raises(CheckpointError, match='tfsum.json: "text" is 3; expected an object'):
        read_text_settings(tmp_path)


def test_tokenizer_json_says_it_by_its_normalizer(tmp_path):
    (tmp_path / "vocab.txt").write_text(UNCASED, encoding="utf-8")
    written = {"lowercase": False, "strip_accents": None}
    for normalizer, expected in (({"type": "BertNormalizer", **written}, written),
                                 (None, {"lowercase": True, "strip_accents": None})):
        (tmp_path / "tokenizer.json").write_text(json.dumps({"normalizer": normalizer}))
        assert read_text_settings(tmp_path) == expected
