"""`tfsum mcp` as a program, driven by the SDK's own client over standard streams and HTTP."""

import asyncio
import io
import json
import os
import re
import subprocess
import sys

import pytest
import talking_server
from mcp import Client, StdioServerParameters
from patient_client import TIMEOUT

from tfsum.cli.main import main
from tfsum.cli.mcp import Lines
from tfsum.shipped_files import SAVED_MODELS


@pytest.mark.parametrize("half", [r"\ud83d", r"\uDE00", r"\ude00\ud83d", r"\\\ud83d"])
def test_half_a_pair_of_utf_16_is_no_end_of_a_call(half):
    line = next(Lines(io.BytesIO(f'"a{half} \\\\ud83d \\ud83d\\ude00"'.encode())))
    text = json.loads(line)
    assert "\ufffd" in text and text.endswith(" \\ud83d \U0001f600") and text.encode()


@pytest.fixture(scope="module")
def program(tmp_path_factory, transformer):
    """Words that start `tfsum mcp` with a tiny model, and a server behind it."""
    folder = tmp_path_factory.mktemp("program")
    (folder / "news.txt").write_text("It rained. The bridge was closed.", encoding="utf-8")
    server = {"command": sys.executable, "args": [talking_server.__file__]}
    settings = folder / "servers.json"
    settings.write_text(json.dumps({"mcpServers": {"talk": server}}), encoding="utf-8")
    command = "from tfsum.cli.main import main; raise SystemExit(main())"
    words = ["-c", command, "mcp", "--root", folder, "--model", transformer.folder]
    return [*map(str, words)], ["--proxy", str(settings), "--tokens", "300"]


async def listed_and_read(server):
    """The names of a server's tools, and what it answers to a file."""
    async with Client(server, read_timeout_seconds=TIMEOUT) as client:
        tools = await client.list_tools()
        answer = await client.call_tool("ask", {"file": "news.txt", "query": "bridge"})
        return [tool.name for tool in tools.tools], answer.structured_content["summary"]


def test_a_proxy_over_standard_streams(program):
    words, proxy = program
    # all of the environment, in which tfsum may be found
    server = StdioServerParameters(
        command=sys.executable, args=[*words, *proxy], env={**os.environ}
    )
    names, summary = asyncio.run(listed_and_read(server))
    assert names[:3] == ["read", "ask", "tell"]
    assert summary.endswith("The bridge was closed.")


@pytest.mark.slow  # a further process
def test_over_http(program):
    words, _ = program
    process = subprocess.Popen(
        [sys.executable, *words, "--port", "0"], stderr=subprocess.PIPE, text=True
    )
    try:
        ready = next(line for line in process.stderr if "running on" in line)
        url = re.search(r"http://\S+", ready)[0]
        names, summary = asyncio.run(listed_and_read(f"{url}/mcp"))
    finally:
        process.terminate()
        process.communicate(timeout=TIMEOUT)
    assert names == ["read", "ask", "summarize", "compress", "keywords"]
    assert summary.endswith("The bridge was closed.")


def test_tokens_are_of_other_servers(capsys):
    assert main(["mcp", "--tokens", "500"]) == 2
    assert "add --proxy FILE, or leave it out" in capsys.readouterr().err


def test_a_folder_that_is_not_there(tmp_path, capsys):
    assert main(["mcp", "--root", str(tmp_path / "absent")]) == 2
    assert "absent: no such folder" in capsys.readouterr().err


def test_a_model_that_does_not_select(capsys):
    model = SAVED_MODELS / "transformer_tatoeba_en_fr"
    assert main(["mcp", "--model", str(model)]) == 1
    assert "is not extractive" in capsys.readouterr().err


def test_without_the_package(monkeypatch, capsys):
    for name in [name for name in sys.modules if name.startswith("mcp.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "mcp", None)
    assert main(["mcp"]) == 1
    err = capsys.readouterr().err
    assert "tfsum mcp needs the package mcp" in err and "[mcp]" in err
