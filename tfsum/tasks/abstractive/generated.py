"""The answer of an abstractive model to one text."""

import dataclasses

from tfsum.inference.texts import KNOWN_ENOUGH


@dataclasses.dataclass(frozen=True)
class Generated:
    """The answer to one text.

    Attributes:
        summary: the generated text: a summary, a translation, whatever the model was trained to generate.
        log_probability: of the answer; closer to 0 is more certain.
        coverage: share of the text's non-space bytes that the model read.
        ended: False if the answer was cut at the maximum length.
        warnings: warnings about this answer.

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


def generated_of(text: str, given: dict) -> Generated:
    """The answer to a text from the outputs of its row.

    Args:
        text: the text.
        given: output of the signature -> its value for this text.

    Example:
        >>> given = {
        ...     "summary": b"Il pleut.",
        ...     "log_probability": -0.5,
        ...     "coverage": 1.0,
        ...     "known": 1.0,
        ...     "ended": True,
        ... }
        >>> generated_of("It rains.", given).summary
        'Il pleut.'
    """
    coverage, known, found = float(given["coverage"]), float(given["known"]), []
    if not text.strip():
        found.append("there is no word in the text")
    if known < KNOWN_ENOUGH:
        found.append(
            f"the model knows {known:.0%} of the pieces of the text: it seems to be in a language or script that the "
            "model was not trained on, and the answer means little"
        )
    if coverage < 1:
        found.append(
            f"the model read {coverage:.1%} of the text: what is beyond its length was cut"
        )
    if not given["ended"]:
        found.append(
            "the answer is as long as this export lets it be, and stops there: it may lack its end"
        )
    return Generated(
        given["summary"].decode("utf-8"),
        float(given["log_probability"]),
        coverage,
        bool(given["ended"]),
        found,
    )
