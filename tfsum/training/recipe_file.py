"""Recipes: TOML files whose keys are the keyword arguments of the functions and classes they configure.

A recipe is checked against a schema, section by section, and all errors are reported at once:

    schema = {"train": keys_of(train, "model", "dataset"), "export": {"ops": Key((str,), "core")}}
    recipe = read_recipe("training/news.toml", lambda given: schema, overrides=["train.learning_rate=1e-4"])
"""

import dataclasses
import difflib
import inspect
import pathlib
import tomllib
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tfsum.errors import RecipeError

REQUIRED = inspect.Parameter.empty


@dataclasses.dataclass(frozen=True)
class Key:
    """The allowed values of one key of a recipe.

    Attributes:
        types: the Python types allowed; empty for any. `type(None)` among them means that it may stay unset.
        default: the value of an unset key, or `REQUIRED`.
        choices: the only values allowed; empty for any.

    Example:
        >>> Key((float,), 1e-3).accept(1)
        1.0
        >>> Key((str,), "one", ("one", "mirrored")).wants()
        "'one' or 'mirrored'"
    """

    types: tuple[type, ...] = ()
    default: Any = REQUIRED
    choices: tuple = ()

    def wants(self) -> str:
        """The allowed values in words."""
        if self.choices:
            return " or ".join(repr(choice) for choice in self.choices)
        names = [kind.__name__ for kind in self.types if kind is not type(None)]
        return " or ".join(dict.fromkeys(names))

    def accept(self, value: Any) -> Any:
        """Converts a value to the type of the key (an int to a float if only floats are allowed).

        Raises:
            ValueError: the value is not allowed.
        """
        if self.choices and value not in self.choices:
            raise ValueError
        if not self.types or type(value) in self.types:
            return value
        if type(value) is int and float in self.types:
            return float(value)
        raise ValueError


Schema = Mapping[str, Mapping[str, Key]]


def keys_of(function: Callable, *without: str) -> dict[str, Key]:
    """The keys that a recipe may set for a function or class: its keyword arguments.

    Args:
        function: the function or class that the section configures.
        without: arguments that a recipe may not set.

    Returns:
        A dict of argument name -> `Key`, in the order of the signature.

    Example:
        >>> def train(model, learning_rate: float = 1e-3, patience: int | None = None): ...
        >>> keys_of(train, "model")["learning_rate"]
        Key(types=(<class 'float'>,), default=0.001, choices=())
    """
    target = function.__init__ if inspect.isclass(function) else function
    hints = typing.get_type_hints(target)
    keys = {}
    for name, parameter in inspect.signature(function).parameters.items():
        if name in without or parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        kinds, choices = _allowed(hints.get(name, Any))
        if parameter.default is None and kinds:
            kinds += (type(None),)
        keys[name] = Key(tuple(dict.fromkeys(kinds)), parameter.default, choices)
    return keys


def read_recipe(
    path: str | pathlib.Path, schema_of: Callable[[Mapping], Schema], overrides: Iterable[str] = ()
) -> dict[str, dict[str, Any]]:
    """Read a recipe, apply overrides, check it, fill in the defaults.

    Args:
        path: the TOML file.
        schema_of: from the parsed recipe, overrides applied, to its schema: section -> key -> `Key`.
        overrides: texts `section.key=VALUE`, VALUE in TOML (bare words are taken as strings); without a VALUE the
            key is reset to its default.

    Returns:
        section -> key -> value, with every key of the schema.

    Raises:
        RecipeError: the file cannot be read, or keys or values are wrong (all of them in one message).

    Example:
        >>> import tempfile
        >>> def schema(given):
        ...     return {"train": {"steps": Key((int,)), "seed": Key((int,), 0)}}
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = pathlib.Path(folder, "a.toml").write_text("[train]\\nsteps = 100\\n")
        ...     read_recipe(f"{folder}/a.toml", schema, ["train.steps=50"])
        {'train': {'steps': 50, 'seed': 0}}
    """
    given, errors = read_given(path, overrides)
    resolved, more = check(given, schema_of(given))
    if errors + more:
        raise RecipeError(
            "\n  ".join([f"{pathlib.Path(path)}: {len(errors + more)} error(s)", *errors, *more])
        )
    return resolved


def read_given(
    path: str | pathlib.Path, overrides: Iterable[str] = ()
) -> tuple[dict[str, Any], list[str]]:
    """What a recipe and overrides say, unchecked and without defaults; for who needs a key before TensorFlow is loaded.

    Args:
        path: the TOML file.
        overrides: see `read_recipe`.

    Returns:
        The parsed recipe with the overrides, and the errors of these.

    Raises:
        RecipeError: the file cannot be read.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = pathlib.Path(folder, "a.toml").write_text("[train]\\nsteps = 100\\n")
        ...     read_given(f"{folder}/a.toml", ["train.seed=1"])
        ({'train': {'steps': 100, 'seed': 1}}, [])
    """
    given = _parse(pathlib.Path(path))
    return given, _override(given, overrides)


def check(given: Mapping[str, Any], schema: Schema) -> tuple[dict[str, dict[str, Any]], list[str]]:
    """Compare a parsed recipe with a schema.

    Returns:
        The recipe with its defaults filled in, and a list of errors (empty if it is valid).

    Args:
        given: the parsed recipe.
        schema: section -> key -> `Key`.

    Example:
        >>> check({"train": {"step": 100}}, {"train": {"steps": Key((int,), 10)}})
        ({'train': {'steps': 10}}, ['[train] step: unknown key; did you mean steps?'])
    """
    errors = [_unknown_section(name, given[name], schema) for name in given if name not in schema]
    resolved: dict[str, dict[str, Any]] = {}
    for section, keys in schema.items():
        table = given.get(section, {})
        if not isinstance(table, dict):
            errors.append(f"{section}: expected a section [{section}], found the value {table!r}")
            continue
        errors += [_unknown_key(section, name, schema) for name in table if name not in keys]
        resolved[section] = {}
        for name, key in keys.items():
            value, error = _value_of(section, name, table, key)
            errors += [error] if error else []
            resolved[section][name] = value
    return resolved, errors


def _value_of(section: str, name: str, table: Mapping[str, Any], key: Key) -> tuple[Any, str]:
    """The value of one key, and the error if it is invalid."""
    if name not in table:
        if key.default is REQUIRED:
            return (
                None,
                f"[{section}] {name} is missing; it has no default, expected {key.wants() or 'a value'}",
            )
        return key.default, ""
    try:
        return key.accept(table[name]), ""
    except ValueError:
        found = table[name]
        error = (
            f"[{section}] {name}: expected {key.wants()}, found {type(found).__name__} {found!r}"
        )
        return None, error + _quoted(section, name, found, key)


def _quoted(section: str, name: str, found: Any, key: Key) -> str:
    """Advice on quoting, for a value that lost or lacks its quotes."""
    if list in key.types and type(found) is str:
        return f'; on a command line put it in quotes: --set \'{section}.{name}=["a", "b"]\''
    if str in key.types and type(found) is int and not key.choices:
        return (
            f'; a number that is a name is put in quotes: {name} = "{found}" or '
            f"--set '{section}.{name}=\"{found}\"'"
        )
    return ""


def _allowed(hint: Any) -> tuple[tuple[type, ...], tuple]:
    """The plain types and the literal values that a type hint allows; (), () where it cannot be checked."""
    origin = typing.get_origin(hint)
    if origin is typing.Literal:
        choices = typing.get_args(hint)
        return tuple(dict.fromkeys(type(choice) for choice in choices)), choices
    if origin in (typing.Union, types.UnionType):
        parts = [_allowed(part) for part in typing.get_args(hint)]
        if any(not kinds for kinds, _ in parts):
            return (), ()
        # Literal | float: the numbers beside the literals cannot be listed, so the types alone are checked.
        literal = all(choices or kinds == (type(None),) for kinds, choices in parts)
        return sum((kinds for kinds, _ in parts), ()), sum(
            (c for _, c in parts), ()
        ) if literal else ()
    kind = origin or hint
    if kind in (str, int, float, bool, dict, type(None)):
        return (kind,), ()
    if kind is None:
        return (type(None),), ()
    if isinstance(kind, type) and issubclass(kind, pathlib.PurePath):
        return (str,), ()
    if kind is tuple or (isinstance(kind, type) and kind is not object and issubclass(list, kind)):
        return (list,), ()
    return (), ()


def _parse(path: pathlib.Path) -> dict[str, Any]:
    """The file as nested dicts."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise RecipeError(f"{path}: no such recipe; the shipped ones are in training/") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise RecipeError(f"{path}: not TOML: {error}") from error
    except OSError as error:
        raise RecipeError(f"{path}: cannot be read: {error.strerror}") from error


def _override(given: dict[str, Any], overrides: Iterable[str]) -> list[str]:
    """Put `section.key=VALUE` texts into a parsed recipe; without a value they remove a key. Returns the errors."""
    errors = []
    for text in overrides:
        place, equals, value = text.partition("=")
        section, dot, name = place.strip().partition(".")
        if not (equals and dot and section and name):
            errors.append(
                f"--set {text}: expected SECTION.KEY=VALUE, such as train.learning_rate=1e-4"
            )
            continue
        table = given.setdefault(section, {})
        if not isinstance(table, dict):
            continue
        if value.strip():
            table[name] = _toml_value(value.strip())
        elif name in table:
            del table[name]
        else:
            errors.append(f"--set {text}: removes a key, but the recipe has no [{section}] {name}")
    return errors


def _toml_value(text: str) -> Any:
    """A value as TOML reads it; a bare word, invalid in TOML, is a string."""
    try:
        parsed = tomllib.loads(f"value = {text}")
    except tomllib.TOMLDecodeError:
        return text
    return parsed["value"] if len(parsed) == 1 else text


def _unknown_section(name: str, table: Any, schema: Schema) -> str:
    near = difflib.get_close_matches(name, schema, n=1)
    kind = f"section [{name}]" if isinstance(table, dict) else f"key {name} outside of a section"
    return f"unknown {kind}; " + (
        f"did you mean [{near[0]}]?"
        if near
        else "expected " + " ".join(f"[{section}]" for section in schema)
    )


def _unknown_key(section: str, name: str, schema: Schema) -> str:
    """The message for an unknown key: the nearest key of its section, else the section where it belongs."""
    elsewhere = [other for other, keys in schema.items() if other != section and name in keys]
    near = difflib.get_close_matches(name, schema[section], n=1)
    if elsewhere:
        cure = f"it belongs in [{elsewhere[0]}]"
    elif near:
        cure = f"did you mean {near[0]}?"
    else:
        cure = "its keys are " + ", ".join(sorted(schema[section]))
    return f"[{section}] {name}: unknown key; {cure}"
