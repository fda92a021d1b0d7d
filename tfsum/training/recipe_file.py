"""Recipes: TOML files of settings, shipped or of one's own, with overrides, and all their mistakes
in one message.

A run keeps its resolved recipe in its folder, with which a resumed run is compared.
"""

import contextlib
import difflib
import pathlib
import textwrap
import tomllib
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

import pydantic
import tomli_w

from tfsum.atomic_files import write_atomically
from tfsum.errors import RecipeError, require
from tfsum.settings import expected, follow, mistakes
from tfsum.shipped_files import RECIPES
from tfsum.training.settings import Recipe, keys_of

AnyRecipe = TypeVar("AnyRecipe", bound=Recipe)
PLACES = {"[data] records", "[data] processes", "[train] folder"}
"""Keys that say where and how fast, not what."""
PLAIN = ("a text", "true or false")
"""What a key expects that need not be said beside its default and meaning."""


def shipped_recipes() -> dict[str, pathlib.Path]:
    """The file of every shipped recipe, by name.

    Example:
        >>> "bert_sum_ext_news" in shipped_recipes()
        True
    """
    return {path.stem: path for path in sorted(RECIPES.glob("*.toml"))}


def recipe_path(recipe: str | pathlib.Path) -> pathlib.Path:
    """The file of a recipe.

    Args:
        recipe: Path of the file, or name of a shipped recipe; where there are both, the path wins.

    Example:
        >>> recipe_path("bert_sum_ext_news").name, str(recipe_path("mine/news.toml"))
        ('bert_sum_ext_news.toml', 'mine/news.toml')
    """
    path = pathlib.Path(recipe)
    if path.exists():
        return path
    return shipped_recipes().get(str(recipe), path)


def is_recipe(name: str) -> bool:
    """Whether a name is that of a recipe and not of a corpus.

    Example:
        >>> is_recipe("bert_sum_ext_news"), is_recipe("my.toml"), is_recipe("train.jsonl")
        (True, True, False)
    """
    return recipe_path(name).suffix == ".toml"


def list_recipes() -> str:
    """Lists the shipped recipes, a line each: name, and what the recipe trains.

    Example:
        >>> print(list_recipes().splitlines()[0][:60])
        bert_classify_disaster_tweets  Does a tweet report a real di
    """
    recipes = shipped_recipes()
    width = max(map(len, recipes))
    # The first line of each file names the schema.
    titles = [path.read_text(encoding="utf-8").split("\n")[1] for path in recipes.values()]
    return "\n".join(
        f"{name:{width}}  {title.removeprefix('# ')}" for name, title in zip(recipes, titles)
    )


def read_recipe(
    source: str | pathlib.Path | Mapping[str, Any], overrides: Iterable[str] = ()
) -> tuple[dict[str, Any], list[str]]:
    """Reads a recipe and applies overrides, without a check of its keys.

    Args:
        source: TOML file, name of a shipped recipe, or a mapping of sections.
        overrides: Texts `section.key=VALUE`, VALUE in TOML (a bare word is a string); without a
            VALUE the key is removed.

    Returns:
        The sections, and the mistakes in the overrides.

    Raises:
        RecipeError: The file cannot be read.

    Example:
        >>> read_recipe({"train": {"steps": 100}}, ["train.steps=50", "train.seed=1"])
        ({'train': {'steps': 50, 'seed': 1}}, [])
    """
    values = dict(source) if isinstance(source, Mapping) else _parse(recipe_path(source))
    return values, [mistake for text in overrides if (mistake := _override(values, text))]


def check_recipe(
    recipe_class: type[AnyRecipe],
    values: Mapping[str, Any],
    known: Iterable[str] = (),
    name: str = "recipe",
) -> AnyRecipe:
    """Checks the values of a recipe, and fills in the defaults.

    Args:
        recipe_class: Class of the recipes of this model.
        values: Sections with their values.
        known: Mistakes that are known already, which are reported with the others.
        name: Name of the recipe, for messages.

    Raises:
        RecipeError: Keys are unknown or missing, or values are wrong; one line for each mistake.

    Example:
        >>> train = {"folder": "runs/mine", "step": 100}
        >>> check_recipe(Recipe, {"model": {"kind": "mine"}, "train": train})
        Traceback (most recent call last):
        tfsum.errors.RecipeError: recipe: 2 mistakes
          train.steps is missing: Optimizer steps of the whole run.
          train.step: unknown; did you mean train.steps?
    """
    sections: dict[str, Any] = {section: {} for section in recipe_class.model_fields}
    messages = list(known)
    try:
        recipe = recipe_class.model_validate({**sections, **values})
    except pydantic.ValidationError as error:
        messages += mistakes(error, recipe_class)

    if messages:
        raise mistakes_error(name, messages)
    return recipe


def mistakes_error(name: str, messages: list[str]) -> RecipeError:
    """Returns the error that reports the mistakes of a recipe, one line each."""
    count = f"{len(messages)} mistake" + "s" * (len(messages) > 1)
    return RecipeError("\n  ".join([f"{name}: {count}", *messages]))


def _parse(path: pathlib.Path) -> dict[str, Any]:
    """Reads a TOML file."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        near = difflib.get_close_matches(str(path), shipped_recipes(), n=1)
        meant = "".join(f"did you mean {name}? " for name in near)
        raise RecipeError(
            f"{path}: no such recipe; {meant}`tfsum train --list` shows the shipped ones"
        ) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise RecipeError(f"{path}: not TOML: {error}") from error
    except OSError as error:
        raise RecipeError(f"{path}: cannot be read: {error.strerror}") from error


def _override(values: dict[str, Any], text: str) -> str:
    """Applies one `section.key=VALUE`; returns the mistake in it, or an empty text."""
    place, equals, value = text.partition("=")
    section, dot, name = place.strip().partition(".")
    if not (equals and dot and section and name):
        return f"--set {text}: expected SECTION.KEY=VALUE, such as train.learning_rate=1e-4"

    table = values.get(section, {})
    if not isinstance(table, Mapping):
        return ""  # a mistake of the recipe itself, which the check reports
    table = values[section] = dict(table)
    if value.strip():
        table[name] = _toml_value(value.strip())
    elif name in table:
        del table[name]
    else:
        return f"--set {text}: removes a key, but the recipe has no [{section}] {name}"
    return ""


def _toml_value(text: str) -> Any:
    """Parses a value as TOML does; a bare word, invalid in TOML, is a string."""
    with contextlib.suppress(tomllib.TOMLDecodeError):
        parsed = tomllib.loads(f"value = {text}")
        if len(parsed) == 1:
            return parsed["value"]
    return text


def recipe_keys(recipe_class: type[Recipe]) -> str:
    """Lists every key of a recipe with its default, its choices and its meaning.

    Args:
        recipe_class: Class of the recipes of a model.

    Returns:
        The sections, in TOML but for the meanings.

    Example:
        >>> for line in recipe_keys(Recipe).splitlines()[:3]:
        ...     print(line)
        [model]
        kind  (required)
            Kind of the model.
    """
    schema = recipe_class.model_json_schema()
    sections = {name: follow(schema, (name,))[1] for name in schema["properties"]}
    return "\n\n".join(
        f"[{name}]\n" + "\n".join(_key(section, key) for key in section["properties"])
        for name, section in sections.items()
        if section.get("properties")
    )


def _key(section: dict[str, Any], name: str) -> str:
    """One key with its default, and below it what it means."""
    key = section["properties"][name]
    line = f"{name}  (not set)"
    if name in section.get("required", []):
        line = f"{name}  (required)"
    elif key["default"] is not None:
        line = tomli_w.dumps({name: key["default"]}).strip()

    meaning = key["description"]
    if (kind := expected(key)) not in PLAIN:
        meaning += f" Expects {kind}."
    indent = "    "
    return f"{line}\n{textwrap.fill(meaning, 96, initial_indent=indent, subsequent_indent=indent)}"


def write_recipe(recipe: Recipe, path: pathlib.Path) -> None:
    """Writes a recipe as TOML, without the keys that are not set.

    Args:
        recipe: The recipe.
        path: Path of the file, which is replaced atomically.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, tomli_w.dumps(recipe.model_dump(exclude_none=True)))


def compare_with_started_run(recipe: Recipe) -> list[str]:
    """Compares a recipe with the one that started the run in its folder.

    Args:
        recipe: Recipe of the run that resumes.

    Returns:
        The changed [train] keys, a line each; they apply to the remaining steps.

    Raises:
        RecipeError: The run has checkpoints, of other data, texts or another model.
    """
    folder = pathlib.Path(recipe.train.folder)
    file = folder / "recipe.toml"
    if not (file.is_file() and any((folder / "checkpoints").glob("ckpt-*.json"))):
        return []

    values, _ = read_recipe(file)
    kind, new = recipe.model.kind, keys_of(recipe.model_dump())
    old = {"[model] kind": values.get("model", {}).get("kind", kind)}
    if old == {"[model] kind": kind}:  # another kind has other keys
        started = check_recipe(type(recipe), values, name=str(file))
        old = keys_of(started.model_dump(exclude={"evaluate"}))

    changed = {
        key: (_shown(old[key]), _shown(new[key]))
        for key in sorted(old.keys() - PLACES)
        if old[key] != new[key]
    }
    for key, (before, now) in changed.items():
        require(
            key.startswith("[train]"),
            f"{folder}: the run in this folder was started with {key} = {before}, and the"
            f" recipe now has {now}; to start over, choose another [train] folder or remove"
            " this one",
            RecipeError,
        )
    return [
        f"{key} was {before} and is {now} from here on" for key, (before, now) in changed.items()
    ]


def _shown(value: object) -> str:
    return "nothing" if value is None else repr(value)
