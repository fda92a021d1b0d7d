"""New lines: what the user says they mean, for a model that was exported otherwise, and a sentence
without them."""

import re
from collections.abc import Sequence

from tfsum.errors import Error
from tfsum.loading import load_tensorflow

_BREAKS = re.compile(rb"[\n\r\x0b\f]|\xc2\x85|\xe2\x80[\xa8\xa9]")
_IN_A_PARAGRAPH = re.compile(rb"(?<=[^\s])([ \t]*)(\r\n|\r|\n)(?=[ \t]*[^\s])")


def rewrite_newlines(
    texts: Sequence[bytes], newline: str, exported: str
) -> tuple[list[bytes], list[str]]:
    r"""Rewrites the new lines of texts, so that an exported model takes them as they are meant.

    Args:
        texts: Texts in UTF-8.
        newline: Meaning of a new line: "sentence", "paragraph" or "space", as of
            `SentenceSplitter`, or "auto".
        exported: Meaning that the export gives it.

    Returns:
        The texts, each of as many bytes as before, and what a new line was taken for in each:
        "sentence", "paragraph" or "space".

    Raises:
        Error: The export cannot end a sentence there.

    Example:
        >>> rewrite_newlines([b"A bridge\nwas closed.\n\nIt rained."], "paragraph", "sentence")
        ([b'A bridge was closed.\n\nIt rained.'], ['paragraph'])
    """
    if exported == "line":
        raise Error(
            f"newline is {newline!r}, and the model was exported with 'line', for texts with a"
            ' sentence a line; leave it out, or export the model with newline "auto"'
        )
    order = ("sentence", "auto", "paragraph", "space")
    if order.index(newline) < order.index(exported) and exported != "auto":
        raise Error(
            f"newline is {newline!r}, and the model was exported with {exported!r}, in which a new"
            ' line does not end a sentence; leave it out, or export the model with newline "auto"'
        )

    if newline == "auto":
        load_tensorflow()  # all else is done without it
        import tensorflow as tf

        from tfsum.text.hard_wraps import join_hard_wraps

        joined, wrapped = join_hard_wraps(tf.constant(list(texts), tf.string))
        meanings = ["paragraph" if flag else "sentence" for flag in wrapped.numpy()]
        return joined.numpy().tolist(), meanings
    breaks = {"space": _BREAKS, "paragraph": _IN_A_PARAGRAPH}.get(newline)
    if breaks is not None:
        texts = [breaks.sub(lambda match: b" " * len(match[0]), text) for text in texts]
    elif exported == "auto":
        # ends a sentence and is no line of a wrapped text
        texts = [text.replace(b"\n", b"\f") for text in texts]
    return list(texts), [newline] * len(texts)


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
