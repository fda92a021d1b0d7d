"""The progress line of a run: step, loss, learning rate, tokens per second, padding, waiting for data, time left."""

import sys
import time
from typing import Any

import keras

from tfsum.terminal_size import bar_size
from tfsum.training.log import log
from tfsum.training.memory import peak_memory

SECONDS = 60.0  # between two lines where there is no terminal


class Progress(keras.callbacks.Callback):
    """Shows on standard error how far a training is: a bar on a terminal, and elsewhere a line a minute.

    Args:
        total: steps of the whole run.
        done: steps done before this process.

    Example:
        >>> model.fit(
        ...     dataset, verbose=0, callbacks=[Progress(total=1000, done=0)]
        ... )  # doctest: +SKIP
    """

    def __init__(self, total: int, done: int) -> None:
        super().__init__()
        self._total, self._step, self._shown = total, done, 0.0
        self._first: int | None = done + 1
        self._bar: Any = None

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        """Begins to measure again: what came before was a validation."""
        from tqdm import tqdm

        self._restart()
        if sys.stderr.isatty():
            self._bar = tqdm(
                total=self._total,
                initial=self._step,
                unit="step",
                file=sys.stderr,
                leave=False,
                **bar_size(),
            )

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        """Counts a step, and shows it if that is due."""
        self._step += 1
        self._counted += 1
        self._tokens += float(logs["tokens"])
        self._positions += float(logs["positions"])
        shown = f"loss {float(logs['loss']):.4f}  rate {float(self.model.optimizer.learning_rate):.2e}  "
        now = time.monotonic()
        if (
            self._step == self._first
        ):  # in which TensorFlow traces the graph: no measure of the others
            shown += f"first step after {now - self._since:.0f} s"
            self._restart()
        else:
            shown += self._measured(max(now - self._since, 1e-9))
        if self._bar is not None:
            self._bar.set_postfix_str(shown, refresh=False)
            self._bar.update()
        elif self._step == self._total or now - self._shown >= SECONDS:
            self._shown = now
            seconds = (self._total - self._step) * (now - self._since) / max(1, self._counted)
            left = f"  {int(seconds // 3600)}:{int(seconds // 60 % 60):02d}:{int(seconds % 60):02d} to go"
            line = f"step {self._step}/{self._total}  {shown}{left if self._counted else ''}"
            print(line, file=sys.stderr, flush=True)

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Removes the bar, since a validation is no part of it; the first time says what memory the steps have used."""
        self.close()
        if self._first is not None:
            self._first = None
            log(f"memory at the most: {peak_memory()}")

    def close(self) -> None:
        """Removes the bar, also where a training ends in an error."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None

    def _restart(self) -> None:
        self._counted, self._tokens, self._positions = 0, 0.0, 0.0
        self._since, self._waited = time.monotonic(), self.model.seconds_waiting

    def _measured(self, seconds: float) -> str:
        """Tokens, padding and waiting since the last validation."""
        padding = 1 - self._tokens / max(self._positions, 1.0)
        waiting = (self.model.seconds_waiting - self._waited) / seconds
        return f"{self._tokens / seconds:,.0f} tokens/s  padding {padding:.0%}  waiting for data {waiting:.0%}"
