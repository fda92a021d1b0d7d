"""The inference engine: an exported model found, loaded and called from Python, without Keras models or training."""
