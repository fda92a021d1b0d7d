"""The Keras callbacks of a run: the average of the weights, the progress line and the profile."""

import contextlib
import pathlib
import sys
import time
from collections.abc import Iterator, Mapping

import keras
import tensorflow as tf
from tqdm import tqdm

from tfsum.terminal_size import bar_size
from tfsum.training.log import log

Logs = Mapping[str, float]
NO_LOGS: Logs = {}
SECONDS = 60.0  # between two lines of progress where there is no terminal


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


class Progress(keras.callbacks.Callback):
    """Shows the progress of a training on standard error: a bar, or a line a minute.

    Args:
        total: Number of steps of the whole run.
        done: Number of steps done before this process.
    """

    def __init__(self, total: int, done: int) -> None:
        super().__init__()
        self._total, self._step = total, done
        self._shown = 0.0  # time of the last line
        self._first: int | None = done + 1  # until the first interval ends
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
        self._step += 1
        self._counted += 1
        self._tokens += float(self.model.trainer.last_tokens)
        self._positions += float(self.model.trainer.last_positions)

        shown = (
            f"loss {float(logs['loss']):.4f}"
            f"  rate {float(self.model.optimizer.learning_rate):.2e}  "
        )
        now = time.monotonic()
        if self._step == self._first:  # TensorFlow traced the graph: no measure of later steps
            shown += f"first step after {now - self._since:.0f} s"
            self._restart()
        else:
            shown += self._measured(max(now - self._since, 1e-9))

        if not self._bar.disable:
            self._bar.set_postfix_str(shown, refresh=False)
            self._bar.update()
        elif self._step == self._total or now - self._shown >= SECONDS:
            self._shown = now
            print(
                f"step {self._step}/{self._total}  {shown}{self._time_left(now)}",
                file=sys.stderr,
                flush=True,
            )

    def on_epoch_end(self, epoch: int, logs: Logs = NO_LOGS) -> None:
        """Removes the bar for the validation; the first time, says how much memory was used."""
        self.close()
        if self._first is not None:
            self._first = None
            log(f"memory at the most: {peak_memory()}")

    def close(self) -> None:
        """Removes the bar, also if a training ends in an error."""
        self._bar.close()

    def _restart(self) -> None:
        self._counted, self._tokens, self._positions = 0, 0.0, 0.0
        self._since, self._waited = time.monotonic(), self.model.trainer.seconds_waiting

    def _time_left(self, now: float) -> str:
        if not self._counted:
            return ""
        seconds = int((self._total - self._step) * (now - self._since) / self._counted)
        return f"  {seconds // 3600}:{seconds // 60 % 60:02d}:{seconds % 60:02d} to go"

    def _measured(self, seconds: float) -> str:
        """Speed, padding and waiting since the last validation."""
        padding = 1 - self._tokens / max(self._positions, 1.0)
        waiting = (self.model.trainer.seconds_waiting - self._waited) / seconds
        return (
            f"{self._tokens / seconds:,.0f} tokens/s  padding {padding:.0%}  waiting for data"
            f" {waiting:.0%}"
        )


def peak_memory() -> str:
    """Says how much memory was used at most: of a GPU, or of this process if there is no GPU.

    Example:
        >>> peak_memory()  # doctest: +ELLIPSIS
        '... MB of this process'
    """
    gpus = tf.config.list_logical_devices("GPU")
    if gpus:
        peak = max(
            tf.config.experimental.get_memory_info(gpu.name.removeprefix("/device:"))["peak"]
            for gpu in gpus
        )
        return f"{peak / 2**20:,.0f} MB of a GPU"

    try:
        import resource
    except ImportError:  # Windows
        return "not known"

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    unit = 2**20 if sys.platform == "darwin" else 2**10  # bytes on macOS, elsewhere kB
    return f"{peak / unit:,.0f} MB of this process"


class Profile(keras.callbacks.Callback):
    """Records some steps by TensorFlow's profiler, whose files TensorBoard and XProf show.

    Args:
        steps: First and last step, such as "20:30", counted from 1 in this process.
        folder: Folder for the profiler's files.
    """

    def __init__(self, steps: str, folder: str | pathlib.Path) -> None:
        super().__init__()
        self._first, self._last = map(int, steps.split(":"))
        self._step, self._on, self._folder = 0, False, str(folder)

    def on_train_batch_begin(self, batch: int, logs: Logs = NO_LOGS) -> None:
        """Begins to record before the first step."""
        self._step += 1
        if self._step == self._first:
            tf.profiler.experimental.start(self._folder)
            self._on = True

    def on_train_batch_end(self, batch: int, logs: Logs = NO_LOGS) -> None:
        """Ends after the last step."""
        if self._on and self._step == self._last:
            self.on_epoch_end(0)

    def on_epoch_end(self, epoch: int, logs: Logs = NO_LOGS) -> None:
        """Ends before a validation, which is not recorded, and at the end of the run."""
        if self._on:
            self._on = False
            tf.profiler.experimental.stop()
            log(
                f"profile of the steps {self._first} to {self._step} of this process:"
                f" {self._folder}; look at it by `tensorboard --logdir {self._folder}` with the"
                " package tensorboard-plugin-profile"
            )
