"""Serve summaries to agents over the Model Context Protocol, on standard input and output.

Tools: summarize, compress and keywords, whose answers are sentences and words of the text. Nothing
is fetched, and files are read only below --root.
"""

import asyncio
import io
import json
import pathlib
import re
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from pydantic import Field

import tfsum
from tfsum.cli.options import COMPUTE, LICENCE, Arguments, Options
from tfsum.errors import Error, needs_extra
from tfsum.inputs.apart import text_apart
from tfsum.request import MOST_KEYWORDS, Count, SummaryRequest
from tfsum.settings import Checked

if TYPE_CHECKING:
    from mcp.server import Server
    from mcp.types import CallToolRequestParams

EXAMPLES = """examples:
  tfsum mcp
  tfsum mcp --root ~/papers --model served/news

settings of a client: {"mcpServers": {"tfsum": {"command": "tfsum", "args": ["mcp"]}}}
"""

OPTIONS: Options = {
    "": {
        "--root": {
            "metavar": "FOLDER",
            "help": "files below it may be read by the tools (default: none)",
        },
        "--model": {
            "metavar": "FOLDER",
            "help": "an extractive SavedModel that tfsum exported (default: auto)",
        },
        "--model-licence": LICENCE,
        "--compute": COMPUTE,
    }
}

SECONDS = 60.0  # in which a file must be read
LARGEST = 8 << 20  # characters of a text, and bytes of a file
INSTRUCTIONS = (
    "Makes long texts shorter and finds their keywords. Every answer is made of sentences and words"
    " of the text, with their character offsets: nothing is invented. Give `text`, or `file` where"
    " the server has a folder of files."
)

# Half a pair of UTF-16, after what may stand before it: JSON can write one, and no text has it.
HALF = re.compile(r"\\\\|\\u[dD][89abAB]..\\u[dD][c-fC-F]..|(\\u[dD][89a-fA-F]..)")
Record = dict[str, object]
FIELDS = SummaryRequest.model_fields


class Lines(io.TextIOWrapper):
    r"""Lines of JSON with U+FFFD in the place of half a pair of UTF-16, which the SDK answers not.

    Example:
        >>> next(Lines(io.BytesIO(rb'"\ud83d"')))
        '"\\ufffd"'
    """

    def __next__(self) -> str:  # type: ignore[override]  # as TextIOWrapper's own
        return HALF.sub(lambda found: r"\ufffd" if found[1] else found[0], super().__next__())


class Call(Checked):
    """The text of a call of a tool."""

    text: str | list[str] | None = Field(
        None, description="The text; a list of texts to summarize together."
    )
    file: str | None = Field(
        None, description="A path below the server's folder, in place of a text."
    )


class SummarizeTool(SummaryRequest, Call):
    """Chooses the sentences that say most of a text; by default two to four of them."""

    def answer(self, model: tfsum.Summarizer, texts: list[str]) -> Record:
        """The summary."""
        (answer,) = model.answer(texts, self)
        return answer.record()


class CompressTool(Call):
    """Shortens a text to a number of words for a context window, verbatim and in order."""

    words: Count = Field(description=FIELDS["words"].description)
    query: str | None = Field(None, description=FIELDS["query"].description)

    def answer(self, model: tfsum.Summarizer, texts: list[str]) -> Record:
        """The summary."""
        return SummarizeTool(**dict(self), block_trigrams=True).answer(model, texts)


class KeywordsTool(Call):
    """Finds the words and phrases that carry a text."""

    number: int = Field(8, ge=1, le=MOST_KEYWORDS, description=FIELDS["keywords"].description)

    def answer(self, model: tfsum.Summarizer, texts: list[str]) -> Record:
        """The keywords."""
        (found,) = model.keywords(texts, self.number)
        return {"keywords": [vars(word) for word in found]}


TOOLS: dict[str, type[SummarizeTool] | type[CompressTool] | type[KeywordsTool]] = {
    "summarize": SummarizeTool,
    "compress": CompressTool,
    "keywords": KeywordsTool,
}


def run(arguments: Arguments) -> int:
    root = arguments.root and pathlib.Path(arguments.root)
    if root and not root.is_dir():
        arguments.parser.reject(f"--root {root}: no such folder")
    with needs_extra("mcp", "tfsum mcp"):
        import anyio
        from mcp.server.stdio import stdio_server

    def load() -> tfsum.Summarizer:
        model = tfsum.load(arguments.model, arguments.model_licence, compute=arguments.compute)
        if not isinstance(model, tfsum.Summarizer):
            raise Error(
                f"{arguments.model}: is not extractive; the tools need a model that selects"
            )
        return model

    server = mcp_server(load, root)

    async def serve() -> None:
        lines = anyio.wrap_file(Lines(sys.stdin.buffer, encoding="utf-8", errors="replace"))
        async with stdio_server(lines) as (requests, answers):
            await server.run(requests, answers, server.create_initialization_options())

    asyncio.run(serve())
    return 0


def mcp_server(load: Callable[[], tfsum.Summarizer], root: pathlib.Path | None) -> "Server":
    """Makes the server of an extractive model.

    Args:
        load: Function that loads the model: at first, and after a cancelled call has stopped it.
        root: Folder whose files may be read; None for none.

    Example:
        >>> mcp_server(tfsum.load, None).name
        'tfsum'
    """
    from mcp.server import Server
    from mcp.types import CallToolResult, ListToolsResult, TextContent, Tool

    models, computing = [load()], asyncio.Lock()

    async def computed(
        call: SummarizeTool | CompressTool | KeywordsTool, texts: list[str]
    ) -> Record:
        async with computing:  # one at a time, so that a model is stopped for one call
            if not models:
                models.append(await asyncio.to_thread(load))
            try:
                return await asyncio.to_thread(call.answer, models[0], texts)
            except asyncio.CancelledError:
                models.pop().interrupt()
                raise

    async def list_tools(context: object, params: object) -> ListToolsResult:
        tools = [
            Tool(name=name, description=tool.__doc__, input_schema=tool.model_json_schema())
            for name, tool in TOOLS.items()
        ]
        return ListToolsResult(tools=tools)

    async def call_tool(context: object, params: "CallToolRequestParams") -> CallToolResult:
        try:
            if params.name not in TOOLS:
                raise Error(f"{params.name}: no such tool; there are {', '.join(TOOLS)}")
            call = TOOLS[params.name](**(params.arguments or {}))
            texts = await _texts(call, root)
            answer = await computed(call, texts)
        except Error as error:
            return CallToolResult(content=[TextContent(text=str(error))], is_error=True)
        text = json.dumps(answer, ensure_ascii=False)
        return CallToolResult(content=[TextContent(text=text)], structured_content=answer)

    return Server(
        "tfsum",
        version=tfsum.__version__,
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


async def _texts(call: Call, root: pathlib.Path | None) -> list[str]:
    """The text of a call, or of a file below the folder; several where they go together."""
    if (call.text is None) == (call.file is None):
        raise Error("expected either `text` or `file`")
    if call.file is not None:
        texts = [await _read(call.file, root)]
    elif getattr(call, "together", False) == isinstance(call.text, str):
        raise Error("text: expected one text, or a list of texts and together=true")
    else:
        texts = [call.text] if isinstance(call.text, str) else call.text or []

    size = sum(map(len, texts))
    if size > LARGEST:
        raise Error(
            f"{call.file or 'text'} has {size} characters, and may have {LARGEST}; send parts"
        )
    return texts


async def _read(file: str, root: pathlib.Path | None) -> str:
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
        content = await asyncio.to_thread(path.read_bytes)
        return await text_apart(content, file, SECONDS, 4 * LARGEST)
    except OSError as error:
        raise Error(f"file: {file!r} cannot be read ({error.strerror})") from None
