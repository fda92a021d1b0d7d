"""Classes of settings, pydantic's: how a field stands on the command line, and what is wrong with
values, in a sentence each. One wording for recipes, servers, commands and requests.
"""

import dataclasses
import difflib
import json
from collections.abc import Iterable, Mapping
from typing import Any

import pydantic
from pydantic_core import ErrorDetails

from tfsum.errors import Error

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
    "pattern": "that matches {}",
}
NOTHING = {"type": "null"}

Path = tuple[str | int, ...]
Schema = dict[str, Any]


@dataclasses.dataclass(frozen=True)
class Option:
    """What the annotation of a field says to the command line, beside type, default and meaning.

    A field without it is an option too, with a name from that of the field. Nothing of it is in the
    JSON Schema of the class. `tfsum.cli.options.add_settings` reads it.

    Args:
        flags: Further flags, such as "-n"; with a long one among them, such as "--label", that is
            the name of the option in the place of the field's.
        metavar: Name of the value in the help.
        group: Title of the group of options in the help.
        exclusive: Name of a set of options of a group, of which a call may have one at most.
        hidden: Whether the field is no option.

    Example:
        >>> from typing import Annotated
        >>> import pydantic
        >>> class Limits(pydantic.BaseModel):
        ...     words: Annotated[int, Option("-w", metavar="N"), pydantic.Field(ge=1)] = 100
        >>> Limits.model_fields["words"].metadata[0].flags
        '-w'
        >>> Limits.model_json_schema()["properties"]["words"]
        {'default': 100, 'minimum': 1, 'title': 'Words', 'type': 'integer'}
    """

    flags: str = ""
    metavar: str | None = None
    group: str = ""
    exclusive: str = ""
    hidden: bool = False


class Settings(pydantic.BaseModel):
    """Values that do not change, none of them unknown, infinite or converted.

    Raises:
        pydantic.ValidationError: Names are unknown or missing, or values are wrong.
    """

    model_config = pydantic.ConfigDict(
        frozen=True,
        extra="forbid",
        strict=True,
        allow_inf_nan=False,
        validate_by_name=True,
        serialize_by_alias=True,
    )


MOST = 100  # mistakes that are described


class Checked(Settings):
    """A class of values, whose mistakes are one `tfsum.Error` with a sentence for each.

    Raises:
        Error: Names are unknown or missing, or values are wrong.

    Example:
        >>> class Limits(Checked):
        ...     words: int = pydantic.Field(100, ge=1)
        >>> Limits(words=0)
        Traceback (most recent call last):
        tfsum.errors.Error: words=0: expected a whole number from 1
    """

    def __init__(self, /, **values: object) -> None:
        try:
            super().__init__(**values)
        except pydantic.ValidationError as error:
            raise Error("; ".join(mistakes(error, type(self)))) from None

    def given(self) -> set[str]:
        """The names of the fields that differ from their defaults."""
        return set(self.model_dump(exclude_defaults=True))


def mistakes(error: pydantic.ValidationError, model: type[pydantic.BaseModel]) -> list[str]:
    """Says everything that pydantic found wrong with the values of a class.

    Args:
        error: What pydantic raised.
        model: The class.

    Returns:
        A sentence for each value.

    Example:
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
    """
    schema = model.model_json_schema()
    found: dict[Path, str] = {}  # a union is wrong in as many ways as it has types
    for each in error.errors()[:MOST]:
        path, part = follow(schema, each["loc"])
        if each["type"] == "extra_forbidden":
            found[each["loc"]] = f"{name_of(each['loc'])}: unknown; {_cure(schema, part, each)}"
        elif path not in found:
            found[path] = _sentence(part, each, name_of(path))
    return list(found.values())


def name_of(path: Iterable[str | int]) -> str:
    """The name of a value as recipes and Python write it.

    Args:
        path: Names of sections and keys, and numbers of items.

    Example:
        >>> name_of(("train", "steps")), name_of(("labels", 0))
        ('train.steps', 'labels[0]')
    """
    name = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return name.removeprefix(".")


def shown(value: object) -> str:
    """A value as JSON and TOML write it, cut where it is long.

    Args:
        value: Any value.

    Example:
        >>> shown("x"), shown(True), shown(0)
        ('"x"', 'true', '0')
    """
    text = json.dumps(value, ensure_ascii=False, default=repr)
    if len(text) <= LONGEST:
        return text
    return f"{text[:LONGEST]}..."


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
    if "const" in schema:
        return shown(schema["const"])
    if "enum" in schema:
        *first, last = map(shown, schema["enum"])
        return " or ".join([", ".join(first), last]).removeprefix(" or ")

    values = {key: str(value).removesuffix(".0") for key, value in schema.items()}
    bounds = [text.format(values[key]) for key, text in BOUNDS.items() if key in values]
    if "minimum" in schema and "maximum" in schema:
        bounds = [f"from {values['minimum']} to {values['maximum']}"]
    noun = NOUNS.get(schema.get("type", ""), "another value")
    return f"{noun} {' and '.join(bounds)}".strip()


def follow(schema: Schema, place: Path) -> tuple[Path, Schema]:
    """Goes from a class to one of its values.

    Args:
        schema: JSON Schema of the class.
        place: Where pydantic found a mistake; ends with the type, where that is one of several.

    Returns:
        Path of the value, and the JSON Schema at it.

    Example:
        >>> class Limits(pydantic.BaseModel):
        ...     words: list[int] = []
        >>> follow(Limits.model_json_schema(), ("words", 0, "int"))
        (('words', 0), {'type': 'integer'})
    """
    path: Path = ()
    part = schema
    for step in place:
        if step in part.get("properties", {}):
            part = part["properties"][step]
        elif isinstance(step, int) and "items" in part:
            part = part["items"]
        elif isinstance(part.get("additionalProperties"), dict):
            part = part["additionalProperties"]
        else:
            break

        path += (step,)
        if len(others := [each for each in part.get("anyOf", []) if each != NOTHING]) == 1:
            part = part | others[0]
        if "$ref" in part:
            part = part | schema["$defs"][part["$ref"].rpartition("/")[2]]
    return path, part


def _sentence(part: Schema, error: ErrorDetails, name: str) -> str:
    """One mistake, where the schema says `part`."""
    kind, value = error["type"], error["input"]
    if kind == "missing":
        return f"{name} is missing: {part.get('description', expected(part))}"
    if kind in ("value_error", "assertion_error") and "properties" in part:
        return f"{name}: {error['ctx']['error']}".removeprefix(": ")  # of several values together
    if kind in ("value_error", "assertion_error"):
        return f"{name}={shown(value)}: {error['ctx']['error']}"
    if "pattern" in part:
        meaning = part["description"].rstrip(".")
        return f"{name}={shown(value)}: expected {meaning[0].lower()}{meaning[1:]}"
    if kind == "finite_number":
        return f"{name}={shown(value)}: expected a finite number"

    sentence = f"{name}={shown(value)}: expected {expected(part)}"
    if part.get("type") == "string" and type(value) in (int, float):
        sentence += f"; put it in quotes, in a shell in both kinds: '\"{value}\"'"
    if part.get("type") == "array" and isinstance(value, str):
        sentence += ', such as ["a", "b"], in a shell in quotes: \'["a", "b"]\''
    return sentence


def _cure(schema: Schema, part: Schema, error: ErrorDetails) -> str:
    """The name that an unknown one may mean: the same in another section, or the nearest."""
    *section, unknown = map(str, error["loc"])
    places = [
        (other, unknown)
        for other in schema["properties"]
        if unknown in follow(schema, (other,))[1].get("properties", {})
    ]
    names = list(part.get("properties", {}))
    near = difflib.get_close_matches(unknown, names, n=1, cutoff=0.7)
    for place in [*places, *((*section, name) for name in near)]:
        return f"did you mean {name_of(place)}?"
    return "there are " + (", ".join(name_of((*section, name)) for name in names) or "none here")
