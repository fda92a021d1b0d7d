"""The tools and resources of `tfsum mcp`. Every answer is made of sentences and words of a text."""

import asyncio
import contextlib
import functools
import json
import pathlib
import re
import time
from collections.abc import AsyncIterator
from typing import Any

from mcp import MCPError
from mcp.server import Server, ServerRequestContext
from mcp.types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
    TextContent,
    TextResourceContents,
    Tool,
)

import tfsum
from tfsum.errors import Error, as_error, require
from tfsum.inputs.apart import text_apart
from tfsum.serving.documents import URI, Documents, ReadDocument
from tfsum.serving.tools import TOOLS, Call, Record, SummarizeTool, part_of, record_of

TICK = 2.0  # seconds between two looks at how far a text is
SECONDS = 60.0  # in which a file must be read
LARGEST = 8 << 20  # characters of a text, and bytes of a file
INSTRUCTIONS = (
    "Makes long texts shorter, answers questions about them and finds their keywords. Every answer"
    " is made of sentences and words of the text, with their character offsets: nothing is"
    " invented. Give `text`; or `file`, where the server has a folder of files; or `document`, the"
    " id that `read` gave, which costs least for a second question."
)
Context = ServerRequestContext[Any]


class McpTools:
    """The tools of a model, and the texts that it has read as resources.

    Args:
        documents: Documents that are kept, and their model.
        root: Folder whose files may be read; None for none.

    Example:
        >>> tools = McpTools(Documents(tfsum.load, limit=1 << 20), root=None)
        >>> tools.server().name
        'tfsum'
    """

    def __init__(self, documents: Documents, root: pathlib.Path | None) -> None:
        self._documents, self._root = documents, root

    def server(self) -> Server:
        """The server of these tools."""
        return Server(
            "tfsum",
            version=tfsum.__version__,
            instructions=INSTRUCTIONS,
            on_list_tools=self.list_tools,
            on_call_tool=self.call_tool,
            on_list_resources=self.list_resources,
            on_list_resource_templates=self.list_templates,
            on_read_resource=self.read_resource,
        )

    @contextlib.asynccontextmanager
    async def ready(self) -> AsyncIterator[None]:
        """What must be open while the server is made and runs: here nothing."""
        yield

    async def list_tools(
        self, context: Context, params: PaginatedRequestParams | None
    ) -> ListToolsResult:
        """The tools, with the schemas of what they take and give."""
        return ListToolsResult(
            tools=[
                Tool(
                    name=name,
                    description=tool.__doc__,
                    input_schema=tool.model_json_schema(),
                    output_schema=tool.output.json_schema() | {"type": "object"},
                )
                for name, tool in TOOLS.items()
            ]
        )

    async def call_tool(self, context: Context, params: CallToolRequestParams) -> CallToolResult:
        """The answer of a tool; what is wrong with a call is an answer too."""
        try:
            require(
                params.name in TOOLS,
                f"{params.name}: no such tool; there are {', '.join(TOOLS)}",
            )
            answer = await self._answer(context, TOOLS[params.name](**(params.arguments or {})))
        except Error as error:
            return CallToolResult(content=[TextContent(text=str(error))], is_error=True)
        return CallToolResult(
            content=[TextContent(text=json.dumps(answer, ensure_ascii=False))],
            structured_content=answer,
        )

    async def list_resources(
        self, context: Context, params: PaginatedRequestParams | None
    ) -> ListResourcesResult:
        """The documents that are kept."""
        return ListResourcesResult(
            resources=[
                Resource(
                    name=document.id,
                    uri=URI + document.id,
                    title=document.text[:80],
                    mime_type="text/plain",
                )
                for document in self._documents
            ]
        )

    async def list_templates(
        self, context: Context, params: PaginatedRequestParams | None
    ) -> ListResourceTemplatesResult:
        """The resources of a document: its text, and a part of it."""
        return ListResourceTemplatesResult(
            resource_templates=[
                ResourceTemplate(name="document", uri_template=URI + "{document}"),
                ResourceTemplate(name="part", uri_template=URI + "{document}/{start}-{end}"),
            ]
        )

    async def read_resource(
        self, context: Context, params: ReadResourceRequestParams
    ) -> ReadResourceResult:
        """The text of a document, or a part of it."""
        found = re.fullmatch(URI + r"(\w+)(?:/(\d{1,9})-(\d{1,9}))?", params.uri)
        try:
            if not found:
                raise Error(f"{params.uri}: no such resource; expected {URI}DOCUMENT")
            text = self._documents.find(found[1]).text
            if found[2]:
                text = part_of(text, int(found[2]), int(found[3]))
        except Error as error:
            raise MCPError(INVALID_PARAMS, str(error)) from None
        return ReadResourceResult(
            contents=[TextResourceContents(uri=params.uri, mime_type="text/plain", text=text)]
        )

    async def _answer(self, context: Context, call: Call) -> Record:
        """The answer to one text, or to several."""
        texts = await self._texts(call)
        is_list = list in (type(call.text), type(call.document))
        if isinstance(call, SummarizeTool) and call.together:
            require(is_list, "text: expected a list of texts, since together=true")
            together = [document.text for document in texts]
            found = await self._documents.compute(lambda model: model.answer(together, call))
            return record_of(found[0])

        answers = []
        for number, new in enumerate(texts):
            document = await self._read(context, new, number, len(texts))
            record = functools.partial(call.record, document=document)
            answers.append(await self._documents.compute(record))
            await context.session.report_progress(number + 1, len(texts))
        return {"answers": answers} if is_list else answers[0]

    async def _read(
        self, context: Context, new: ReadDocument, before: float, total: float
    ) -> ReadDocument:
        """Reads a document, and says every few seconds how far it is, as the last one tells."""
        begin, expected = time.monotonic(), self._documents.rate * len(new.text)
        reading = asyncio.ensure_future(self._documents.read(new))
        try:
            while not (await asyncio.wait([reading], timeout=TICK))[0]:
                passed = time.monotonic() - begin
                share = passed / max(expected, passed + TICK)  # it never stands still
                await context.session.report_progress(before + share, total)
            return reading.result()
        finally:
            reading.cancel()

    async def _texts(self, call: Call) -> list[ReadDocument]:
        """The texts of a call."""
        require(
            [call.text, call.file, call.document].count(None) == 2,
            "expected one of `text`, `file` and `document`",
        )
        if call.document is not None:
            return [
                ReadDocument(found.text, call.newline or found.newline)
                for found in map(self._documents.find, _listed(call.document))
            ]

        texts = _listed(call.text)
        if call.file is not None:
            texts = [await _read_file(call.file, self._root)]
        size = sum(map(len, texts))
        require(
            size <= LARGEST,
            f"{call.file or 'text'} has {size} characters, and may have {LARGEST}; send parts",
        )
        return [ReadDocument(text, call.newline) for text in texts]


def _listed(given: str | list[str] | None) -> list[str]:
    if isinstance(given, list):
        return given
    return [given or ""]


async def _read_file(file: str, root: pathlib.Path | None) -> str:
    """The text of a file, which must be below the folder after all links."""
    if root is None:
        raise Error("file: this server reads no files; send `text`, or start it with --root FOLDER")
    folder = root.resolve()
    try:
        path = (folder / file).resolve()
        is_file = path.is_relative_to(folder) and path.is_file()
    except (OSError, ValueError):  # no name that a file may have
        is_file = False
    require(
        is_file, f"file: {file[:100]!r} is no file below the server's folder; expected a path in it"
    )
    require(
        path.stat().st_size <= LARGEST,
        f"file: {file!r} is larger than {LARGEST >> 20} MB; expected a smaller one",
    )
    with as_error(f"file: {file!r} cannot be read", OSError):
        content = await asyncio.to_thread(path.read_bytes)
        return await text_apart(content, file, SECONDS, 4 * LARGEST)
