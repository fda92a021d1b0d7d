"""The vocabularies of pairs: learned from the training texts alone, once, or taken from files."""

import pytest

from tfsum.errors import Error
from tfsum.tasks.transformer.vocabularies import pair_vocabularies
from tfsum.text.word_piece import WordPiece

COLUMNS = {"source": "1", "target": "2"}


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
    files = pair_vocabularies(corpus, tmp_path / "v", vocabulary_size=480, **COLUMNS)
    assert files == (tmp_path / "v" / "vocab.txt",) * 2
    learned = "".join(pieces(files[0]))
    assert "boat" in learned and "Boot" in learned


def test_one_for_each_side(corpus, tmp_path):
    source, target = pair_vocabularies(
        corpus, tmp_path / "v", vocabulary_size=480, target_vocabulary_size=470, **COLUMNS
    )
    assert [file.name for file in (source, target)] == ["vocab.txt", "target_vocab.txt"]
    assert "boat" in "".join(pieces(source)) and "Boot" not in "".join(pieces(source))
    assert "Boot" in "".join(pieces(target)) and "boat" not in "".join(pieces(target))


def test_learned_once_and_not_mistaken_for_another(corpus, tmp_path):
    file, _ = pair_vocabularies(corpus, tmp_path / "v", vocabulary_size=480, **COLUMNS)
    file.write_text(file.read_text() + "mine\n")
    pair_vocabularies(corpus, tmp_path / "v", vocabulary_size=480, **COLUMNS)
    assert pieces(file)[-1] == "mine"
    with pytest.raises(Error, match=r"prepared with other settings: sizes \[480\] \(now \[490\]\)"):
        pair_vocabularies(corpus, tmp_path / "v", vocabulary_size=490, **COLUMNS)
    corpus.write_text("x\ty\n")
    with pytest.raises(Error, match="prepared with other settings: corpus"):
        pair_vocabularies(corpus, tmp_path / "v", vocabulary_size=480, **COLUMNS)


def test_files(corpus, tmp_path):
    for name in ("vocab.txt", "fr.txt"):
        (tmp_path / name).write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n")
    assert (
        pair_vocabularies(corpus, tmp_path / "v", vocabulary=str(tmp_path))
        == (tmp_path / "vocab.txt",) * 2
    )
    both = {
        "vocabulary": str(tmp_path / "vocab.txt"),
        "target_vocabulary": str(tmp_path / "fr.txt"),
    }
    assert pair_vocabularies(corpus, tmp_path / "v", **both) == (
        tmp_path / "vocab.txt",
        tmp_path / "fr.txt",
    )
    assert not (tmp_path / "v").exists()


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
        pair_vocabularies(corpus, tmp_path / "v", **given)
