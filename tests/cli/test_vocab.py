"""The verb `vocab`: its words, the files it reads, and what it writes."""

import inspect
import pathlib

import pytest

import tfsum
import tfsum.cli.vocab as verb
import tfsum.text.vocabulary as library
from tfsum.cli.main import main
from tfsum.cli.options import Parser, add_options
from tfsum.data.readers import RereadTexts, read_texts

PARAMETERS = set(inspect.signature(library.learn_vocabulary).parameters)


@pytest.fixture
def corpora(tmp_path):
    """A table without a header line, and lines of text."""
    (tmp_path / "a.tsv").write_text('The "cat"\tLe « chat »\nA dog\tUn chien\n', encoding="utf-8")
    (tmp_path / "b.en").write_text("The mat\nA b\n", encoding="utf-8")
    return [str(tmp_path / "a.tsv"), str(tmp_path / "b.en")]


@pytest.fixture
def called(monkeypatch):
    """The calls of the library."""
    calls = []

    def learn_vocabulary(texts, size, **options):
        calls.append((list(texts), size, options))
        return ["[PAD]", "a"]

    monkeypatch.setattr(library, "learn_vocabulary", learn_vocabulary)
    monkeypatch.setattr(verb, "load_tensorflow", lambda: None)
    return calls


def test_files_of_both_kinds_are_read_and_the_file_is_written(called, corpora, tmp_path, capsys):
    out = tmp_path / "vocab.txt"
    assert main(["vocab", *corpora, "--columns", "1,2", "-o", str(out)]) == 0
    texts = ['The "cat"', "Le « chat »", "A dog", "Un chien", "The mat", "A b"]
    assert called == [(texts, 8000, {})]
    assert (
        out.read_text() == "[PAD]\na\n"
        and capsys.readouterr().out == f"{out}: 2 pieces; the texts hold no 8000\n"
    )


def test_options_keep_their_names_and_types(called, corpora, tmp_path):
    words = "--size 99 --lowercase --keep-accents --plain"
    assert main(["vocab", corpora[1], "-o", str(tmp_path / "v.txt"), *words.split()]) == 0
    assert called[0][1:] == (
        99,
        {
            "lowercase": True,
            "strip_accents": False,
            "reversible": False,
        },
    )


def test_every_option_is_an_argument_of_the_function():
    parser = Parser()
    add_options(parser, verb.OPTIONS)
    names = {action.dest for action in parser._actions}
    assert names - {"help", "corpus", "columns", "output"} <= PARAMETERS


def test_wrong_calls(called, corpora, capsys):
    assert main(["vocab", "absent.txt", "-o", "v.txt"]) == 2
    assert "no such file or folder: absent.txt" in capsys.readouterr().err
    assert main(["vocab", str(pathlib.Path(corpora[0]).parent), "-o", "v.txt"]) == 2
    assert "a folder, expected a file" in capsys.readouterr().err
    assert main(["vocab", corpora[0], "-o", "v.txt"]) == 1  # this table has no column "text"
    assert "field 'text': found fields The \"cat\", Le « chat »" in capsys.readouterr().err
    assert main(["vocab", corpora[1], "--cased", "--lowercase", "-o", "v.txt"]) == 2


def test_a_file_that_is_there_stays(called, corpora, tmp_path, capsys):
    out = tmp_path / "vocab.txt"
    out.write_text("of a trained model\n")
    assert main(["vocab", corpora[1], "-o", str(out)]) == 2
    assert f"{out}: already exists" in capsys.readouterr().err
    assert out.read_text() == "of a trained model\n" and not called


def test_texts_are_read_again_with_each_loop(corpora):
    texts = RereadTexts(lambda: read_texts(corpora, ["2"]))
    assert list(texts) == list(texts) == ["Le « chat »", "Un chien", "The mat", "A b"]


def test_the_case_of_a_vocabulary_is_written_beside_it(corpora, tmp_path):
    """What the tokenizer reads again: a cased one keeps capitals and accents."""
    for options, text, expected in (
        ([], "Le Chat très", "Le Chat très"),
        (["--lowercase"], "Le Chat très", "le chat tres"),
        (["--cased", "--strip-accents"], "Le Chat très", "Le Chat tres"),
    ):
        path = tmp_path / str(len(options)) / "vocab.txt"
        assert main(["vocab", corpora[1], *options, "-o", str(path)]) == 0
        word_piece = tfsum.WordPiece.from_file(path)
        detokenizer = tfsum.Detokenizer(word_piece.vocabulary)
        written = detokenizer.detokenize(word_piece.tokenize([text])).numpy()[0].decode()
        assert written == expected


def test_the_settings_of_another_vocabulary_are_not_overwritten(called, corpora, tmp_path, capsys):
    call = ["vocab", corpora[1]]
    assert main([*call, "--cased", "-o", str(tmp_path / "a.txt")]) == 0
    assert main([*call, "-o", str(tmp_path / "b.txt")]) == 0  # the same settings
    assert main([*call, "--lowercase", "-o", str(tmp_path / "c.txt")]) == 2
    assert "tokenizer_config.json: holds the settings of another vocabulary" in (
        capsys.readouterr().err
    )
    assert not (tmp_path / "c.txt").exists()
