"""`tfsum mcp --proxy` before servers of the SDK, asked by the SDK's client."""

import asyncio
import json
import re
import shutil
import subprocess
import sys
import tempfile

import pytest

pytest.importorskip("mcp", reason="needs the extra mcp")

import talk
import talking_server
from mcp import Client, MCPError
from talking_server import LONG

from tfsum.errors import Error
from tfsum.inference.exported_model import MissingSignature
from tfsum.inference.texts import tokens_of
from tfsum.request import SummaryAnswer
from tfsum.serving.documents import URI, Documents, ReadDocument
from tfsum.serving.mcp_proxy import McpProxy, read_servers
from tfsum.serving.tool_results import notice_of

TOKENS = 300


class WordModel:
    """Stands for a model: the sentences that have most words of the query, as many as fit."""

    count_tokens = staticmethod(tokens_of)

    def read(self, text, newline):
        raise MissingSignature("an older export")

    def answer(self, texts, request):
        (text,) = texts
        asked = {*re.findall(r"\w+", (request.query or "").lower())}
        places = [found.span() for found in re.finditer(r"[^ .][^.]*\.", text)]
        places.sort(key=lambda place: -len(asked & {*text[slice(*place)].lower()[:-1].split()}))
        chosen = places[:1]
        for place in places[1 : request.sentences]:
            if tokens_of(" ".join(text[a:b] for a, b in [*chosen, place])) <= request.tokens:
                chosen.append(place)
        sentences = [text[start:end] for start, end in sorted(chosen)]
        scores = [0.5] * len(chosen)
        return [SummaryAnswer(" ".join(sentences), sentences, scores, sorted(chosen), 1.0, [])]


@pytest.fixture(scope="module")
def talking():
    """The settings of a server that is a program."""
    with tempfile.TemporaryDirectory() as folder:  # a path that is short enough for a socket
        path = f"{folder}/socket"
        command = [sys.executable, talking_server.__file__, path]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout.readline() == "ready\n"
            yield {"command": sys.executable, "args": [talk.__file__, path]}
            process.kill()


@pytest.fixture
def ask(talking, tmp_path):
    """Runs a coroutine function on a client of the proxy."""

    def ask(use, servers=("talk",), limit=1 << 24, **client):
        if not isinstance(servers, dict):
            servers = dict.fromkeys(servers, talking)
        path = tmp_path / "servers.json"
        path.write_text(json.dumps({"mcpServers": servers, "globalShortcut": "x"}))
        proxy = McpProxy(Documents(WordModel, limit), None, read_servers(path), TOKENS)

        async def run():
            async with proxy.ready(), Client(proxy.server(), **client) as asked:
                return await use(asked)

        return asyncio.run(run())

    return ask


def calling(*calls):
    async def use(client):
        return [await client.call_tool(name, arguments) for name, arguments in calls]

    return use


def direct(*calls):
    async def run():
        async with Client(talking_server.server) as client:
            return await calling(*calls)(client)

    return asyncio.run(run())


def test_a_long_text_is_shortened_by_the_question(ask):
    async def use(client):
        result = await client.call_tool("tell", {"query": "What did the bridge cost?"})
        notice, *parts = result.content[0].text.split("\n")
        document = notice.partition(URI)[2][:16]
        whole = await client.read_resource(URI + document)
        part = await client.read_resource(f"{URI}{document}/0-9")
        found = await client.call_tool("read", {"document": document, "start": 3, "end": 9})
        arguments = {"document": document, "query": "bridge", "sentences": 1}
        asked = await client.call_tool("ask", {**arguments, "tokens": 99})
        named = [resource.uri for resource in (await client.list_resources()).resources]
        assert named == [URI + document, "text://long"]
        assert whole.contents[0].text == LONG and part.contents[0].text == LONG[:9]
        assert found.structured_content["text"] == LONG[3:9]
        assert asked.structured_content["summary"] == "The bridge cost forty million dollars."
        return result, notice, parts

    result, notice, parts = ask(use)
    assert not result.is_error and tokens_of(result.content[0].text) <= TOKENS
    assert "by the question 'What did the bridge cost?'" in notice
    assert f"Shortened by tfsum from about {tokens_of(LONG)} tokens, by" in notice
    assert "The bridge cost forty million dollars." in "".join(parts)
    for line in parts:
        start, end = map(int, line[1 : line.index("]")].split("-"))
        assert line.partition("] ")[2] == LONG[start:end]


def test_tokens_are_those_of_the_model(ask, monkeypatch):
    monkeypatch.setattr(WordModel, "count_tokens", staticmethod(len))  # each character
    (found,) = ask(calling(("tell", {"query": "bridge"})))
    text = found.content[0].text
    assert f"from about {len(LONG)} tokens" in text
    assert text.count("\n") == 1  # the notice leaves room for one sentence


def test_own_tools_are_named_as_the_client_sees_them():
    whole = ReadDocument("It rained.")
    notice = notice_of(whole, 3, None, 10, ["tfsum_ask", "read"])
    assert f'`tfsum_ask` and `read` of tfsum take it as document="{whole.id}"' in notice
    assert "too large to be kept" in notice_of(whole, 3, None, 10, [])


def test_what_is_short_or_structured_stays(ask):
    calls = ("tell", {"times": 0}), ("rows", {}), ("fail", {}), ("several", {})
    *found, several = ask(calling(*calls))
    *expected, all_of_several = direct(*calls)
    assert found == expected
    assert several.content[:4] == all_of_several.content[:4]
    assert several.meta == all_of_several.meta and several.meta["cost"] == 3
    assert "Shortened by tfsum" in several.content[4].text
    assert tokens_of(several.content[4].text) <= TOKENS


def test_a_text_that_is_wrapped_is_shortened_in_both_places(ask):
    (found,) = ask(calling(("wrapped", {"query": "bridge"})))
    assert found.structured_content == {"result": found.content[0].text}
    assert "by the question 'bridge'" in found.content[0].text


def test_tools_prompts_and_resources_pass_through(ask):
    async def use(client):
        tools, prompts = (await client.list_tools()).tools, (await client.list_prompts()).prompts
        templates = (await client.list_resource_templates()).resource_templates
        resources = [(await client.read_resource(f"text://{name}")) for name in ("long", "1907")]
        prompt = await client.get_prompt("greet", {"name": "Ann"})
        texts = [resource.contents for resource in resources]
        return tools, prompts, templates[-1:], texts, prompt.messages, client.instructions

    async def run():
        async with Client(talking_server.server) as client:
            return await use(client)

    expected = asyncio.run(run())
    tools, *others = ask(use)
    assert [tool.name for tool in tools[:2]] == ["read", "ask"] and tools[2:] == expected[0]
    assert others[:-1] == [*expected[1:-1]] and others[-1] == f"talk: {expected[-1]}"


def test_names_that_clash_say_whose_they_are(ask):
    async def use(client):
        tools = [tool.name for tool in (await client.list_tools()).tools]
        (prompt, _) = (await client.list_prompts()).prompts
        told = await client.call_tool("old_one_tell", {"times": 0})
        greeting = await client.get_prompt(prompt.name, {"name": "Ann"})
        return tools, prompt.name, told.is_error, greeting.messages[0].content.text

    tools, prompt, is_error, greeting = ask(use, servers=("old one", "new"))
    assert tools[:3] == ["read", "ask", "old_one_tell"] and "new_tell" in tools
    assert prompt == "old_one_greet" and greeting == "Greet Ann." and not is_error


def test_progress_and_the_end_of_a_call_pass_through(ask, tmp_path):
    cancelled = tmp_path / "cancelled"

    async def use(client):
        told, reached = [], asyncio.Event()

        async def progress(*values):
            told.append(values)
            reached.set()

        call = client.call_tool("wait", {"file": str(cancelled)}, progress_callback=progress)
        task = asyncio.create_task(call)
        await reached.wait()
        task.cancel()
        async with asyncio.timeout(600):
            while not cancelled.exists():
                await asyncio.sleep(0.05)
        return told

    assert ask(use) == [(1, 2, "half")]


def test_what_is_not_there(ask):
    async def use(client):
        messages = []
        for request in (
            client.call_tool("absent", {}),
            client.get_prompt("absent", {}),
            client.read_resource("text://absent/x"),
            client.read_resource(URI + "absent"),
        ):
            with pytest.raises(MCPError) as caught:
                await request
            messages.append(str(caught.value))
        return messages

    tool, prompt, resource, document = ask(use)
    assert tool.startswith("absent: is none of the tools; there are read, ask, tell")
    assert prompt == "absent: is none of the prompts; there are greet"
    assert resource.startswith("text://absent/x: no server has this resource (talk: Unknown")
    assert "'absent' is not kept" in document


def test_what_is_too_large_is_not_kept(ask):
    (found,) = ask(calling(("tell", {})), limit=1000)
    assert "too large to be kept" in found.content[0].text and URI not in found.content[0].text


def test_the_beginning_is_read_of_what_would_take_too_long(ask, monkeypatch):
    async def use(client):
        result = await client.call_tool("tell", {})
        document = result.content[0].text.partition(URI)[2][:16]
        return result.content[0].text, await client.read_resource(URI + document)

    monkeypatch.setattr("tfsum.serving.mcp_proxy.MOST_READ", 1500)
    text, whole = ask(use)
    assert "Only its first 1500 characters were read." in text
    assert whole.contents[0].text == LONG


def test_an_error_of_the_model_leaves_a_result_as_it_is(ask, monkeypatch, caplog):
    def answer(self, texts, request):
        raise Error("the model is old")

    monkeypatch.setattr(WordModel, "answer", answer)
    (found,) = ask(calling(("tell", {})))
    assert found.content[0].text == LONG
    assert "tell: its result is left as it is (the model is old)" in caplog.text


def program(name, install):
    """A program of others, which need not be here."""
    if not shutil.which(name):
        pytest.skip(f"{name} is not installed ({install})")
    return name


def test_before_the_file_server_of_others(ask, tmp_path):
    command = program("mcp-server-filesystem", "npm i -g @modelcontextprotocol/server-filesystem")
    contents = {"long.txt": LONG, "short.txt": "It rained.", "rows.json": json.dumps([LONG])}
    for name, text in contents.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    calls = [("read_text_file", {"path": str(tmp_path / name)}) for name in contents]
    servers = {"files": {"command": command, "args": [str(tmp_path)]}}
    long, *others = ask(calling(*calls), servers=servers)
    assert "Shortened by tfsum" in long.content[0].text
    assert long.structured_content == {"content": long.content[0].text}
    assert [other.content[0].text for other in others] == [*contents.values()][1:]


def test_before_the_database_of_others(ask, tmp_path):
    command = program(
        "mcp-server-sqlite",
        "in an environment of its own, pip install mcp-server-sqlite 'mcp<1.10' 'pydantic<2.12'",
    )
    servers = {"rows": {"command": command, "args": ["--db-path", str(tmp_path / "rows.db")]}}
    query = f"SELECT '{LONG}' AS text"
    (found,) = ask(calling(("read_query", {"query": query})), servers=servers)
    assert found.content[0].text == str([{"text": LONG}])


def test_a_server_that_does_not_start_is_named(tmp_path):
    path = tmp_path / "servers.json"
    for server, reason in (
        ({"command": "absent-program"}, "absent-program"),
        ({"command": sys.executable, "args": ["-c", "pass"]}, "Connection closed"),
        ({"url": "http://127.0.0.1:9/mcp"}, "connection attempts failed"),
        ({"url": "http://127.0.0.1:9/sse", "type": "sse"}, "connection attempts failed"),
    ):
        path.write_text(json.dumps({"mcpServers": {"talk": server}}))
        proxy = McpProxy(Documents(WordModel, 0), None, read_servers(path), TOKENS)

        async def run(proxy=proxy):
            async with proxy.ready():
                pass

        with pytest.raises(Error, match=rf"^talk: the server does not start \(.*{reason}"):
            asyncio.run(run())


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "servers.json: not JSON ("),
        ("{}", "servers.json: mcpServers is missing: the servers, by name"),
        ('{"mcpServers": {"a": {}}}', "mcpServers.a: expected either a command or a url"),
        ('{"mcpServers": {"a": {"url": 3}}}', "mcpServers.a.url=3: expected a text"),
    ],
)
def test_settings_that_are_wrong(tmp_path, content, message):
    path = tmp_path / "servers.json"
    path.write_text(content)
    with pytest.raises(Error, match=re.escape(message)):
        read_servers(path)
    with pytest.raises(Error, match=r"absent.json: no such file; expected \{.mcpServers"):
        read_servers(tmp_path / "absent.json")
