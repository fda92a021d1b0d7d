"""The shipped models, and the versions of any model; needs no TensorFlow."""

import pathlib

from tfsum.errors import ExportError
from tfsum.shipped_files import shipped_folder

DEFAULT_MODEL = "bert_sum_ext_news_en"


def shipped_models() -> dict[str, pathlib.Path]:
    """The folder of the newest version of every shipped model, by name.

    Example:
        >>> "bert_sum_ext_news_en" in shipped_models()
        True
    """
    models = {model.name: versions(model) for model in sorted(shipped_folder().glob("*/"))}
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
    if name not in models:
        raise ExportError(
            f"no shipped model {name!r} in {shipped_folder()}:"
            f" found {', '.join(models) or 'no model at all'}; give the folder of a SavedModel"
            " instead, or install tfsum again"
        )
    return models[name]


def versions(folder: pathlib.Path) -> list[pathlib.Path]:
    """The folders of the versions of a model, the newest last.

    Args:
        folder: Directory `.../NAME` of the model.

    Returns:
        The folders `.../NAME/VERSION` that hold a SavedModel.

    Example:
        >>> [version.name for version in versions(shipped_model().parent)]
        ['2']
    """
    return [path for path in numbered(folder).values() if (path / "saved_model.pb").is_file()]


def numbered(folder: pathlib.Path) -> dict[int, pathlib.Path]:
    """The folders of a model whose names are numbers, in the order of these.

    Args:
        folder: Directory `.../NAME` of the model.

    Returns:
        Number -> folder; empty where the directory cannot be read.

    Example:
        >>> list(numbered(shipped_model().parent))
        [2]
    """
    try:
        paths = [path for path in folder.iterdir() if path.is_dir()]
    except OSError:
        return {}
    numbers = (path for path in paths if path.name.isascii() and path.name.isdigit())
    return dict(sorted((int(path.name), path) for path in numbers))
