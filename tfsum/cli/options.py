"""Options of the command line from a settings class, and the settings from the options given.

The class says all of an option: name, type, choices, default and meaning, and `tfsum.option.Option`
what else the command line needs. pydantic alone checks the values, as for Python and REST.
"""

import argparse
import re
from collections.abc import Collection
from typing import TYPE_CHECKING, Any, TypeVar

from tfsum.cli.parser import Parser
from tfsum.option import Option
from tfsum.settings_errors import NOTHING, Path, dotted, mistakes, shown

if TYPE_CHECKING:
    import pydantic

Schema = dict[str, Any]
Model = TypeVar("Model", bound="pydantic.BaseModel")
METAVARS = {"integer": "N", "number": "X", "array": "VALUE", "string": "TEXT"}


def add_settings(
    parser: Parser, model: "type[pydantic.BaseModel]", only: Collection[str] | None = None
) -> None:
    """Adds an option for each field of a class.

    Args:
        parser: Parser of a verb.
        model: The class.
        only: Names of the fields that are options; by default all that are not hidden.

    Example:
        >>> from typing import Annotated
        >>> import pydantic
        >>> class Limits(pydantic.BaseModel):
        ...     words: Annotated[int, Option("-w"), pydantic.Field(ge=1)] = 100
        ...     block_trigrams: bool | None = None
        >>> parser = Parser(argument_default=argparse.SUPPRESS)
        >>> add_settings(parser, Limits)
        >>> arguments = parser.parse_args(["-w", "5", "--no-block-trigrams"])
        >>> read_settings(Limits, arguments)
        Limits(words=5, block_trigrams=False)
    """
    properties = model.model_json_schema(by_alias=False)["properties"]
    for name, schema in properties.items():
        option = _option(model, name)
        if option.hidden or (only is not None and name not in only):
            continue
        group = parser.group(option.group, option.exclusive)
        group.add_argument(
            *_flags(name, option),
            dest=name,
            default=argparse.SUPPRESS,
            help=_help(schema),
            **_kind(schema, option),
        )


def read_settings(model: type[Model], arguments: argparse.Namespace, **others: object) -> Model:
    """Makes the settings of a class of the options that were given.

    Args:
        model: The class.
        arguments: Parsed arguments; `arguments.parser` is the parser of the verb, which ends with
            exit status 2 and a sentence for each value that the class refuses.
        **others: Values of fields that are no options.

    Returns:
        The settings, with the class's defaults for what was not given.
    """
    import pydantic

    given = {name: value for name, value in vars(arguments).items() if name in model.model_fields}
    try:
        return model.model_validate({**given, **others}, strict=False, by_name=True)
    except pydantic.ValidationError as error:
        sentences = mistakes(error, model, lambda path: option_name(model, path), _text)
        parser: Parser = arguments.parser
        parser.reject("\n  ".join(sentences))


def option_name(model: "type[pydantic.BaseModel]", path: Path) -> str:
    """The option of a field, for messages.

    Args:
        model: The class.
        path: Path of the value, of which the first part is the field; () is no option.

    Example:
        >>> import pydantic
        >>> class Limits(pydantic.BaseModel):
        ...     min_score: float = 0.0
        >>> option_name(Limits, ("min_score",))
        '--min-score'
    """
    if not path:
        return ""
    flags = _flags(str(path[0]), _option(model, str(path[0])))
    return dotted((flags[-1], *path[1:]))


def _option(model: "type[pydantic.BaseModel]", name: str) -> Option:
    field = model.model_fields.get(name)
    metadata = field.metadata if field else []
    return next((each for each in metadata if isinstance(each, Option)), Option())


def _flags(name: str, option: Option) -> list[str]:
    flags = option.flags.split()
    if any(flag.startswith("--") for flag in flags):
        return flags
    return [*flags, "--" + name.replace("_", "-")]


def _kind(schema: Schema, option: Option) -> dict[str, Any]:
    """What `add_argument` needs for a field of this type."""
    types = [each for each in schema.get("anyOf", [schema]) if each != NOTHING]
    if types[0].get("type") == "boolean":
        if schema.get("default") is False:
            return {"action": "store_true"}
        return {"action": argparse.BooleanOptionalAction}

    action = "append" if types[0].get("type") == "array" else "store"
    return {"action": action, "metavar": option.metavar or "|".join(map(_metavar, types))}


def _metavar(schema: Schema) -> str:
    if "enum" in schema:
        return "{" + ",".join(map(str, schema["enum"])) + "}"
    return str(schema.get("const", METAVARS.get(schema.get("type", ""), "VALUE")))


def _help(schema: Schema) -> str:
    """The first sentence of a description, as a help text is written, with the default."""
    text = re.split(r"\.(?:\s|$)", schema.get("description", ""), maxsplit=1)[0]
    if text[1:2].islower():
        text = text[0].lower() + text[1:]
    default = schema.get("default")
    if default is None or default in (False, "", []):
        return text.replace("%", "%%")
    return f"{text} (default: {_text(default)})".replace("%", "%%")


def _text(value: object) -> str:
    """A value as it is written on the command line."""
    return value if isinstance(value, str) else shown(value)
