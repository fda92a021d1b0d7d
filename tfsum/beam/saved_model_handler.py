"""Answers documents by an exported model inside Beam's RunInference."""

import os
import pathlib
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from apache_beam.ml.inference.base import ModelHandler, PredictionResult

import tfsum
from tfsum.beam.rows import Row, characters_of, failed, refusal, row_of, size_of, split
from tfsum.errors import ExportError, require
from tfsum.inference.saved_model import newest, shipped_models

BATCH_CHARACTERS = 1 << 18
MAX_CHARACTERS = 1_000_000  # as in ServerSettings
LONGEST_REASON = 500  # characters of an error that are kept
WARM_UP = (
    "It rained. The bridge was closed on Monday.",
    "The bridge was closed on Monday. It rained. " * 100,
)


class SharedModel:
    """A loaded model that threads and processes share.

    Its arguments and answers are plain Python objects, which can be sent between processes.

    Args:
        path: Folder of the exported model, `.../NAME/VERSION` or `.../NAME`; None for the shipped
            extractive model.
        kind: Required kind, such as "extractive"; None accepts any kind.
        options: Options of the call, such as {"sentences": 3}.

    Raises:
        ExportError: The model does not exist, is corrupt or is of another kind.
        Error: An option is invalid.

    Example:
        >>> model = SharedModel(None, "extractive", {"sentences": 1})
        >>> row, error = model.answers(["The bridge was closed on Monday. It rained.", None])
        >>> row.summary
        'The bridge was closed on Monday.'
        >>> error
        'Error: texts[0] is NoneType; expected str (decode bytes first)'
    """

    def __init__(
        self, path: str | pathlib.Path | None, kind: str | None, options: dict[str, Any]
    ) -> None:
        model = tfsum.load(path)
        found = model.description["kind"]
        require(
            kind in (None, found),
            f"{model.path}: its kind is {found!r}, expected {kind!r}; the transforms are Summarize"
            " for extractive models, Generate for abstractive ones and Classify for classifiers",
            ExportError,
        )

        self._name = "/".join(model.path.parts[-2:])
        self._names = dict[str, str]()  # of those that are chosen by the text
        if path is None:
            self._names = {
                name: f"{name}/{folder.name}" for name, folder in shipped_models().items()
            }
        self._model, self._options = model, options
        for text in WARM_UP:  # one window, and several
            self._call([[text]] if options.get("together") else [text])

    def _call(self, texts: Sequence[Any]) -> list[Any]:
        """The results of texts, or of lists of texts that are summarized together."""
        if self._options.get("together"):
            return [self._model.together(group, **self._options) for group in texts]
        return self._model(list(texts), **self._options)

    def answers(self, texts: Sequence[str]) -> list[Row | str]:
        """Answers texts one by one if they fail together.

        Args:
            texts: Any number of texts.

        Returns:
            A row for each text, or its error as a str.
        """
        try:
            return [
                row_of(result, self._names.get(getattr(result, "model", ""), self._name))
                for result in self._call(texts)
            ]
        except Exception as error:
            if len(texts) == 1:
                # the reason is in the last line of TensorFlow's message that is not indented
                lines = re.findall(r"^\S.*", str(error), re.MULTILINE) or [""]
                return [f"{type(error).__name__}: {lines[-1][:LONGEST_REASON]}"]

        # at least one text failed: answer the halves apart
        middle = len(texts) // 2
        return self.answers(texts[:middle]) + self.answers(texts[middle:])


class SavedModelHandler(ModelHandler[Any, PredictionResult, SharedModel]):
    """Answers documents by an exported model inside `RunInference`.

    A document is a str, or a pair of any key and a str. The answer is a `PredictionResult` whose
    `inference` is a row, such as `SummaryRow`, or a `FailedDocument`; the other documents of its
    batch are answered. The model is loaded and warmed up once on each machine, and shared by its
    processes.

    The metrics are those of RunInference: `num_inferences` documents,
    `inference_request_batch_size`, `inference_batch_latency_micro_secs`, and in
    `inference_request_batch_byte_size` the characters of a batch.

    Args:
        model: Folder of the exported model, `.../NAME/VERSION` or `.../NAME` for its newest
            version, with the same absolute path here and on each worker; the shipped extractive
            model by default.
        kind: Required kind: "extractive", "abstractive" or "classifier"; None accepts any kind.
        batch_characters: Approximate number of characters of a batch; each document counts 256
            more than its characters.
        max_characters: Largest number of characters of a document; longer documents fail.
        **options: Options of the model's call, such as `sentences`.

    Example:
        >>> import apache_beam as beam
        >>> from apache_beam.ml.inference.base import RunInference
        >>> with beam.Pipeline(runner="FnApiRunner") as pipeline:
        ...     texts = pipeline | beam.Create(["The bridge was closed on Monday. It rained."])
        ...     answers = texts | RunInference(SavedModelHandler(sentences=1))
        ...     _ = answers | beam.Map(lambda answer: print(answer.inference.summary))
        The bridge was closed on Monday.
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
        sizes = {"batch_characters": batch_characters, "max_characters": max_characters}
        for name, value in sizes.items():
            require(value > 0, f"{name} is {value}; expected 1 or more")
        require(
            "://" not in str(model),
            f"{model}: a model is read from a worker's own disk; expected a folder that is here and"
            " on each worker under the same absolute path: copy it here, and into the workers'"
            " container",
        )

        super().__init__()
        self._path: str | None = None
        if model is not None:  # today's newest version, which all workers use
            self._path = os.path.abspath(newest(model))
        self._kind, self._options = kind, options
        self._batch_characters, self._max_characters = batch_characters, max_characters

    def load_model(self) -> SharedModel:
        """Loads the model and warms it up."""
        return SharedModel(self._path, self._kind, self._options)

    def run_inference(
        self, batch: Sequence[Any], model: SharedModel, inference_args: dict[str, Any] | None = None
    ) -> Iterable[PredictionResult]:
        """Answers a batch.

        Args:
            batch: Documents, each a str or a pair of a key and a str.
            model: Result of `load_model`.
            inference_args: None; the handler has the options.

        Returns:
            A `PredictionResult` for each document, in the same order.
        """
        together = bool(self._options.get("together"))
        errors = [refusal(element, self._max_characters, together) for element in batch]
        texts = [split(element)[1] for element, error in zip(batch, errors) if error is None]
        rows = iter(model.answers(texts))
        results = []
        for element, error in zip(batch, errors):
            answer = error or next(rows)
            if isinstance(answer, str):
                key, text = split(element)
                results.append(PredictionResult(element, failed(key, answer, text)))
            else:
                results.append(PredictionResult(element, answer, answer.model))
        return results

    def validate_inference_args(self, inference_args: dict[str, Any] | None) -> None:
        """Rejects arguments, since the handler has the options.

        Args:
            inference_args: None or an empty dict.

        Raises:
            Error: There are arguments.
        """
        require(
            not inference_args,
            f"inference_args has {', '.join(inference_args or ())}; expected none: give options of"
            " the call to SavedModelHandler",
        )

    def batch_elements_kwargs(self) -> Mapping[str, Any]:
        """Returns the arguments of `BatchElements`, which make batches by characters."""
        return {
            "min_batch_size": self._batch_characters,
            "max_batch_size": self._batch_characters,
            "element_size_fn": size_of,
        }

    def get_num_bytes(self, batch: Sequence[Any]) -> int:
        """Counts the characters of a batch.

        Args:
            batch: Documents, each a str or a pair of a key and a str.
        """
        return sum(characters_of(split(element)[1]) for element in batch)

    def share_model_across_processes(self) -> bool:
        """Returns True: the processes of a machine share one model."""
        return True
