"""Metrics of requests and batches, in Prometheus's format."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from tfsum.serving.model_versions import STATES, ModelVersions

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
# What is counted of a batch: (unit, description, bounds of the buckets).
OF_BATCH = (
    ("rows", "Rows of a batch", (1, 2, 4, 8, 16, 32, 64, 128)),
    ("characters", "Characters of a batch", tuple(1 << power for power in range(8, 25, 2))),
    ("seconds", "Time in which a batch is computed", SECONDS),
)


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
