"""Where the shipped models are: `saved_models/` of a checkout, `tfsum/saved_models` once installed."""

import pathlib

import tfsum
from tfsum.errors import ExportError

DEFAULT_MODEL = "bert_sum_ext_news_en"


def shipped_folder() -> pathlib.Path:
    """The folder of the shipped models.

    Example:
        >>> shipped_folder().name
        'saved_models'
    """
    package = pathlib.Path(tfsum.__file__).resolve().parent
    installed = package / "saved_models"
    # In a checkout (also one installed with -e) the folder is beside the package, not in it.
    return installed if installed.is_dir() else package.parent / "saved_models"


def shipped_models() -> dict[str, pathlib.Path]:
    """Name -> the folder of its newest version, for every shipped model.

    Example:
        >>> "bert_sum_ext_news_en" in shipped_models()
        True
    """
    found = {}
    for card in sorted(shipped_folder().glob("*/")):
        versions = [folder for folder in card.iterdir() if _is_version(folder)]
        if versions:
            found[card.name] = max(versions, key=lambda folder: int(folder.name))
    return found


def shipped_model(name: str = DEFAULT_MODEL) -> pathlib.Path:
    """The newest version of a shipped model.

    Args:
        name: the model's folder in `saved_models/`.

    Returns:
        The SavedModel's folder, `.../NAME/VERSION`.

    Raises:
        ExportError: there is no such model; the message lists those there are.

    Example:
        >>> shipped_model().parent.name
        'bert_sum_ext_news_en'
    """
    models = shipped_models()
    if name not in models:
        there = ", ".join(models) or "no model at all"
        raise ExportError(
            f"no shipped model {name!r} in {shipped_folder()}: found {there}; "
            "give the folder of a SavedModel instead, or reinstall tfsum from a complete checkout"
        )
    return models[name]


def _is_version(folder: pathlib.Path) -> bool:
    return folder.name.isascii() and folder.name.isdigit() and (folder / "saved_model.pb").is_file()
