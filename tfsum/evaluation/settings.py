"""What every evaluation can be told, whatever is measured."""

from typing import Annotated

from pydantic import Field

from tfsum.settings import Checked, Option

NUMBER = Option(metavar="N")


class MeasureSettings(Checked):
    """How many documents are measured, and how the intervals are computed.

    Raises:
        Error: A number is not possible.

    Example:
        >>> MeasureSettings(samples=0)
        Traceback (most recent call last):
        tfsum.errors.Error: samples=0: expected a whole number from 1
    """

    limit: Annotated[int | None, NUMBER] = Field(
        None, ge=1, description="Measure only the first N documents."
    )
    samples: Annotated[int, NUMBER] = Field(1000, ge=1, description="Samples of the bootstrap.")
    seed: Annotated[int, NUMBER] = Field(
        0, ge=0, description="Seed of the bootstrap and of the random pick."
    )
