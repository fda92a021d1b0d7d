"""The folders of exported models: those that are shipped, their versions, descriptions and word
pieces; needs no TensorFlow."""

import difflib
import pathlib

from tfsum.errors import ExportError, require
from tfsum.json_text import read_json_object
from tfsum.shipped_files import SAVED_MODELS

DEFAULT_MODEL = "bert_sum_ext_news_en"


def shipped_models() -> dict[str, pathlib.Path]:
    """The folder of the newest version of every shipped model, by name.

    Example:
        >>> "bert_sum_ext_news_en" in shipped_models()
        True
    """
    models = {model.name: versions(model) for model in sorted(SAVED_MODELS.glob("*/"))}
    return {name: folders[-1] for name, folders in models.items() if folders}


def shipped_model(name: str = DEFAULT_MODEL) -> pathlib.Path:
    """The newest version of a shipped model.

    Args:
        name: Name of the model, its folder in `saved_models/`.

    Returns:
        The SavedModel's folder, `.../NAME/VERSION`.

    Raises:
        ExportError: There is no such model; the message lists those there are.

    Example:
        >>> shipped_model().parent.name
        'bert_sum_ext_news_en'
    """
    models = shipped_models()
    require(
        name in models,
        f"no shipped model {name!r} in {SAVED_MODELS}: found"
        f" {', '.join(models) or 'no model at all'}; give the folder of a SavedModel instead, or"
        " install tfsum again",
        ExportError,
    )
    return models[name]


def no_model(path: str | pathlib.Path) -> str:
    """The message that there is nothing at the path of a model, with what may have been meant.

    Args:
        path: Path, or name that is no shipped model's.

    Example:
        >>> no_model("multilingual").partition(";")[0]
        'multilingual: no such folder (did you mean bert_sum_ext_multilingual?)'
    """
    name, shipped = str(path), shipped_models()
    near = [each for each in shipped if name in each] or difflib.get_close_matches(name, shipped)
    hint = f" (did you mean {' or '.join(near)}?)" if near else ""
    if (pathlib.Path(path).parent / "recipe.toml").is_file():
        hint = " (a training writes its folder `best` at the first validation)"
    return (
        f"{path}: no such folder{hint}; expected NAME or NAME/VERSION that `tfsum export` wrote,"
        f" `best` of a training, or one of the shipped models: {', '.join(shipped)}"
    )


def versions(folder: pathlib.Path) -> list[pathlib.Path]:
    """The folders of the versions of a model, the newest last.

    Args:
        folder: Directory `.../NAME` of the model.

    Returns:
        The folders `.../NAME/VERSION` that hold a SavedModel.

    Example:
        >>> versions(shipped_model().parent)[-1] == shipped_model()
        True
    """
    return [path for path in numbered(folder).values() if (path / "saved_model.pb").is_file()]


def numbered(folder: pathlib.Path) -> dict[int, pathlib.Path]:
    """The folders of a model whose names are numbers, in the order of these.

    Args:
        folder: Directory `.../NAME` of the model.

    Returns:
        Number -> folder; empty where the directory cannot be read.

    Example:
        >>> str(max(numbered(shipped_model().parent))) == shipped_model().name
        True
    """
    try:
        paths = [path for path in folder.iterdir() if path.is_dir()]
    except OSError:
        return {}
    numbers = (path for path in paths if path.name.isascii() and path.name.isdigit())
    return dict(sorted((int(path.name), path) for path in numbers))


def newest(path: str | pathlib.Path) -> pathlib.Path:
    """The folder `.../NAME/VERSION` of an exported model.

    Args:
        path: Folder of a version, `.../NAME` for its newest version, or the name of a shipped
            model.

    Raises:
        ExportError: There is no version in it.

    Example:
        >>> newest(shipped_model().parent) == shipped_model()
        True
    """
    path = pathlib.Path(path)
    if (path / "saved_model.pb").is_file() or not path.is_dir():
        return shipped_models().get(str(path), path)
    if folders := versions(path):
        return folders[-1]

    require(
        not (path / "best" / "config.json").is_file(),
        f"{path}: is the folder of a run; its model is {path / 'best'}",
        ExportError,
    )
    require(
        not (path / "config.json").is_file(),
        f"{path}: is a model folder, expected an exported model; export it first: "
        f"`tfsum export {path} DESTINATION`",
        ExportError,
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
        >>> read_description(shipped_model())["kind"]
        'extractive'
    """
    path = pathlib.Path(folder)
    require(path.exists(), no_model(path), ExportError)
    require(
        (path / "saved_model.pb").is_file(),
        f"{path}: no SavedModel (saved_model.pb is missing); expected NAME or NAME/VERSION that"
        " `tfsum export` wrote",
        ExportError,
    )
    return read_json(path / "assets.extra" / "tfsum.json")


def read_vocabularies(path: pathlib.Path) -> tuple[list[str], list[str]]:
    """The word pieces by id, of the texts and of the answers; one list where they are the same.

    Args:
        path: Directory `.../NAME/VERSION` of an export.

    Example:
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
        >>> read_json(shipped_model() / "assets.extra" / "tfsum.json")["format_version"]
        1
    """
    return read_json_object(
        path,
        ExportError,
        expected="expected a SavedModel that `tfsum export` wrote",
        cure="fetch or export the model again",
    )
