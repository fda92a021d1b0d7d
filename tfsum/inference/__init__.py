"""The inference engine: loads an exported model and calls it from Python, without Keras."""
