"""The settings of a server, with safe defaults."""

import dataclasses
import os
from typing import Any

from tfsum.errors import Error


@dataclasses.dataclass(frozen=True)
class ServerSettings:
    """What a server listens on, what it takes, and how it answers.

    Attributes:
        host: address to bind to; only programs of this machine reach the default.
        port: of HTTP; 0 takes a free one.
        grpc_port: of gRPC; 0 takes a free one, None is none.
        max_body: bytes of a request's body, unpacked.
        max_documents: rows of a request.
        max_characters: of a document, in bytes. What is computed is not interrupted where `timeout` is over.
        max_queue: requests that wait at the same time.
        timeout: seconds in which a request is answered.
        threads: batches that are computed at the same time, besides one of long documents.
        batch_characters: characters of a batch.
        batch_wait: seconds that a batch waits for more while another is computed.
        long_characters: a document of more is long: it is computed beside the others, which do not wait for it.
        version_policy: "latest:N", "all" or "specific:N,M": the versions to serve of each model.
        labels: "NAME/LABEL" -> version.
        poll_seconds: after which the folders are looked at again.
        load_retries: how often a version that fails to load is tried again.
        keep_last_version: whether a version goes on when its folder vanishes and there is no other.
        grace: seconds in which accepted requests are answered after SIGTERM.
        token: that requests must bear (`Authorization: Bearer TOKEN`); None lets all in.
        cors: origin whose pages may ask, "*" for all; None for none.

    Raises:
        Error: a setting is out of range.

    Example:
        >>> ServerSettings(port=8501).timeout
        30.0
        >>> ServerSettings(timeout=0)
        Traceback (most recent call last):
        tfsum.errors.Error: timeout is 0; expected more than 0
    """

    host: str = "127.0.0.1"
    port: int = 8501
    grpc_port: int | None = None
    max_body: int = 32 << 20
    max_documents: int = 1024
    max_characters: int = 1_000_000
    max_queue: int = 1000
    timeout: float = 30.0
    threads: int = dataclasses.field(default_factory=lambda: os.cpu_count() or 1)
    batch_characters: int = 8192
    batch_wait: float = 0.005
    long_characters: int = 65536
    version_policy: str = "latest:1"
    labels: dict[str, int] = dataclasses.field(default_factory=dict)
    poll_seconds: float = 1.0
    load_retries: int = 5
    keep_last_version: bool = False
    grace: float = 30.0
    token: str | None = None
    cors: str | None = None

    def __post_init__(self) -> None:
        for name in (
            "max_body",
            "max_documents",
            "max_characters",
            "max_queue",
            "timeout",
            "threads",
            "batch_characters",
            "long_characters",
            "poll_seconds",
        ):
            _check(name, getattr(self, name), "more than 0", getattr(self, name) > 0)
        for name in ("batch_wait", "load_retries", "grace"):
            _check(name, getattr(self, name), "0 or more", getattr(self, name) >= 0)
        for name in ("port", "grpc_port"):
            _check(
                name,
                getattr(self, name),
                "a port from 0 to 65535",
                0 <= (getattr(self, name) or 0) <= 65535,
            )


def _check(name: str, found: Any, expected: str, right: bool) -> None:
    if not right:
        raise Error(f"{name} is {found}; expected {expected}")
