"""The answer of a classifier to one text."""

import dataclasses

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


def classified_of(given: dict, written: bool) -> Classified:
    """The answer to a text from the outputs of its row.

    Args:
        given: output of the signature -> its value for this text.
        written: whether there is anything but white space in the text.

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
    label, coverage = given["label"].decode("utf-8"), float(given["coverage"])
    found, known = [], float(given["known"])
    if not written:
        found.append("there is no word in the text")
    if known < KNOWN_AT_ALL:
        found.append(
            f"the model knows {known:.0%} of the words of the text: it seems to be in a language or script "
            "that the model was not trained on, and the answer means little"
        )
    if coverage < 1:
        found.append(
            f"the model read {coverage:.1%} of the text: what is beyond its length was cut"
        )
    return Classified(label, probabilities[label], probabilities, coverage, found)
