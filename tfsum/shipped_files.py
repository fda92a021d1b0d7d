"""The folders of what tfsum ships beside its code: recipes and exported models."""

import pathlib

import tfsum


def folder_of(installed: str, in_checkout: str) -> pathlib.Path:
    """The folder of shipped files, which setup.cfg maps into the package that pip installs.

    Args:
        installed: Its name in the package.
        in_checkout: Its name in a checkout, where it is beside the package (also one installed
            with -e).

    Example:
        >>> (folder_of("recipes", "training") / "bert_sum_ext_news.toml").is_file()
        True
    """
    package = pathlib.Path(tfsum.__file__).resolve().parent
    folder = package / installed
    return folder if folder.is_dir() else package.parent / in_checkout


RECIPES = folder_of("recipes", "training")
SAVED_MODELS = folder_of("saved_models", "saved_models")
