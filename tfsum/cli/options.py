"""The options of the verbs: their parser, options from tables and from settings classes, the
settings from the options given; and text as a terminal may show it.

A settings class says all of an option: name, type, choices, default and meaning, and
`tfsum.settings.Option` what else the command line needs. The class alone checks the values, as for
Python and REST.
"""

import argparse
import glob
import json
import os
import re
import sys
from collections.abc import Collection, Iterable, Mapping
from typing import Any, NoReturn, TypeVar

import pydantic

from tfsum.errors import Error
from tfsum.inference.saved_model import no_model, shipped_models
from tfsum.settings import NOTHING, Option, Schema, mistakes

# Title of a group -> option, such as "-n --size" -> arguments of `add_argument`. The options under
# "at most one of" or "exactly one of", which a word may follow, exclude each other.
Options = Mapping[str, Mapping[str, Mapping[str, Any]]]
# A class whose fields are options, with the other arguments of `add_settings`.
Classes = Iterable[tuple[type[pydantic.BaseModel], Collection[str] | None, str]]
FORMAT = {"choices": ("text", "json"), "default": "text", "help": "default text"}

Model = TypeVar("Model", bound=pydantic.BaseModel)
METAVARS = {"integer": "N", "number": "X", "string": "TEXT"}

# The settings of a parser that gives what the user gave alone: what was not given is left to the
# library's own default.
GIVEN_ONLY: dict[str, Any] = {"argument_default": argparse.SUPPRESS}

WRONG_CALL = 2
# Control characters, and the marks that turn the direction of writing: on a terminal they move the
# cursor, hide or forge.
CONTROLS = (
    *(set(range(32)) - {9, 10}),
    *range(127, 160),
    *range(0x202A, 0x202F),
    *range(0x2066, 0x206A),
)


class Arguments(argparse.Namespace):
    """The words of a call, parsed: the value of each option by its name.

    Attributes:
        parser: Parser of the verb, for what is wrong with them together.

    Example:
        >>> Arguments(words=60).words
        60
    """

    parser: "Parser"


class Parser(argparse.ArgumentParser):
    """An `ArgumentParser` that tells wrong options from wrong input.

    `error`, argparse's own, shows the usage before its message; `reject` shows the message alone.

    Example:
        >>> Parser(prog="tfsum").prog
        'tfsum'
    """

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self._groups: dict[tuple[str, str], Any] = {("", ""): self}

    def group(self, title: str = "", exclusive: str = "") -> Any:
        """Returns what options are added to: a group with this title, the same at each call.

        Args:
            title: Title in the help; "" is the parser itself.
            exclusive: Name of a set in the group, of which a call may have one option at most, or,
                where the name begins with "exactly", must have one.
        """
        key = title, exclusive
        if key not in self._groups and exclusive:
            required = exclusive.startswith("exactly")
            self._groups[key] = self.group(title).add_mutually_exclusive_group(required=required)
        elif key not in self._groups:
            self._groups[key] = self.add_argument_group(title)
        return self._groups[key]

    def reject(self, message: str) -> NoReturn:
        """Ends the command with exit status 2 and one line on standard error.

        Args:
            message: What was found, what was expected, and how to mend it.
        """
        self.exit(WRONG_CALL, f"{self.prog}: error: {message}\n")

    def require(self, condition: object, message: str) -> None:
        """Rejects the call unless a condition is true.

        Args:
            condition: Value that is true where the call is right.
            message: What was found, what was expected, and how to mend it.
        """
        if not condition:
            self.reject(message)

    def require_paths(self, *paths: str) -> None:
        """Rejects paths and patterns in which there is no file or folder.

        Args:
            *paths: Paths, or patterns such as `news.*.jsonl`.
        """
        missing = [
            path for path in dict.fromkeys(paths) if not (os.path.exists(path) or glob.glob(path))
        ]
        self.require(not missing, f"no such file or folder: {', '.join(missing)}")

    def require_model(self, path: str) -> None:
        """Rejects a path where there is nothing, unless it is the name of a shipped model.

        Args:
            path: Path of a model's folder, or name.
        """
        self.require(os.path.exists(path) or path in shipped_models(), no_model(path))

    def _print_message(self, message: str, file: Any = None) -> None:
        (file or sys.stderr).write(printable(message))  # argparse passes over a full disk


def add_options(parser: Parser, groups: Options, classes: Classes = ()) -> None:
    """Adds the options of classes, and those of a table.

    Args:
        parser: Parser of a verb.
        groups: Table; the options of the group "" have no title.
        classes: Arguments of `add_settings` for each class.

    Example:
        >>> parser = Parser()
        >>> case = {"--cased": {"action": "store_true"}, "--uncased": {"action": "store_true"}}
        >>> add_options(parser, {"": {"-n --size": {"type": int}, "at most one of": case}})
        >>> parser.parse_args(["-n", "3", "--cased"])
        Namespace(size=3, cased=True, uncased=False)
    """
    for each in classes:
        add_settings(parser, *each)
    for title, options in groups.items():
        for flags, settings in options.items():
            if "one of" in flags:
                for flag, its in settings.items():
                    parser.group(title, flags).add_argument(*flag.split(), **its)
            else:
                parser.group(title).add_argument(*flags.split(), **settings)


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
        >>> parser.set_defaults(parser=parser)
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
            flags.append(flag_of(name))
        parser.group(option.group or group, option.exclusive).add_argument(
            *flags,
            dest=name,
            default=argparse.SUPPRESS,
            help=_help(schema),
            **_kind(schema, option),
        )


def read_settings(
    model: type[Model],
    arguments: Arguments,
    only: Collection[str] = (),
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
    fields = only or model.model_fields
    given = {name: value for name, value in vars(arguments).items() if name in fields}
    try:
        return model(**given, **others)
    except pydantic.ValidationError as error:
        arguments.parser.reject("; ".join(mistakes(error, model)))
    except Error as error:
        arguments.parser.reject(str(error))


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


def flag_of(name: str) -> str:
    """The option of a field or an argument.

    Args:
        name: Its name in Python.

    Example:
        >>> flag_of("min_score")
        '--min-score'
    """
    return f"--{name.replace('_', '-')}"


def given_options(arguments: Arguments) -> dict[str, Any]:
    """Returns the options of a call by name, to be passed on to a function of the library.

    Args:
        arguments: Parsed arguments; with `GIVEN_ONLY` those alone that the user gave.

    Example:
        >>> given_options(Arguments(size=8, run=print, parser=None))
        {'size': 8}
    """
    return {name: value for name, value in vars(arguments).items() if name not in ("run", "parser")}


def printable(text: str) -> str:
    """A text as it may be shown on a terminal: control characters become U+FFFD.

    Args:
        text: Any text.

    Example:
        >>> printable("red: \\x1b[31m")
        'red: �[31m'
    """
    return text.translate(dict.fromkeys(CONTROLS, "\ufffd"))


def print_as(form: str, record: object, text: object) -> None:
    """Prints the result of a verb.

    Args:
        form: "json" or "text".
        record: The result as JSON has it.
        text: The result as people read it.

    Example:
        >>> print_as("json", {"documents": 3}, "3 documents")
        {"documents": 3}
    """
    print(json.dumps(record, ensure_ascii=False) if form == "json" else text)


def json_line(value: object) -> str:
    """A value as JSON in one line, its control characters escaped.

    Args:
        value: Anything that JSON can write.

    Example:
        >>> json_line({"text": "\\x9b31m é"})
        '{"text": "\\\\u009b31m é"}'
    """
    line = json.dumps(value, ensure_ascii=False)
    return line.translate({number: f"\\u{number:04x}" for number in CONTROLS})
