"""What the verbs share: the parser (usage for wrong options, one line for wrong input), and text
as a terminal may show it."""

import argparse
import glob
import json
import os
import sys
from collections.abc import Mapping
from typing import Any, NoReturn

from tfsum.control_characters import CONTROLS

# Title of a group -> option, such as "-n --size" -> arguments of `add_argument`. The options under
# "at most one of" or "exactly one of", which a word may follow, exclude each other.
Options = Mapping[str, Mapping[str, Mapping[str, Any]]]
FORMAT = {"choices": ("text", "json"), "default": "text", "help": "default text"}

WRONG_CALL = 2


class Parser(argparse.ArgumentParser):
    """An `ArgumentParser` that tells wrong options from wrong input.

    `error`, argparse's own, shows the usage before its message; `reject` shows the message alone.

    Example:
        >>> Parser(prog="tfsum").prog
        'tfsum'
    """

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self._groups: dict[tuple[str, str], Any] = {}

    def group(self, title: str = "", exclusive: str = "") -> Any:
        """Returns what options are added to: a group with this title, the same at each call.

        Args:
            title: Title in the help; "" is the parser itself.
            exclusive: Name of a set in the group, of which a call may have one option at most, or,
                where the name begins with "exactly", must have one.
        """
        key = title, exclusive
        if key not in self._groups:
            if exclusive:
                required = exclusive.startswith("exactly")
                whole = self.group(title)
                self._groups[key] = whole.add_mutually_exclusive_group(required=required)
            elif title:
                self._groups[key] = self.add_argument_group(title)
            else:
                self._groups[key] = self
        return self._groups[key]

    def reject(self, message: str) -> NoReturn:
        """Ends the command with exit status 2 and one line on standard error.

        Args:
            message: What was found, what was expected, and how to mend it.
        """
        self.exit(WRONG_CALL, f"{self.prog}: error: {message}\n")

    def require_paths(self, *paths: str) -> None:
        """Rejects paths and patterns in which there is no file or folder.

        Args:
            *paths: Paths, or patterns such as `news.*.jsonl`.
        """
        missing = [
            path for path in dict.fromkeys(paths) if not (os.path.exists(path) or glob.glob(path))
        ]
        if missing:
            self.reject(f"no such file or folder: {', '.join(missing)}")

    def _print_message(self, message: str, file: Any = None) -> None:
        (file or sys.stderr).write(printable(message))  # argparse passes over a full disk


def add_options(parser: Parser, groups: Options) -> None:
    """Adds options from a table.

    Args:
        parser: Parser of a verb.
        groups: Table; the options of the group "" have no title.

    Example:
        >>> parser = Parser()
        >>> case = {"--cased": {"action": "store_true"}, "--uncased": {"action": "store_true"}}
        >>> add_options(parser, {"": {"-n --size": {"type": int}, "at most one of": case}})
        >>> parser.parse_args(["-n", "3", "--cased"])
        Namespace(size=3, cased=True, uncased=False)
    """
    for title, options in groups.items():
        for flags, settings in options.items():
            if "one of" in flags:
                for each, its in settings.items():
                    parser.group(title, flags).add_argument(*each.split(), **its)
            else:
                parser.group(title).add_argument(*flags.split(), **settings)


def given_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """Returns the options of a call by name, to be passed on to a function of the library.

    Args:
        arguments: Parsed arguments; with `argument_default=argparse.SUPPRESS` those alone that
            the user gave.

    Example:
        >>> given_options(argparse.Namespace(size=8, run=print, parser=None))
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
