"""Transforms of documents into answers: `Summarize`, `Generate` and `Classify`."""

import pathlib
from collections.abc import Iterator
from typing import Any

import apache_beam as beam
from apache_beam.ml.inference.base import ModelMetadata, PredictionResult, RunInference
from apache_beam.typehints import typehints

from tfsum.beam.elements import is_pair
from tfsum.beam.rows import ClassifiedRow, FailedDocument, GeneratedRow, SummaryRow
from tfsum.beam.saved_model_handler import BATCH_CHARACTERS, MAX_CHARACTERS, SavedModelHandler

ANSWERS, FAILED = "answers", "failed"


class _Answer(beam.PTransform):
    """From documents to the answers of a model of one kind, and the documents that failed."""

    kind: str
    row: type

    def __init__(
        self,
        model: str | pathlib.Path | None,
        model_updates: beam.PCollection | None,
        batch_characters: int,
        max_characters: int,
        **options: Any,
    ) -> None:
        super().__init__()
        self._updates = model_updates
        self._handler = SavedModelHandler(
            model,
            kind=self.kind,
            batch_characters=batch_characters,
            max_characters=max_characters,
            **options,
        )

    def expand(self, documents: beam.PCollection) -> Any:
        update_id, updates = self._handler.update_id, self._updates
        if updates is not None:
            updates |= "Name updates" >> beam.Map(
                lambda update: ModelMetadata(update_id(update.model_id), update.model_name)
            )
        results = documents | RunInference(self._handler, model_metadata_pcoll=updates)
        parted = results | "Part" >> beam.ParDo(_Part()).with_outputs(FAILED, main=ANSWERS)
        parted.answers.element_type = _answer_type(documents.element_type, self.row)
        parted.failed.element_type = FailedDocument
        return parted


class _Part(beam.DoFn):
    """Answers, with the key of the document if it has one, and failed documents apart."""

    def process(self, result: PredictionResult) -> Iterator[Any]:
        if isinstance(result.inference, FailedDocument):
            yield beam.pvalue.TaggedOutput(FAILED, result.inference)
        else:
            yield (
                (result.example[0], result.inference)
                if is_pair(result.example)
                else result.inference
            )


def _answer_type(given: Any, row: type) -> Any:
    """The type of the answers: pairs where the documents are pairs, and unknown where that is."""
    if isinstance(given, typehints.TupleConstraint) and len(given.tuple_types) == 2:
        return typehints.Tuple[given.tuple_types[0], row]
    return row if given is str else typehints.Any


class Summarize(_Answer):
    """Summarizes documents with an exported extractive model.

    From `str` or `(key, str)` to `SummaryRow` or `(key, SummaryRow)`. Gives two collections, `answers` and `failed`:
    each document is in one of them, the failed ones as `FailedDocument` with key and error.

    Args:
        model: folder of the exported model, `.../NAME/VERSION` or `.../NAME`; the shipped one by default.
        sentences: the most sentences of a summary.
        block_trigrams, newline: see `tfsum.Summarizer`.
        model_updates: a collection of `ModelMetadata`, such as that of `WatchFilePattern`: each replaces the model
            while the pipeline runs.
        batch_characters: characters of a batch, about.
        max_characters: a longer document fails.

    Example:
        >>> text = "The bridge was closed on Monday. Engineers found cracks. It rained."
        >>> with beam.Pipeline(runner="FnApiRunner") as pipeline:
        ...     documents = pipeline | beam.Create([("a.txt", text)])
        ...     answers, failed = documents | Summarize(sentences=1)
        ...     _ = answers | beam.MapTuple(lambda key, row: print(key, row.summary))
        a.txt The bridge was closed on Monday.
    """

    kind, row = "extractive", SummaryRow

    def __init__(
        self,
        model: str | pathlib.Path | None = None,
        sentences: int = 3,
        block_trigrams: bool | None = None,
        newline: str | None = None,
        *,
        model_updates: beam.PCollection | None = None,
        batch_characters: int = BATCH_CHARACTERS,
        max_characters: int = MAX_CHARACTERS,
    ) -> None:
        super().__init__(
            model,
            model_updates,
            batch_characters,
            max_characters,
            sentences=sentences,
            block_trigrams=block_trigrams,
            newline=newline,
        )


class Generate(_Answer):
    """Generates an answer to each document with an exported abstractive model.

    From `str` or `(key, str)` to `GeneratedRow` or `(key, GeneratedRow)`, see `Summarize`.

    Args:
        model: folder of the exported model, `.../NAME/VERSION` or `.../NAME`.
        model_updates, batch_characters, max_characters: see `Summarize`.

    Example:
        >>> Generate("served/en_fr")  # doctest: +SKIP
    """

    kind, row = "abstractive", GeneratedRow

    def __init__(
        self,
        model: str | pathlib.Path,
        *,
        model_updates: beam.PCollection | None = None,
        batch_characters: int = BATCH_CHARACTERS,
        max_characters: int = MAX_CHARACTERS,
    ) -> None:
        super().__init__(model, model_updates, batch_characters, max_characters)


class Classify(_Answer):
    """Labels each document with an exported classifier.

    From `str` or `(key, str)` to `ClassifiedRow` or `(key, ClassifiedRow)`, see `Summarize`.

    Args:
        model: folder of the exported model, `.../NAME/VERSION` or `.../NAME`.
        model_updates, batch_characters, max_characters: see `Summarize`.

    Example:
        >>> Classify("served/tweets")  # doctest: +SKIP
    """

    kind, row = "classifier", ClassifiedRow

    def __init__(
        self,
        model: str | pathlib.Path,
        *,
        model_updates: beam.PCollection | None = None,
        batch_characters: int = BATCH_CHARACTERS,
        max_characters: int = MAX_CHARACTERS,
    ) -> None:
        super().__init__(model, model_updates, batch_characters, max_characters)
