"""The measurement of `tfsum mcp --proxy`, before a small server of the SDK."""

import json
import pathlib
import subprocess
import sys

import pytest

pytest.importorskip("mcp", reason="needs the extra mcp")

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"
SERVER = f"""
from mcp.server import MCPServer

server = MCPServer("stories")


@server.tool()
def story() -> str:
    return open({str(EXAMPLES / "article.txt")!r}, encoding="utf-8").read()


@server.tool()
def rows() -> dict[str, list[str]]:
    return {{"rows": ["A row of plain words that says what there is."] * 100}}


server.run()
"""


def test_every_call_names_what_it_asks():
    calls = (EXAMPLES / "proxy/calls.jsonl").read_text("utf-8").splitlines()
    for call in map(json.loads, calls):
        assert {"tool", "arguments"} <= set(call)
        assert set(call) <= {"tool", "arguments", "question", "answer", "structured"}
        assert ("question" in call) == ("answer" in call)
        path = EXAMPLES.parent / call["arguments"].get("path", ".")
        assert path.exists()
        assert call.get("answer", "") == "" or call["answer"] in path.read_text("utf-8")


@pytest.mark.slow  # two processes that load a model
def test_tokens_answers_and_structured_results_are_counted(tmp_path):
    question = {"question": "Who is the owner of the shop?", "answer": "Meera Shah"}
    calls = [{"tool": "story", **question}, {"tool": "story"}, {"tool": "rows", "structured": True}]
    (tmp_path / "server.py").write_text(SERVER)
    servers = {"stories": {"command": sys.executable, "args": [str(tmp_path / "server.py")]}}
    (tmp_path / "servers.json").write_text(json.dumps({"mcpServers": servers}))
    lines = [json.dumps({"arguments": {}, **call}) for call in calls]
    (tmp_path / "calls.jsonl").write_text("\n".join(lines))

    measured = subprocess.run(
        [sys.executable, EXAMPLES / "proxy/measure.py", "servers.json", "calls.jsonl"]
        + ["--tokens", "200"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    first, whole, shortened = measured.stdout.splitlines()
    assert first == "3 results, 1 questions, 1 structured results"
    assert "0 shortened; answered 1, with `ask` 1; structured changed 0" in whole
    assert "at most 200 tokens" in shortened and "2 shortened;" in shortened
    assert shortened.endswith("with `ask` 1; structured changed 0")
