"""The vocabularies of pairs: learned from the training texts alone, once, or taken from files."""

import pytest

from tfsum.errors import Error
from tfsum.tasks.transformer.settings import DataSettings, TextSettings
from tfsum.tasks.transformer.train import pair_vocabularies
from tfsum.text.word_piece import WordPiece


def vocabularies(corpus, **text):
    """Those of a recipe, whose records are beside the corpus."""
    files = {"train": str(corpus), "validation": str(corpus), "records": str(corpus.parent)}
    return pair_vocabularies(DataSettings(**files, source="1", target="2"), TextSettings(**text))


@pytest.fixture
def corpus(tmp_path):
    path = tmp_path / "pairs.tsv"
    path.write_text(
        "".join(f"a boat at sea {i % 3}\tein Boot auf See {i % 3}\n" for i in range(20))
    )
    return path


def pieces(path):
    return WordPiece.from_file(path, lowercase=False).vocabulary


def test_one_for_both_sides(corpus, tmp_path):
    files = vocabularies(corpus, vocabulary_size=480)
    assert files == (tmp_path / "vocabulary" / "vocab.txt",) * 2
    learned = "".join(pieces(files[0]))
    assert "boat" in learned and "Boot" in learned


def test_one_for_each_side(corpus, tmp_path):
    source, target = vocabularies(corpus, vocabulary_size=480, target_vocabulary_size=470)
    assert [file.name for file in (source, target)] == ["vocab.txt", "target_vocab.txt"]
    assert "boat" in "".join(pieces(source)) and "Boot" not in "".join(pieces(source))
    assert "Boot" in "".join(pieces(target)) and "boat" not in "".join(pieces(target))


def test_learned_once_and_not_mistaken_for_another(corpus, tmp_path):
    file, _ = vocabularies(corpus, vocabulary_size=480)
    file.write_text(file.read_text() + "mine\n")
    vocabularies(corpus, vocabulary_size=480)
    assert pieces(file)[-1] == "mine"
    with pytest.raises(Error, match=r"prepared with other settings: sizes \[480\] \(now \[490\]\)"):
        vocabularies(corpus, vocabulary_size=490)
    corpus.write_text("x\ty\n")
    with pytest.raises(Error, match="prepared with other settings: corpus"):
        vocabularies(corpus, vocabulary_size=480)


def test_files(corpus, tmp_path):
    for name in ("vocab.txt", "fr.txt"):
        (tmp_path / name).write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n")
    assert vocabularies(corpus, vocabulary=str(tmp_path)) == (tmp_path / "vocab.txt",) * 2
    both = {
        "vocabulary": str(tmp_path / "vocab.txt"),
        "target_vocabulary": str(tmp_path / "fr.txt"),
    }
    assert vocabularies(corpus, **both) == (
        tmp_path / "vocab.txt",
        tmp_path / "fr.txt",
    )
    assert not (tmp_path / "vocabulary").exists()


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"vocabulary": "a", "vocabulary_size": 9},
        {"target_vocabulary": "a"},
        {"target_vocabulary_size": 9},
        {"vocabulary": "a", "target_vocabulary_size": 9},
        {"vocabulary_size": 9, "target_vocabulary": "a"},
    ],
)
def test_files_and_sizes_are_not_mixed(corpus, tmp_path, given):
    with pytest.raises(Error, match="expected exactly one of vocabulary and vocabulary_size"):
        vocabularies(corpus, **given)
