"""The tools that an agent calls over the Model Context Protocol: summarize, compress, keywords.

An agent chooses the arguments, and may have them from a text that it read: no tool fetches an
address, and files are read below one folder alone, if one was given.
"""

import contextlib
import pathlib
from collections.abc import Iterator
from typing import Annotated, Any

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field

import tfsum
from tfsum.errors import DataError, Error
from tfsum.inputs.sources import Source, read_source
from tfsum.tasks.bert_sum_ext.limits import Limits
from tfsum.tasks.bert_sum_ext.summarizer import Summarizer
from tfsum.tasks.bert_sum_ext.summary import plain

LARGEST = 8 << 20  # characters of a text, and bytes of a file
INSTRUCTIONS = (
    "Makes long texts shorter and finds their keywords. Every answer is made of sentences and words"
    " of the text, with their character offsets: nothing is invented. Give `text`, or `file` where"
    " the server has a folder of files."
)

Text = Annotated[str | None, Field(description="the text")]
File = Annotated[str | None, Field(description="path below the server's folder, instead of text")]
Query = Annotated[
    str | None, Field(description="a question or title the sentences are to be about")
]
Words = Annotated[int | None, Field(description="the most words", ge=1)]


def mcp_server(model: Summarizer, root: pathlib.Path | None) -> MCPServer:
    """Makes the server of an extractive model.

    Args:
        model: The model.
        root: Folder whose files may be read; None for none.

    Example:
        >>> mcp_server(tfsum.load(), None).name
        'tfsum'
    """
    server = MCPServer("tfsum", instructions=INSTRUCTIONS, version=tfsum.__version__)

    @server.tool()
    def summarize(
        text: Text = None,
        file: File = None,
        sentences: Annotated[int | None, Field(description="the most sentences", ge=1)] = None,
        words: Words = None,
        share: Annotated[
            float | None, Field(description="the largest share of the text's words", gt=0, le=1)
        ] = None,
        query: Query = None,
    ) -> dict[str, Any]:
        """Chooses the sentences that say most of a text; by default two to four of them."""
        given = {"words": words, "share": share, "query": query}
        limits = Limits(**{name: value for name, value in given.items() if value is not None})  # type: ignore[typeddict-item]
        with _told():
            return plain(model(_text(text, file, root), sentences, **limits))

    @server.tool()
    def compress(
        words: Annotated[int, Field(description="the most words", ge=1)],
        text: Text = None,
        file: File = None,
        query: Query = None,
    ) -> dict[str, Any]:
        """Shortens a text to a number of words for a context window, verbatim and in order."""
        limits = Limits(words=words) if query is None else Limits(words=words, query=query)
        with _told():
            return plain(model(_text(text, file, root), block_trigrams=True, **limits))

    @server.tool()
    def keywords(
        text: Text = None,
        file: File = None,
        number: Annotated[int, Field(description="keywords at most", ge=1, le=100)] = 8,
    ) -> dict[str, Any]:
        """Finds the words and phrases that carry a text."""
        with _told():
            (found,) = model.keywords([_text(text, file, root)], number)
            return {"keywords": [vars(word) for word in found]}

    return server


@contextlib.contextmanager
def _told() -> Iterator[None]:
    """Tells the agent what is wrong with its call."""
    try:
        yield
    except Error as error:
        raise ToolError(str(error)) from None


def _text(text: str | None, file: str | None, root: pathlib.Path | None) -> str:
    """The text of a call, or of a file below the folder."""
    if (text is None) == (file is None):
        raise Error("expected either `text` or `file`")
    if file is not None:
        text = _read(file, root)
    elif len(text or "") > LARGEST:
        raise Error(f"text has {len(text or '')} characters, and may have {LARGEST}; send parts")
    return text or ""


def _read(file: str, root: pathlib.Path | None) -> str:
    """The text of a file, which must be below the folder after all links."""
    if root is None:
        raise Error("file: this server reads no files; send `text`, or start it with --root FOLDER")
    folder = root.resolve()
    try:
        path = (folder / file).resolve()
        is_file = path.is_relative_to(folder) and path.is_file()
    except (OSError, ValueError):  # no name that a file may have
        is_file = False
    if not is_file:
        raise Error(
            f"file: {file[:100]!r} is no file below the server's folder; expected a path in it"
        )
    if path.stat().st_size > LARGEST:
        raise Error(f"file: {file!r} is larger than {LARGEST >> 20} MB; expected a smaller one")
    try:
        (document,) = read_source(Source(str(path)))
    except DataError as error:
        raise Error(str(error).replace(str(path), file)) from None
    if len(document.text) > LARGEST:
        raise Error(f"file: {file!r} has {len(document.text)} characters, and may have {LARGEST}")
    return document.text
