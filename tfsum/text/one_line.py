"""A sentence of several lines, written in one."""

import re


def one_line(sentence: str) -> str:
    """A sentence of a hard-wrapped text in one line; a word that a line parts after its hyphen is one again.

    Example:
        >>> one_line("The well-\\nknown bridge\\nwas closed.")
        'The well-known bridge was closed.'
    """
    return " ".join(re.sub(r"(?<=\w-)\r?\n[ \t]*", "", sentence).split())
