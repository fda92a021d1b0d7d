"""`tfsum mcp --proxy`: stands in front of other servers, and shortens their long results."""

import collections
import contextlib
import functools
import logging
import pathlib
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import TypeVar

import httpx2
import pydantic
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp.server import Server
from mcp.types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    GetPromptRequestParams,
    GetPromptResult,
    ListPromptsResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    PaginatedRequestParams,
    PaginatedResult,
    Prompt,
    ReadResourceRequestParams,
    ReadResourceResult,
    Tool,
)
from pydantic import BaseModel, Field, model_validator

from tfsum.errors import Error
from tfsum.json_text import read_json_object
from tfsum.serving.documents import URI, Documents, ReadDocument
from tfsum.serving.mcp_tools import Context, McpTools
from tfsum.serving.tool_results import (
    fitted,
    notice_of,
    question_of,
    rooms_of,
    texts_of,
    wrapped_name,
)
from tfsum.settings import mistakes

LOG = logging.getLogger("tfsum.serving")
OWN, OWN_TOOLS = "tfsum", ("read", "ask")
# Characters of a result that the model reads: it takes half a minute for them on a few processors,
# and clients do not wait much longer.
MOST_READ = 200_000
TIMEOUT = httpx2.Timeout(30, read=300)  # seconds; a tool may take a while


class ServerBehind(BaseModel):
    """How a server is reached: by a command, or at an address."""

    command: str | None = Field(None, description="A program that serves on its standard streams.")
    args: list[str] = Field([], description="Its arguments.")
    env: dict[str, str] = Field({}, description="Its environment, beside PATH and the like.")
    cwd: str | None = Field(None, description="The folder that it runs in.")
    url: str | None = Field(None, description="An address in place of a command.")
    headers: dict[str, str] = Field({}, description="Headers of every request.")
    type: str | None = Field(None, description="sse for the older protocol over HTTP.")

    @model_validator(mode="after")
    def _is_reached(self) -> "ServerBehind":
        if (self.command is None) == (self.url is None):
            raise ValueError("expected either a command or a url")
        return self


class ServersBehind(BaseModel):
    """The part of a client's settings that says how servers are reached."""

    servers: dict[str, ServerBehind] = Field(alias="mcpServers", description="the servers, by name")


T = TypeVar("T", Tool, Prompt)


def read_servers(path: str | pathlib.Path) -> dict[str, ServerBehind]:
    """Reads the servers of a file in the form of Claude Desktop's settings.

    Args:
        path: Path of the file.

    Returns:
        The servers by name.

    Raises:
        Error: It cannot be read, or has another form.
    """
    expected = 'expected {"mcpServers": {"NAME": {"command": ...}}}'
    content = read_json_object(path, Error, expected, expected)
    try:
        return ServersBehind.model_validate(content).servers
    except pydantic.ValidationError as error:
        raise Error(f"{path}: {'; '.join(mistakes(error, ServersBehind))}") from None


class McpProxy(McpTools):
    """The tools, prompts and resources of other servers, with long results shortened.

    Args:
        documents: Documents that are kept, and their model.
        root: Folder whose files may be read by the own tools; None for none.
        servers: Servers by name.
        tokens: The most tokens of a result.
    """

    def __init__(
        self,
        documents: Documents,
        root: pathlib.Path | None,
        servers: Mapping[str, ServerBehind],
        tokens: int,
    ) -> None:
        super().__init__(documents, root)
        self._servers, self._tokens = servers, tokens
        self._clients: dict[str, Client] = {}
        # "tools" and "prompts" -> name that the client sees -> the server, and its name for it
        self._places: dict[str, dict[str, tuple[str, str]]] = {"tools": {}, "prompts": {}}

    @contextlib.asynccontextmanager
    async def ready(self) -> AsyncIterator[None]:
        """Connects to the servers.

        Raises:
            Error: One of them does not answer.
        """
        async with contextlib.AsyncExitStack() as stack:
            for name, server in self._servers.items():
                try:
                    self._clients[name] = await _connect(stack, server)
                except Exception as error:
                    raise Error(
                        f"{name}: the server does not start ({_first(error)}); try what"
                        " its settings say without --proxy"
                    ) from error
            yield

    def server(self) -> Server:
        """The server of all of these; the servers behind must be connected."""
        server = super().server()
        server.add_request_handler("prompts/list", PaginatedRequestParams, self.list_prompts)
        server.add_request_handler("prompts/get", GetPromptRequestParams, self.get_prompt)
        server.instructions = "\n\n".join(
            f"{name}: {client.instructions}"
            for name, client in self._clients.items()
            if client.instructions
        )
        return server

    async def list_tools(
        self, context: Context, params: PaginatedRequestParams | None
    ) -> ListToolsResult:
        """The tools of the servers as they are, and those for what was shortened."""
        own = (await super().list_tools(context, params)).tools
        own = [tool for tool in own if tool.name in OWN_TOOLS]
        return ListToolsResult(tools=await self._named(Client.list_tools, "tools", own))

    async def call_tool(self, context: Context, params: CallToolRequestParams) -> CallToolResult:
        """The result of a tool, shortened where it is long."""
        server, name = await self._place("tools", params.name, self.list_tools, context)
        if server == OWN:
            return await super().call_tool(context, params.model_copy(update={"name": name}))

        reached = 0.0

        async def report(progress: float, total: float | None, message: str | None) -> None:
            nonlocal reached
            reached = progress
            await context.session.report_progress(progress, total, message)

        result = await self._clients[server].call_tool(
            name, params.arguments, progress_callback=report
        )
        try:
            return await self._shorten(context, result, question_of(params.arguments), reached)
        except Error as error:
            LOG.warning("%s: its result is left as it is (%s)", params.name, error)
            return result

    async def list_prompts(
        self, context: Context, params: PaginatedRequestParams | None
    ) -> ListPromptsResult:
        """The prompts of the servers."""
        return ListPromptsResult(prompts=await self._named(Client.list_prompts, "prompts", []))

    async def get_prompt(self, context: Context, params: GetPromptRequestParams) -> GetPromptResult:
        """A prompt of a server."""
        server, name = await self._place("prompts", params.name, self.list_prompts, context)
        return await self._clients[server].get_prompt(name, params.arguments)

    async def list_resources(
        self, context: Context, params: PaginatedRequestParams | None
    ) -> ListResourcesResult:
        """The resources of the servers, and the whole of what was shortened."""
        own = (await super().list_resources(context, params)).resources
        offered = await self._offered(Client.list_resources, "resources")
        return ListResourcesResult(resources=own + [resource for _, resource in offered])

    async def list_templates(
        self, context: Context, params: PaginatedRequestParams | None
    ) -> ListResourceTemplatesResult:
        """The templates of resources of the servers, and the own ones."""
        own = (await super().list_templates(context, params)).resource_templates
        offered = await self._offered(Client.list_resource_templates, "resource_templates")
        return ListResourceTemplatesResult(
            resource_templates=own + [template for _, template in offered]
        )

    async def read_resource(
        self, context: Context, params: ReadResourceRequestParams
    ) -> ReadResourceResult:
        """A resource, of the first server that knows it."""
        if params.uri.startswith(URI):
            return await super().read_resource(context, params)
        errors = []
        for name, client in self._clients.items():
            if client.server_capabilities.resources is None:
                continue
            try:
                return await client.read_resource(params.uri)
            except MCPError as error:
                errors.append(f"{name}: {error}")
        raise MCPError(
            INVALID_PARAMS, f"{params.uri}: no server has this resource ({'; '.join(errors)})"
        )

    async def _offered(self, ask: Callable[..., Awaitable[PaginatedResult]], kind: str) -> list:
        """What the servers offer of a kind: (server, item)."""
        offered = []
        for name, client in self._clients.items():
            if getattr(client.server_capabilities, kind.replace("resource_templates", "resources")):
                cursor = None
                while True:
                    page = await ask(client, cursor=cursor)
                    offered += [(name, item) for item in getattr(page, kind)]
                    cursor = page.next_cursor
                    if cursor is None:
                        break
        return offered

    async def _named(
        self, ask: Callable[..., Awaitable[PaginatedResult]], kind: str, own: Sequence[T]
    ) -> list[T]:
        """Tools or prompts, with the server before names that several of them have."""
        offered = [(OWN, item) for item in own] + await self._offered(ask, kind)
        counts = collections.Counter(item.name for _, item in offered)
        named: list[T] = []
        self._places[kind] = places = {}
        for server, item in offered:
            name = item.name
            if counts[name] > 1:
                name = re.sub(r"\W", "_", server) + "_" + name
            places[name] = server, item.name
            named.append(item.model_copy(update={"name": name}))
        return named

    async def _place(
        self,
        kind: str,
        name: str,
        list_all: Callable[[Context, None], Awaitable[object]],
        context: Context,
    ) -> tuple[str, str]:
        """The server of a tool or prompt, and its name there."""
        if name not in self._places[kind]:  # a client need not ask what there is
            await list_all(context, None)
        places = self._places[kind]
        if name not in places:
            found = ", ".join(places) or "none"
            raise MCPError(INVALID_PARAMS, f"{name}: is none of the {kind}; there are {found}")
        return places[name]

    async def _shorten(
        self, context: Context, result: CallToolResult, question: str | None, reached: float
    ) -> CallToolResult:
        """A result whose texts have room in the budget; progress goes on from where it is."""
        texts = texts_of(result)
        sizes = {number: self._documents.count_tokens(text) for number, text in texts.items()}
        rooms = rooms_of(sizes, self._tokens)
        content, data = list(result.content), result.structured_content
        for number, room in rooms.items():
            if sizes[number] <= room:
                continue
            whole = ReadDocument(texts[number])
            part = ReadDocument(whole.text[:MOST_READ])
            if part.text != whole.text:
                self._documents.keep(whole)
            part = await self._read(context, part, reached, reached + 1)
            own = [seen for seen, (server, _) in self._places["tools"].items() if server == OWN]
            taken_by = own if whole in self._documents else []
            notice = notice_of(whole, sizes[number], question, len(part.text), taken_by)
            fit = functools.partial(
                fitted, document=part, room=room, question=question, notice=notice
            )
            text = await self._documents.compute(fit)
            content[number] = content[number].model_copy(update={"text": text})
            if (name := wrapped_name(result)) is not None:
                data = {name: text}
        return result.model_copy(update={"content": content, "structured_content": data})


async def _connect(stack: contextlib.AsyncExitStack, server: ServerBehind) -> Client:
    """A client of a server, until the stack ends."""
    if server.url is None:
        given = server.model_dump(include={"command", "args", "env", "cwd"})
        return await stack.enter_async_context(Client(StdioServerParameters(**given)))
    if server.type == "sse":
        return await stack.enter_async_context(Client(sse_client(server.url, server.headers)))
    http = await stack.enter_async_context(
        httpx2.AsyncClient(headers=server.headers, timeout=TIMEOUT)
    )
    transport = streamable_http_client(server.url, http_client=http)
    return await stack.enter_async_context(Client(transport))


def _first(error: BaseException) -> BaseException:
    """The first error of a group of tasks, where an error is of one."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
