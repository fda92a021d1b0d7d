"""`tfsum mcp`: what it refuses; its tools are tested in cli/test_mcp_tools.py."""

import sys

from tfsum.cli.main import main
from tfsum.inference.shipped import shipped_folder


def test_a_folder_that_is_not_there(tmp_path, capsys):
    assert main(["mcp", "--root", str(tmp_path / "absent")]) == 2
    assert "absent: no such folder" in capsys.readouterr().err


def test_a_model_that_does_not_select(capsys):
    model = shipped_folder() / "transformer_tatoeba_en_fr"
    assert main(["mcp", "--model", str(model)]) == 1
    assert "is not extractive" in capsys.readouterr().err


def test_without_the_package(monkeypatch, capsys):
    monkeypatch.delitem(sys.modules, "tfsum.cli.mcp_tools", raising=False)
    monkeypatch.setitem(sys.modules, "mcp.server.mcpserver", None)
    monkeypatch.setitem(sys.modules, "mcp", None)
    assert main(["mcp"]) == 1
    err = capsys.readouterr().err
    assert "tfsum mcp needs the package mcp" in err and "[mcp]" in err
