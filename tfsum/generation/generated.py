"""The answer of an abstractive model to one text."""

import dataclasses
from collections.abc import Mapping

from tfsum.inference.texts import KNOWN_ENOUGH
from tfsum.request import AnswerWarning, warning_of


@dataclasses.dataclass(frozen=True)
class Generated:
    """The answer to one text.

    Attributes:
        summary: The generated text: a summary, a translation, whatever the model was trained to
            generate.
        log_probability: Log-probability of the answer; closer to 0 is more certain.
        coverage: Share of the text's non-space bytes that the model read.
        ended: False if the answer was cut at the maximum length.
        warnings: Warnings about this answer; see `tfsum.request.sentence_of`.

    Example:
        >>> print(Generated("It rained.", -0.5, 1.0, True, []))
        It rained.
    """

    summary: str
    log_probability: float
    coverage: float
    ended: bool
    warnings: list[AnswerWarning]

    def __str__(self) -> str:
        return self.summary


def generated_of(text: str, outputs: Mapping) -> Generated:
    """The answer to a text from the outputs of its row.

    Args:
        text: The text.
        outputs: Name of an output of the signature -> its value for this text.

    Example:
        >>> outputs = {
        ...     "summary": b"Il pleut.",
        ...     "log_probability": -0.5,
        ...     "coverage": 1.0,
        ...     "known": 1.0,
        ...     "ended": True,
        ... }
        >>> generated_of("It rains.", outputs).summary
        'Il pleut.'
    """
    coverage, known = float(outputs["coverage"]), float(outputs["known"])
    found = {
        "empty": (not text.strip(), {}),
        "language": (known < KNOWN_ENOUGH, {"known": known}),
        "long_text": (coverage < 1, {"coverage": coverage}),
        "unended": (not outputs["ended"], {}),
    }
    warnings = [warning_of(kind, **numbers) for kind, (is_so, numbers) in found.items() if is_so]
    return Generated(
        outputs["summary"].decode("utf-8"),
        float(outputs["log_probability"]),
        coverage,
        bool(outputs["ended"]),
        warnings,
    )
