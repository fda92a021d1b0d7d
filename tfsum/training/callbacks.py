"""What goes along with the steps of a run: the average of the weights, the check that numbers are
finite, signals that wait for the end of a step, and the progress line."""

import contextlib
import math
import pathlib
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from tqdm import tqdm

from tfsum.errors import Error
from tfsum.terminal_size import bar_size
from tfsum.training.log import log

Logs = Mapping[str, float]
NO_LOGS: Logs = {}
SECONDS = 60.0  # between two lines of progress where there is no terminal
EXPLODED = 1e6  # times the first loss
SHOWN = 20  # examples of a batch that a message names


class WeightAverage(keras.callbacks.Callback):
    """Keeps average = d * average + (1 - d) * weight, with d = min(decay, (1 + t) / (10 + t)).

    Keras's own (`use_ema`) overwrites the weights at the end of every `fit`, so a resumed run would
    differ. The decay is that of `tf.train.ExponentialMovingAverage` with `num_updates`.

    Args:
        model: Built model, whose trainable weights are averaged.
        optimizer: Its built optimizer, whose `iterations` count t.
        decay: Largest d, at least 0 and below 1; at 0 the average is the weights themselves.

    Example:
        >>> model = keras.Sequential([keras.layers.Dense(1)])
        >>> model.build((None, 2))
        >>> optimizer = keras.optimizers.SGD()
        >>> optimizer.build(model.trainable_variables)
        >>> average = WeightAverage(model, optimizer, decay=0.99)
        >>> with average.applied():
        ...     pass  # the model has the averaged weights here
    """

    def __init__(
        self, model: keras.Model, optimizer: keras.optimizers.Optimizer, decay: float
    ) -> None:
        super().__init__()
        self._weights, self._optimizer = list(model.trainable_variables), optimizer
        self._decay = decay
        self.variables = [
            keras.Variable(v, trainable=False, name="average_" + v.path.replace("/", "."))
            for v in self._weights
        ]
        self._update = tf.function(self._move, autograph=False)

    def _move(self) -> None:
        t = tf.cast(self._optimizer.iterations.value, tf.float32)
        d = tf.minimum(self._decay, (1.0 + t) / (10.0 + t))
        for average, weight in zip(self.variables, self._weights):
            average.value.assign_add((weight.value - average.value) * (1.0 - d))

    def on_train_batch_end(self, batch: int, logs: Logs = NO_LOGS) -> None:
        """Updates the average after a step."""
        self._update()

    @contextlib.contextmanager
    def applied(self) -> Iterator[None]:
        """Gives the model the averaged weights inside a `with` block, and its own after it."""
        own = [v.numpy() for v in self._weights]
        for weight, average in zip(self._weights, self.variables):
            weight.assign(average)

        try:
            yield
        finally:
            for weight, value in zip(self._weights, own):
                weight.assign(value)


class DivergenceError(Error):
    """A loss or a weight is not finite."""


class FiniteGuard:
    """Checks that the losses and weights of a run are finite.

    Args:
        model: Model that is trained.
        state: State of the run, where `first_loss` is kept.
        rows: Function from a step to the names of the examples in its batch.
        folder: Run folder, for messages.
    """

    def __init__(
        self,
        model: keras.Model,
        state: dict[str, Any],
        rows: Callable[[int], list[str]],
        folder: pathlib.Path,
    ) -> None:
        self._model, self._state, self._rows, self._folder = model, state, rows, folder
        self._warned = False  # of a loss that explodes

    def check_loss(self, step: int, loss: float) -> None:
        """Checks the loss of a step, and warns once of one that explodes.

        Raises:
            DivergenceError: The loss is not finite.
        """
        if not math.isfinite(loss):
            raise self._diverged(step, f"the loss of step {step} is {loss}")

        first = self._state.setdefault("first_loss", abs(loss))
        if abs(loss) > EXPLODED * first > 0 and not self._warned:
            self._warned = True
            log(
                f"warning: the loss of step {step} is {loss:.3g}, and the first was {first:.3g};"
                " lower train.learning_rate, or set train.clip_norm"
            )

    def check_weights(self, step: int, weights: Iterable[tuple[str, np.ndarray]]) -> None:
        """Checks weights before they are validated or written to a checkpoint.

        Args:
            step: Number of steps done.
            weights: Paths and values; those that are not trained are passed over.

        Raises:
            DivergenceError: A weight is not finite.
        """
        trained = {weight.path for weight in self._model.trainable_variables}
        for path, weight in weights:
            if path in trained and not np.isfinite(weight).all():
                raise self._diverged(
                    step, f"{path} holds numbers that are not finite after step {step}"
                )

    def _diverged(self, step: int, what: str) -> DivergenceError:
        rows = self._rows(step)
        named = ", ".join(rows[:SHOWN] + ["..."] * (len(rows) > SHOWN))
        batch = f" Its batch: {named}." * bool(rows)
        return DivergenceError(
            f"{what}; training stopped.{batch} The checkpoint before it and the best model so far"
            f" are kept in {self._folder}. Look at these examples, lower train.learning_rate or"
            " set train.clip_norm, and run the command again"
        )


@contextlib.contextmanager
def deferred_signals() -> Iterator[list[int]]:
    """Collects SIGINT and SIGTERM in a list inside the block, so that no step is interrupted.

    Python lets only the main thread handle signals: in another one the list stays empty.

    Example:
        >>> with deferred_signals() as received:
        ...     signal.raise_signal(signal.SIGTERM)
        >>> received == [signal.SIGTERM]
        True
    """
    received: list[int] = []
    in_main = threading.current_thread() is threading.main_thread()
    before = {
        number: signal.signal(number, lambda number, frame: received.append(number))
        for number in (signal.SIGINT, signal.SIGTERM)
        if in_main
    }
    try:
        yield received
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class Progress(keras.callbacks.Callback):
    """Shows the progress of a training on standard error: a bar, or a line a minute.

    Args:
        total: Number of steps of the whole run.
        done: Number of steps done before this process.
    """

    def __init__(self, total: int, done: int) -> None:
        super().__init__()
        self._total, self._step, self._first = total, done, done + 1
        self._shown = 0.0  # time of the last line
        self._bar = tqdm(disable=True)

    def on_epoch_begin(self, epoch: int, logs: Logs = NO_LOGS) -> None:
        """Begins to measure again, after a validation."""
        self._restart()
        self._bar = tqdm(
            total=self._total,
            initial=self._step,
            unit="step",
            file=sys.stderr,
            leave=False,
            disable=not sys.stderr.isatty(),
            **bar_size(),
        )

    def on_train_batch_end(self, batch: int, logs: Logs = NO_LOGS) -> None:
        """Counts a step, and shows it if a line is due."""
        trainer, now = self.model.trainer, time.monotonic()
        self._step += 1
        self._sums += (1.0, float(trainer.last_tokens), float(trainer.last_positions))
        if self._step == self._first:  # TensorFlow traced the graph: no measure of later steps
            measured, left = f"first step after {now - self._since:.0f} s", ""
            self._restart()
        else:
            measured, left = self._measured(max(now - self._since, 1e-9))

        rate = float(self.model.optimizer.learning_rate)
        shown = f"loss {float(logs['loss']):.4f}  rate {rate:.2e}  {measured}"
        if not self._bar.disable:
            self._bar.set_postfix_str(shown, refresh=False)
            self._bar.update()
        elif self._step == self._total or now - self._shown >= SECONDS:
            self._shown = now
            log(f"step {self._step}/{self._total}  {shown}{left}")

    def on_epoch_end(self, epoch: int, logs: Logs = NO_LOGS) -> None:
        """Removes the bar for the validation; the first time, says how much memory was used."""
        self.close()
        if self._first:
            self._first = 0
            log(f"memory at the most: {peak_memory()}")

    def close(self) -> None:
        """Removes the bar, also if a training ends in an error."""
        self._bar.close()

    def _restart(self) -> None:
        self._sums = np.zeros(3)  # steps, tokens, and positions with padding
        self._since, self._waited = time.monotonic(), self.model.trainer.seconds_waiting

    def _measured(self, seconds: float) -> tuple[str, str]:
        """Speed, padding and waiting since the last validation; and the time to the last step."""
        steps, tokens, positions = self._sums
        waiting = (self.model.trainer.seconds_waiting - self._waited) / seconds
        left = int((self._total - self._step) * seconds / steps)
        return (
            f"{tokens / seconds:,.0f} tokens/s  padding {1 - tokens / max(positions, 1.0):.0%}"
            f"  waiting for data {waiting:.0%}",
            f"  {left // 3600}:{left // 60 % 60:02d}:{left % 60:02d} to go",
        )


def peak_memory() -> str:
    """Says how much memory was used at most: of a GPU, or of this process if there is no GPU.

    Example:
        >>> peak_memory()  # doctest: +ELLIPSIS
        '... MB of this process'
    """
    if gpus := tf.config.list_logical_devices("GPU"):
        names = [gpu.name.removeprefix("/device:") for gpu in gpus]
        peak = max(tf.config.experimental.get_memory_info(name)["peak"] for name in names)
        return f"{peak / 2**20:,.0f} MB of a GPU"

    try:
        import resource
    except ImportError:  # Windows
        return "not known"

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    unit = 2**20 if sys.platform == "darwin" else 2**10  # bytes on macOS, elsewhere kB
    return f"{peak / unit:,.0f} MB of this process"
