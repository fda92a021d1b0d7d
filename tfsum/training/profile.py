"""TensorFlow's profiler over some steps of a training."""

import pathlib
import re
from typing import Any

import keras
import tensorflow as tf

from tfsum.errors import RecipeError
from tfsum.training.log import log


def profiled_steps(text: str) -> range:
    """The steps that a recipe's `profile` names.

    Args:
        text: "FIRST:LAST", counted from 1 in this process, or "" for none.

    Raises:
        RecipeError: it is neither.

    Example:
        >>> profiled_steps("20:30")
        range(20, 31)
        >>> len(profiled_steps(""))
        0
    """
    found = re.fullmatch(r"(\d+):(\d+)", text)
    if not text:
        return range(0)
    if not found or not 1 <= int(found[1]) <= int(found[2]):
        raise RecipeError(
            f'[train] profile is {text!r}; expected the first and the last step, such as "20:30"'
        )
    return range(int(found[1]), int(found[2]) + 1)


class Profile(keras.callbacks.Callback):
    """Records some steps by TensorFlow's profiler, whose files TensorBoard and XProf show.

    Args:
        steps: see `profiled_steps`.
        folder: where the files are written.

    Example:
        >>> model.fit(
        ...     dataset, verbose=0, callbacks=[Profile("20:30", "runs/news/profile")]
        ... )  # doctest: +SKIP
    """

    def __init__(self, steps: str, folder: str | pathlib.Path) -> None:
        super().__init__()
        self._steps, self._folder, self._step, self._on = (
            profiled_steps(steps),
            str(folder),
            0,
            False,
        )

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        """Begins to record at the first step."""
        self._step += 1
        if self._step == self._steps[0]:
            tf.profiler.experimental.start(self._folder)
            self._on = True

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        """Ends after the last one."""
        if self._on and self._step == self._steps[-1]:
            self.on_epoch_end(0)

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Ends also where the steps go beyond a validation, which is not recorded, or beyond the run."""
        if self._on:
            self._on = False
            tf.profiler.experimental.stop()
            log(
                f"profile of the steps {self._steps[0]} to {self._step} of this process: {self._folder}; look at it by "
                f"`tensorboard --logdir {self._folder}` with the package tensorboard-plugin-profile"
            )
