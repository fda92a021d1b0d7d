"""What REST and gRPC share: access, limits, predictions, metrics, the access log, and spans."""

import asyncio
import contextlib
import hmac
import json
import logging
import time
from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from tfsum.inference.texts import MAX_PLACES, SEPARATOR, place_count, row_sizes
from tfsum.serving.batching import Batcher
from tfsum.serving.long_texts import LongTexts
from tfsum.serving.model_versions import STATES, ModelVersions
from tfsum.serving.request_error import RequestError, require
from tfsum.serving.servable import Arrays, Servable, Signature, byte_count
from tfsum.serving.settings import ServerSettings

try:
    from opentelemetry import propagate, trace
except ModuleNotFoundError:
    propagate = trace = None

LOG = logging.getLogger("tfsum.serving")
ACCESS_LOG = logging.getLogger("tfsum.serving.access")
MAX_LOGGED = 200  # characters of a path or a name in logs and spans
LARGE = 1 << 16  # bytes; to read or write a smaller message takes less time than to start a thread
SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
# What is counted of a batch: (unit, description, bounds of the buckets).
OF_BATCH = (
    ("rows", "Rows of a batch", (1, 2, 4, 8, 16, 32, 64, 128)),
    ("characters", "Characters of a batch", tuple(1 << power for power in range(8, 25, 2))),
    ("seconds", "Time in which a batch is computed", SECONDS),
)

T = TypeVar("T")
Take = Callable[[int], None]  # adds a number of bytes to those of all requests


class Metrics:
    """Counters of requests and batches, in a registry of their own.

    Args:
        versions: Versions of the models, whose states are shown.

    Attributes:
        requests: Number of the requests by model, method and status.
        seconds: Time until their answers, by model and method.
        queue: Number of the requests that wait.

    Example:
        >>> from tfsum.serving import Server, ServerSettings
        >>> metrics = Metrics(Server(settings=ServerSettings(port=0)).versions)
        >>> metrics.requests.labels("news", "predict", "200").inc()
        >>> line = 'tfsum_requests_total{code="200",method="predict",model="news"} 1.0'
        >>> line in metrics.text().decode()
        True
    """

    def __init__(self, versions: ModelVersions) -> None:
        self._versions = versions
        self._registry = registry = CollectorRegistry()
        self.requests = Counter(
            "tfsum_requests", "Requests answered", ("model", "method", "code"), registry=registry
        )
        self.seconds = Histogram(
            "tfsum_request_seconds",
            "Time from the request to the answer",
            ("model", "method"),
            registry=registry,
            buckets=SECONDS,
        )

        self._batches = [
            Histogram(f"tfsum_batch_{unit}", text, registry=registry, buckets=buckets)
            for unit, text, buckets in OF_BATCH
        ]

        self.queue = Gauge(
            "tfsum_queue_requests", "Requests that wait for a batch", registry=registry
        )
        self._states = Gauge(
            "tfsum_model_version",
            "1 for the state in which a version is",
            ("model", "version", "state"),
            registry=registry,
        )

    def observe_batch(self, rows: int, characters: int, seconds: float) -> None:
        """Counts a batch.

        Args:
            rows: Number of rows.
            characters: Cost of the rows, in characters.
            seconds: Time of the computation.
        """
        for histogram, value in zip(self._batches, (rows, characters, seconds)):
            histogram.observe(value)

    def text(self) -> bytes:
        """All metrics in Prometheus's text format."""
        for model in [*self._versions.models]:
            for number, version in self._versions.states(model).items():
                for state in STATES:
                    self._states.labels(model, str(number), state).set(state == version.state)
        return generate_latest(self._registry)


class Predictor:
    """Answers requests from loaded models.

    Args:
        versions: Versions of the models.
        settings: Settings of the server.

    Attributes:
        versions, settings: The arguments.
        metrics: Metrics of the requests and batches.
        batcher: Batcher that computes the outputs.
        long_texts: Those of the page, which are computed apart.
        answering: Number of the requests that are read or answered.
        bodies: Bytes of these requests and of their answers.

    Example:
        >>> from tfsum.serving import Server
        >>> server = Server(settings=ServerSettings(port=0))
        >>> server.predictor.check_token("")  # the server needs none
    """

    def __init__(self, versions: ModelVersions, settings: ServerSettings) -> None:
        self.versions, self.settings = versions, settings
        self.metrics = Metrics(versions)
        self.batcher = Batcher(settings, self.metrics.observe_batch)
        self.long_texts = LongTexts()
        self.metrics.queue.set_function(lambda: self.batcher.waiting)
        self.bodies = self.answering = 0

    def check_token(self, authorization: str) -> None:
        """Checks the token of a request.

        Args:
            authorization: Value of the header `Authorization`; "" where the request has none.

        Raises:
            RequestError: The server needs another token.
        """
        token, given = self.settings.token, authorization.encode()
        require(
            token is None or hmac.compare_digest(given, f"Bearer {token}".encode()),
            "this server needs its token; send the header Authorization: Bearer TOKEN"
            " (gRPC: the metadata authorization)",
            "UNAUTHENTICATED",
        )

    async def predict(
        self, servable: Servable, signature: Signature, inputs: Arrays, take: Take
    ) -> Arrays:
        """The outputs of a signature, which count among the bytes of all requests.

        Args:
            servable: Loaded model.
            signature: Signature of the model.
            inputs: Name -> array.
            take: Function of `room`.

        Returns:
            Name -> array.

        Raises:
            RequestError: The request or its answer is too large, too late, or refused by the model.
        """
        size = byte_count(inputs)
        await offload(size, self.check_limits, signature, inputs)
        sizes = await offload(size, row_sizes, inputs, servable.words)
        with span(
            "predict",
            model_name=servable.name,
            model_version=servable.version,
            model_signature=signature.name,
            rows=len(sizes),
        ):
            outputs = await self.batcher.answer(
                (servable.name, servable.version), servable.run, signature, inputs, sizes
            )
        take(byte_count(outputs))
        return outputs

    def record(
        self,
        begin: float,
        model: str,
        action: str,
        status: int | str,
        /,
        **details: str | int | None,
    ) -> None:
        """Counts a request, and writes a line of JSON about it to the access log.

        Args:
            begin: `time.monotonic()` at the begin of the request.
            model: Name of the model; models that do not exist are counted as "".
            action: What the request asks for: "predict", "status", "metadata", "".
            status: Status of HTTP, or the name of gRPC's.
            **details: More values of the line, never a text.
        """
        seconds = time.monotonic() - begin
        labels = (model if model in self.versions.models else "", action)
        self.metrics.requests.labels(*labels, status).inc()
        self.metrics.seconds.labels(*labels).observe(seconds)
        line = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "status": status,
            "milliseconds": round(seconds * 1000, 1),
            **details,
        }
        ACCESS_LOG.info("%s", json.dumps(line))

    def check_rows(self, count: int) -> None:
        """Checks the number of rows of a request, or of the documents in them.

        Args:
            count: Number of rows or documents.

        Raises:
            RequestError: There are more than `max_documents`.
        """
        max_rows = self.settings.max_documents
        require(
            count <= max_rows,
            f"the request has {count} rows, or documents in them, and one may have {max_rows}; send"
            " several requests, or start the server with a larger --max-documents",
            http_status=413,
        )

    @contextlib.contextmanager
    def room(self) -> Iterator[Take]:
        """Counts the bytes of a request and its answer until the answer is sent.

        Yields:
            Function that adds a number of bytes; it raises a RequestError where all of them
            together would be more than `max_bodies`.
        """
        sizes: list[int] = []

        def take(size: int) -> None:
            sizes.append(size)
            self.bodies += size
            require(
                self.bodies <= self.settings.max_bodies,
                f"the requests that are being answered, and their answers, have {self.bodies}"
                f" bytes, and may have {self.settings.max_bodies} together; ask again later or for"
                " less, or start the server with a larger --max-bodies",
                "RESOURCE_EXHAUSTED",
                retry_after=1,
            )

        self.answering += 1
        try:
            yield take
        finally:
            self.answering -= 1
            self.bodies -= sum(sizes)

    def check_limits(self, signature: Signature, inputs: Arrays, times_longer: int = 1) -> None:
        """Checks the number of rows, the bytes of each document and of all, and the width of an
        answer.

        Args:
            signature: Signature of a model.
            inputs: Name -> array.
            times_longer: How often a document may have `max_document_bytes`.

        Raises:
            RequestError: The request is too large.
        """
        max_bytes = self.settings.max_document_bytes * times_longer
        max_total = self.settings.max_body
        for name, array in inputs.items():
            texts = [*array.flat] if array.dtype == object else []
            separators = sum(text.count(SEPARATOR) for text in texts)
            self.check_rows(separators + (len(array) if array.ndim else 1))
            require(
                signature.mergeable or place_count(texts) <= MAX_PLACES,
                f"the answer to each of the {len(texts)} texts would be as wide as that to the"
                " longest, which has very many sentences; send it in a request of its own",
                http_status=413,
            )
            sizes = [*map(len, texts)]
            longest, total = max(sizes, default=0), sum(sizes)
            require(
                longest <= max_bytes,
                f"a document of input {name} has {longest} bytes, and one may have {max_bytes};"
                " divide it, or start the server with a larger --max-document-bytes",
                http_status=413,
            )
            # A message of gRPC may say one value for many rows.
            require(
                total <= max_total,
                f"the documents of input {name} have {total} bytes, and those of a request may have"
                f" {max_total}; send fewer, or start the server with a larger --max-body",
                http_status=413,
            )


def as_request_error(error: Exception) -> RequestError:
    """The error that a client is told; one that is not about the request goes to the log.

    Args:
        error: Exception that is being handled.

    Example:
        >>> as_request_error(RequestError("NOT_FOUND", "no such model")).code
        'NOT_FOUND'
    """
    if isinstance(error, RequestError):
        return error

    LOG.exception("a request failed")
    return RequestError("INTERNAL", "the request failed; the server's log says why")


async def offload(size: int, function: Callable[..., T], *arguments: object) -> T:
    """Calls a function, in a thread if its message is large: the event loop serves others.

    Args:
        size: Bytes of the message that the function reads or writes.
        function: Function to call.
        *arguments: Positional arguments of the function.

    Returns:
        Value of the function.

    Raises:
        Exception: The exception of the function.

    Example:
        >>> asyncio.run(offload(1 << 20, len, b"It rained."))
        10
    """
    if size > LARGE:
        return await asyncio.to_thread(function, *arguments)

    return function(*arguments)


@contextlib.contextmanager
def span(
    name: str,
    headers: Mapping[str, str] | None = None,
    traced: bool = True,
    **attributes: str | int,
) -> Iterator[dict[str, str | int]]:
    """Opens a span of OpenTelemetry around a piece of work, if its packages are installed.

    OpenTelemetry's own instrumentation of ASGI covers neither gRPC nor the predictions. Its SDK
    decides where the spans go: install `opentelemetry-distro` and an exporter, and run the server
    by `opentelemetry-instrument`.

    Args:
        name: Name of the span.
        headers: Headers of a request, which may name the span of the client; None for a part of the
            span that is open.
        traced: Whether to open one.
        **attributes: Attributes of the span, never a text; a `_` in a name stands for a dot.

    Yields:
        A dict for more attributes, by their full names.

    Example:
        >>> with span("predict", model_name="news") as attributes:
        ...     attributes["rows"] = 3
    """
    more: dict[str, str | int] = {}
    if trace is None or not traced:
        yield more
        return

    of_client = {}
    if headers is not None:
        of_client = {"context": propagate.extract(headers), "kind": trace.SpanKind.SERVER}
    with trace.get_tracer("tfsum.serving").start_as_current_span(name, **of_client) as opened:
        try:
            yield more
        finally:
            opened.set_attributes(
                {key.replace("_", "."): value for key, value in attributes.items()} | more
            )


def flush() -> None:
    """Sends the spans that wait, for a process that ends without Python's own end.

    Example:
        >>> flush()
    """
    if trace is not None and hasattr(provider := trace.get_tracer_provider(), "force_flush"):
        provider.force_flush(timeout_millis=5000)
