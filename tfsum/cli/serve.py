"""Serve exported models over TensorFlow Serving's REST API."""

import logging
import os
import pathlib
import sys

from tfsum.cli.options import Arguments, Options, read_settings
from tfsum.errors import as_error, needs_extra, require
from tfsum.serving.settings import OTHERS, ServerSettings
from tfsum.shipped_files import SAVED_MODELS

EXAMPLES = """examples:
  tfsum serve
  tfsum serve saved_models --port 8501
  curl -d '{"instances": ["It rained. The bridge was closed."]}' \\
      localhost:8501/v1/models/bert_sum_ext_news_en:predict
"""


CLASSES = [(ServerSettings, None, "")]
OPTIONS: Options = {
    "": {
        "folder": {
            "nargs": "?",
            "metavar": "FOLDER",
            "help": "folder with NAME/VERSION of exported models (default: the shipped)",
        },
    },
    OTHERS.group: {
        "--token-file": {
            "metavar": "FILE",
            "help": "file with a token; requests need the header Authorization: Bearer TOKEN",
        },
        "--no-access-log": {
            "action": "store_true",
            "help": "do not write a line of JSON for each request (it never has a text)",
        },
    },
}


def run(arguments: Arguments) -> int:
    settings = read_settings(ServerSettings, arguments, token=read_token(arguments.token_file))
    folder = pathlib.Path(arguments.folder or SAVED_MODELS)
    with needs_extra("serve", "serving"):
        from tfsum.serving.predictor import flush
        from tfsum.serving.server import Server
        from tfsum.serving.version_folders import find_models

    log_to_stderr(access=not arguments.no_access_log)
    logging.getLogger("tfsum.serving").info(
        "loading %s from %s; they will answer at http://%s:%s",
        ", ".join(find_models(folder)) or "no model yet",
        folder,
        settings.host,
        settings.port or "PORT",
    )

    answered = Server(folder, settings).run()
    flush()
    sys.stderr.flush()
    # Threads may still compute what nobody waits for; Python would wait for them.
    os._exit(int(not answered))


def read_token(file: str | None) -> str | None:
    """Reads the token of a file.

    Args:
        file: Path of the file; None where there is none.

    Returns:
        The token, or None.

    Raises:
        Error: The file cannot be read, or is empty.
    """
    if file is None:
        return None

    cure = "; expected a file with the token alone"
    with as_error(f"{file}: cannot be read", OSError, UnicodeDecodeError, cure=cure):
        token = pathlib.Path(file).read_text(encoding="utf-8").strip()
    require(token, f"{file}: is empty{cure}")
    return token


def log_to_stderr(access: bool) -> None:
    """Sends the log of a server to standard error.

    Args:
        access: Whether to write the access log too.

    Example:
        >>> log_to_stderr(access=False)
    """
    # Not logging.config.dictConfig: it closes the handlers of everybody else in the process.
    forms = {"tfsum.serving": "tfsum serve: %(message)s", "tfsum.serving.access": "%(message)s"}
    for name, form in forms.items():
        handler, logger = logging.StreamHandler(), logging.getLogger(name)
        handler.setFormatter(logging.Formatter(form))
        logger.handlers[:] = [handler]
        logger.setLevel(logging.INFO)
        logger.propagate = False
    logging.getLogger("tfsum.serving.access").disabled = not access
