"""Decoding strategies: from a model that predicts the next token to whole sequences, in the graph, in pure Keras."""

from tfsum.decoding.beam_search import BeamSearch
from tfsum.decoding.greedy import Greedy
from tfsum.decoding.sampling import Sampling
from tfsum.decoding.strategy import Strategy

__all__ = ["BeamSearch", "Greedy", "Sampling", "Strategy"]
