"""Serve summaries to agents over the Model Context Protocol, on standard input and output.

Tools: read, ask, summarize, compress and keywords, whose answers are sentences and words of the
text. Nothing is fetched, and files are read only below --root. With --proxy, the tools of other
servers, whose long results are shortened.
"""

import asyncio
import io
import pathlib
import re
import sys

import tfsum
from tfsum.cli.options import Arguments, Options, read_settings
from tfsum.errors import Error, needs_extra
from tfsum.serving.settings import McpSettings
from tfsum.tasks.model_choice import MULTILINGUAL, ModelSettings

EXAMPLES = """examples:
  tfsum mcp
  tfsum mcp --root ~/papers --model served/news
  tfsum mcp --proxy servers.json --tokens 1000

settings of a client: {"mcpServers": {"tfsum": {"command": "tfsum", "args": ["mcp"]}}}
"""

CLASSES = [(McpSettings, None, "")]
OPTIONS: Options = {
    "": {
        "--root": {
            "metavar": "FOLDER",
            "help": "files below it may be read by the tools (default: none)",
        },
        "--model": {
            "metavar": "FOLDER",
            "help": f"an extractive SavedModel (default: auto; with --proxy {MULTILINGUAL})",
        },
    }
}

# Half a pair of UTF-16, after what may stand before it: JSON can write one, and no text has it.
HALF = re.compile(r"\\\\|\\u[dD][89abAB]..\\u[dD][c-fC-F]..|(\\u[dD][89a-fA-F]..)")


class Lines(io.TextIOWrapper):
    r"""Lines of JSON with U+FFFD in the place of half a pair of UTF-16, which the SDK answers not.

    Example:
        >>> next(Lines(io.BytesIO(rb'"\ud83d"')))
        '"\\ufffd"'
    """

    def __next__(self) -> str:  # type: ignore[override]  # as TextIOWrapper's own
        return HALF.sub(lambda found: r"\ufffd" if found[1] else found[0], super().__next__())


def run(arguments: Arguments) -> int:
    settings = read_settings(McpSettings, arguments)
    root = arguments.root and pathlib.Path(arguments.root)
    arguments.parser.require(not root or root.is_dir(), f"--root {root}: no such folder")
    arguments.parser.require(
        settings.proxy is not None or "tokens" not in settings.model_fields_set,
        "--tokens is of the results of other servers; add --proxy FILE, or leave it out",
    )
    with needs_extra("mcp", "tfsum mcp"):
        import anyio
        import uvicorn
        from mcp.server.stdio import stdio_server

        from tfsum.serving.documents import Documents
        from tfsum.serving.mcp_proxy import McpProxy, read_servers
        from tfsum.serving.mcp_tools import McpTools

    name = arguments.model
    if settings.proxy is not None:
        name = name or MULTILINGUAL  # it finds sentences by their meaning

    def load() -> tfsum.Summarizer:
        model = tfsum.load(name, **settings.model_dump(include={*ModelSettings.model_fields}))
        if not isinstance(model, tfsum.Summarizer):
            raise Error(f"{name}: is not extractive; the tools need a model that selects")
        return model

    documents = Documents(load, settings.document_cache)
    tools = McpTools(documents, root)
    if settings.proxy is not None:
        tools = McpProxy(documents, root, read_servers(settings.proxy), settings.tokens)

    async def serve() -> None:
        async with tools.ready():
            server = tools.server()
            if settings.port is not None:
                config = uvicorn.Config(
                    server.streamable_http_app(), port=settings.port, access_log=False
                )
                await uvicorn.Server(config).serve()
                return
            lines = anyio.wrap_file(Lines(sys.stdin.buffer, encoding="utf-8", errors="replace"))
            async with stdio_server(lines) as (requests, answers):
                await server.run(requests, answers, server.create_initialization_options())

    asyncio.run(serve())
    return 0
