"""The answer of a classifier to one text."""

import dataclasses

from tfsum.request import AnswerWarning, warnings_of

# share of whole words; half of a summary's `KNOWN_ENOUGH`: labelled texts are short, full of names
KNOWN_AT_ALL = 0.3


@dataclasses.dataclass(frozen=True)
class Classified:
    """The answer to one text.

    Attributes:
        label: Most probable label.
        probability: Probability of that label.
        probabilities: Probability of each label, by name.
        coverage: Share of the text that the model read.
        warnings: Warnings about this answer; see `tfsum.request.sentence_of`.

    Example:
        >>> print(Classified("fire", 0.9, {"fire": 0.9, "none": 0.1}, 1.0, []))
        fire
    """

    label: str
    probability: float
    probabilities: dict[str, float]
    coverage: float
    warnings: list[AnswerWarning]

    def __str__(self) -> str:
        return self.label


def classified_of(given: dict, written: bool) -> Classified:
    """The answer to a text from the outputs of its row.

    Args:
        given: Output of the signature -> its value for this text.
        written: Whether there is anything but white space in the text.

    Example:
        >>> import numpy as np
        >>> given = {
        ...     "labels": [b"fire", b"none"],
        ...     "probability": np.array([0.75, 0.25]),
        ...     "label": b"fire",
        ...     "coverage": 1.0,
        ...     "known": 1.0,
        ... }
        >>> classified_of(given, written=True).probabilities
        {'fire': 0.75, 'none': 0.25}
    """
    names = [name.decode("utf-8") for name in given["labels"]]
    probabilities = dict(zip(names, given["probability"].tolist()))
    label, coverage, known = given["label"].decode("utf-8"), given["coverage"], given["known"]
    warnings = {
        "empty": (not written, {}),
        "language": (known < KNOWN_AT_ALL, {"known": known}),
        "long_text": (coverage < 1, {"coverage": coverage}),
    }
    return Classified(
        label, probabilities[label], probabilities, float(coverage), warnings_of(warnings)
    )
