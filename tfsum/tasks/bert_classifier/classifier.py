"""An exported classifier in Python: texts in, `Classified` objects out."""

from collections.abc import Sequence
from typing import cast, overload

from tfsum.errors import require
from tfsum.inference.exported_model import ExportedModel
from tfsum.inference.texts import check_texts
from tfsum.tasks.bert_classifier.classified import Classified, classified_of


class Classifier(ExportedModel):
    """Labels texts with an exported classifier; for the arguments see `ExportedModel`.

    Example:
        >>> classify = Classifier("served/tweets")  # doctest: +SKIP
        >>> print(classify("A fire near the school, please help"))  # doctest: +SKIP
        disaster
    """

    @overload
    def __call__(  # type: ignore[overload-overlap]  # a str is a sequence of str
        self, texts: str, pairs: str | None = None
    ) -> Classified: ...

    @overload
    def __call__(
        self, texts: Sequence[str], pairs: Sequence[str] | None = None
    ) -> list[Classified]: ...

    def __call__(
        self, texts: str | Sequence[str], pairs: str | Sequence[str] | None = None
    ) -> Classified | list[Classified]:
        """Labels each text.

        Args:
            texts: One text or a sequence of them.
            pairs: Second text of each, for a model that was trained on pairs.

        Returns:
            A `Classified`, or a list of them for a sequence.

        Raises:
            Error: An element is not a str, or the number of second texts is wrong.
        """
        if isinstance(texts, str):
            return self([texts], None if pairs is None else [cast(str, pairs)])[0]

        texts, pairs = check_texts(texts), check_texts([] if pairs is None else pairs)
        expected = ("one text alone", "a second text for each")[self.description["text"]["pair"]]
        require(
            len(pairs) == self.description["text"]["pair"] * len(texts),
            f"{len(texts)} texts and {len(pairs)} second texts; this model takes {expected}",
        )

        given = {"text": texts, "text_pair": pairs}
        columns = {name: column for name, column in given.items() if column}
        return [
            classified_of(answer, any(map(str.strip, row)))
            for answer, *row in zip(self._ask("serving_default", columns), *columns.values())
        ]
