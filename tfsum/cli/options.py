"""Options of the command line from a settings class, and the settings from the options given.

The class says all of an option: name, type, choices, default and meaning, and `tfsum.option.Option`
what else the command line needs. The class alone checks the values, as for Python and REST.
"""

import argparse
import re
from collections.abc import Collection
from typing import Any, TypeVar

import pydantic

from tfsum.cli.parser import Parser
from tfsum.errors import Error
from tfsum.option import Option
from tfsum.settings_errors import NOTHING, Schema, mistakes

Model = TypeVar("Model", bound=pydantic.BaseModel)
METAVARS = {"integer": "N", "number": "X", "string": "TEXT"}


def add_settings(
    parser: Parser,
    model: type[pydantic.BaseModel],
    only: Collection[str] | None = None,
    group: str = "",
) -> None:
    """Adds an option for each field of a class.

    Args:
        parser: Parser of a verb.
        model: The class.
        only: Names of the fields that are options; by default all that are not hidden.
        group: Title of the group of those whose annotation names none.

    Example:
        >>> from typing import Annotated
        >>> class Limits(pydantic.BaseModel):
        ...     words: Annotated[int, Option("-w"), pydantic.Field(ge=1)] = 100
        ...     block_trigrams: bool | None = None
        >>> parser = Parser()
        >>> add_settings(parser, Limits)
        >>> arguments = parser.parse_args(["-w", "5", "--no-block-trigrams"])
        >>> read_settings(Limits, arguments)
        Limits(words=5, block_trigrams=False)
    """
    for name, schema in model.model_json_schema(by_alias=False)["properties"].items():
        metadata = model.model_fields[name].metadata
        option = next((each for each in metadata if isinstance(each, Option)), Option())
        if option.hidden or (only is not None and name not in only):
            continue

        flags = option.flags.split()
        if not any(flag.startswith("--") for flag in flags):
            flags.append("--" + name.replace("_", "-"))
        parser.group(option.group or group, option.exclusive).add_argument(
            *flags,
            dest=name,
            default=argparse.SUPPRESS,
            help=_help(schema),
            **_kind(schema, option),
        )


def read_settings(
    model: type[Model],
    arguments: argparse.Namespace,
    only: Collection[str] | None = None,
    **others: object,
) -> Model:
    """Makes the settings of a class of the options that were given.

    Args:
        model: The class.
        arguments: Parsed arguments; `arguments.parser` is the parser of the verb, which ends with
            exit status 2 and a sentence for each value that the class refuses.
        only: Names of the fields that are options; by default all.
        **others: Values of fields that are no options.

    Returns:
        The settings, with the class's defaults for what was not given.
    """
    fields = model.model_fields if only is None else only
    given = {name: value for name, value in vars(arguments).items() if name in fields}
    parser: Parser = arguments.parser
    try:
        return model(**given, **others)
    except pydantic.ValidationError as error:
        parser.reject("; ".join(mistakes(error, model)))
    except Error as error:
        parser.reject(str(error))


def _kind(schema: Schema, option: Option) -> dict[str, Any]:
    """What `add_argument` needs for a field of this type."""
    types = [each for each in schema.get("anyOf", [schema]) if each != NOTHING]
    if types[0].get("type") == "boolean" and schema.get("default") is False:
        return {"action": "store_true"}
    if types[0].get("type") == "boolean":
        return {"action": argparse.BooleanOptionalAction}

    kind: dict[str, Any] = {"metavar": option.metavar or "|".join(map(_metavar, types))}
    if types[0].get("type") in ("array", "object"):
        kind["action"] = "append"
    if any(each.get("type") in ("integer", "number") for each in types):
        kind["type"] = number
    return kind


def _metavar(schema: Schema) -> str:
    if "enum" in schema:
        return "{" + ",".join(map(str, schema["enum"])) + "}"
    return str(schema.get("const", METAVARS.get(schema.get("type", ""), "VALUE")))


def number(word: str) -> int | float | str:
    """A word as a number where it is one; what it must be is the class's to say.

    Args:
        word: Value of an option.

    Example:
        >>> number("3"), number("0.5"), number("auto")
        (3, 0.5, 'auto')
    """
    for kind in (int, float):
        try:
            return kind(word)
        except ValueError:
            continue
    return word


def _help(schema: Schema) -> str:
    """The first sentence of a description, as a help text is written, with the default."""
    text = re.split(r"\.(?:\s|$)", schema.get("description", ""), maxsplit=1)[0]
    if not text[1:2].isupper():
        text = text[:1].lower() + text[1:]
    default = schema.get("default")
    if default is not None and default is not False and default not in ("", [], {}):
        text += f" (default: {default})"
    return text.replace("%", "%%")
