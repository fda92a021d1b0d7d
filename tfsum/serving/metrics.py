"""What a server counts, for Prometheus."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from tfsum.serving.batching import Batcher
from tfsum.serving.model_versions import ModelVersions

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
ROWS = (1, 2, 4, 8, 16, 32, 64, 128)
CHARACTERS = tuple(1 << power for power in range(8, 25, 2))
STATES = ("START", "LOADING", "AVAILABLE", "UNLOADING", "END")


class Metrics:
    """Counters of requests and batches, in a registry of their own.

    Example:
        >>> metrics = Metrics()
        >>> metrics.observe_request("news", "predict", "200", 0.02)
        >>> 'tfsum_requests_total{code="200",method="predict",model="news"} 1.0' in metrics.text().decode()
        True
    """

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "tfsum_requests",
            "Requests answered",
            ("model", "method", "code"),
            registry=self._registry,
        )
        self._seconds = Histogram(
            "tfsum_request_seconds",
            "Time from the request to the answer",
            ("model", "method"),
            registry=self._registry,
            buckets=SECONDS,
        )
        self._rows = Histogram(
            "tfsum_batch_rows", "Rows of a batch", registry=self._registry, buckets=ROWS
        )
        self._characters = Histogram(
            "tfsum_batch_characters",
            "Characters of a batch",
            registry=self._registry,
            buckets=CHARACTERS,
        )
        self._computing = Histogram(
            "tfsum_batch_seconds",
            "Time in which a batch is computed",
            registry=self._registry,
            buckets=SECONDS,
        )
        self._queue = Gauge(
            "tfsum_queue_requests", "Requests that wait for a batch", registry=self._registry
        )
        self._versions = Gauge(
            "tfsum_model_version",
            "1 for the state in which a version is",
            ("model", "version", "state"),
            registry=self._registry,
        )

    def watch(self, batcher: Batcher, versions: ModelVersions) -> None:
        """Names what is looked at whenever the metrics are asked for."""
        self._queue.set_function(lambda: batcher.waiting)
        self._watched = versions

    def observe_request(self, model: str, method: str, code: str, seconds: float) -> None:
        """Counts a request.

        Args:
            model: its name; "" where there is no such model.
            method: "predict", "status", "metadata" or "".
            code: status of HTTP, or of gRPC by name.
            seconds: in which it was answered.
        """
        self._requests.labels(model, method, code).inc()
        self._seconds.labels(model, method).observe(seconds)

    def observe_batch(self, rows: int, characters: int, seconds: float) -> None:
        """Counts a batch."""
        self._rows.observe(rows)
        self._characters.observe(characters)
        self._computing.observe(seconds)

    def text(self) -> bytes:
        """All of it in Prometheus's text format."""
        if hasattr(self, "_watched"):
            for name in list(self._watched.models):
                for number, found in self._watched.states(name).items():
                    for state in STATES:
                        self._versions.labels(name, str(number), state).set(state == found.state)
        return generate_latest(self._registry)

    content_type = CONTENT_TYPE_LATEST
