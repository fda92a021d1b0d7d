"""The file of word pieces that a path means."""

import pathlib

from tfsum.errors import DataError
from tfsum.formats.piece_file import piece_file


def vocabulary_file(path: str | pathlib.Path) -> pathlib.Path:
    """The file of pieces that `path` is, or the `piece_file` of the folder `path`.

    Raises:
        DataError: there is none.

    Example:
        >>> import tempfile
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> _ = (folder / "vocab.txt").write_text("[PAD]")
        >>> vocabulary_file(folder) == folder / "vocab.txt"
        True
    """
    path = pathlib.Path(path)
    file = piece_file(path / "vocab.txt" if path.is_dir() else path)
    if not file.is_file():
        raise DataError(
            f"{file}: no such vocabulary; expected a vocab.txt or the folder that holds one"
        )
    return file
