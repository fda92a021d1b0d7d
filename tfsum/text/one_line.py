"""A sentence of several lines, written in one."""

import re


def one_line(sentence: str) -> str:
    """Writes a sentence of a hard-wrapped text in one line.

    A word that was parted after its hyphen becomes one again.

    Args:
        sentence: Sentence, of one line or several.

    Example:
        >>> one_line("The well-\\nknown bridge\\nwas closed.")
        'The well-known bridge was closed.'
    """
    return " ".join(re.sub(r"(?<=\w-)\r?\n[ \t]*", "", sentence).split())
