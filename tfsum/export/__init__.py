"""The export engine: a module and its weights as a SavedModel that any host of TensorFlow runs, verified."""

from typing import Any

from tfsum.moved import moved_name


def __getattr__(name: str) -> Any:
    raise AttributeError(moved_name(__name__, name))
