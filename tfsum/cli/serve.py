"""Serve exported models over TensorFlow Serving's REST API."""

import argparse
import os
import pathlib
import sys

from tfsum.errors import Error

EXAMPLES = """examples:
  tfsum serve
  tfsum serve saved_models --port 8501
  curl -d '{"instances": ["It rained. The bridge was closed."]}' localhost:8501/v1/models/bert_sum_ext_news_en:predict
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from tfsum.serving.settings import ServerSettings

    settings = ServerSettings()
    parser.add_argument(
        "folder",
        nargs="?",
        metavar="FOLDER",
        help="the folder with NAME/VERSION of exported models, "
        "or one NAME; default: the shipped models",
    )
    parser.add_argument(
        "--host",
        default=settings.host,
        help=f"address to bind to; default {settings.host}, which "
        "this machine alone reaches; 0.0.0.0 for all",
    )
    parser.add_argument(
        "--port", type=int, default=settings.port, help=f"of HTTP; default {settings.port}"
    )
    parser.add_argument("--grpc-port", type=int, help="of gRPC; default: none")
    limits = parser.add_argument_group("limits of a request, and what is answered beyond them")
    limits.add_argument(
        "--max-body",
        type=int,
        default=settings.max_body,
        metavar="BYTES",
        help=f"of the body, unpacked (413); default {settings.max_body}",
    )
    limits.add_argument(
        "--max-documents",
        type=int,
        default=settings.max_documents,
        metavar="N",
        help=f"rows of a request (413); default {settings.max_documents}",
    )
    limits.add_argument(
        "--max-characters",
        type=int,
        default=settings.max_characters,
        metavar="N",
        help=f"of a document, in bytes (413); default {settings.max_characters}",
    )
    limits.add_argument(
        "--max-queue",
        type=int,
        default=settings.max_queue,
        metavar="N",
        help=f"requests that wait (429 with Retry-After); default {settings.max_queue}",
    )
    limits.add_argument(
        "--timeout",
        type=float,
        default=settings.timeout,
        metavar="SECONDS",
        help=f"until an answer (429 while it waits, 504 while it is computed); default "
        f"{settings.timeout:g}",
    )
    batches = parser.add_argument_group("batches")
    batches.add_argument(
        "--threads",
        type=int,
        default=settings.threads,
        metavar="N",
        help=f"batches computed at the same time; default {settings.threads}, the processors",
    )
    batches.add_argument(
        "--batch-characters",
        type=int,
        default=settings.batch_characters,
        metavar="N",
        help=f"of a batch; default {settings.batch_characters}",
    )
    batches.add_argument(
        "--batch-wait",
        type=float,
        default=settings.batch_wait,
        metavar="SECONDS",
        help="that a batch waits for more while another is computed; default "
        f"{settings.batch_wait:g}",
    )
    batches.add_argument(
        "--long-characters",
        type=int,
        default=settings.long_characters,
        metavar="N",
        help="a document of more is computed beside the others; default "
        f"{settings.long_characters}",
    )
    versions = parser.add_argument_group("versions")
    versions.add_argument(
        "--version-policy",
        default=settings.version_policy,
        metavar="POLICY",
        help="versions of each model to serve: latest:N, all, or specific:N,M; default "
        f"{settings.version_policy}",
    )
    versions.add_argument(
        "--label",
        action="append",
        default=[],
        metavar="NAME/LABEL=VERSION",
        help="a label of a version; can be repeated",
    )
    versions.add_argument(
        "--poll-seconds",
        type=float,
        default=settings.poll_seconds,
        metavar="SECONDS",
        help=f"after which the folder is looked at again; default {settings.poll_seconds:g}",
    )
    versions.add_argument(
        "--keep-last-version",
        action="store_true",
        help="serve a version whose folder vanished, as long as there is no other",
    )
    stopping = parser.add_argument_group("access, log and stopping")
    stopping.add_argument(
        "--token-file",
        metavar="FILE",
        help="requests need the header Authorization: Bearer TOKEN; the file holds the token",
    )
    stopping.add_argument(
        "--cors", metavar="ORIGIN", help="origin whose pages may ask, or * for all; default: none"
    )
    stopping.add_argument(
        "--no-access-log",
        action="store_true",
        help="do not write a line of JSON for each request (it never has a text)",
    )
    stopping.add_argument(
        "--grace",
        type=float,
        default=settings.grace,
        metavar="SECONDS",
        help=f"to answer accepted requests after SIGTERM; default {settings.grace:g}",
    )


def run(arguments: argparse.Namespace) -> int:
    try:
        from tfsum.serving.server import Server, log_to
    except ModuleNotFoundError as error:
        if error.name not in ("uvicorn", "starlette", "prometheus_client", "grpc"):
            raise
        raise Error(f"serving needs the package {error.name}; pip install 'tfsum[serve]'") from None
    from tfsum.serving.settings import ServerSettings
    from tfsum.serving.tracing import flush

    names = (
        "host",
        "port",
        "grpc_port",
        "max_body",
        "max_documents",
        "max_characters",
        "max_queue",
        "timeout",
        "threads",
        "batch_characters",
        "batch_wait",
        "long_characters",
        "version_policy",
        "poll_seconds",
        "keep_last_version",
        "grace",
        "cors",
    )
    settings = ServerSettings(
        **{name: getattr(arguments, name) for name in names},
        labels=labels(arguments.label),
        token=read_token(arguments.token_file),
    )
    log_to(sys.stderr, access=not arguments.no_access_log)
    answered = Server(arguments.folder, settings).run()
    flush()
    sys.stderr.flush()
    os._exit(
        0 if answered else 1
    )  # threads that still compute what nobody waits for are not waited for


def labels(words: list[str]) -> dict[str, int]:
    """The labels of NAME/LABEL=VERSION.

    Example:
        >>> labels(["news/stable=1"])
        {'news/stable': 1}
    """
    found = {}
    for word in words:
        label, _, version = word.partition("=")
        if "/" not in label or not version.isdecimal():
            raise Error(f"--label {word}: expected NAME/LABEL=VERSION, such as news/stable=1")
        found[label] = int(version)
    return found


def read_token(file: str | None) -> str | None:
    """The token of a file; None where there is no file.

    Example:
        >>> read_token("token.txt")  # doctest: +SKIP
        'secret'
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
