"""Decoding: from a model that gives the next token's logits to whole sequences, in the graph, in Keras alone."""

from tfsum.decoding.beam_search import BeamSearch
from tfsum.decoding.greedy import Greedy
from tfsum.decoding.sampling import Sampling
from tfsum.decoding.strategy import Strategy

__all__ = ["BeamSearch", "Greedy", "Sampling", "Strategy"]
