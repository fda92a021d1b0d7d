"""Decoding strategies: from a model that predicts the next token to whole sequences, in the graph,
in pure Keras; by class, or by name for recipes and command lines."""

import dataclasses
from typing import Any

from tfsum.decoding.beam_search import BeamSearch
from tfsum.decoding.sampling import Sampling
from tfsum.decoding.strategy import Greedy, Strategy
from tfsum.errors import Error, require

__all__ = ["STRATEGIES", "BeamSearch", "Greedy", "Sampling", "Strategy", "named_strategy"]

# Name -> class; `import tfsum.papers` adds PreSumm's search.
STRATEGIES: dict[str, type[Strategy]] = {
    "greedy": Greedy,
    "beam": BeamSearch,
    "sampling": Sampling,
}


def named_strategy(name: str, **options: Any) -> Strategy:
    """Creates a strategy from its name.

    Args:
        name: Name in `STRATEGIES`, such as "beam".
        **options: Arguments of its class.

    Raises:
        Error: The name or an option is unknown, or an option is out of range.

    Example:
        >>> named_strategy("greedy", min_length=3)
        Greedy(min_length=3, no_repeat_ngram=0)
    """
    require(
        name in STRATEGIES,
        f"search is {name!r}; known are {', '.join(STRATEGIES)} (`import tfsum.papers` adds"
        " those of the papers)",
    )

    known = [field.name for field in dataclasses.fields(STRATEGIES[name])]
    if strange := sorted(options.keys() - set(known)):
        raise Error(
            f"search {name!r} has no option {', '.join(strange)}; it has {', '.join(known)}"
        )
    return STRATEGIES[name](**options)
