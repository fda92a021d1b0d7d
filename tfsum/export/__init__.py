"""The export engine: writes a model as a SavedModel for any host of TensorFlow, and verifies it."""
