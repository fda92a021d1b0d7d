"""A training run in a folder, for any model: the order of its events."""

import contextlib
import json
import pathlib
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Generic, Protocol, TypeVar

import keras
import tensorflow as tf

from tfsum.atomic_files import write_atomically
from tfsum.data.batcher import SharedBatches, TokenBudgetBatcher
from tfsum.errors import Error, Stopped, as_error
from tfsum.models.model import Model
from tfsum.trainer.exact_step import ExactTrainer
from tfsum.training.callbacks import (
    DivergenceError,
    FiniteGuard,
    Progress,
    WeightAverage,
    deferred_signals,
)
from tfsum.training.checkpoints import Checkpoints
from tfsum.training.log import format_scores, log
from tfsum.training.settings import RunSettings
from tfsum.training.workers import Workers

AnyModel = TypeVar("AnyModel", bound=Model)
AnySettings = TypeVar("AnySettings", bound=RunSettings)


class Validation(Protocol):
    """Measures a model on validation data."""

    def scores(self) -> dict[str, float]:
        """Returns the scores of the model as it is now."""

    def selection_score(self, scores: dict[str, float]) -> float:
        """Returns the score by which the best model is selected; higher is better."""


class Run(Generic[AnyModel, AnySettings]):
    """A run in a folder: `checkpoints/`, `history.json`, and in `best/` the best model so far.

    Subclasses set `batcher`, `validation`, `vocabularies` and `model_settings`; in place of the
    attributes they may override `batches`, `measure`, `selection_score` and `save_best`, and also
    `rows` and `measured`. A run that was stopped at any step and resumed is bit-identical to an
    uninterrupted one.

    Args:
        model: Built model; one built under a `tf.distribute` strategy trains under it.
        optimizer: Keras optimizer, made under the same strategy.
        settings: Settings of the run.

    Attributes:
        batcher: Training rows in token-budget batches.
        validation: Scores the model on the validation data.
        vocabularies: Word pieces for the files of the model folder, in the order of the arguments
            of the model's `save_pretrained`.
        model_settings: Text settings, recipe and whatever else tfsum.json holds from the start.
        variables: Keras variables of the model, the optimizer and the average, which a checkpoint
            holds.
        state: What a checkpoint holds besides: `best` (step and scores), `seconds` of training,
            `history` (step and scores of each validation), `first_loss` and `layout`. Subclasses
            may add to it before `fit`.

    Example:
        See examples/keyword_tagging/keyword_tagging.py for a run of one's own.

        >>> " ".join(name for name in vars(Run) if not name.startswith("_"))
        'batches measure selection_score save_best measured rows steps_done fit'
    """

    batcher: TokenBudgetBatcher
    validation: Validation
    vocabularies: Sequence[list[str]]
    model_settings: dict[str, Any]

    def __init__(
        self, model: AnyModel, optimizer: keras.optimizers.Optimizer, settings: AnySettings
    ) -> None:
        self.model, self.settings = model, settings
        self.folder = pathlib.Path(settings.folder)
        self.workers = Workers(model.distribute_strategy)
        if self.workers.is_chief:
            self.folder.mkdir(parents=True, exist_ok=True)

        model.micro_batches = settings.micro_batches
        self._stop = tf.Variable(0.0) if self.workers.count > 1 else None
        with model.distribute_strategy.scope():
            model.compile(
                optimizer=optimizer,
                jit_compile=settings.jit_compile,
                trainer=ExactTrainer(stop_requested=self._stop),
            )
            optimizer.build(model.trainable_variables)
            self.average = WeightAverage(model, optimizer, settings.average_decay)

        groups = {
            "model": model.variables,
            "optimizer": optimizer.variables,
            "average": self.average.variables,
        }
        self.variables = [variable for group in groups.values() for variable in group]
        self.state: dict[str, Any] = {"best": None, "seconds": 0.0, "history": []}

        self.guard = FiniteGuard(model, self.state, lambda step: self.rows(step), self.folder)
        self._checkpoints = Checkpoints(
            self.folder / "checkpoints",
            groups,
            settings.keep,
            settings.checkpoint_minutes,
            check=lambda step, copies: self.guard.check_weights(step, copies["model"].items()),
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
        settings = {
            **self.model_settings,
            **self.measured(),
            "seconds": round(self.state["seconds"]),
        }
        save: Callable[..., None] = self.model.save_pretrained  # a Transformer has two vocabularies
        save(folder, *self.vocabularies, settings=settings)

    def measured(self) -> dict[str, Any]:
        """The scores of the best model, for tfsum.json."""
        return {"validation": self.state["best"]}

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
            deferred_signals() as signals,
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
        restored = self.workers.by_chief(self._checkpoints.restore)
        self.state.update(restored or {})
        self.workers.take_from_chief(self.variables)

        done, steps, devices = self.steps_done, self.settings.steps, self.workers.layout
        before = self.state.setdefault("layout", devices)
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

    def _callbacks(self, progress: Progress, signals: list[int]) -> list[keras.callbacks.Callback]:
        """The callbacks of `fit` in their order: the average is updated before a step is checked.

        The progress line ends before the validation; TensorBoard shows its scores.
        """
        settings, chief = self.settings, self.workers.is_chief
        callbacks = [self.average]
        if chief:
            callbacks.append(progress)

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
        self.guard.check_loss(step, float(logs["loss"]))
        is_due = self._checkpoints.is_due and not self._is_validated(step)
        if self.workers.is_chief and is_due:
            self._count_seconds()
            self._save(step)

        stop = bool(signals) or self._checkpoints.failed
        if self._stop is None:
            self.model.stop_training = stop
        else:  # the next step's sum over the workers says it to all of them
            self.model.stop_training = float(logs["stop"]) > 0
            self._stop.assign(float(stop))

    def _end_interval(self, logs: dict[str, Any]) -> None:
        step = self.steps_done
        self._count_seconds()
        weights = ((v.path, v.numpy()) for v in self.model.trainable_variables)
        self.guard.check_weights(step, weights)
        if self._is_validated(step):
            logs.update({f"val_{name}": value for name, value in self._validate(step).items()})
        self.workers.by_chief(lambda: self._save(step))

    def _count_seconds(self) -> None:
        now = time.monotonic()
        self.state["seconds"] += now - self._counted_from
        self._counted_from = now

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

    def _is_validated(self, step: int) -> bool:
        """Whether the model is validated after a step, and a checkpoint written with its scores."""
        return step % self.settings.validate_every == 0 or step == self.settings.steps

    def _is_out_of_patience(self) -> bool:
        """Whether the last validations were no better than an earlier one."""
        best = self.state["best"]
        later = [row for row in self.state["history"] if best and row["step"] > best["step"]]
        return 0 < self.settings.patience <= len(later)

    def _write_history(self) -> None:
        file, seconds = self.folder / "history.json", round(self.state["seconds"])
        history = {**self.state, "seconds": seconds, "ended_early": self._is_out_of_patience()}
        with as_error(
            f"{file}: cannot be written",
            OSError,
            cure="; the last checkpoint is kept. Make room, and run the command again to resume",
        ):
            write_atomically(file, json.dumps(history, indent=1))

    def _save(self, step: int) -> None:
        """Begins to write a checkpoint, unless the step has one and nothing has changed since."""
        written = self._checkpoints
        if step != written.step or self._is_validated(step) or written.failed:
            written.save(step, self.state)

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
