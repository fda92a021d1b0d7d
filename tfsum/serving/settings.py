"""The settings of a server, with safe defaults; `tfsum serve` has an option for each."""

import dataclasses
import os
from collections.abc import Callable
from typing import Any

from tfsum.errors import Error

LIMITS = "limits of a request, and the status beyond them"
BATCHES, VERSIONS, OTHERS = "batches", "versions", "access, log and stopping"

Check = tuple[str, Callable[[Any], bool]]  # what is expected, and whether a value is that
ANY: Check = ("any value", lambda value: True)
POSITIVE: Check = ("more than 0", lambda value: value > 0)
NOT_NEGATIVE: Check = ("0 or more", lambda value: value >= 0)
PORT: Check = ("a port from 0 to 65535", lambda value: 0 <= value <= 65535)


def setting(
    default: Any, text: str, check: Check = ANY, group: str = "", unit: str | None = None
) -> Any:
    """A field of `ServerSettings`.

    Args:
        default: Default value.
        text: Description, which is also the help of the command-line option.
        check: What the value must be.
        group: Title of the group of options in `tfsum serve --help`; "" is none.
        unit: Unit of the value, or its form.

    Returns:
        A dataclass field.

    Example:
        >>> setting(30.0, "time for an answer", POSITIVE, unit="SECONDS").metadata["unit"]
        'SECONDS'
    """
    metadata = {"text": text, "check": check, "group": group, "unit": unit}
    return dataclasses.field(default=default, metadata=metadata)


@dataclasses.dataclass(frozen=True)
class ServerSettings:
    """What a server listens on, what it accepts, and how it answers.

    Each field has its description beside it; `tfsum serve --help` prints all of them.

    Raises:
        Error: A setting is out of range.

    Example:
        >>> ServerSettings(port=8501).timeout
        30.0
        >>> ServerSettings(timeout=0)
        Traceback (most recent call last):
        tfsum.errors.Error: timeout is 0; expected more than 0
    """

    host: str = setting(
        "127.0.0.1",
        "address to bind to; the default is for programs of this machine alone, 0.0.0.0 for all",
    )
    port: int = setting(8501, "port of HTTP; 0 takes a free one", PORT)
    grpc_port: int | None = setting(
        None, "port of gRPC; 0 takes a free one, without one there is no gRPC", PORT
    )
    reuse_port: bool = setting(
        False,
        "let other servers with this option listen on the same ports; Linux divides the connections"
        " among them",
    )

    max_body: int = setting(
        32 << 20, "size of the unpacked body of a request (413)", POSITIVE, LIMITS, "BYTES"
    )
    max_bodies: int = setting(
        128 << 20,
        "size of the unpacked bodies of all requests together (429 with Retry-After)",
        POSITIVE,
        LIMITS,
        "BYTES",
    )
    max_connections: int = setting(2000, "connections of clients (503)", POSITIVE, LIMITS, "N")
    max_documents: int = setting(1024, "rows of a request (413)", POSITIVE, LIMITS, "N")
    max_characters: int = setting(
        1_000_000, "size of a document, in UTF-8 (413)", POSITIVE, LIMITS, "BYTES"
    )
    max_queue: int = setting(
        1000, "requests that wait (429 with Retry-After)", POSITIVE, LIMITS, "N"
    )
    timeout: float = setting(
        30.0,
        "time until an answer (429 while it waits, 504 while it is computed; a computation is not"
        " interrupted)",
        POSITIVE,
        LIMITS,
        "SECONDS",
    )

    compute: str = setting(
        "float32",
        "type that models compute in: float32; bfloat16, faster and rounded more; or auto, bfloat16"
        " where the processor has instructions for it",
        ANY,
        BATCHES,
        "TYPE",
    )
    threads: int = setting(
        max(1, (os.cpu_count() or 1) // 2),
        "batches computed at the same time, besides one of long documents; the default is half of"
        " the processors, since a batch is computed on several",
        POSITIVE,
        BATCHES,
        "N",
    )
    batch_characters: int = setting(8192, "characters of a batch", POSITIVE, BATCHES, "N")
    batch_wait: float = setting(
        0.005,
        "time that a batch waits for more requests while another is computed",
        NOT_NEGATIVE,
        BATCHES,
        "SECONDS",
    )
    long_characters: int = setting(
        65536,
        "a document of more characters is computed in a thread of its own",
        POSITIVE,
        BATCHES,
        "N",
    )

    version_policy: str = setting(
        "latest:1",
        "versions of each model to serve: latest:N, all, or specific:N,M",
        ANY,
        VERSIONS,
        "POLICY",
    )
    # NAME/LABEL -> version
    labels: dict[str, int] = dataclasses.field(default_factory=dict)
    poll_seconds: float = setting(
        1.0, "time between two looks at the folder", POSITIVE, VERSIONS, "SECONDS"
    )
    load_retries: int = setting(
        5, "how often to try again to load a version that failed", NOT_NEGATIVE, VERSIONS, "N"
    )
    keep_last_version: bool = setting(
        False,
        "keep a version whose folder vanished, as long as there is no other",
        ANY,
        VERSIONS,
    )

    # Requests need the header Authorization: Bearer TOKEN; None lets all in.
    token: str | None = None
    allowed_host: str | None = setting(
        None,
        "name by which a server on a loopback address is asked besides localhost, such as that of"
        " a proxy before it; * for any",
        ANY,
        OTHERS,
        "NAME",
    )
    cors: str | None = setting(
        None, "origin whose pages may send requests, or * for all", ANY, OTHERS, "ORIGIN"
    )
    grace: float = setting(
        30.0, "time to answer accepted requests after SIGTERM", NOT_NEGATIVE, OTHERS, "SECONDS"
    )

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            expected, is_valid = field.metadata.get("check", ANY)
            value = getattr(self, field.name)
            if value is not None and not is_valid(value):
                raise Error(f"{field.name} is {value}; expected {expected}")
