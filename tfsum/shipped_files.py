"""Files that tfsum ships beside its code: recipes and exported models."""

import pathlib

import tfsum

# Their folders in a checkout, where they are beside the package (also one installed with -e);
# setup.cfg maps them into the package that pip installs.
_IN_CHECKOUT = {"recipes": "training", "saved_models": "saved_models"}


def shipped_folder(name: str = "saved_models") -> pathlib.Path:
    """The folder of shipped files, by default of the models.

    Args:
        name: "recipes" or "saved_models".

    Example:
        >>> (shipped_folder("recipes") / "bert_sum_ext_news.toml").is_file()
        True
    """
    package = pathlib.Path(tfsum.__file__).resolve().parent
    installed = package / name
    return installed if installed.is_dir() else package.parent / _IN_CHECKOUT[name]
