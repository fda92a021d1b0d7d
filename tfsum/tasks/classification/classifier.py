"""An exported classifier in Python: texts in, `Classified` objects out."""

import dataclasses
from collections.abc import Sequence
from typing import cast, overload

from tfsum.errors import Error
from tfsum.inference.exported_model import ExportedModel, check_texts

KNOWN_AT_ALL = 0.3  # share of whole words; half of a summary's `KNOWN_ENOUGH`: labelled texts are short, full of names


@dataclasses.dataclass(frozen=True)
class Classified:
    """The answer to one text.

    Attributes:
        label: the most probable label.
        probability: of that label.
        probabilities: label -> probability, of all of them.
        coverage: share of the text that the model read.
        warnings: warnings about this answer.

    Example:
        >>> print(Classified("fire", 0.9, {"fire": 0.9, "none": 0.1}, 1.0, []))
        fire
    """

    label: str
    probability: float
    probabilities: dict[str, float]
    coverage: float
    warnings: list[str]

    def __str__(self) -> str:
        return self.label


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
    def __call__(self, texts: Sequence[str], pairs: Sequence[str] | None = None) -> list[Classified]: ...

    def __call__(
        self, texts: str | Sequence[str], pairs: str | Sequence[str] | None = None
    ) -> Classified | list[Classified]:
        """Labels each text.

        Args:
            texts: one text or a sequence of them.
            pairs: the second text of each, for a model that was trained on pairs.

        Returns:
            A `Classified`, or a list of them for a sequence.

        Raises:
            Error: an element is not a str, or the number of second texts is wrong.
        """
        if isinstance(texts, str):
            return self([texts], None if pairs is None else [cast(str, pairs)])[0]
        texts, takes_pairs = check_texts(texts), self.description["text"]["pair"]
        pairs = [] if pairs is None else check_texts(pairs)
        if len(pairs) != (len(texts) if takes_pairs else 0):
            raise Error(f"{len(texts)} texts and {len(pairs)} second texts; this model takes "
                        + ("a second text for each" if takes_pairs else "one text alone"))
        columns = {"text": texts, "text_pair": pairs} if takes_pairs else {"text": texts}
        answers = self._ask("serving_default", columns)
        return [_classified(given, any(map(str.strip, row))) for given, *row in zip(answers, *columns.values())]


def _classified(given: dict, written: bool) -> Classified:
    names = [name.decode("utf-8") for name in given["labels"]]
    probabilities = dict(zip(names, given["probability"].tolist()))
    label, coverage = given["label"].decode("utf-8"), float(given["coverage"])
    found, known = [], float(given["known"])
    if not written:
        found.append("there is no word in the text")
    if known < KNOWN_AT_ALL:
        found.append(f"the model knows {known:.0%} of the words of the text: it seems to be in a language or script "
                     "that the model was not trained on, and the answer means little")
    if coverage < 1:
        found.append(f"the model read {coverage:.1%} of the text: what is beyond its length was cut")
    return Classified(label, probabilities[label], probabilities, coverage, found)
