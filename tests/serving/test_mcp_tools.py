"""The tools of `tfsum mcp`, driven by the SDK's own client in this process."""

import asyncio
import math
import pathlib
import re

import pytest
from mcp import Client
from opened_models import opening_once

import tfsum
from tfsum.errors import DataError
from tfsum.inference.c_session import CallError
from tfsum.inference.saved_model import shipped_model
from tfsum.request import SummaryRequest, sentence_of
from tfsum.serving.documents import Documents
from tfsum.serving.mcp_tools import LARGEST, McpTools

ROOT = pathlib.Path(__file__).parents[2]
TEXT = (
    "The council met on Monday. The bridge will cost forty million dollars. Rain fell all night."
    " Mayor Anna Holt said that the work begins in May."
)


def mcp_server(load, root=None, limit=1 << 20):
    return McpTools(Documents(load, limit), root).server()


@pytest.fixture(scope="module")
def call(tmp_path_factory, shipped):
    """Calls a tool: its structured answer, or the text of its error."""
    base = tmp_path_factory.mktemp("files")
    root = base / "root"
    root.mkdir()
    (root / "news.txt").write_text(TEXT, encoding="utf-8")
    (root / "news.html").write_text("<p>It rained. The bridge was closed.</p>", encoding="utf-8")
    (base / "secret.txt").write_text("A secret.", encoding="utf-8")
    (root / "link.txt").symlink_to(base / "secret.txt")
    (root / "large.txt").write_bytes(b"a" * (LARGEST + 1))
    server = mcp_server(lambda: shipped, root)

    def call(tool, server=server, **arguments):
        async def ask():
            async with Client(server) as client:
                return await client.call_tool(tool, arguments)

        answer = asyncio.run(ask())
        return answer.content[0].text if answer.is_error else answer.structured_content

    call.root = root
    return call


def test_a_budget_is_in_words_or_tokens(call):
    for tool, others in (("ask", {"query": "May"}), ("compress", {})):
        words = call(tool, text=TEXT, words=15, **others)["summary"]
        assert len(words.split()) <= 15
        found = call(tool, text=TEXT, tokens=20, **others)
        assert found["tokens"] == math.ceil(len(found["summary"].encode()) / 4) <= 20
    assert call("compress", text=TEXT) == "expected `tokens` or `words`, the length of the answer"


def test_a_warning_is_a_sentence(call):
    (warning,) = call("ask", text=TEXT, query="pancakes")["warnings"]
    assert warning == {"code": "query", "message": sentence_of({"code": "query"})}
    (warning,) = call("summarize", text=[" "], together=True)["warnings"]
    assert warning["message"] == "there is no word in the text"


@pytest.mark.parametrize("part", [{"start": 10, "end": 5}, {"start": 500}, {"end": 0}])
def test_a_part_that_has_no_characters(call, part):
    found = call("read", text=TEXT, **part)
    assert re.fullmatch(rf"no characters from \d+ to (\d+|None); the text has {len(TEXT)}", found)


def test_the_answers_are_those_of_python(call, shipped):
    expected, found = shipped(TEXT, words=20), call("summarize", text=TEXT, words=20)
    assert found["summary"] == expected.summary
    assert [(s["start"], s["end"]) for s in found["sentences"]] == expected.offsets
    assert call("summarize", text=TEXT)["summary"] == shipped(TEXT).summary
    one = call("summarize", text=TEXT, sentences=1, query="What does the bridge cost?")
    assert one["summary"] == "The bridge will cost forty million dollars."
    short = call("compress", text=TEXT, words=15, query="May")["summary"]
    assert len(short.split()) <= 15 and short.endswith("the work begins in May.")
    (words,) = shipped.keywords([TEXT], 2)
    assert [word["text"] for word in call("keywords", text=TEXT, keywords=2)["keywords"]] == [
        str(word) for word in words
    ]


def test_files_below_the_folder(call):
    assert call("summarize", file="news.txt", words=20) == call("summarize", text=TEXT, words=20)


def test_files_are_read_apart(call, monkeypatch):
    async def text_apart(data, name, seconds, limit):
        assert (data.decode(), name, seconds) == (TEXT, "news.txt", 60)
        raise DataError("news.txt: was not read in 60 s")

    monkeypatch.setattr("tfsum.serving.mcp_tools.text_apart", text_apart)
    assert call("summarize", file="news.txt") == "news.txt: was not read in 60 s"


@pytest.mark.parametrize(
    "file",
    [
        "../secret.txt",
        "link.txt",
        "/etc/hostname",
        "absent.txt",
        ".",
        "https://example.org",
        "",
        "a\0b",
        "x" * 300,
    ],
)
def test_no_other_file_and_no_address(call, file):
    answer = call("summarize", file=file)
    assert "is no file below the server's folder" in answer and "secret" not in answer.replace(
        repr(file), ""
    )


def test_wrong_calls(call, shipped):
    assert "expected one of `text`, `file` and `document`" in call("summarize")
    assert "expected one of `text`, `file` and `document`" in call(
        "summarize", text="a", file="news.txt"
    )
    assert "larger than 8 MB" in call("summarize", file="large.txt")
    assert "may have 8388608" in call("summarize", text="a" * (LARGEST + 1))
    assert "share" in call("summarize", text="a", share=3)
    assert "query is missing" in call("ask", text="a")
    assert "expected a list of texts" in call("summarize", text="a", together=True)
    assert "'none' is not kept" in call("ask", document="none", query="a")
    without = mcp_server(lambda: shipped)
    assert "reads no files" in call("summarize", server=without, file="news.txt")


@pytest.fixture(scope="module")
def small(transformer):
    """A tiny model that reads a text once."""
    with opening_once():
        yield tfsum.load(transformer.folder)


def test_a_text_is_read_once_and_asked_by_its_id(small, article, call, monkeypatch):
    reads, read = [], type(small).read
    monkeypatch.setattr(
        type(small), "read", lambda self, *asked: reads.append(asked) or read(self, *asked)
    )

    async def use():
        async with Client(mcp_server(lambda: small)) as client:

            async def ask(tool, **arguments):
                return (await client.call_tool(tool, arguments)).structured_content

            document = await ask("read", text=article)
            id = document["document"]
            part = await ask("read", document=id, start=4, end=9)
            whole = await client.read_resource(document["uri"])
            answers = [
                await ask("ask", document=id, query="the bridge", sentences=1),
                await ask("summarize", document=id, words=20, keywords=2),
                await ask("compress", text=article, words=20),
                await ask("keywords", document=id, keywords=2),
            ]
            again = await ask("summarize", document=[id, id], newline="space", sentences=1)
            return document, part, whole.contents[0].text, answers, again["answers"]

    document, part, whole, answers, again = asyncio.run(use())
    assert document["characters"] == len(article) and part["text"] == article[4:9]
    assert whole == article and reads == [(article, None), (article, "space")]
    expected = [
        small(article, query="the bridge", sentences=1),
        small(article, words=20, keywords=2),
        small(article, words=20, block_trigrams=True),
    ]
    assert [answer["summary"] for answer in answers[:3]] == [str(answer) for answer in expected]
    assert [word["text"] for word in answers[3]["keywords"]] == [
        str(word) for word in expected[1].keywords
    ]
    assert again[0] == again[1] and len(again) == 2


def test_several_texts_have_an_answer_each_and_progress(call, shipped):
    told = []

    async def progress(*values):
        told.append(values)

    async def use():
        async with Client(mcp_server(lambda: shipped)) as client:
            texts = {"text": [TEXT, "It rained."], "sentences": 1}
            return await client.call_tool("summarize", texts, progress_callback=progress)

    answers = asyncio.run(use()).structured_content["answers"]
    assert [answer["summary"] for answer in answers] == [
        shipped(TEXT, sentences=1).summary,
        "It rained.",
    ]
    assert told == sorted({*told}) and {(1, 2, None), (2, 2, None)} <= {*told}
    together = call("summarize", text=[TEXT, TEXT], together=True, sentences=1)
    assert together["sentences"][0]["document"] == 0


def test_the_client_of_the_documentation(shipped, monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    page = (ROOT / "docs" / "agents.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n([^`]*call_tool.*?)```", page, re.DOTALL)
    monkeypatch.setattr("mcp.StdioServerParameters", lambda **_: mcp_server(lambda: shipped))
    exec(code, {})
    text = (ROOT / "examples" / "article.txt").read_text(encoding="utf-8")
    expected = shipped(text, query="What would a ferry cost?", sentences=1)
    assert capsys.readouterr().out == expected.summary + "\n"


def test_every_tool_says_what_it_takes_and_gives(shipped):
    async def use():
        async with Client(mcp_server(lambda: shipped)) as client:
            return (await client.list_tools()).tools

    tools = {tool.name: tool for tool in asyncio.run(use())}
    assert [*tools] == ["read", "ask", "summarize", "compress", "keywords"]
    assert tools["ask"].input_schema["required"] == ["query"]
    limit = SummaryRequest.model_json_schema()["properties"]["tokens"]
    assert tools["ask"].input_schema["properties"]["tokens"] == limit
    assert "auto" not in str(tools["ask"].input_schema["properties"]["sentences"])
    assert all(tool.output_schema["type"] == "object" for tool in tools.values())


@pytest.mark.slow  # it loads the model twice
def test_a_cancelled_call_computes_no_more():
    """Another call is answered, by a model that is loaded again."""
    failed = []

    class Watched(tfsum.Summarizer):
        def call(self, *asked):
            try:
                return super().call(*asked)
            except CallError as error:
                failed.append(str(error))
                raise

    async def ask():
        async with Client(mcp_server(lambda: Watched(shipped_model()))) as client:
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(1):
                    await client.call_tool("summarize", {"text": TEXT * 4000})  # a minute
            answer = await client.call_tool("summarize", {"text": TEXT})
            async with asyncio.timeout(600):
                while not failed:
                    await asyncio.sleep(0.01)
            return answer

    assert not asyncio.run(ask()).is_error
    assert len(failed) == 1 and "cancelled" in failed[0]
