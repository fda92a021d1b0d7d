"""What is wrong with values, in a sentence each: one wording for recipes, servers, commands and
requests, whose classes are pydantic's.
"""

import difflib
import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pydantic  # its import takes a tenth of a second, which `tfsum --help` has not

LONGEST = 200  # characters of a value in a message
NOUNS = {
    "integer": "a whole number",
    "number": "a number",
    "string": "a text",
    "boolean": "true or false",
    "array": "a list",
    "object": "a table of names and values",
}
BOUNDS = {
    "minimum": "from {}",
    "exclusiveMinimum": "above {}",
    "maximum": "at most {}",
    "exclusiveMaximum": "below {}",
    "minLength": "of at least {} characters",
    "maxLength": "of at most {} characters",
    "minItems": "of at least {} items",
    "maxItems": "of at most {} items",
}

NOTHING = {"type": "null"}

Path = tuple[str | int, ...]
Name = Callable[[Path], str]


def dotted(path: Path) -> str:
    """The name of a value as recipes and Python write it.

    Example:
        >>> dotted(("train", "steps")), dotted(("labels", 0))
        ('train.steps', 'labels[0]')
    """
    name = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return name.removeprefix(".")


def shown(value: object) -> str:
    """A value as JSON and TOML write it.

    Example:
        >>> shown("x"), shown(True), shown(0)
        ('"x"', 'true', '0')
    """
    return json.dumps(value, ensure_ascii=False, default=repr)


def mistakes(
    error: "pydantic.ValidationError",
    model: "type[pydantic.BaseModel]",
    name: Name = dotted,
    text: Callable[[object], str] = shown,
) -> list[str]:
    """Says everything that pydantic found wrong with the values of a class.

    Args:
        error: What pydantic raised.
        model: The class.
        name: How a name is written where the values come from, given its path.
        text: How a value is written there.

    Returns:
        A sentence for each value.

    Example:
        >>> import pydantic
        >>> class Limits(pydantic.BaseModel, extra="forbid"):
        ...     words: int | None = pydantic.Field(None, ge=1)
        ...     share: float = pydantic.Field(1.0, gt=0, le=1)
        >>> try:
        ...     Limits(words=0, share="x", word=3)
        ... except pydantic.ValidationError as error:
        ...     print(*mistakes(error, Limits), sep="\\n")
        words=0: expected a whole number from 1
        share="x": expected a number above 0 and at most 1
        word: unknown; did you mean words?
        >>> try:
        ...     Limits(words=0)
        ... except pydantic.ValidationError as error:
        ...     mistakes(error, Limits, lambda path: f"--{path[0]}")
        ['--words=0: expected a whole number from 1']
    """
    schema = model.model_json_schema()
    found: dict[Path, str] = {}  # a union is wrong in as many ways as it has types
    for each in error.errors():
        path, part = follow(schema, each["loc"])
        if each["type"] == "extra_forbidden":
            path = each["loc"]
        if path in found:
            continue

        value = text(each["input"])
        if len(value) > LONGEST:
            value = f"{value[:LONGEST]}..."
        found[path] = _sentence(schema, part, each, path, value, name)
    return list(found.values())


def expected(schema: Mapping[str, Any]) -> str:
    """Says what a value must be.

    Args:
        schema: JSON Schema of the value.

    Example:
        >>> expected({"anyOf": [{"type": "integer", "minimum": 1}, {"const": "auto"}]})
        'a whole number from 1 or "auto"'
        >>> expected({"type": "number", "minimum": 0, "maximum": 1})
        'a number from 0 to 1'
    """
    if "anyOf" in schema:
        return " or ".join(expected(part) for part in schema["anyOf"] if part != NOTHING)
    if choices := schema.get("enum", [schema[key] for key in ("const",) if key in schema]):
        *first, last = map(shown, choices)
        return f"{', '.join(first)} or {last}" if first else last

    bounds = [text.format(_number(schema[key])) for key, text in BOUNDS.items() if key in schema]
    if "minimum" in schema and "maximum" in schema:
        bounds = [f"from {_number(schema['minimum'])} to {_number(schema['maximum'])}"]
    noun = NOUNS.get(schema.get("type", ""), "another value")
    return f"{noun} {' and '.join(bounds)}".strip()


def _number(value: float) -> str:
    return shown(value).removesuffix(".0")


def follow(schema: Mapping[str, Any], place: Path) -> tuple[Path, dict[str, Any]]:
    """Goes from a class to one of its values.

    Args:
        schema: JSON Schema of the class.
        place: Where pydantic found a mistake; ends with the type, where that is one of several.

    Returns:
        Path of the value, and the JSON Schema at it.
    """
    path: Path = ()
    part = dict(schema)
    for step in place:
        if step in part.get("properties", {}):
            part = part["properties"][step]
        elif isinstance(step, int) and "items" in part:
            part = part["items"]
        else:
            break

        path += (step,)
        if len(others := [each for each in part.get("anyOf", []) if each != NOTHING]) == 1:
            part = {**part, **others[0]}
        if "$ref" in part:
            part = {**part, **schema["$defs"][part["$ref"].rpartition("/")[2]]}
    return path, part


def _near(schema: Mapping[str, Any], part: Mapping[str, Any], path: Path, name: Name) -> str:
    """The name that an unknown one is nearest to: the same in another section, or a similar one."""
    unknown, names = str(path[-1]), list(part.get("properties", {}))
    elsewhere = [section for section in schema["properties"] if unknown in _names(schema, section)]
    if elsewhere:
        return f"did you mean {name((elsewhere[0], unknown))}?"
    if near := difflib.get_close_matches(unknown, names, n=1):
        return f"did you mean {name((*path[:-1], near[0]))}?"
    return "there are " + (", ".join(name((*path[:-1], each)) for each in names) or "none here")


def _names(schema: Mapping[str, Any], section: str) -> list[str]:
    return list(follow(schema, (section,))[1].get("properties", {}))


def _sentence(
    schema: dict[str, Any],
    part: dict[str, Any],
    error: Any,
    path: Path,
    value: str,
    name: Name,
) -> str:
    """One mistake, at a path where the schema says `part`."""
    kind = error["type"]
    if kind == "extra_forbidden":
        return f"{name(path)}: unknown; {_near(schema, part, path, name)}"
    if kind == "missing":
        return f"{name(path)} is missing: {part.get('description', expected(part))}"
    if kind in ("value_error", "assertion_error"):
        reason = str(error["ctx"]["error"])
        if "properties" in part:  # of several values together
            return f"{name(path)}: {reason}".removeprefix(": ")
        return f"{name(path)}={value}: {reason}"
    if kind == "finite_number":
        return f"{name(path)}={value}: expected a finite number"

    sentence = f"{name(path)}={value}: expected {expected(part)}"
    if expected(part) == "a text" and type(error["input"]) in (int, float):
        sentence += f"; put it in quotes, in a shell in both kinds: '\"{value}\"'"
    if kind == "list_type" and isinstance(error["input"], str):
        sentence += ', such as ["a", "b"], in a shell in quotes: \'["a", "b"]\''
    return sentence
