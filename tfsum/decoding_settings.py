"""What a decoding strategy can be told, without Keras: the command line reads it."""

import dataclasses
import functools
from typing import Annotated, Any, Literal, get_type_hints

import pydantic
from pydantic import Field

from tfsum.errors import Error, require
from tfsum.settings import Checked, Option


@dataclasses.dataclass(frozen=True, kw_only=True)
class StrategySettings:
    """What every strategy can be told.

    Raises:
        Error: A value is out of range.

    Example:
        >>> StrategySettings(min_length=-1)
        Traceback (most recent call last):
        tfsum.errors.Error: StrategySettings: min_length=-1: expected a whole number from 0
    """

    min_length: Annotated[
        int, Field(ge=0, description="Fewest tokens of an answer, the end token included.")
    ] = 0
    no_repeat_ngram: Annotated[
        int, Field(ge=0, description="No N tokens in a row come twice; 0 is no rule.")
    ] = 0

    def __post_init__(self) -> None:
        # a number of NumPy is as good as one of Python
        values = {
            name: each.item() if hasattr(each, "item") else each
            for name, each in vars(self).items()
        }
        try:
            self.checked()(**values)
        except Error as error:
            raise Error(f"{type(self).__name__}: {error}") from None

    @classmethod
    @functools.cache
    def checked(cls) -> type[Checked]:
        """The fields with their ranges, as a class that checks them.

        Example:
            >>> StrategySettings.checked()(min_length=2).min_length
            2
        """
        types = get_type_hints(cls, include_extras=True)
        fields: dict[str, Any] = {
            field.name: (types[field.name], field.default) for field in dataclasses.fields(cls)
        }
        return pydantic.create_model(cls.__name__, __base__=Checked, **fields)


@dataclasses.dataclass(frozen=True)
class BeamSearchSettings(StrategySettings):
    """What a `BeamSearch` can be told.

    Example:
        >>> BeamSearchSettings(8).length_penalty
        0.6
    """

    width: Annotated[
        int, Option(metavar="K"), Field(ge=1, description="Prefixes extended together.")
    ] = 4
    n_best: Annotated[
        int,
        Option(hidden=True),
        Field(ge=1, description="Hypotheses returned, at most `width`."),
    ] = 1
    length_penalty: Annotated[
        float,
        Option(metavar="A"),
        Field(ge=0, le=10, description="A higher value gives longer answers; 0 is none."),
    ] = 0.6
    normalization: Annotated[
        Literal["gnmt", "length"], Field(description="Normalization for length.")
    ] = "gnmt"

    def __post_init__(self) -> None:
        super().__post_init__()
        require(
            self.n_best <= self.width,
            f"BeamSearch: n_best is {self.n_best} and width is {self.width}; a search returns at"
            " most as many hypotheses as it follows: lower n_best or raise width",
        )


@dataclasses.dataclass(frozen=True)
class SamplingSettings(StrategySettings):
    """What a `Sampling` can be told.

    Example:
        >>> SamplingSettings(top_k=5).temperature
        1.0
    """

    temperature: Annotated[
        float,
        Option(metavar="T"),
        Field(ge=1e-4, le=1e3, description="Lower is nearer to greedy; 1 is the model's."),
    ] = 1.0
    top_k: Annotated[
        int,
        Option(metavar="K"),
        Field(ge=0, description="Draw only from the K most probable tokens; 0 for all."),
    ] = 0
    top_p: Annotated[
        float,
        Option(metavar="P"),
        Field(gt=0, le=1, description="Draw only from the most probable tokens that make P."),
    ] = 1.0
    seed: Annotated[
        int,
        Option(hidden=True),  # of the command line, where --seed is another
        Field(ge=0, le=2**32 - 1, description="Seed of the numbers."),
    ] = 0
    n_samples: Annotated[
        int, Option(hidden=True), Field(ge=1, description="Samples returned, the best first.")
    ] = 1
