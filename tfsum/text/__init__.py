"""Text in the graph: sentences, word pieces, packing, selection; each from its own module."""
