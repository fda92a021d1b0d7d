"""The options of `tfsum evaluate` that say where a corpus of labelled texts has its texts and labels."""

import argparse

NAMES = ("text", "label", "text_pair")


def add_label_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds a group of options to a verb."""
    add = parser.add_argument_group("the corpus of a classifier, by default as its recipe read it").add_argument
    add("--text", metavar="COLUMN", help="the texts; a number from 1 in a table without a header line")
    add("--label", metavar="COLUMN", help="their labels")
    add("--text-pair", metavar="COLUMN", help="their second texts")


def label_columns(arguments: argparse.Namespace, description: dict) -> dict[str, str | None]:
    """The columns of the options, of the recipe that the model remembers, or of `read_labelled`."""
    known = {"text": "text", "label": "label", "text_pair": "text_pair" if description["text"]["pair"] else None}
    recipe = description.get("recipe", {}).get("data", {})
    return {name: getattr(arguments, name) or recipe.get(name, known[name]) for name in NAMES}
