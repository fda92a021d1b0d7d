"""`tfsum mcp`: what it refuses, and its tools driven by the SDK's own client, in this process and
as a program over stdio."""

import asyncio
import io
import json
import sys

import pytest
from mcp import Client, StdioServerParameters

import tfsum
from tfsum.cli.main import main
from tfsum.cli.mcp import LARGEST, Lines, mcp_server
from tfsum.errors import DataError
from tfsum.inference.saved_model import shipped_folder, shipped_model

TEXT = (
    "The council met on Monday. The bridge will cost forty million dollars. Rain fell all night."
    " Mayor Anna Holt said that the work begins in May."
)


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
    assert [word["text"] for word in call("keywords", text=TEXT, number=2)["keywords"]] == [
        str(word) for word in words
    ]


def test_files_below_the_folder(call):
    assert call("summarize", file="news.txt", words=20) == call("summarize", text=TEXT, words=20)


def test_files_are_read_apart(call, monkeypatch):
    async def text_apart(data, name, seconds, limit):
        assert (data.decode(), name, seconds) == (TEXT, "news.txt", 60)
        raise DataError("news.txt: was not read in 60 s")

    monkeypatch.setattr("tfsum.cli.mcp.text_apart", text_apart)
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


@pytest.mark.parametrize("half", [r"\ud83d", r"\uDE00", r"\ude00\ud83d", r"\\\ud83d"])
def test_half_a_pair_of_utf_16_is_no_end_of_a_call(half):
    line = next(Lines(io.BytesIO(f'"a{half} \\\\ud83d \\ud83d\\ude00"'.encode())))
    text = json.loads(line)
    assert "\ufffd" in text and text.endswith(" \\ud83d \U0001f600") and text.encode()


def test_wrong_calls(call, shipped):
    assert "expected either `text` or `file`" in call("summarize")
    assert "expected either `text` or `file`" in call("summarize", text="a", file="news.txt")
    assert "larger than 8 MB" in call("summarize", file="large.txt")
    assert "may have 8388608" in call("summarize", text="a" * (LARGEST + 1))
    assert "share" in call("summarize", text="a", share=3)
    without = mcp_server(lambda: shipped, None)
    assert "reads no files" in call("summarize", server=without, file="news.txt")


@pytest.mark.slow  # it loads the model twice
def test_a_cancelled_call_computes_no_more():
    """Another call is answered, by a model that is loaded again."""
    failed = []

    class Watched(tfsum.Summarizer):
        def answer(self, *asked):
            try:
                return super().answer(*asked)
            except Exception as error:
                failed.append(str(error))
                raise

    async def ask():
        async with Client(mcp_server(lambda: Watched(shipped_model()), None)) as client:
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


def test_the_program(call):
    async def ask():
        program = StdioServerParameters(
            command=sys.executable,
            args=["-c", "from tfsum.cli.main import main; main()", "mcp", "--root", str(call.root)],
        )
        async with Client(program, read_timeout_seconds=600) as client:
            tools = await client.list_tools()
            answer = await client.call_tool("summarize", {"file": "news.txt", "sentences": 1})
            return sorted(tool.name for tool in tools.tools), answer

    names, answer = asyncio.run(ask())
    assert names == ["compress", "keywords", "summarize"] and not answer.is_error
    assert len(answer.structured_content["sentences"]) == 1


def test_a_folder_that_is_not_there(tmp_path, capsys):
    assert main(["mcp", "--root", str(tmp_path / "absent")]) == 2
    assert "absent: no such folder" in capsys.readouterr().err


def test_a_model_that_does_not_select(capsys):
    model = shipped_folder() / "transformer_tatoeba_en_fr"
    assert main(["mcp", "--model", str(model)]) == 1
    assert "is not extractive" in capsys.readouterr().err


def test_without_the_package(monkeypatch, capsys):
    for name in [name for name in sys.modules if name.startswith("mcp.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "mcp", None)
    assert main(["mcp"]) == 1
    err = capsys.readouterr().err
    assert "tfsum mcp needs the package mcp" in err and "[mcp]" in err
