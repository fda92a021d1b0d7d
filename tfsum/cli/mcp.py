"""Serve summaries to agents over the Model Context Protocol, on standard input and output.

Tools: summarize, compress and keywords, whose answers are sentences and words of the text. Nothing
is fetched, and files are read only below --root.
"""

import argparse
import pathlib

import tfsum
from tfsum.cli.parser import Options
from tfsum.errors import Error, install_extra
from tfsum.inference.compute import TYPES

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
            "help": "an extractive SavedModel that tfsum exported (default: the shipped)",
        },
        "--compute": {
            "choices": TYPES,
            "default": "float32",
            "help": "type that the model computes in (default: float32)",
        },
    }
}


def run(arguments: argparse.Namespace) -> int:
    root = None if arguments.root is None else pathlib.Path(arguments.root)
    if root is not None and not root.is_dir():
        arguments.parser.reject(f"--root {root}: no such folder")
    try:
        from tfsum.cli.mcp_tools import mcp_server, run_server
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "mcp":
            raise
        raise Error(f"tfsum mcp needs the package mcp; {install_extra('mcp')}") from None

    model = tfsum.load(arguments.model, compute=arguments.compute)
    if not isinstance(model, tfsum.Summarizer):
        raise Error(f"{arguments.model}: is not extractive; the tools need a model that selects")
    run_server(mcp_server(model, root))
    return 0
