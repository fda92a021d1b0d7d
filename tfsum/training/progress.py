"""The progress line of a run: step, loss, learning rate, tokens per second, remaining time."""

import sys
import time
from typing import Any

import keras

STEPS_A_LINE = 10


class Progress(keras.callbacks.Callback):
    """Prints a line to standard error every `STEPS_A_LINE` steps.

    Args:
        total: steps of the whole run.
        done: steps done before this process.

    Example:
        >>> model.fit(dataset, verbose=0, callbacks=[Progress(total=1000, done=0)])  # doctest: +SKIP
    """

    def __init__(self, total: int, done: int) -> None:
        super().__init__()
        self._total, self._step = total, done
        self._tokens, self._since = 0.0, time.monotonic()

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        """Restarts the measurement of tokens per second."""
        self._tokens, self._since, self._counted = 0.0, time.monotonic(), 0

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        """Counts a step, and prints the line if it is due."""
        self._step += 1
        self._counted += 1
        self._tokens += float(logs["tokens"])
        if self._step % STEPS_A_LINE and self._step != self._total:
            return
        seconds = time.monotonic() - self._since
        left = (self._total - self._step) * seconds / self._counted
        rate = float(self.model.optimizer.learning_rate)
        print(f"step {self._step}/{self._total}  loss {float(logs['loss']):.4f}  rate {rate:.2e}  "
              f"{self._tokens / seconds:,.0f} tokens/s  {int(left // 60)}:{int(left % 60):02d} to go",
              file=sys.stderr, flush=True)
