"""The settings of servers, with safe defaults; `tfsum serve` and `tfsum mcp` have an option for
each."""

import os
from typing import Annotated

from pydantic import BeforeValidator, Field

from tfsum.settings import Option
from tfsum.tasks.model_choice import ModelSettings

LIMITS = Option(group="limits, and the status beyond them")
BATCHES = Option(group="batches")
VERSIONS = Option(group="versions")
OTHERS = Option(group="access, log and stopping")
BYTES = Option(metavar="BYTES", group=LIMITS.group)

Port = Annotated[int, Field(ge=0, le=65535)]
Size = Annotated[int, Field(ge=1)]
Seconds = Annotated[float, Field(gt=0)]
Policy = Annotated[str, Field(pattern="^(all|latest(:[1-9][0-9]*)?|specific:[0-9,]*)$")]
SecondsOrNone = Annotated[float, Field(ge=0)]


def labels_of(words: object) -> object:
    """Reads labels of versions as the command line has them.

    Args:
        words: Texts NAME/LABEL=VERSION; anything else is left to its check.

    Returns:
        NAME/LABEL -> version.

    Raises:
        ValueError: A text has another form.

    Example:
        >>> labels_of(["news/stable=1"])
        {'news/stable': 1}
    """
    if not isinstance(words, list):
        return words
    labels = {}
    for word in words:
        label, _, version = word.partition("=")
        if "/" not in label or not version.isdecimal():
            raise ValueError("expected NAME/LABEL=VERSION, such as news/stable=1")
        labels[label] = int(version)
    return labels


DOCUMENT_CACHE = Field(
    64 << 20, ge=0, description="Size of what is kept of the last documents; 0 for none."
)


class McpSettings(ModelSettings):
    """How agents are served.

    `tfsum mcp --help` prints all of it.

    Raises:
        Error: A setting is out of range.

    Example:
        >>> McpSettings().tokens
        2000
    """

    proxy: Annotated[str | None, Option(metavar="FILE")] = Field(
        None,
        description="Client settings with the servers whose long results are shortened.",
    )
    tokens: Annotated[int, Option(metavar="N")] = Field(
        2000, ge=100, description="The most tokens of a result of these servers."
    )
    port: Annotated[Port | None, Option(metavar="N")] = Field(
        None,
        description="Port of HTTP, on this machine alone; without one standard input and output"
        " are used.",
    )
    document_cache: Annotated[int, Option(metavar="BYTES")] = DOCUMENT_CACHE


class ServerSettings(ModelSettings):
    """What a server listens on, what it accepts, and how it answers.

    `tfsum serve --help` prints all of it.

    Raises:
        Error: A setting is out of range.

    Example:
        >>> ServerSettings(port=8501).timeout
        30.0
        >>> ServerSettings(timeout=0)
        Traceback (most recent call last):
        tfsum.errors.Error: timeout=0: expected a number above 0
    """

    host: Annotated[str, Option(metavar="ADDRESS")] = Field(
        "127.0.0.1",
        description="Address to bind to; 0.0.0.0 is for other machines too.",
    )
    port: Port = Field(8501, description="Port of HTTP; 0 takes a free one.")
    grpc_port: Annotated[Port | None, Option(metavar="N")] = Field(
        None, description="Port of gRPC; without one there is no gRPC. 0 takes a free one."
    )
    reuse_port: bool = Field(
        False,
        description="Let other servers with this option share the ports. Linux divides the"
        " connections among them.",
    )

    max_body: Annotated[Size, BYTES] = Field(
        32 << 20, description="Size of the unpacked body of a request (413)."
    )
    max_bodies: Annotated[Size, BYTES] = Field(
        128 << 20,
        description="Size of the unpacked bodies and the answers of all requests (429). It has"
        " Retry-After.",
    )
    document_cache: Annotated[int, BYTES] = DOCUMENT_CACHE
    max_document_bytes: Annotated[Size, BYTES] = Field(
        1_000_000, description="Size of a document in UTF-8 (413)."
    )
    max_documents: Annotated[Size, LIMITS] = Field(
        1024, description="Rows of a request, and the documents in them (413)."
    )
    max_connections: Annotated[Size, LIMITS] = Field(
        2000, description="Connections and requests of clients (503), as descriptors allow."
    )
    max_queue: Annotated[Size, LIMITS] = Field(
        1000, description="Requests that wait (429). It has Retry-After."
    )
    timeout: Annotated[Seconds, Option(metavar="SECONDS", group=LIMITS.group)] = Field(
        30.0,
        description="Time until an answer (429 in the queue, else 504). A computation is not"
        " interrupted.",
    )

    threads: Annotated[Size, BATCHES] = Field(
        max(1, (os.cpu_count() or 1) // 2),
        description="Batches computed at once, besides one of long documents. The default is half"
        " of the processors, since a batch is computed on several.",
    )
    batch_characters: Annotated[Size, BATCHES] = Field(8192, description="Characters of a batch.")
    batch_wait: Annotated[SecondsOrNone, Option(metavar="SECONDS", group=BATCHES.group)] = Field(
        0.005, description="Time that a batch waits for more while another is computed."
    )
    long_characters: Annotated[Size, BATCHES] = Field(
        65536, description="Characters above which a document has a thread of its own."
    )

    labels: Annotated[
        dict[str, Size],
        BeforeValidator(labels_of),
        Option("--label", metavar="NAME/LABEL=VERSION", group=VERSIONS.group),
    ] = Field({}, description="A label of a version; can be repeated.")
    version_policy: Annotated[Policy, Option(metavar="POLICY", group=VERSIONS.group)] = Field(
        "latest:1", description="Versions to serve: latest:N, all, or specific:N,M."
    )
    poll_seconds: Annotated[Seconds, Option(metavar="SECONDS", group=VERSIONS.group)] = Field(
        1.0, description="Time between two looks at the folder."
    )

    token: Annotated[str | None, Option(hidden=True)] = Field(
        None, description="Token of the header Authorization: Bearer TOKEN; None lets all in."
    )
    allowed_host: Annotated[str | None, Option(metavar="NAME", group=OTHERS.group)] = Field(
        None,
        description="Name of this server besides localhost, such as a proxy's; * for any. Pages of"
        " other names are refused, and on a loopback address requests for them too.",
    )
    cors: Annotated[str | None, Option(metavar="ORIGIN", group=OTHERS.group)] = Field(
        None, description="Origin whose pages may send requests, or * for all."
    )
    grace: Annotated[SecondsOrNone, Option(metavar="SECONDS", group=OTHERS.group)] = Field(
        30.0, description="Time to answer accepted requests after SIGTERM."
    )
