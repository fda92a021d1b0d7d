"""Prose in files that hold marks or code beside it: Markdown, LaTeX, Jupyter notebooks."""

import json
import re

import lxml.html
from markdown_it import MarkdownIt
from markdown_it.token import Token
from pylatexenc.latex2text import LatexNodes2Text

from tfsum.inputs.documents import Document, of_paragraphs
from tfsum.inputs.html_text import html_lines

_FRONT_MATTER = re.compile(r"\A\ufeff?---[ \t]*\n.*?\n(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.S)
_FORMULA = re.compile(r"\s*\$\$.*\$\$\s*", re.S)  # that stands alone
# Marks that CommonMark has not: :rocket:, [^1], > [!NOTE], - [x], :::tip
_MARKS = re.compile(
    r"(?<![\w/]):[a-z0-9_+-]+:(?!\w)|\[\^[^\]\s]+\]:?[ \t]*"
    r"|^(?::::.*|\[!\w+\]|\[[ xX]\][ \t])[ \t]*\n?",
    re.M,
)
_LINK = re.compile(r"\[\[(?:[^\]|]*\|)?([^\]|]+)\]\]")  # [[page|words]]
_SAID = {"softbreak": "\n", "hardbreak": "\v"}
# A new line that is no break of a paragraph is a space, and nothing between ideographs.
_SOFT = re.compile("(?<=[\u3000-\u9fff\uff00-\uff60])\n(?=[\u3000-\u9fff\uff00-\uff60])|(\n)")

_BODY = re.compile(r"\\begin\{document\}(.*?)(?:\\end\{document\}|\Z)", re.S)
# What is replaced in a body, in this order.
_REWRITES = (
    (r"\\verb\*?([^\w\s])(.*?)\1", r"\2"),
    (  # what stands alone
        r"(?s)\n?\\\[.*?\\\]\n?|\n?\$\$.*?\$\$\n?"
        r"|\n?\\begin\{(equation|align|gather|multline|eqnarray|displaymath|figure|table|tabular|tabularx"
        r"|longtable|tikzpicture|lstlisting|verbatim|Verbatim|Highlighting|minted|algorithm|algorithmic"
        r"|thebibliography)(\*?)\}"
        r".*?\\end\{\1\2\}\n?",
        " ",
    ),
    (  # what is no prose
        r"(?<!\\)%[^\n]*\n?"
        r"|\\(?:maketitle|tableofcontents|newpage|clearpage|noindent)\b"
        r"|\\(?:begin|end)\{(?:columns?|minipage|multicols)\}(?:\[[^\]]*\])?(?:\{[^}]*\})?"
        r"|\\def\\\w+\{(?:[^{}]|\{[^{}]*\})*\}"
        r"|\\(?:bibliography|bibliographystyle|label|usepackage|include|input|href|index\w*)\*?(?:\[[^\]]*\])?\{[^}]*\}"
        r"|[~ ]?\(?\\(?:eq|auto|c|C|page)?ref\*?\{[^}]*\}\)?"
        r"|[~ ]?\\(?:no)?cite\w*\*?(?:\[[^\]]*\])*\{[^}]*\}",
        "",
    ),
    (
        r"\\(?:part|chapter|(?:sub)*section|paragraph|frametitle|begin\{frame\})\*?"
        r"(?:\[[^\]]*\])?\{([^{}]*)\}",
        "\n\n\\1\n\n",
    ),
    (r"\\item(?:\s*\[([^\]]*)\])?", "\n\n\\1 "),
)
_INCLUDED = re.compile(r"^[^%\n]*\\(?:include|input|subfile)\{", re.M)
_NOTE = re.compile(r"\\footnote(?:<[^>]*>)?(?:\[[^\]]*\])?\{((?:[^{}]|\{[^{}]*\})*)\}")


def markdown_content(text: str) -> Document:
    """The prose of Markdown, without its marks, code, tables, pictures and comments.

    Args:
        text: CommonMark, with the tables of GitHub.

    Example:
        >>> markdown_content("# Rain\\n\\n- It **rained**.\\n\\n```\\ncode\\n```\\n").text
        'Rain\\n\\nIt rained.'
    """
    tokens = (
        MarkdownIt("commonmark")
        .enable(["table", "strikethrough"])
        .parse(_FRONT_MATTER.sub("", text))
    )
    paragraphs: list[str] = []
    is_table = False
    for token in tokens:
        if token.type in ("table_open", "table_close"):
            is_table = token.type == "table_open"
        elif token.type == "inline" and not is_table and not _FORMULA.fullmatch(token.content):
            said = "".join(map(_said, token.children or []))
            said = _LINK.sub(r"\1", _MARKS.sub("", said)).strip()
            said = _SOFT.sub(lambda line: " " if line[1] else "", said)
            paragraphs.append(said.replace("\v", "\n"))
        elif token.type == "html_block":
            paragraphs.append(html_lines(lxml.html.fragment_fromstring(token.content, "div")))
    is_code = any(token.type in ("fence", "code_block") for token in tokens)
    return of_paragraphs(paragraphs, ["code is not read"] * is_code)


def _said(token: Token) -> str:
    shown = token.content if token.type in ("text", "code_inline") else ""
    return _SAID.get(token.type, shown)


def notebook_content(text: str) -> Document:
    """The prose of a Jupyter notebook: of its cells in Markdown.

    Args:
        text: Content of a file, version 4 of the format.

    Example:
        >>> notebook_content('{"cells": [{"cell_type": "markdown", "source": ["# Rain"]}]}').text
        'Rain'
    """
    cells = json.loads(text)["cells"]
    prose = [cell["source"] for cell in cells if cell["cell_type"] == "markdown"]
    contents = [markdown_content("".join(source)) for source in prose]
    has_code = len(prose) < len(cells) or any(content.notes for content in contents)
    return of_paragraphs((content.text for content in contents), ["code is not read"] * has_code)


def latex_content(text: str) -> Document:
    """The prose of LaTeX, without formulas that stand alone, tables, figures and references.

    Args:
        text: Content of a file.

    Example:
        >>> latex_content(r"\\section{Rain} It \\emph{rained} 5\\% more~\\cite{a}.").text
        'Rain\\n\\nIt rained 5% more.'
    """
    body = _BODY.search(text)
    prose = body[1] if body else text
    for pattern, rewrite in _REWRITES:
        prose = re.sub(pattern, rewrite, prose)
    parts = re.split(r"\n\s*\n", prose)  # each with its footnotes behind it
    noted = "\n\n".join("\n\n".join([_NOTE.sub("", part), *_NOTE.findall(part)]) for part in parts)
    said = LatexNodes2Text(math_mode="text").latex_to_text(noted)
    return of_paragraphs(
        (" ".join(part.split()) for part in re.split(r"\n\s*\n", said)),
        ["the files that it includes are not read"] * bool(_INCLUDED.search(text)),
    )
