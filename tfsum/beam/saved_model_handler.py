"""A handler of exported models for Beam's RunInference."""

import hashlib
import logging
import os
import pathlib
import time
import urllib.parse
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from apache_beam.metrics import Metrics
from apache_beam.ml.inference.base import ModelHandler, PredictionResult

from tfsum.beam.elements import failed, key_of, refusal, size_of, text_of
from tfsum.beam.rows import Row
from tfsum.beam.shared_model import SharedModel
from tfsum.errors import Error
from tfsum.quiet_tensorflow import load_tensorflow

NAMESPACE = "tfsum"  # of the metrics
BATCH_CHARACTERS = 1 << 18
MAX_CHARACTERS = 1_000_000  # as in ServerSettings
UPDATE = "tfsum-update-"  # begins the id of a newer model, see `update_id`
LONGEST_NAME = 200  # of a file on most file systems 255, and Beam adds to it


class SavedModelHandler(ModelHandler[Any, PredictionResult, SharedModel]):
    """Answers documents by an exported model inside `RunInference`.

    A document is a str, or a pair of any key and a str. The answer is a `PredictionResult` whose `inference` is a
    row, such as `SummaryRow`, or a `FailedDocument`: one document that fails never takes its batch with it. The model
    is loaded once a machine and shared by the processes there; it is warmed up before its first batch.

    Metrics in the namespace "tfsum": the counters `documents`, `characters`, `failures`, `model_update_failures`; the
    distributions `batch_documents`, `batch_characters`, `batch_milliseconds`. RunInference adds its own.

    Args:
        model: folder of the exported model, `.../NAME/VERSION` or `.../NAME` for its newest version, here and on each
            worker under the same absolute path; the shipped extractive model by default.
        kind: what the model must be: "extractive", "abstractive" or "classifier"; None takes any.
        batch_characters: characters of a batch, about; a document costs 256 at least.
        max_characters: a longer document is not read and fails.
        **options: of the model's call, such as `sentences`.

    Example:
        >>> import apache_beam as beam
        >>> from apache_beam.ml.inference.base import RunInference
        >>> with beam.Pipeline(runner="FnApiRunner") as pipeline:  # doctest: +SKIP
        ...     texts = pipeline | beam.Create(["The bridge was closed on Monday. It rained."])
        ...     answers = texts | RunInference(SavedModelHandler(sentences=1))
        >>> SavedModelHandler(sentences=1).batch_elements_kwargs()["max_batch_size"]
        262144
    """

    def __init__(
        self,
        model: str | pathlib.Path | None = None,
        *,
        kind: str | None = None,
        batch_characters: int = BATCH_CHARACTERS,
        max_characters: int = MAX_CHARACTERS,
        **options: Any,
    ) -> None:
        for name, value in (
            ("batch_characters", batch_characters),
            ("max_characters", max_characters),
        ):
            if value < 1:
                raise Error(f"{name} is {value}; expected 1 or more")
        super().__init__()
        self._path = None if model is None else _settled(model)
        self._update: str | None = None
        self._kind, self._options = kind, options
        self._batch_characters, self._max_characters = batch_characters, max_characters

    def load_model(self) -> SharedModel:
        """Loads the model and warms it up; a newer one that cannot be loaded leaves the pipeline with the first."""
        if self._update is not None:
            try:
                return SharedModel(self._update, self._kind, self._options)
            except (
                Exception
            ) as error:  # a model that is broken may raise anything as it is warmed up
                logging.warning(
                    "tfsum: %s; the pipeline continues with %s",
                    error,
                    self._path or "the shipped model",
                )
                Metrics.counter(NAMESPACE, "model_update_failures").inc()
        return SharedModel(self._path, self._kind, self._options)

    def update_model_path(self, model_path: str | None = None) -> None:
        """Takes another model from the next loading on.

        Args:
            model_path: its folder, or the file saved_model.pb in it, which `WatchFilePattern` finds; or what
                `update_id` made of it. None or "" changes nothing.
        """
        if model_path:
            if model_path.startswith(UPDATE):
                model_path = urllib.parse.unquote(model_path.removeprefix(UPDATE).partition("-")[2])
            self._update = model_path.removesuffix("/saved_model.pb")

    def update_id(self, model_path: str) -> str:
        """The id by which Beam may know a newer model.

        Beam takes the id of an update for the name of a file in a temporary folder and shares the model of one id
        among all steps of a machine: a path would be outside of that folder, and two steps with other options would get
        the model of the first.

        Args:
            model_path: see `update_model_path`; "" stays so, it is the first of `WatchFilePattern`.

        Returns:
            a file name that holds the path and a hash of the kind and the options.

        Raises:
            Error: the path is too long for a file name.

        Example:
            >>> SavedModelHandler("/models/news/1").update_id("/models/news/2").rpartition("-")[2]
            '%2Fmodels%2Fnews%2F2'
        """
        if not model_path:
            return model_path
        call = hashlib.sha256(
            repr((self._kind, sorted(self._options.items()))).encode()
        ).hexdigest()[:8]
        found = f"{UPDATE}{call}-{urllib.parse.quote(model_path, safe='')}"
        if len(found) > LONGEST_NAME:
            raise Error(
                f"{model_path}: the path of a newer model, its special characters escaped, has {len(found)} "
                f"characters; expected {LONGEST_NAME} at most: choose a shorter folder"
            )
        return found

    def run_inference(
        self, batch: Sequence[Any], model: SharedModel, inference_args: dict[str, Any] | None = None
    ) -> Iterable[PredictionResult]:
        """Answers a batch.

        Args:
            batch: documents, each a str or a pair of a key and a str.
            model: what `load_model` returned.
            inference_args: none are known; the options are those of the handler.

        Returns:
            A `PredictionResult` for each, in the same order.
        """
        begin = time.monotonic()
        errors = [refusal(element, self._max_characters) for element in batch]
        texts = [text_of(element) for element, error in zip(batch, errors) if error is None]
        answers = iter(model.answers(texts) if texts else [])
        found = [next(answers) if error is None else error for error in errors]
        if batch:  # Beam gives an empty one before a document that is larger than a batch
            _count(found, sum(map(len, texts)), time.monotonic() - begin)
        return [
            PredictionResult(element, failed(key_of(element), answer, text_of(element)))
            if isinstance(answer, str)
            else PredictionResult(element, answer, answer.model)
            for element, answer in zip(batch, found)
        ]

    def validate_inference_args(self, inference_args: dict[str, Any] | None) -> None:
        """Refuses arguments: the options are those of the handler.

        Raises:
            Error: there are some.
        """
        if inference_args:
            raise Error(
                f"inference_args has {', '.join(inference_args)}; expected none: give options of the call to "
                "SavedModelHandler"
            )

    def batch_elements_kwargs(self) -> Mapping[str, Any]:
        """Batches by characters."""
        return {
            "min_batch_size": self._batch_characters,
            "max_batch_size": self._batch_characters,
            "element_size_fn": size_of,
        }

    def get_num_bytes(self, batch: Sequence[Any]) -> int:
        """Characters of a batch."""
        return sum(map(size_of, batch))

    def share_model_across_processes(self) -> bool:
        """The processes of a machine share one model."""
        return True


def _settled(model: str | pathlib.Path) -> str:
    """The absolute folder with its version: a new one that comes while the pipeline runs is not mixed in."""
    if "://" in str(model):
        raise Error(
            f"{model}: a model is read from a worker's own disk; expected a folder that is here and on each "
            "worker under the same absolute path: copy it here, and into the workers' container"
        )
    load_tensorflow()
    from tfsum.inference.saved_model import newest

    return os.path.abspath(newest(model))


def _count(found: Sequence[Row | str], characters: int, seconds: float) -> None:
    """Updates the metrics by a batch."""
    Metrics.counter(NAMESPACE, "documents").inc(len(found))
    Metrics.counter(NAMESPACE, "characters").inc(characters)
    Metrics.counter(NAMESPACE, "failures").inc(sum(isinstance(answer, str) for answer in found))
    Metrics.distribution(NAMESPACE, "batch_documents").update(len(found))
    Metrics.distribution(NAMESPACE, "batch_characters").update(characters)
    Metrics.distribution(NAMESPACE, "batch_milliseconds").update(round(seconds * 1000))
