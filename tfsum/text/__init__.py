"""Text in the graph: sentences, word pieces, packing, selection. Import each from its own module."""
