"""Serve exported models over TensorFlow Serving's REST API."""

import argparse
import dataclasses
import logging
import os
import pathlib
import sys
import typing

from tfsum.cli.parser import Options
from tfsum.errors import Error, install_extra
from tfsum.inference.shipped import shipped_folder
from tfsum.serving.settings import BATCHES, LIMITS, OTHERS, VERSIONS, ServerSettings
from tfsum.serving.version_folders import find_models

EXAMPLES = """examples:
  tfsum serve
  tfsum serve saved_models --port 8501
  curl -d '{"instances": ["It rained. The bridge was closed."]}' \\
      localhost:8501/v1/models/bert_sum_ext_news_en:predict
"""


def settings_fields() -> list[dataclasses.Field]:
    """The fields of `ServerSettings` that are options of the command line as they are.

    Example:
        >>> [field.name for field in settings_fields()][:3]
        ['host', 'port', 'grpc_port']
    """
    return [field for field in dataclasses.fields(ServerSettings) if field.metadata]


def option_settings(field: dataclasses.Field) -> dict[str, typing.Any]:
    """Arguments of `add_argument` for a field of `ServerSettings`.

    Args:
        field: Field with the metadata of `tfsum.serving.settings.setting`.

    Example:
        >>> option_settings(settings_fields()[1])["default"]
        8501
    """
    text = field.metadata["text"]
    if field.type is bool:
        return {"action": "store_true", "help": text}

    kind, *_ = typing.get_args(field.type) or (field.type,)  # of `int | None`, int
    default = "" if field.default is None else "; default: %(default)s"
    return {
        "type": kind,
        "default": field.default,
        "metavar": field.metadata["unit"],
        "help": text + default,
    }


def options_of(group: str) -> dict[str, dict[str, typing.Any]]:
    """The options for a group of fields of `ServerSettings`.

    Args:
        group: Title of the group.

    Example:
        >>> list(options_of("batches"))[:2]
        ['--compute', '--threads']
    """
    fields = (field for field in settings_fields() if field.metadata["group"] == group)
    return {"--" + field.name.replace("_", "-"): option_settings(field) for field in fields}


# Beside the options of `ServerSettings`, by the title of their group.
OPTIONS: Options = {
    "": {
        "folder": {
            "nargs": "?",
            "metavar": "FOLDER",
            "help": "the folder with NAME/VERSION of exported models, or one NAME; default: the"
            " shipped models",
        },
        **options_of(""),
    },
    LIMITS: options_of(LIMITS),
    BATCHES: options_of(BATCHES),
    VERSIONS: {
        "--label": {
            "action": "append",
            "default": [],
            "metavar": "NAME/LABEL=VERSION",
            "help": "a label of a version; can be repeated",
        },
        **options_of(VERSIONS),
    },
    OTHERS: {
        "--token-file": {
            "metavar": "FILE",
            "help": "file with a token; requests need the header Authorization: Bearer TOKEN",
        },
        "--no-access-log": {
            "action": "store_true",
            "help": "do not write a line of JSON for each request (it never has a text)",
        },
        **options_of(OTHERS),
    },
}


def run(arguments: argparse.Namespace) -> int:
    settings = ServerSettings(
        **{field.name: getattr(arguments, field.name) for field in settings_fields()},
        labels=parse_labels(arguments.label),
        token=read_token(arguments.token_file),
    )
    folder = pathlib.Path(arguments.folder or shipped_folder())
    log_to_stderr(access=not arguments.no_access_log)
    logging.getLogger("tfsum.serving").info(
        "loading %s from %s; they will answer at http://%s:%s",
        ", ".join(find_models(folder)) or "no model yet",
        folder,
        settings.host,
        settings.port or "PORT",
    )

    try:
        from tfsum.serving.predictor import flush
        from tfsum.serving.server import Server
    except ModuleNotFoundError as error:
        if error.name not in ("uvicorn", "starlette", "prometheus_client", "grpc"):
            raise
        raise Error(f"serving needs the package {error.name}; {install_extra('serve')}") from None
    answered = Server(folder, settings).run()
    flush()
    sys.stderr.flush()
    # Threads may still compute what nobody waits for; Python would wait for them.
    os._exit(0 if answered else 1)


def parse_labels(words: list[str]) -> dict[str, int]:
    """Reads options of the form NAME/LABEL=VERSION.

    Args:
        words: Values of the options.

    Returns:
        NAME/LABEL -> version.

    Raises:
        Error: A value has another form.

    Example:
        >>> parse_labels(["news/stable=1"])
        {'news/stable': 1}
    """
    labels = {}
    for word in words:
        label, _, version = word.partition("=")
        if "/" not in label or not version.isdecimal():
            raise Error(f"--label {word}: expected NAME/LABEL=VERSION, such as news/stable=1")
        labels[label] = int(version)
    return labels


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

    try:
        token = pathlib.Path(file).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise Error(
            f"{file}: cannot be read ({error}); expected a file with the token alone"
        ) from None
    if not token:
        raise Error(f"{file}: is empty; expected a file with the token alone")
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
