"""Answers as `tfsum summarize` prints them: text, JSON, Markdown or HTML."""

import html
import re
from collections.abc import Sequence
from typing import Any

from tfsum.cli.parser import json_line, printable
from tfsum.generation.generated import Generated
from tfsum.request import Keyword, SummaryAnswer
from tfsum.text.newlines import one_line

Answer = SummaryAnswer | Generated | list[Keyword]
SUFFIXES = {"text": ".txt", "json": ".json", "markdown": ".md", "html": ".html"}
COLOUR, PLAIN = "\x1b[30;43m", "\x1b[0m"
PAGE = (
    '<!doctype html>\n<html>\n<head><meta charset="utf-8"><title>{title}</title></head>\n'
    "<body>\n{body}\n</body>\n</html>"
)


def answer_line(
    result: Answer, name: str, form: str, heading: bool, names: Sequence[str] | None = None
) -> str:
    """An answer in one of the formats.

    Args:
        result: A `SummaryAnswer`, a `Generated`, or a list of `Keyword`s.
        name: Name of its document.
        form: "text", "json", "markdown" or "html".
        heading: Whether the name stands above the answer; in JSON it always stands in it.
        names: Names of the documents that one summary is of; None for one document.

    Example:
        >>> from tfsum.request import SummaryAnswer
        >>> summary = SummaryAnswer("It rained.", ["It rained."], [0.9], [(0, 10)], 1.0, [])
        >>> print(answer_line(summary, "a.txt", "markdown", True))
        ## a.txt
        <BLANKLINE>
        - It rained.
        <BLANKLINE>
    """
    if form == "json":
        return _json(result, name, names)

    lines = [printable(line) for line in _lines(result, names)]
    name = printable(name)
    if form == "html":
        items = "\n".join(f"<li>{html.escape(line)}</li>" for line in lines)
        above = f"<h2>{html.escape(name)}</h2>\n" if heading else ""
        return f"<article>\n{above}<ul>\n{items}\n</ul>\n</article>"
    if form == "markdown":
        title = [f"## {_marked_down(name)}", ""] if heading else []
        return "\n".join(
            [*title, *(f"- {_marked_down(line)}" for line in lines), *([""] * heading)]
        )
    return "\n".join([f"==> {name} <==", *lines, ""] if heading else lines)


def highlighted(text: str, result: SummaryAnswer, name: str, form: str, heading: bool) -> str:
    """A whole text with the chosen sentences marked, for a terminal or as HTML.

    Args:
        text: The text.
        result: Its `SummaryAnswer`.
        name: Name of the document.
        form: "text" or "html".
        heading: Whether the name stands above it.

    Example:
        >>> from tfsum.request import SummaryAnswer
        >>> summary = SummaryAnswer("It rained.", ["It rained."], [0.9], [(4, 14)], 1.0, [])
        >>> print(highlighted("No. It rained.", summary, "a.txt", "html", False))
        <article>
        <p style="white-space: pre-wrap">No. <mark>It rained.</mark></p>
        </article>
    """
    begin, end = ("<mark>", "</mark>") if form == "html" else (COLOUR, PLAIN)

    def escape(part: str) -> str:
        return html.escape(part) if form == "html" else printable(part)

    shown, at = [], 0
    for first, last in result.offsets:
        shown += [escape(text[at:first]), begin, escape(text[first:last]), end]
        at = last
    marked = "".join([*shown, escape(text[at:])])

    if form == "html":
        title = f"<h2>{html.escape(name)}</h2>\n" if heading else ""
        return f'<article>\n{title}<p style="white-space: pre-wrap">{marked}</p>\n</article>'
    return "\n".join([f"==> {printable(name)} <==", marked, ""] if heading else [marked])


def _lines(result: Answer, names: Sequence[str] | None) -> list[str]:
    """The lines of an answer: its keywords, its sentences, or what was written."""
    if isinstance(result, list):
        return [one_line(keyword.text) for keyword in result]
    if isinstance(result, Generated):
        return result.summary.splitlines()
    lines = [one_line(sentence) for sentence in result.sentences]
    if names is not None and result.documents is not None:
        lines = [f"{line} [{names[i]}]" for line, i in zip(lines, result.documents)]
    return lines


def _json(result: Answer, name: str, names: Sequence[str] | None) -> str:
    if isinstance(result, list):
        return json_line({"file": name, "keywords": _rounded(result)})
    fields = {key: value for key, value in vars(result).items() if value is not None}
    documents = fields.pop("documents", None)
    if names is not None and documents is not None:
        return json_line({"files": [names[i] for i in documents], **_rounded(fields)})
    return json_line({"file": name, **_rounded(fields)})


def _marked_down(text: str) -> str:
    """A text whose marks mean nothing in Markdown, nor what begins a list."""
    return re.sub(r"([\\`*_\[\]<>#|~&]|^[-+]|(?<=^\d)[.)])", r"\\\1", text)


def _rounded(value: Any) -> Any:
    if isinstance(value, Keyword):
        value = vars(value)
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_rounded(item) for item in value]
    if isinstance(value, float):
        return round(value, 6)
    return value
