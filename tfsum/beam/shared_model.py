"""A loaded model that answers a batch of texts and reports which of them failed."""

import functools
import pathlib
from collections.abc import Sequence
from typing import Any

import tfsum
from tfsum.beam.rows import Row, row_of
from tfsum.errors import ExportError

LONGEST_REASON = 500  # characters of an error that are kept
WARM_UP = (
    "It rained. The bridge was closed on Monday.",
    "The bridge was closed on Monday. It rained. " * 100,
)


class SharedModel:
    """A model loaded, warmed up and called from any number of threads and processes.

    Its arguments and answers are plain Python objects, so that they travel between the process that holds the model
    and those that use it.

    Args:
        path: folder of the exported model, `.../NAME/VERSION` or `.../NAME`; the shipped extractive one if None.
        kind: what the model must be, such as "extractive"; None takes any.
        options: of the call, such as {"sentences": 3}.

    Raises:
        ExportError: the model does not exist, is corrupt or is of another kind.
        Error: an option is invalid.

    Example:
        >>> model = SharedModel(None, "extractive", {"sentences": 1})
        >>> row, error = model.answers(["The bridge was closed on Monday. It rained.", None])
        >>> row.summary, error
        ('The bridge was closed on Monday.', 'Error: texts[0] is NoneType; expected str (decode bytes first)')
    """

    def __init__(
        self, path: str | pathlib.Path | None, kind: str | None, options: dict[str, Any]
    ) -> None:
        model = tfsum.load(path)
        if kind is not None and model.description["kind"] != kind:
            raise ExportError(
                f"{model.path}: its kind is {model.description['kind']!r}, expected {kind!r}; the "
                "transforms are Summarize for extractive models, Generate for abstractive ones and "
                "Classify for classifiers"
            )
        self._name = "/".join(model.path.parts[-2:])
        self._call = functools.partial(model, **options)
        for text in WARM_UP:  # one window, and several
            self._call([text])

    def answers(self, texts: Sequence[str]) -> list[Row | str]:
        """Answers texts; a text that fails takes no other with it.

        Args:
            texts: in any number.

        Returns:
            For each text its row, or the error as a str.
        """
        try:
            return [row_of(result, self._name) for result in self._call(list(texts))]
        except Exception as error:
            if len(texts) == 1:
                # TensorFlow's messages have many lines; what happened is in the last one that is not indented.
                lines = [
                    line
                    for line in str(error).splitlines()
                    if line.strip() and not line[0].isspace()
                ]
                return [f"{type(error).__name__}: {lines[-1][:LONGEST_REASON] if lines else ''}"]
        # One of them is at fault: the halves are asked apart.
        middle = len(texts) // 2
        return self.answers(texts[:middle]) + self.answers(texts[middle:])
