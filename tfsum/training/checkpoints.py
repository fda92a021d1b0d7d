"""Checkpoints of a run: weights, optimizer, dropout seeds and average.

Keras's own callbacks leave out the seeds and write in place. Here a checkpoint is TensorFlow's
files and a JSON file that names them with their checksums. The JSON file is written last, so a
killed run always finds a complete checkpoint, and a damaged one is recognized. Training waits until
the variables are copied, and goes on while the copies are checked and written.
"""

import contextlib
import hashlib
import itertools
import json
import os
import pathlib
import shutil
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from tfsum.atomic_files import to_disk, write_atomically
from tfsum.errors import CheckpointError, Error, require
from tfsum.json_text import parse_json
from tfsum.training.log import log
from tfsum.training.run_folder import steps_in

SEED = "__step_seed_generator"  # Keras's name of the first generator of dropout in a process
Copies = dict[str, dict[str, np.ndarray]]
FORMAT = 2


class Checkpoints:
    """The newest checkpoints of a run, in one folder.

    Args:
        folder: Path of the folder.
        groups: Name of a group -> its Keras variables. A variable is stored under its path; seeds
            of dropout in their order, since Keras numbers them through the whole process.
        keep: Number of checkpoints to keep.
        minutes: Time after which another one is due between two validations; 0 for none.
        check: Function of the step and the copies (group -> path -> array), called in the writer's
            thread. If it raises an `Error`, nothing is written and `wait` raises the error.

    Attributes:
        step: Step of the checkpoint that was restored or saved last; 0 if there was none.

    Raises:
        CheckpointError: Two variables of a group share a path.

    Example:
        >>> import keras, tempfile
        >>> weight = keras.Variable([1.0, 2.0], name="weight")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     checkpoints = Checkpoints(folder, {"model": [weight]})
        ...     checkpoints.save(10, {"best": None})
        ...     _ = weight.assign([0.0, 0.0])
        ...     checkpoints.wait()
        ...     checkpoints.restore()
        {'best': None}
        >>> weight.numpy().tolist()
        [1.0, 2.0]
    """

    def __init__(
        self,
        folder: str | pathlib.Path,
        groups: dict[str, list],
        keep: int = 2,
        minutes: float = 0.0,
        check: Callable[[int, Copies], None] = lambda step, copies: None,
    ) -> None:
        self.folder, self._keep, self._check = pathlib.Path(folder), keep, check
        self.step, self._saved_at, self._seconds = 0, time.monotonic(), 60 * minutes
        self._tables = {name: _by_path(variables) for name, variables in groups.items()}
        if shared := [name for name in groups if len(self._tables[name]) < len(groups[name])]:
            raise CheckpointError(
                f"{folder}: two variables of {shared[0]} share a path; name the layers apart"
            )
        self._checkpoint = tf.train.Checkpoint(**self._tables)
        self._writer = ThreadPoolExecutor(1, "checkpoint")
        self._written: Future | None = None  # of the last `save`

    def restore(self) -> dict | None:
        """Restores the newest checkpoint that is whole, and sets newer ones, all damaged, aside.

        A damaged checkpoint is logged, and its files are renamed to `damaged-ckpt-STEP...`: they
        are neither counted nor removed when older checkpoints are.

        Returns:
            State given to `save`, or None if there is no checkpoint.

        Raises:
            CheckpointError: The checkpoint is of another model or format, or all are damaged.
        """
        damaged: dict[int, _DamagedError] = {}
        self._saved_at = time.monotonic()

        for step in sorted(steps_in(self.folder), reverse=True):
            try:
                state = self._read(self.folder / f"ckpt-{step}")
            except _DamagedError as error:
                damaged[step] = error
                continue
            for other, reason in damaged.items():
                for file in self.folder.glob(f"ckpt-{other}.*"):
                    with contextlib.suppress(FileNotFoundError):  # another process has done so
                        file.rename(file.with_name(f"damaged-{file.name}"))
                log(
                    f"{self.folder}/ckpt-{other} is damaged ({reason}) and is now called"
                    f" damaged-ckpt-{other}; ckpt-{step} is used"
                )
            self.step = step
            return state
        if damaged:
            reasons = "; ".join(f"ckpt-{step}: {error}" for step, error in damaged.items())
            raise CheckpointError(
                f"{self.folder}: no checkpoint is whole ({reasons}); bring one back from a copy, or"
                " remove the run folder to start over"
            )
        return None

    def save(self, step: int, state: dict) -> None:
        """Copies the variables and begins to write them; waits for the checkpoint before.

        Args:
            step: Number of optimizer steps done.
            state: Further state, JSON-serializable.

        Raises:
            Error: The checkpoint before could not be written.
        """
        self.wait()
        copies = {
            name: {path: np.asarray(variable.numpy()) for path, variable in table.items()}
            for name, table in self._tables.items()
        }
        self._written = self._writer.submit(self._write, step, json.dumps(state), copies)
        self.step, self._saved_at = step, time.monotonic()

    def wait(self) -> None:
        """Waits until the last checkpoint is on the disk.

        Raises:
            Error: The checkpoint could not be written (raised once); the one before is kept.
        """
        written, self._written = self._written, None
        if written:
            written.result()

    @property
    def writing(self) -> bool:
        """Whether a checkpoint is being written."""
        return self._written is not None and not self._written.done()

    @property
    def is_due(self) -> bool:
        """Whether the last checkpoint is as old as it may be; not while one is being written."""
        is_old = 0 < self._seconds <= time.monotonic() - self._saved_at
        return is_old and not (self.writing or self.failed)

    @property
    def failed(self) -> bool:
        """Whether the last checkpoint could not be written; the next `wait` or `save` raises."""
        return bool(self._written and self._written.done() and self._written.exception())

    def _write(self, step: int, state: str, copies: Copies) -> None:
        """Checks and writes the copies; its thread is the only one that changes the folder."""
        self._check(step, copies)
        writing = self.folder / f"writing-{step}"
        try:
            self._write_files(step, state, copies, writing)
        except (OSError, tf.errors.OpError) as error:
            shutil.rmtree(writing, ignore_errors=True)
            with contextlib.suppress(OSError):
                _remove(self.folder, step)
            reason = getattr(error, "strerror", None) or str(error).splitlines()[0]
            raise Error(
                f"{self.folder}: the checkpoint of step {step} cannot be written ({reason}); the"
                " one before it is kept. Make room, and run the command again to resume"
            ) from None

        # This checkpoint is whole, even if an older one cannot be removed.
        with contextlib.suppress(OSError):
            others = sorted(steps_in(self.folder) - {step}, reverse=True)
            for old in steps_in(self.folder, "ckpt-*") - {step, *others[: self._keep - 1]}:
                _remove(self.folder, old)

    def _write_files(self, step: int, state: str, copies: Copies, writing: pathlib.Path) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        for unfinished in self.folder.glob("writing-*"):  # by a killed process
            shutil.rmtree(unfinished)

        with tf.device("CPU:0"):  # each copy is dropped as it becomes a variable
            variables = {
                name: {path: tf.Variable(table.pop(path), trainable=False) for path in list(table)}
                for name, table in copies.items()
            }
        tf.train.Checkpoint(**variables).write(str(writing / f"ckpt-{step}"))
        files = {file.name: _checksum(file) for file in sorted(writing.iterdir())}
        for name in files:
            to_disk(writing / name)
            os.replace(writing / name, self.folder / name)
        writing.rmdir()
        to_disk(self.folder)

        # On the disk before an older checkpoint is removed.
        write_atomically(
            self.folder / f"ckpt-{step}.json",
            json.dumps({"format": FORMAT, "state": json.loads(state), "files": files}),
        )

    def _read(self, prefix: pathlib.Path) -> dict:
        """Restores a checkpoint and returns its state."""
        try:
            content = parse_json(pathlib.Path(f"{prefix}.json").read_text(encoding="utf-8"))
            require(
                content["format"] == FORMAT,
                f"{prefix}: its format is {content['format']!r}, and this tfsum reads "
                f"{FORMAT}: resume this run with the tfsum that wrote it",
                CheckpointError,
            )
            files, state = {**content["files"]}, {**content["state"]}
            for name, checksum in files.items():
                file = self.folder / name
                if not file.is_file() or _checksum(file) != checksum:
                    raise _DamagedError(f"{name} is missing or changed")
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise _DamagedError(f"its JSON file cannot be read: {error!r}") from None

        try:
            self._checkpoint.read(str(prefix)).assert_consumed()
        except (AssertionError, ValueError) as error:
            raise CheckpointError(
                f"{prefix}: does not fit this recipe's model ({str(error).splitlines()[0]}); "
                "choose another run folder, or use the recipe that started this one"
            ) from None
        return state


class _DamagedError(Exception):
    """A checkpoint that is not whole."""


def _remove(folder: pathlib.Path, step: int) -> None:
    """Removes a checkpoint, its JSON file first: without it, the other files do not count."""
    (folder / f"ckpt-{step}.json").unlink(missing_ok=True)
    for file in folder.glob(f"ckpt-{step}.*"):
        file.unlink(missing_ok=True)


def _checksum(file: pathlib.Path) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "blake2b").hexdigest()[:32]


def _by_path(variables: Sequence[keras.Variable]) -> dict[str, Any]:
    table: dict[str, Any] = {}
    numbers = itertools.count()
    for variable in variables:
        path = variable.path
        if path.endswith("/seed_generator_state"):
            path = f"{SEED}_{next(numbers)}".removesuffix("_0") + "/seed_generator_state"
        table[path] = variable.value
    return table
