"""A training run in a folder, for any model: checkpoints, signals, validation, the best model, the log."""

import contextlib
import json
import math
import pathlib
import signal
import time
from collections.abc import Iterable, Iterator
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from tfsum.atomic_files import write_atomically
from tfsum.data.batcher import Batcher
from tfsum.errors import Error, Stopped
from tfsum.models.model import Model
from tfsum.training.average import WeightAverage
from tfsum.training.checkpoints import Checkpoints, Copies
from tfsum.training.log import format_scores, log
from tfsum.training.observers import observed
from tfsum.training.progress import Progress
from tfsum.training.run_settings import RunSettings
from tfsum.training.start_report import layout
from tfsum.training.workers import Workers

EXPLODED = 1e6  # times the first loss
NAMED = 20  # examples of a batch that a message names


class Run:
    """A run in a folder: `checkpoints/`, `history.json`, and in `best/` the best model so far.

    Subclasses implement `batches`, `measure`, `selection_score` and `save_best`, and may implement `rows`. A run that
    was stopped at any step and resumed is bit-identical to an uninterrupted one.

    Args:
        model: a built `tfsum.models.model.Model`; one built under a `tf.distribute` strategy trains under it.
        optimizer: a Keras optimizer, made under the same strategy.
        settings: see `RunSettings`.

    Attributes:
        variables: of the model, the optimizer and the average, which a checkpoint holds.
        state: restored on resume beside the variables: `best` (step and scores), `seconds` of training, `history` (a
            dict of step and scores a validation), `first_loss` and `layout`; subclasses may add to it before `fit`.

    Raises:
        Error: the folder is a file.

    Example:
        >>> class MyRun(Run):  # doctest: +SKIP
        ...     def batches(self, done):
        ...         return self.shared(my_batcher, done), self.settings.steps
        ...
        ...     def measure(self):
        ...         return {"accuracy": ...}
        ...
        ...     def selection_score(self, scores):
        ...         return scores["accuracy"]
        ...
        ...     def save_best(self, folder):
        ...         self.model.save_pretrained(folder)
        >>> MyRun(
        ...     model, optimizer, RunSettings(folder="runs/mine", steps=1000)
        ... ).fit()  # doctest: +SKIP
        PosixPath('runs/mine/best')
    """

    def __init__(
        self, model: Model, optimizer: keras.optimizers.Optimizer, settings: RunSettings
    ) -> None:
        self.folder = pathlib.Path(settings.folder)
        # Of the subclass's own classes.
        self.model: Any = model
        self.settings: Any = settings
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
        variables = {
            "model": model.variables,
            "optimizer": optimizer.variables,
            "average": self.average.variables,
        }
        self._checkpoints = Checkpoints(
            self.folder / "checkpoints", variables, settings.keep, self._check_copies
        )
        self.variables = [variable for group in variables.values() for variable in group]
        self._layout = layout(self.workers, model.distribute_strategy.num_replicas_in_sync)
        self._warned = False  # of a loss that explodes
        self._shared: Batcher | None = None
        self._saved, self._saved_at, self._counted_from = -1, 0.0, 0.0
        self.state: dict[str, Any] = {"best": None, "seconds": 0.0, "history": []}

    def batches(self, done: int) -> tuple[tf.data.Dataset, int]:
        """The batches after `done` steps, a pure function of `done`, and the step until which they are valid."""
        raise NotImplementedError

    def measure(self) -> dict[str, float]:
        """The scores of the model, with averaged weights, on the validation data; called on all workers."""
        raise NotImplementedError

    def selection_score(self, scores: dict[str, float]) -> float:
        """The score by which the best model is selected; higher is better."""
        raise NotImplementedError

    def save_best(self, folder: pathlib.Path) -> None:
        """Writes the model folder; `state["best"]` is this model's validation."""
        raise NotImplementedError

    def rows(self, step: int) -> list[str]:
        """What messages call the examples of a step's batch; none unless a subclass says."""
        return []

    def batch_rows(self, batcher: Batcher, step: int) -> list[int]:
        """The numbers, from 1, of the rows of a step, the first of which is step 1."""
        return [int(row) + 1 for row in batcher.rows_of(step - 1, self.settings.seed)]

    def rows_per_batch(self) -> float | None:
        """The rows of a batch of training, on average; None where `batches` is not made by `shared`."""
        self.batches(0)
        return None if self._shared is None else len(self._shared.length) / len(self._shared.plan())

    def largest_part(self) -> dict[str, np.ndarray] | None:
        """The part of a batch that takes a device the most memory; None where `batches` is not made by `shared`."""
        self.batches(self.settings.steps - 1)  # later ones may be larger
        if self._shared is None:
            return None
        return self._shared.largest(
            self.model.distribute_strategy.num_replicas_in_sync, self.settings.micro_batches
        )

    def shared(self, batcher: Batcher, done: int) -> tf.data.Dataset:
        """The batches of training, the rows of each shared among all replicas: a step sees the same on any strategy.

        Args:
            batcher: of the rows.
            done: batches to skip.
        """
        strategy = self.model.distribute_strategy
        of = strategy.num_replicas_in_sync
        self._shared = batcher

        def local(context: tf.distribute.InputContext) -> tf.data.Dataset:
            here = of // context.num_input_pipelines
            first = context.input_pipeline_id * here
            return batcher.dataset(
                training=True,
                seed=self.settings.seed,
                skip_batches=done,
                replicas=range(first, first + here),
                of=of,
            )

        if of == 1:
            return local(tf.distribute.InputContext())
        return strategy.distribute_datasets_from_function(local)

    def fit(self) -> pathlib.Path:
        """Trains to the last step, from the newest checkpoint if there is one.

        Order of events: steps up to the next multiple of `validate_every` (or until a signal is received), with a
        checkpoint every `checkpoint_minutes`; there a validation of the averaged weights, the best model, the history;
        then the checkpoint. Checkpoints are written beside training.
        Of several workers the chief alone reads and writes the folder; all take its state on resume, and a signal to
        any of them stops all after the same step.

        Returns:
            The folder of the best model.

        Raises:
            Stopped: SIGINT or SIGTERM was received; the state is saved.
            Error: a loss or a weight is no finite number, or a checkpoint cannot be written; the last checkpoint and
                the best model are kept.
        """
        self.state = self.workers.by_chief(self._checkpoints.restore) or self.state
        self.workers.take_from_chief(self.variables)
        done, steps = self.steps_done, self.settings.steps
        if done >= steps:
            log(
                f"{done} steps are done and {steps} were asked for, so nothing is trained; to continue, raise "
                "train.steps; to start over, change train.folder"
            )
        elif done:
            log(f"resuming after step {done} of {steps}")
            self._note_other_layout()
        self.state["layout"] = self._layout
        self._saved, self._saved_at = done, time.monotonic()
        progress = Progress(steps, done)
        with _signals() as received, self._written_at_the_end(), contextlib.closing(progress):
            ends = keras.callbacks.LambdaCallback(
                on_train_batch_end=lambda _, logs: self._end_step(logs, received),
                on_epoch_end=lambda _, logs: self._end_interval(logs),
            )
            watched = observed(
                progress, ends, self.folder, self.settings.tensorboard, self.settings.profile
            )
            callbacks = [self.average, *(watched if self.workers.is_chief else [ends])]
            while (
                done < steps
                and not any(self.workers.exchange(bool(received)))
                and not self.out_of_patience
            ):
                self._take_steps(done, callbacks)
                done = self.steps_done
        if self.out_of_patience:
            log(
                f"ended early, at step {done} of {steps}: {self.settings.patience} validations in a row were no better "
                f"than that of step {self.state['best']['step']}"
            )
        elif done < steps:
            raise Stopped(f"stopped after step {done} of {steps}; run the same command to resume")
        return self.folder / "best"

    def _note_other_layout(self) -> None:
        before = self.state.get("layout", self._layout)
        if before != self._layout:
            log(
                f"before, this run was on {before}, and now it is on {self._layout}: the batches stay the same, and "
                "the weights differ by rounding alone, unless there is dropout, which draws other numbers"
            )

    @property
    def steps_done(self) -> int:
        """Optimizer steps so far."""
        return int(self.model.optimizer.iterations.numpy())

    @property
    def out_of_patience(self) -> bool:
        """Whether the last `patience` validations were no better than an earlier one."""
        if not (self.settings.patience and self.state["best"]):
            return False
        later = sum(scores["step"] > self.state["best"]["step"] for scores in self.state["history"])
        return later >= self.settings.patience

    def _take_steps(self, done: int, callbacks: list[keras.callbacks.Callback]) -> None:
        """One interval: steps up to the next validation, then that and a checkpoint, as one Keras epoch.

        After a stop between two validations the first interval only goes up to the next one.
        """
        every = self.settings.validate_every
        dataset, until = self.batches(done)
        epoch, self._counted_from = done // every, time.monotonic()
        self.model.fit(
            dataset,
            steps_per_epoch=min(every - done % every, until - done),
            verbose=0,
            shuffle=False,
            initial_epoch=epoch,
            epochs=epoch + 1,
            callbacks=callbacks,
        )

    def _end_step(self, logs: dict[str, Any], received: list[int]) -> None:
        self._check_loss(float(logs["loss"]))
        self._save_by_time()
        stop = bool(received) or self._checkpoints.failed
        if self.model.stop_requested is None:
            self.model.stop_training = stop
        else:  # the next step's sum over the workers says it to all of them
            self.model.stop_training = float(logs["stop"]) > 0
            self.model.stop_requested.assign(float(stop))

    def _end_interval(self, logs: dict[str, Any]) -> None:
        step = self.steps_done
        self._count_seconds()
        self._check_weights(step)
        if self._is_validated(step):
            logs.update({f"val_{name}": value for name, value in self._validate(step).items()})
        self.workers.by_chief(lambda: self._save(step))

    def _is_validated(self, step: int) -> bool:
        return step % self.settings.validate_every == 0 or step == self.settings.steps

    def _count_seconds(self) -> None:
        now = time.monotonic()
        self.state["seconds"] += now - self._counted_from
        self._counted_from = now

    def _save(self, step: int) -> None:
        """Begins to save a step, unless that was done at this step and nothing has changed since."""
        if self._is_validated(step) or step != self._saved or self._checkpoints.failed:
            self._checkpoints.save(step, self.state)
            self._saved, self._saved_at = step, time.monotonic()

    def _save_by_time(self) -> None:
        """Between validations, saves where `checkpoint_minutes` have passed; on the chief alone, without the others."""
        minutes = self.settings.checkpoint_minutes
        if not (
            minutes and self.workers.is_chief and time.monotonic() - self._saved_at >= 60 * minutes
        ):
            return
        step = self.steps_done
        if self._is_validated(step) or self._checkpoints.writing or self._checkpoints.failed:
            return
        self._count_seconds()
        self._save(step)

    @contextlib.contextmanager
    def _written_at_the_end(self) -> Iterator[None]:
        """Waits after the block until the last checkpoint is on the disk; its error is logged if the block has one."""
        try:
            yield
        except BaseException:
            try:
                self._checkpoints.wait()
            except Error as error:
                if not isinstance(
                    error, _NotFiniteError
                ):  # which the block has raised, of a later step
                    log(str(error))
            raise
        self.workers.by_chief(self._checkpoints.wait)

    def _check_loss(self, loss: float) -> None:
        """Stops the run at a loss that is no finite number, and warns once of one that explodes."""
        step = self.steps_done
        if not math.isfinite(loss):
            raise self._broken(step, f"the loss of step {step} is {loss}")
        first = self.state.setdefault("first_loss", abs(loss))
        if abs(loss) > EXPLODED * first > 0 and not self._warned:
            log(
                f"warning: the loss of step {step} is {loss:.3g}, and the first was {first:.3g}; lower "
                "train.learning_rate, or set train.clip_norm"
            )
            self._warned = True

    def _check_weights(self, step: int) -> None:
        """Stops the run, on all workers, before weights that are no finite numbers are validated."""
        self._check_finite(
            step, ((variable.path, variable.numpy()) for variable in self.model.trainable_variables)
        )

    def _check_copies(self, step: int, copies: Copies) -> None:
        """Stops a checkpoint, in its thread, before weights that are no finite numbers are written."""
        trained = {variable.path for variable in self.model.trainable_variables}
        self._check_finite(
            step, ((path, copy) for path, copy in copies["model"].items() if path in trained)
        )

    def _check_finite(self, step: int, weights: Iterable[tuple[str, np.ndarray]]) -> None:
        for path, weight in weights:
            if not np.isfinite(weight).all():
                raise self._broken(
                    step, f"{path} holds numbers that are not finite after step {step}"
                )

    def _broken(self, step: int, what: str) -> Error:
        rows = self.rows(step)
        batch = (
            f" Its batch: {', '.join(rows[:NAMED])}{', ...' if len(rows) > NAMED else ''}."
            if rows
            else ""
        )
        return _NotFiniteError(
            f"{what}; training stopped.{batch} The checkpoint before it and the best model so far are kept in "
            f"{self.folder}. Look at these examples, lower train.learning_rate or set train.clip_norm, and run the "
            "command again"
        )

    def _validate(self, step: int) -> dict[str, float]:
        """Validates the averaged weights, saves the best model, and writes history.json."""
        with self.average.applied():
            scores = self.workers.exchange(self.measure())[0]
            log(f"step {step}: {format_scores(scores)}")
            self.state["history"].append({"step": step, **scores})
            best = self.state["best"]
            if best is None or self.selection_score(scores) > self.selection_score(best):
                self.state["best"] = {"step": step, **scores}
                self.workers.by_chief(lambda: self.save_best(self.folder / "best"))
        self.workers.by_chief(self._write_history)
        return scores

    def _write_history(self) -> None:
        history = {
            **self.state,
            "seconds": round(self.state["seconds"]),
            "ended_early": self.out_of_patience,
        }
        try:
            write_atomically(self.folder / "history.json", json.dumps(history, indent=1))
        except OSError as error:
            raise Error(
                f"{self.folder / 'history.json'}: cannot be written ({error.strerror}); the last checkpoint is "
                "kept. Make room, and run the command again to resume"
            ) from None


class _NotFiniteError(Error):
    """A loss or a weight is no finite number."""


@contextlib.contextmanager
def _signals() -> Iterator[list[int]]:
    """Collects SIGINT and SIGTERM in a list inside the block, so that a step is never interrupted."""
    received: list[int] = []
    before = {
        number: signal.signal(number, lambda found, _: received.append(found))
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield received
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
