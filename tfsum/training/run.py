"""A training run in a folder, whatever the model: checkpoints, signals, validation, the best model, the log."""

import json
import os
import pathlib
import signal
import sys
import time
from collections.abc import Callable

import keras
import tensorflow as tf

from tfsum.errors import Error, Stopped
from tfsum.training.average import WeightAverage
from tfsum.training.checkpoints import Checkpoints
from tfsum.training.progress import Progress


class Run:
    """A run in a folder: `checkpoints/`, `history.json`, and in `best/` the best model so far.

    Subclasses say what is read (`batches`), what is measured (`measure`), what of it counts (`goodness`) and how
    a model is written (`keep`). A run stopped at any step and begun again is bit by bit one that never stopped.

    Args:
        model: a built `tfsum.models.model.Model`; one built under a `tf.distribute` strategy trains under it.
        optimizer: a Keras optimizer, made under the same strategy.
        folder: of the run.
        steps: optimizer steps of the whole run.
        validate_every: steps between two checkpoints with a validation.
        patience: validations without a better one after which the run ends; 0 never ends it.
        average_decay: of the moving average of the weights that is validated and kept; 0 keeps the last weights.
        micro_batches: parts in which a batch is worked through.
        tensorboard: also write TensorBoard's event files (extra `tensorboard`).

    Attributes:
        state: what comes back on resume beside the variables: `best` (step and scores), `seconds` of training and
            `history` (a dict of step and scores a validation); subclasses may add to it before `fit`.

    Raises:
        Error: a number below what makes a run, or the folder is a file.
    """

    def __init__(self, model, optimizer, folder: str, steps: int, validate_every: int = 100, patience: int = 0,
                 average_decay: float = 0.99, micro_batches: int = 1, tensorboard: bool = False):
        self.model, self.folder = model, pathlib.Path(folder)
        self.steps, self.validate_every, self.patience = steps, validate_every, patience
        for name, value in (("steps", steps), ("validate_every", validate_every), ("micro_batches", micro_batches)):
            if value < 1:
                raise Error(f"{name} is {value}; expected 1 or more")
        if self.folder.exists() and not self.folder.is_dir():
            raise Error(f"{folder}: is a file, expected the folder of a run; take another [train] folder")
        self.folder.mkdir(parents=True, exist_ok=True)
        model.micro_batches = micro_batches
        with model.distribute_strategy.scope():
            model.compile(optimizer=optimizer, jit_compile=False)
            optimizer.build(model.trainable_variables)
            self.average = WeightAverage(model, optimizer, average_decay)
        self._checkpoints = Checkpoints(self.folder / "checkpoints", {
            "model": model.variables, "optimizer": optimizer.variables, "average": self.average.variables})
        self._after = []  # callbacks that read what a validation adds to the logs
        if tensorboard:
            self._after.append(keras.callbacks.TensorBoard(str(self.folder / "tensorboard")))
        self.state = {"best": None, "seconds": 0.0, "history": []}

    def batches(self, done: int) -> tuple[tf.data.Dataset, int]:
        """The batches after `done` steps, a pure function of them, and the step up to which they serve."""
        raise NotImplementedError

    def measure(self) -> dict[str, float]:
        """The scores of the model on the validation data; it has the averaged weights meanwhile."""
        raise NotImplementedError

    def goodness(self, scores: dict[str, float]) -> float:
        """What makes one validation better than another: higher is better, and the best model is kept."""
        raise NotImplementedError

    def keep(self, folder: pathlib.Path) -> None:
        """Writes the model folder; `state["best"]` is this model's validation."""
        raise NotImplementedError

    def replicated(self, batches: Callable[[int], tf.data.Dataset], done: int) -> tf.data.Dataset:
        """Batches for every replica: each takes the next one, with a shape of its own.

        Args:
            batches: from the number of batches to skip to those that follow.
            done: steps to skip.
        """
        strategy = self.model.distribute_strategy
        replicas = strategy.num_replicas_in_sync
        if replicas == 1:
            return batches(done)
        return strategy.distribute_datasets_from_function(lambda _: batches(done * replicas))

    def fit(self) -> pathlib.Path:
        """Trains to the last step, from the newest checkpoint if there is one.

        Returns:
            The folder of the best model.

        Raises:
            Stopped: SIGINT or SIGTERM came; the state is saved.
        """
        self.state = self._checkpoints.restore() or self.state
        done, every = int(self.model.optimizer.iterations.numpy()), self.validate_every
        if done >= self.steps:
            say(f"{done} steps are done and {self.steps} were asked for, so nothing is trained; to go on take more "
                "[train] steps, to begin anew another [train] folder")
        elif done:
            say(f"resuming after step {done} of {self.steps}")
        with _Interval(self, done) as interval:
            while done < self.steps and not interval.stopped and not self.out_of_patience:
                dataset, until = self.batches(done)
                # After a stop between two validations the first fit only goes to the next.
                epoch = done // every
                self.model.fit(dataset, steps_per_epoch=min(every - done % every, until - done), verbose=0,
                               shuffle=False, initial_epoch=epoch, epochs=epoch + 1,
                               callbacks=[self.average, Progress(self.steps, done), interval, *self._after])
                done = int(self.model.optimizer.iterations.numpy())
        if self.out_of_patience:
            say(f"ended early, at step {done} of {self.steps}: {self.patience} validations in a row were no better "
                f"than that of step {self.state['best']['step']}")
        elif done < self.steps:
            raise Stopped(f"stopped after step {done} of {self.steps}; the same command goes on from there")
        return self.folder / "best"

    @property
    def out_of_patience(self) -> bool:
        """Whether the last `patience` validations were no better than one before them."""
        if not (self.patience and self.state["best"]):
            return False
        return sum(scores["step"] > self.state["best"]["step"] for scores in self.state["history"]) >= self.patience

    def checkpoint(self, step: int, validate: bool) -> dict[str, float]:
        """Saves the state; before that measures the averaged weights and keeps them where they are the best.

        Args:
            step: optimizer steps done.
            validate: whether to measure.

        Returns:
            The scores measured, empty where nothing was.
        """
        scores = {}
        if validate:
            with self.average.applied():
                scores = self.measure()
                measured = {"step": step, **scores}
                self.state["history"].append(measured)
                say(f"step {step}: {points(scores)}")
                if self.state["best"] is None or self.goodness(scores) > self.goodness(self.state["best"]):
                    self.state["best"] = measured
                    self.keep(self.folder / "best")
            self._write_history()
        self._checkpoints.save(step, self.state)
        return scores

    def _write_history(self):
        history = {**self.state, "seconds": round(self.state["seconds"]), "ended_early": self.out_of_patience}
        part = self.folder / "history.part"
        part.write_text(json.dumps(history, indent=1))
        os.replace(part, self.folder / "history.json")


class _Interval(keras.callbacks.Callback):
    """Ends a fit with a checkpoint: at its last step, or after the step in which a signal came."""

    def __init__(self, run: Run, done: int):
        super().__init__()
        self._run, self._step, self.stopped = run, done, False
        self._before, self._since = {}, time.monotonic()

    def __enter__(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            self._before[number] = signal.signal(number, self._ask)
        return self

    def __exit__(self, *_):
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _ask(self, *_):
        self.stopped = True

    def on_train_begin(self, logs=None):
        self._since = time.monotonic()

    def on_train_batch_end(self, batch, logs=None):
        self._step += 1
        if self.stopped:
            self.model.stop_training = True

    def on_epoch_end(self, epoch, logs=None):
        self._run.state["seconds"] += time.monotonic() - self._since
        whole = self._step % self._run.validate_every == 0 or self._step == self._run.steps
        scores = self._run.checkpoint(self._step, validate=whole)
        logs.update({f"val_{name}": value for name, value in scores.items()})


def points(scores: dict[str, float]) -> str:
    """Scores as a line of the log shows them."""
    return "  ".join(f"{name} {value:.2f}" for name, value in scores.items())


def say(line: str) -> None:
    """Writes a line of the log."""
    print(line, file=sys.stderr, flush=True)
