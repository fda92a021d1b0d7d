"""What both protocols do: a request to a signature answered within the limits of the server."""

import numpy as np

from tfsum.serving.batching import Batcher
from tfsum.serving.metrics import Metrics
from tfsum.serving.model_versions import ModelVersions, Version
from tfsum.serving.request_error import RequestError
from tfsum.serving.servable import Servable
from tfsum.serving.settings import ServerSettings
from tfsum.serving.signature import Signature
from tfsum.serving.tracing import span


class Predictor:
    """Answers requests from loaded models.

    Args:
        versions: the models.
        batcher: computes.
        metrics: count.
        settings: `max_documents` and `max_characters`.

    Attributes:
        versions: as given.

    Example:
        >>> from tfsum.serving import Server
        >>> Server().predictor.states("bert_sum_ext_news_en")  # doctest: +SKIP
    """

    def __init__(
        self, versions: ModelVersions, batcher: Batcher, metrics: Metrics, settings: ServerSettings
    ) -> None:
        self.versions, self._batcher, self._metrics, self._settings = (
            versions,
            batcher,
            metrics,
            settings,
        )

    async def predict(
        self, servable: Servable, signature: Signature, inputs: dict[str, np.ndarray]
    ) -> dict[str, np.ndarray]:
        """The outputs of a signature.

        Args:
            servable: the loaded model.
            signature: of it.
            inputs: name -> array.

        Returns:
            Name -> array.

        Raises:
            RequestError: the request is too large, too late, or refused by the model.
        """
        self._check_limits(inputs)
        with span(
            "predict",
            model_name=servable.name,
            model_version=servable.version,
            model_signature=signature.name,
            rows=max((len(array) for array in inputs.values() if array.ndim), default=1),
        ):
            return await self._batcher.answer(
                (servable.name, servable.version), servable.run, signature, inputs
            )

    def states(
        self, name: str, version: int | None = None, label: str | None = None
    ) -> dict[int, Version]:
        """The versions of a model, or the one of a number or a label.

        Raises:
            RequestError: there is none.
        """
        states = self.versions.states(name)
        if not states:
            raise self.versions.missing("NOT_FOUND", f"Could not find any versions of model {name}")
        if label is not None:
            with self.versions.use(name, label=label) as servable:
                version = servable.version
        if version is None:
            return states
        if version not in states:
            raise self.versions.missing(
                "NOT_FOUND", f"Could not find version {version} of model {name}"
            )
        return {version: states[version]}

    def observe(self, model: str, method: str, code: str, seconds: float) -> None:
        """Counts a request; models that are not there share one name."""
        self._metrics.observe_request(
            model if model in self.versions.models else "", method, code, seconds
        )

    def _check_limits(self, inputs: dict[str, np.ndarray]) -> None:
        for name, array in inputs.items():
            if array.ndim and len(array) > self._settings.max_documents:
                raise RequestError(
                    "INVALID_ARGUMENT",
                    f"input {name} has {len(array)} rows, and a request may have "
                    f"{self._settings.max_documents}; send several requests, or start the server with a "
                    "larger --max-documents",
                    http_status=413,
                )
            if array.dtype == object and array.size:
                longest = max(map(len, array.flat))
                if longest > self._settings.max_characters:
                    raise RequestError(
                        "INVALID_ARGUMENT",
                        f"a document of input {name} has {longest} bytes, and one "
                        f"may have {self._settings.max_characters}; divide it, or start the server with "
                        "a larger --max-characters",
                        http_status=413,
                    )
