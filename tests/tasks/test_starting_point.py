"""An encoder that knows few of the words of its training texts is told of."""

import pytest

from tfsum.tasks.starting_point import warn_of_unknown_words
from tfsum.text.word_piece import WordPiece

ENGLISH = "the rain fell on the bridge all night and the town was quiet"
LETTERS = [chr(code) for code in (*range(0x1100, 0x1113), *range(0x1161, 0x1176))]
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", ".", *dict.fromkeys(ENGLISH.split()), *LETTERS]


@pytest.mark.parametrize(
    "text, share",
    [
        (f"The rain fell all night. {ENGLISH}.", None),
        ("정부는 목요일 새 법안을 발표했다. 야당은 비판했다.", "0%"),
        ("the gouvernement a annoncé on the new projet de loi", "30%"),
        ("...", None),
    ],
)
def test_few_words_are_known(capsys, text, share):
    word_piece = WordPiece(WORDS, lowercase=True)
    warn_of_unknown_words(word_piece.tokenize([text]).flat_values.numpy(), word_piece)
    lines = capsys.readouterr().err.splitlines()
    if share is None:
        assert not lines
    else:
        (line,) = lines
        assert line.startswith(f"warning: only {share} of the words of the training texts are in")
        assert line.endswith("take an encoder of that language")
