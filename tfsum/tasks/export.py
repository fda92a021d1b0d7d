"""What the exports of all tasks read from a model folder."""

import pathlib

from tfsum.errors import ExportError
from tfsum.text.word_piece import WordPiece


def read_word_piece(source: pathlib.Path, text: dict, ops: str, rows: int) -> WordPiece:
    """Reads the tokenizer of a model folder.

    Args:
        source: The model folder.
        text: Text settings.
        ops: Operations of the tokenizer, "core" or "text".
        rows: Rows of the model's embedding table.

    Raises:
        ExportError: The vocabulary has more pieces than the table has rows.
    """
    file = source / "vocab.txt"
    case = {name: text[name] for name in ("lowercase", "strip_accents")}
    word_piece = WordPiece.from_file(file, ops=ops, **case)
    if len(word_piece.vocabulary) > rows:
        check_rows(file, len(word_piece.vocabulary), rows)
    return word_piece


def check_rows(path: pathlib.Path, pieces: int, rows: int) -> None:
    """Checks that a vocabulary has as many pieces as an embedding table has rows.

    Args:
        path: File of the vocabulary.
        pieces: Number of its pieces.
        rows: Number of rows of the model's table.

    Raises:
        ExportError: The numbers differ.

    Example:
        >>> check_rows(pathlib.Path("vocab.txt"), 8, 8)
    """
    if pieces != rows:
        raise ExportError(
            f"{path}: {pieces} word pieces, and the model has {rows} rows for them; take the"
            " vocabulary that it was trained with"
        )


def window_of(source: pathlib.Path, text: dict, longest: int) -> int:
    """The tokens of a window: those of training, or the most that the model reads.

    Args:
        source: The model folder, which the message names.
        text: Text settings.
        longest: Tokens that the model reads.

    Raises:
        ExportError: The model does not read as many.

    Example:
        >>> window_of(pathlib.Path("best"), {"window_length": 128}, 512)
        128
    """
    window = int(text.get("window_length") or longest)
    if window > longest:
        raise ExportError(
            f"{source}/tfsum.json: window_length is {window}; the model reads {longest}"
        )
    return window
