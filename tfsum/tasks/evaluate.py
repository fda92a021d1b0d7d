"""A model of any task measured on a corpus: `tfsum.evaluate` and `tfsum evaluate`."""

import inspect
import pathlib
from typing import Any, Protocol

from tfsum.data.readers import Corpus
from tfsum.errors import Error
from tfsum.inference.exported_model import ExportedModel
from tfsum.tasks.load import task_of
from tfsum.tasks.loaded import loaded

SEARCH = (
    "strategy",
    "max_length",
    "max_source_length",
    "max_windows",
)  # options of an export, for a model folder


class Report(Protocol):
    """The interface of the report of every task."""

    def to_text(self) -> str:
        """The report for a reader."""

    def to_json(self) -> str:
        """The report as a JSON object of one line."""


def evaluate(model: ExportedModel | str | pathlib.Path, corpus: Corpus, **options: Any) -> Report:
    """Measures a model on a corpus.

    Args:
        model: a result of `tfsum.load`, an exported model's folder, or a model folder, which is exported
            temporarily.
        corpus: a corpus file, or its rows in memory: dicts with the columns of the file.
        **options: those of the task's own `evaluate`, such as `tfsum.tasks.extractive.evaluate.evaluate`; for a model
            folder of an abstractive model also `strategy`, `max_length`, `max_source_length` and `max_windows`, see
            `tfsum.tasks.abstractive.export.export_model`.

    Returns:
        A report that `tfsum evaluate` prints, with `to_text()` and `to_json()`.

    Raises:
        Error: the task has no such option.
        DataError: the corpus cannot be read.
        ExportError: the model cannot be read, or exported.

    Example:
        >>> rows = [
        ...     {"text": "It rained. The bridge was closed.", "summary": "The bridge was closed."}
        ... ]
        >>> import tfsum
        >>> report = evaluate(tfsum.load(), rows, sentences=1)
        >>> sorted(report.systems)
        ['lead', 'model', 'oracle', 'random']
    """
    search = {name: options.pop(name) for name in SEARCH if name in options}
    with loaded(model, search) as answer:
        task = task_of(answer.path, answer.description)
        measure = task.part("evaluate").evaluate
        known = list(inspect.signature(measure).parameters)[2:]
        if unknown := sorted(options.keys() - set(known)):
            raise Error(
                f"evaluate: {', '.join(unknown)}: no option of a model of kind {task.module.EXPORT_KIND!r}; "
                f"its options are {', '.join(known)}"
            )
        return measure(answer, corpus, **options)
