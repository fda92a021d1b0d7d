"""The `opt` of a checkpoint: the arguments of the command that trained it, as far as they describe the model."""

import argparse
import os
from typing import Any

from tfsum.errors import CheckpointError

HEADS = ("heads", "ext_heads", "dec_heads", "max_length")
RATES = ("dropout", "ext_dropout", "dec_dropout", "label_smoothing")


def read_options(options: Any, path: str | os.PathLike) -> dict[str, Any]:
    """Checks the `opt` of a file.

    Args:
        options: an argparse.Namespace, a dict, or None where the file has none.
        path: of the file, for messages.

    Returns:
        the options by name.

    Raises:
        CheckpointError: it is something else, or one that tfsum reads has a value that no model has.

    Example:
        >>> read_options(argparse.Namespace(heads=8, dropout=0.1), "model.pt")
        {'heads': 8, 'dropout': 0.1}
    """
    if options is None:
        return {}
    if not isinstance(options, argparse.Namespace | dict):
        raise CheckpointError(
            f"{path}: 'opt' is {type(options).__name__}; expected an argparse.Namespace or a dict of "
            "the arguments of the training command, or none"
        )
    known = dict(options if isinstance(options, dict) else vars(options))
    wrong = [
        f"{name} is {known[name]!r}, expected a whole number above 0"
        for name in HEADS
        if name in known and (type(known[name]) is not int or known[name] < 1)
    ]
    wrong += [
        f"{name} is {known[name]!r}, expected a number of at least 0 and below 1"
        for name in RATES
        if name in known and not (type(known[name]) in (int, float) and 0 <= known[name] < 1)
    ]
    if wrong:
        raise CheckpointError(
            f"{path}: 'opt' does not describe a model: {'; '.join(wrong)}; save the file again, or "
            "save its state_dict alone and give what is asked for"
        )
    return known
