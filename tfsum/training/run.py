"""A training run in a folder, for any model: the order of its events."""

import contextlib
import json
import math
import pathlib
import signal
import threading
import time
from collections.abc import Iterable, Iterator
from typing import Any, Generic, TypeVar

import keras
import numpy as np
import tensorflow as tf

from tfsum.atomic_files import write_atomically
from tfsum.data.batcher import SharedBatches, TokenBudgetBatcher
from tfsum.errors import Error, Stopped
from tfsum.models.model import Model
from tfsum.training.callbacks import Profile, Progress, WeightAverage
from tfsum.training.checkpoints import Checkpoints
from tfsum.training.log import format_scores, log
from tfsum.training.settings import RunSettings
from tfsum.training.workers import Workers

AnyModel = TypeVar("AnyModel", bound=Model)
AnySettings = TypeVar("AnySettings", bound=RunSettings)
EXPLODED = 1e6  # times the first loss
SHOWN = 20  # examples of a batch that a message names


class DivergenceError(Error):
    """A loss or a weight is not finite."""


class Run(Generic[AnyModel, AnySettings]):
    """A run in a folder: `checkpoints/`, `history.json`, and in `best/` the best model so far.

    Subclasses set `batcher` and `validation` and implement `save_best`; in place of the attributes
    they may override `batches`, `measure` and `selection_score`, and also `rows`. A run that was
    stopped at any step and resumed is bit-identical to an uninterrupted one.

    Args:
        model: Built model; one built under a `tf.distribute` strategy trains under it.
        optimizer: Keras optimizer, made under the same strategy.
        settings: Settings of the run.

    Attributes:
        batcher: Training rows in token-budget batches.
        validation: Object with `scores()`, which measures the model on the validation data, and
            `selection_score(scores)`.
        variables: Keras variables of the model, the optimizer and the average, which a checkpoint
            holds.
        state: What a checkpoint holds besides: `best` (step and scores), `seconds` of training,
            `history` (step and scores of each validation), `first_loss` and `layout`. Subclasses
            may add to it before `fit`.

    Raises:
        Error: The folder is a file.

    Example:
        See examples/keyword_tagging/keyword_tagging.py for a run of one's own.

        >>> sorted(name for name in vars(Run) if not name.startswith("_"))
        ['batches', 'fit', 'measure', 'rows', 'save_best', 'selection_score', 'steps_done']
    """

    batcher: TokenBudgetBatcher
    validation: Any

    def __init__(
        self, model: AnyModel, optimizer: keras.optimizers.Optimizer, settings: AnySettings
    ) -> None:
        self.model, self.settings = model, settings
        self.folder = pathlib.Path(settings.folder)
        self.workers = Workers(model.distribute_strategy)
        if self.folder.exists() and not self.folder.is_dir():
            raise Error(
                f"{self.folder}: is a file, expected a run folder; choose another [train] folder"
            )
        if self.workers.is_chief:
            self.folder.mkdir(parents=True, exist_ok=True)

        model.micro_batches = settings.micro_batches
        if self.workers.count > 1:  # before the graph of the step is traced
            model.stop_requested = tf.Variable(0.0)
        with model.distribute_strategy.scope():
            model.compile(optimizer=optimizer, jit_compile=settings.jit_compile)
            optimizer.build(model.trainable_variables)
            self.average = WeightAverage(model, optimizer, settings.average_decay)

        groups = {
            "model": model.variables,
            "optimizer": optimizer.variables,
            "average": self.average.variables,
        }
        self.variables = [variable for group in groups.values() for variable in group]
        self.state: dict[str, Any] = {"best": None, "seconds": 0.0, "history": []}

        self._warned = False  # of a loss that explodes
        self._checkpoints = Checkpoints(
            self.folder / "checkpoints",
            groups,
            settings.keep,
            check=lambda step, copies: self._check_weights(step, copies["model"].items()),
        )

    def batches(self, done: int) -> SharedBatches:
        """The batches that follow `done` steps: a pure function of `done`, so a run can resume."""
        return SharedBatches(self.batcher, done, self.settings.steps)

    def measure(self) -> dict[str, float]:
        """Scores the averaged weights on the validation data; called on all workers."""
        return self.validation.scores()

    def selection_score(self, scores: dict[str, float]) -> float:
        """The score by which the best model is selected; higher is better."""
        return self.validation.selection_score(scores)

    def save_best(self, folder: pathlib.Path) -> None:
        """Writes the model folder; `state["best"]` is this model's validation."""
        raise NotImplementedError

    def rows(self, step: int) -> list[str]:
        """Names the examples of a step's batch in messages: by default "document 5", from 1."""
        batches = self.batches(step - 1)
        return [
            f"{batches.batcher.row} {row + 1}"
            for row in batches.batcher.rows_of(batches.skip, self.settings.seed)
        ]

    @property
    def steps_done(self) -> int:
        """Optimizer steps so far."""
        return int(self.model.optimizer.iterations.numpy())

    def fit(self) -> pathlib.Path:
        """Trains to the last step, from the newest checkpoint if there is one.

        Each interval has the steps up to the next multiple of `validate_every` (or until a signal
        is received), with a checkpoint every `checkpoint_minutes`; then a validation of the
        averaged weights, the best model and the history; then a checkpoint, which is written while
        training goes on. Of several workers the chief alone reads and writes the folder. All take
        its state on resume, and a signal to any of them stops all after the same step.

        Returns:
            Folder of the best model.

        Raises:
            Stopped: SIGINT or SIGTERM was received, in the main thread; the state is saved.
            Error: A loss or a weight is not finite, or a checkpoint cannot be written; the last
                checkpoint and the best model are kept.
        """
        self._resume()
        steps, progress = self.settings.steps, Progress(self.settings.steps, self.steps_done)
        with (
            _deferred_signals() as signals,
            self._last_checkpoint(),
            contextlib.closing(progress),
        ):
            callbacks = self._callbacks(progress, signals)
            while (
                self.steps_done < steps
                and not any(self.workers.exchange(bool(signals)))
                and not self._is_out_of_patience()
            ):
                self._take_steps(callbacks)

        if self._is_out_of_patience():
            log(
                f"ended early, at step {self.steps_done} of {steps}: {self.settings.patience}"
                " validations in a row were no better than that of step"
                f" {self.state['best']['step']}"
            )
        elif self.steps_done < steps:
            raise Stopped(
                f"stopped after step {self.steps_done} of {steps}; run the same command to resume"
            )
        return self.folder / "best"

    def _resume(self) -> None:
        """Restores the newest checkpoint on all workers."""
        self.state.update(self.workers.by_chief(self._checkpoints.restore) or {})
        self.workers.take_from_chief(self.variables)

        done, steps = self.steps_done, self.settings.steps
        devices = self.workers.layout
        before = self.state.get("layout", devices)
        if done >= steps:
            log(
                f"{done} steps are done and {steps} were asked for, so nothing is trained; to"
                " continue, raise train.steps; to start over, change train.folder"
            )
        elif done:
            log(f"resuming after step {done} of {steps}")
            if before != devices:
                log(
                    f"before, this run was on {before}, and now it is on {devices}: the batches"
                    " stay the same, and the weights differ by rounding alone, unless there is"
                    " dropout, which draws other numbers"
                )
        self.state["layout"] = devices
        self._saved, self._saved_at = done, time.monotonic()

    def _callbacks(self, progress: Progress, signals: list[int]) -> list[keras.callbacks.Callback]:
        """The callbacks of `fit` in their order: the average is updated before a step is checked.

        The progress line and the profile end before the validation; TensorBoard shows its scores.
        """
        settings, chief = self.settings, self.workers.is_chief
        callbacks = [self.average]
        if chief:
            callbacks.append(progress)
        if chief and settings.profile:
            callbacks.append(Profile(settings.profile, self.folder / "profile"))

        callbacks.append(
            keras.callbacks.LambdaCallback(
                on_train_batch_end=lambda _, logs: self._end_step(logs, signals),
                on_epoch_end=lambda _, logs: self._end_interval(logs),
            )
        )
        if chief and settings.tensorboard:
            callbacks.append(
                keras.callbacks.TensorBoard(str(self.folder / "tensorboard"), write_graph=False)
            )
        return callbacks

    def _take_steps(self, callbacks: list[keras.callbacks.Callback]) -> None:
        """Trains one interval as one epoch of Keras: up to the next validation, and including it.

        After a stop between two validations the first interval only goes up to the next one.
        """
        done, every = self.steps_done, self.settings.validate_every
        batches = self.batches(done)
        dataset = batches.dataset(self.model.distribute_strategy, self.settings.seed)
        epoch, self._counted_from = done // every, time.monotonic()
        self.model.fit(
            dataset,
            steps_per_epoch=min(every - done % every, batches.until - done),
            verbose=0,
            shuffle=False,
            initial_epoch=epoch,
            epochs=epoch + 1,
            callbacks=callbacks,
        )

    def _end_step(self, logs: dict[str, Any], signals: list[int]) -> None:
        step = self.steps_done
        self._check_loss(step, float(logs["loss"]))
        if self.workers.is_chief and self._is_checkpoint_due(step):
            self._count_seconds()
            self._save(step)

        stop = bool(signals) or self._checkpoints.failed
        if self.model.stop_requested is None:
            self.model.stop_training = stop
        else:  # the next step's sum over the workers says it to all of them
            self.model.stop_training = float(logs["stop"]) > 0
            self.model.stop_requested.assign(float(stop))

    def _end_interval(self, logs: dict[str, Any]) -> None:
        step = self.steps_done
        self._count_seconds()
        self._check_weights(step, ((v.path, v.numpy()) for v in self.model.trainable_variables))
        if self._is_validated(step):
            logs.update({f"val_{name}": value for name, value in self._validate(step).items()})
        self.workers.by_chief(lambda: self._save(step))

    def _check_loss(self, step: int, loss: float) -> None:
        """Checks that the loss of a step is finite; warns once of a loss that explodes."""
        if not math.isfinite(loss):
            raise self._diverged(step, f"the loss of step {step} is {loss}")

        first = self.state.setdefault("first_loss", abs(loss))
        if abs(loss) > EXPLODED * first > 0 and not self._warned:
            self._warned = True
            log(
                f"warning: the loss of step {step} is {loss:.3g}, and the first was {first:.3g};"
                " lower train.learning_rate, or set train.clip_norm"
            )

    def _check_weights(self, step: int, weights: Iterable[tuple[str, np.ndarray]]) -> None:
        """Checks that the trainable ones of weights are finite, by their paths, before they are
        validated or written to a checkpoint."""
        trained = {weight.path for weight in self.model.trainable_variables}
        for path, weight in weights:
            if path in trained and not np.isfinite(weight).all():
                raise self._diverged(
                    step, f"{path} holds numbers that are not finite after step {step}"
                )

    def _diverged(self, step: int, what: str) -> DivergenceError:
        batch = ""
        if rows := self.rows(step):
            more = ", ..." if len(rows) > SHOWN else ""
            batch = f" Its batch: {', '.join(rows[:SHOWN])}{more}."
        return DivergenceError(
            f"{what}; training stopped.{batch} The checkpoint before it and the best model so far"
            f" are kept in {self.folder}. Look at these examples, lower train.learning_rate or"
            " set train.clip_norm, and run the command again"
        )

    def _count_seconds(self) -> None:
        now = time.monotonic()
        self.state["seconds"] += now - self._counted_from
        self._counted_from = now

    def _is_validated(self, step: int) -> bool:
        return step % self.settings.validate_every == 0 or step == self.settings.steps

    def _validate(self, step: int) -> dict[str, float]:
        """Validates the averaged weights, saves the best model, and writes history.json."""
        with self.average.applied():
            scores, best = self.workers.exchange(self.measure())[0], self.state["best"]
            log(f"step {step}: {format_scores(scores)}")
            self.state["history"].append({"step": step, **scores})

            # A tie goes to the earlier model.
            if best is None or self.selection_score(scores) > self.selection_score(best):
                self.state["best"] = {"step": step, **scores}
                self.workers.by_chief(lambda: self.save_best(self.folder / "best"))

        self.workers.by_chief(self._write_history)
        return scores

    def _is_out_of_patience(self) -> bool:
        """Whether the last `patience` validations were no better than an earlier one."""
        best, patience = self.state["best"], self.settings.patience
        later = [row for row in self.state["history"] if best and row["step"] > best["step"]]
        return 0 < patience <= len(later)

    def _write_history(self) -> None:
        file, seconds = self.folder / "history.json", round(self.state["seconds"])
        history = {**self.state, "seconds": seconds, "ended_early": self._is_out_of_patience()}
        try:
            write_atomically(file, json.dumps(history, indent=1))
        except OSError as error:
            raise Error(
                f"{file}: cannot be written ({error.strerror}); the last checkpoint is kept. Make"
                " room, and run the command again to resume"
            ) from None

    def _is_checkpoint_due(self, step: int) -> bool:
        """Whether a checkpoint by time is due; each validation is followed by one anyway."""
        seconds = 60 * self.settings.checkpoint_minutes
        if not seconds or time.monotonic() - self._saved_at < seconds:
            return False
        checkpoints = self._checkpoints
        return not (checkpoints.writing or checkpoints.failed or self._is_validated(step))

    def _save(self, step: int) -> None:
        """Begins to write a checkpoint, unless the step has one and nothing has changed since."""
        if self._is_validated(step) or step != self._saved or self._checkpoints.failed:
            self._checkpoints.save(step, self.state)
            self._saved, self._saved_at = step, time.monotonic()

    @contextlib.contextmanager
    def _last_checkpoint(self) -> Iterator[None]:
        """Waits after the block until the last checkpoint is on the disk.

        If the block raises an error, an error of that checkpoint is only logged.
        """
        try:
            yield
        except BaseException:
            try:
                self._checkpoints.wait()
            except DivergenceError:
                pass  # the block has raised the same, of a later step
            except Error as error:
                log(str(error))
            raise
        self.workers.by_chief(self._checkpoints.wait)


@contextlib.contextmanager
def _deferred_signals() -> Iterator[list[int]]:
    """Collects SIGINT and SIGTERM in a list inside the block, so that no step is interrupted.

    Python lets only the main thread handle signals: in another one the list stays empty.
    """
    received: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield received
        return

    before = {
        number: signal.signal(number, lambda number, frame: received.append(number))
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield received
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
