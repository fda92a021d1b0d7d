"""Writes a resolved recipe beside its run, so that the run can be reproduced from that file."""

import json
import math
import os
import pathlib
import tomllib
from collections.abc import Mapping
from typing import Any

from tfsum.atomic_files import write_atomically
from tfsum.errors import RecipeError

FOLDERS = {("data", "records"), ("train", "folder")}
FIXED = ("data", "text", "model")
"""Sections that a run keeps from its first step to its last."""


def write_recipe(recipe: Mapping[str, Mapping[str, Any]], path: str | pathlib.Path) -> pathlib.Path:
    """Writes a recipe as TOML, which `read_recipe` reads.

    Args:
        recipe: section -> key -> value; values are plain scalars, paths, or lists of them.
        path: of the file, replaced atomically.

    Returns:
        The path.

    Raises:
        RecipeError: a value has no form in TOML.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = write_recipe({"train": {"steps": 100}}, f"{folder}/recipe.toml")
        ...     print(pathlib.Path(folder, "recipe.toml").read_text().splitlines()[-1])
        steps = 100
    """
    path = pathlib.Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, to_toml(recipe))
    return path


def compare_with_started_run(recipe: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Compares a recipe with the one that started the run in its folder.

    Args:
        recipe: section -> key -> value, with every key.

    Returns:
        The changed [train] keys, a line each; they apply to the remaining steps.

    Raises:
        RecipeError: the run has checkpoints, of other data, texts or another model.

    Example:
        >>> compare_with_started_run({"train": {"folder": "no_such_run"}})
        []
    """
    folder = pathlib.Path(recipe["train"]["folder"])
    file = folder / "recipe.toml"
    if not (file.is_file() and any((folder / "checkpoints").glob("ckpt-*.json"))):
        return []
    old_recipe, new_recipe = (
        tomllib.loads(text) for text in (file.read_text(encoding="utf-8"), to_toml(recipe))
    )
    for section in FIXED:
        old, new = old_recipe.get(section, {}), new_recipe.get(section, {})
        for name in sorted({*old, *new} - {"records", "processes"}):  # where and how fast, not what
            if old.get(name) != new.get(name):
                raise RecipeError(
                    f"{folder}: the run in this folder was started with [{section}] {name} = "
                    f"{_shown(old.get(name))}, and the recipe now has {_shown(new.get(name))}; to start over, "
                    "choose another [train] folder or remove this one"
                )
    old, new = old_recipe.get("train", {}), new_recipe.get("train", {})
    return [
        f"[train] {name} was {_shown(old.get(name))} and is {_shown(new.get(name))} from here on"
        for name in sorted({*old, *new} - {"folder"})
        if old.get(name) != new.get(name)
    ]


def _shown(value: Any) -> str:
    return "nothing" if value is None else repr(value)


def without_folders(recipe: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """A recipe less the folders of its records and of its run: what is learned depends on neither of them.

    Args:
        recipe: section -> key -> value.

    Example:
        >>> without_folders({"train": {"folder": "runs/news", "steps": 100}})
        {'train': {'steps': 100}}
    """
    return {
        section: {k: v for k, v in table.items() if (section, k) not in FOLDERS}
        for section, table in recipe.items()
    }


def to_toml(recipe: Mapping[str, Mapping[str, Any]]) -> str:
    """The text of a recipe file.

    Args:
        recipe: section -> key -> value.

    Raises:
        RecipeError: a value has no form in TOML.

    Example:
        >>> print(to_toml({"train": {"steps": 100, "patience": None}}), end="")
        [train]
        steps = 100
        # patience is not set
    """
    lines = []
    for section, table in recipe.items():
        lines += ["", f"[{section}]"]
        for name, value in table.items():
            # TOML has no null: a key that is not set becomes a comment.
            written = None if value is None else _value(f"[{section}] {name}", value)
            lines.append(f"# {name} is not set" if written is None else f"{name} = {written}")
    return "\n".join(lines).lstrip("\n") + "\n"


def _value(place: str, value: Any) -> str:
    """One value in TOML's writing."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else str(value)
    if isinstance(value, str | os.PathLike):
        # JSON's escapes are TOML's, but for the one control character that JSON leaves as it is.
        return json.dumps(os.fspath(value), ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_value(place, item) for item in value) + "]"
    if isinstance(value, Mapping):
        return (
            "{"
            + ", ".join(f"{json.dumps(str(k))} = {_value(place, v)}" for k, v in value.items())
            + "}"
        )
    raise RecipeError(
        f"{place}: {type(value).__name__} {value!r} has no form in TOML; give a number or text"
    )
