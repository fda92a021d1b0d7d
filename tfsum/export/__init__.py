"""The export engine: a module and its weights as a SavedModel that any host of TensorFlow runs, verified."""

from tfsum.moved import moved_name


def __getattr__(name: str):
    raise AttributeError(moved_name(__name__, name))
