"""Strategies by their names, for recipes and command lines."""

import dataclasses

from tfsum.decoding.beam_search import BeamSearch
from tfsum.decoding.greedy import Greedy
from tfsum.decoding.sampling import Sampling
from tfsum.decoding.strategy import Strategy
from tfsum.errors import Error

STRATEGIES = {"greedy": Greedy, "beam": BeamSearch, "sampling": Sampling}


def named_strategy(name: str, **options) -> Strategy:
    """Makes a strategy.

    Args:
        name: "greedy", "beam" or "sampling".
        **options: the arguments of its class.

    Raises:
        Error: there is none of that name, or it has no such option, or an option is out of its range.
    """
    if name not in STRATEGIES:
        raise Error(f"search is {name!r}; known are {', '.join(STRATEGIES)}")
    known = [field.name for field in dataclasses.fields(STRATEGIES[name])]
    strange = sorted(options.keys() - set(known))
    if strange:
        raise Error(f"search {name!r} has no option {', '.join(strange)}; it has {', '.join(known)}")
    return STRATEGIES[name](**options)
