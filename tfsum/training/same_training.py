"""Whether all workers were started with the same recipe, corpora and versions."""

import hashlib
import importlib.metadata
import json
import os
import pathlib
from collections.abc import Mapping
from typing import Any

from tfsum.errors import RecipeError
from tfsum.training.recipe_writer import without_folders
from tfsum.training.workers import Workers

PACKAGES = ("tfsum", "tensorflow", "keras", "numpy")
ENDS = 1 << 20  # bytes at both ends of a corpus that are compared, besides its size


def check_same_training(workers: Workers, recipe: Mapping[str, Mapping[str, Any]]) -> None:
    """Checks that all workers train the same.

    Args:
        workers: of the training.
        recipe: section -> key -> value. The folders of records and run may differ from machine to machine.

    Raises:
        RecipeError: a key, a package's version or a corpus differs; all differences are named.

    Example:
        >>> import tensorflow as tf
        >>> check_same_training(Workers(tf.distribute.get_strategy()), {"train": {"steps": 10}})
    """
    first, *others = workers.exchange(_described(recipe) if workers.count > 1 else {})
    wrong = [
        f"{name} is {other.get(name)!r} on worker {number} and {first.get(name)!r} on worker 0"
        for number, other in enumerate(others, start=1)
        for name in sorted({*first, *other})
        if first.get(name) != other.get(name)
    ]
    if wrong:
        raise RecipeError(
            f"the workers train different things: {'; '.join(wrong)}. Start all with the same recipe, "
            "corpora and versions"
        )


def _described(recipe: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """What must be the same, by name."""
    keys = {
        f"[{section}] {name}": json.dumps(value, default=os.fspath)
        for section, table in without_folders(recipe).items()
        for name, value in table.items()
    }
    corpora = {
        f"the file {path}": _fingerprint(path)
        for value in recipe.get("data", {}).values()
        if isinstance(value, str | os.PathLike) and (path := pathlib.Path(value)).is_file()
    }
    return {
        **{f"the version of {name}": importlib.metadata.version(name) for name in PACKAGES},
        **keys,
        **corpora,
    }


def _fingerprint(path: pathlib.Path) -> str:
    size = path.stat().st_size
    with path.open("rb") as file:
        content = file.read(ENDS)
        file.seek(max(0, size - ENDS))
        content += file.read(ENDS)
    return f"{size} bytes, {hashlib.blake2b(content, digest_size=8).hexdigest()}"
