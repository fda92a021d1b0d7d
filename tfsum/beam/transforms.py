"""Answers collections of documents: `Summarize`, `Generate` and `Classify`."""

import pathlib
from collections.abc import Iterator
from typing import Any, Literal, Unpack

import apache_beam as beam
from apache_beam.ml.inference.base import ModelMetadata, PredictionResult, RunInference
from apache_beam.typehints import typehints

from tfsum.beam.rows import ClassifiedRow, FailedDocument, GeneratedRow, SummaryRow, is_pair
from tfsum.beam.saved_model_handler import BATCH_CHARACTERS, MAX_CHARACTERS, SavedModelHandler
from tfsum.request import SummaryOptions, SummaryRequest

ANSWERS, FAILED = "answers", "failed"


class _Answer(beam.PTransform):
    """Answers documents by a model of one kind, and separates those that failed."""

    kind: str
    row: type
    call_options: dict[str, Any] = {}  # noqa: RUF012

    def __init__(
        self,
        model: str | pathlib.Path | None,
        *,
        model_updates: beam.PCollection | None = None,
        batch_characters: int = BATCH_CHARACTERS,
        max_characters: int = MAX_CHARACTERS,
    ) -> None:
        super().__init__()
        self._updates = model_updates
        self._handler = SavedModelHandler(
            model,
            kind=self.kind,
            batch_characters=batch_characters,
            max_characters=max_characters,
            **self.call_options,
        )

    def expand(self, documents: beam.PCollection) -> Any:
        update_id, updates = self._handler.update_id, self._updates
        if updates is not None:
            updates |= "Name updates" >> beam.Map(
                lambda update: ModelMetadata(update_id(update.model_id), update.model_name)
            )

        results = documents | RunInference(self._handler, model_metadata_pcoll=updates)
        outputs = results | "Separate" >> beam.ParDo(_Separate()).with_outputs(FAILED, main=ANSWERS)
        outputs.answers.element_type = _answer_type(documents.element_type, self.row)
        outputs.failed.element_type = FailedDocument
        return outputs


class _Separate(beam.DoFn):
    """Yields answers, with the key of the document if it has one, and tags failed documents."""

    def process(self, result: PredictionResult) -> Iterator[Any]:
        if isinstance(result.inference, FailedDocument):
            yield beam.pvalue.TaggedOutput(FAILED, result.inference)
        elif is_pair(result.example):
            yield result.example[0], result.inference
        else:
            yield result.inference


def _answer_type(document_type: Any, row: type) -> Any:
    """The type of the answers to documents: rows, pairs of a key and a row, or unknown."""
    if isinstance(document_type, typehints.TupleConstraint) and len(document_type.tuple_types) == 2:
        return typehints.Tuple[document_type.tuple_types[0], row]
    if document_type is str:
        return row
    return typehints.Any


class Summarize(_Answer):
    """Summarizes documents with an exported extractive model.

    Documents are `str` or `(key, str)`. The transform returns two collections: `answers`, with
    `SummaryRow` or `(key, SummaryRow)`, and `failed`, with a `FailedDocument` for each document
    that has no answer.

    Args:
        model: Folder of the exported model, `.../NAME/VERSION` or `.../NAME`; the shipped model by
            default.
        sentences: The most sentences of a summary, or "auto"; as the model was exported by default.
        model_updates: Collection of `ModelMetadata`, such as that of `WatchFilePattern`, whose
            models replace the first one while the pipeline runs.
        batch_characters: Approximate number of characters of a batch.
        max_characters: Largest number of characters of a document; longer documents fail.
        **options: Other fields of `tfsum.SummaryRequest`. With `together` a document is a list of
            texts, or a pair of a key and one, such as `beam.GroupByKey` makes.

    Raises:
        Error: What is asked is not possible.

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
        sentences: int | Literal["auto"] | None = None,
        *,
        model_updates: beam.PCollection | None = None,
        batch_characters: int = BATCH_CHARACTERS,
        max_characters: int = MAX_CHARACTERS,
        **options: Unpack[SummaryOptions],
    ) -> None:
        request = SummaryRequest(sentences=sentences, **options)
        self.call_options = request.model_dump(exclude_defaults=True)
        super().__init__(
            model,
            model_updates=model_updates,
            batch_characters=batch_characters,
            max_characters=max_characters,
        )


class Generate(_Answer):
    """Generates an answer to each document with an exported abstractive model.

    The answers are `GeneratedRow` or `(key, GeneratedRow)`; everything else is as for `Summarize`.

    Args:
        model: Folder of the exported model, `.../NAME/VERSION` or `.../NAME`.
        model_updates: Collection of `ModelMetadata` with newer models.
        batch_characters: Approximate number of characters of a batch.
        max_characters: Largest number of characters of a document; longer documents fail.

    Example:
        >>> answers, failed = texts | Generate("served/my_model")  # doctest: +SKIP
    """

    kind, row = "abstractive", GeneratedRow


class Classify(_Answer):
    """Labels each document with an exported classifier.

    The answers are `ClassifiedRow` or `(key, ClassifiedRow)`; everything else is as for
    `Summarize`.

    Args:
        model: Folder of the exported model, `.../NAME/VERSION` or `.../NAME`.
        model_updates: Collection of `ModelMetadata` with newer models.
        batch_characters: Approximate number of characters of a batch.
        max_characters: Largest number of characters of a document; longer documents fail.

    Example:
        >>> answers, failed = texts | Classify("served/my_model")  # doctest: +SKIP
    """

    kind, row = "classifier", ClassifiedRow
