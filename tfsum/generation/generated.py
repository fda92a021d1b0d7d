"""The answer of an abstractive model to one text."""

import dataclasses

from tfsum.inference.texts import KNOWN_ENOUGH


@dataclasses.dataclass(frozen=True)
class Generated:
    """The answer to one text.

    Attributes:
        summary: The generated text: a summary, a translation, whatever the model was trained to
            generate.
        log_probability: Log-probability of the answer; closer to 0 is more certain.
        coverage: Share of the text's non-space bytes that the model read.
        ended: False if the answer was cut at the maximum length.
        warnings: Warnings about this answer.

    Example:
        >>> print(Generated("It rained.", -0.5, 1.0, True, []))
        It rained.
    """

    summary: str
    log_probability: float
    coverage: float
    ended: bool
    warnings: list[str]

    def __str__(self) -> str:
        return self.summary


def generated_of(text: str, outputs: dict) -> Generated:
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
    coverage, known, warnings = float(outputs["coverage"]), float(outputs["known"]), []
    if not text.strip():
        warnings.append("there is no word in the text")
    if known < KNOWN_ENOUGH:
        warnings.append(
            f"the model knows {known:.0%} of the pieces of the text: it seems to be in a language"
            " or script that the model was not trained on, and the answer means little"
        )
    if coverage < 1:
        warnings.append(
            f"the model read {coverage:.1%} of the text: what is beyond its length was cut"
        )
    if not outputs["ended"]:
        warnings.append(
            "the answer is as long as this export lets it be, and stops there: it may lack its end"
        )
    return Generated(
        outputs["summary"].decode("utf-8"),
        float(outputs["log_probability"]),
        coverage,
        bool(outputs["ended"]),
        warnings,
    )
