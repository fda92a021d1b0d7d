"""Print the script by which a shell completes the verbs and options of tfsum."""

import argparse

from tfsum.cli.main import VERBS, parser_of
from tfsum.cli.options import Arguments, Options

EXAMPLES = """examples:
  tfsum completion bash > ~/.local/share/bash-completion/completions/tfsum
  tfsum completion zsh > ~/.zfunc/_tfsum    # a folder of fpath, before compinit
  tfsum completion fish > ~/.config/fish/completions/tfsum.fish
"""

OPTIONS: Options = {"": {"shell": {"choices": ("bash", "zsh", "fish"), "help": "the shell"}}}


def run(arguments: Arguments) -> int:
    import shtab

    parser = parser_of(*VERBS)
    mark_values(parser, shtab.FILE)
    print(shtab.complete(parser, arguments.shell))
    return 0


def mark_values(parser: argparse.ArgumentParser, files: dict[str, str]) -> None:
    """Tells what completes the values of options: the choices that a metavar lists, or files where
    a value is no number.

    Args:
        parser: Parser, with those of its verbs.
        files: Mark of the arguments that files complete, `shtab.FILE`.
    """
    for action in parser._actions:
        if isinstance(action.choices, dict):  # the verbs of a parser
            for verb in action.choices.values():
                mark_values(verb, files)
        elif str(action.metavar).startswith("{"):
            action.choices = str(action.metavar).strip("{}").split(",")
        elif action.choices is None and action.type is None and action.nargs != 0:
            action.complete = files  # type: ignore[attr-defined]
