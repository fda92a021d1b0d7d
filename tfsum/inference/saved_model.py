"""The folder of an exported model: its newest version, its description, its word pieces; needs no
TensorFlow."""

import pathlib

from tfsum.errors import ExportError
from tfsum.inference.shipped import versions
from tfsum.json_text import read_json_object


def newest(path: str | pathlib.Path) -> pathlib.Path:
    """The folder `.../NAME/VERSION` of an exported model.

    Args:
        path: Folder of a version, or `.../NAME` for its newest version.

    Raises:
        ExportError: There is no version in it.

    Example:
        >>> from tfsum.inference.shipped import shipped_model
        >>> newest(shipped_model().parent) == shipped_model()
        True
    """
    path = pathlib.Path(path)
    if (path / "saved_model.pb").is_file() or not path.is_dir():
        return path
    if folders := versions(path):
        return folders[-1]

    if (path / "best" / "config.json").is_file():
        raise ExportError(f"{path}: is the folder of a run; its model is {path / 'best'}")
    if (path / "config.json").is_file():
        raise ExportError(
            f"{path}: is a model folder, expected an exported model; export it first: "
            f"`tfsum export {path} DESTINATION`"
        )
    raise ExportError(
        f"{path}: holds no SavedModel and no version of one; expected NAME or NAME/VERSION that"
        " `tfsum export` wrote"
    )


def read_description(folder: str | pathlib.Path) -> dict:
    """Reads assets.extra/tfsum.json of an exported model.

    Args:
        folder: Directory `.../NAME/VERSION`.

    Raises:
        ExportError: It holds no SavedModel, or none that tfsum wrote.

    Example:
        >>> from tfsum.inference.shipped import shipped_model
        >>> read_description(shipped_model())["kind"]
        'extractive'
    """
    path = pathlib.Path(folder)
    if not (path / "saved_model.pb").is_file():
        found = "no SavedModel (saved_model.pb is missing)" if path.exists() else "no such folder"
        raise ExportError(
            f"{path}: {found}; expected NAME or NAME/VERSION that `tfsum export` wrote"
        )
    return read_json(path / "assets.extra" / "tfsum.json")


def read_vocabularies(path: pathlib.Path) -> tuple[list[str], list[str]]:
    """The word pieces by id, of the texts and of the answers; one list where they are the same.

    Args:
        path: Directory `.../NAME/VERSION` of an export.

    Example:
        >>> from tfsum.inference.shipped import shipped_model
        >>> source, target = read_vocabularies(shipped_model("transformer_tatoeba_en_fr"))
        >>> len(source), source is target
        (6000, True)
    """
    from tfsum.text.word_piece import Vocabulary  # which loads TensorFlow

    words = Vocabulary.from_file(path / "assets" / "vocab.txt").words
    target = path / "assets" / "target_vocab.txt"
    return words, Vocabulary.from_file(target).words if target.is_file() else words


def read_json(path: pathlib.Path) -> dict:
    """Reads a JSON file of an exported model.

    Args:
        path: Path of the file.

    Raises:
        ExportError: The file is missing, broken, or holds no JSON object.

    Example:
        >>> from tfsum.inference.shipped import shipped_model
        >>> read_json(shipped_model() / "assets.extra" / "tfsum.json")["format_version"]
        1
    """
    return read_json_object(
        path,
        ExportError,
        expected="expected a SavedModel that `tfsum export` wrote",
        cure="fetch or export the model again",
    )
