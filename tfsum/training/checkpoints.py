"""Checkpoints of a run: weights, optimizer, dropout seeds and average, written atomically and restored by path.

Keras's own callbacks leave out the seeds and write in place. Here a checkpoint is TensorFlow's files and a JSON file
that names them with their checksums. It is written last, so a killed run always finds a complete checkpoint, and a
damaged one is recognized. Training waits until the variables are copied, and goes on while the copies are checked and
written.
"""

import contextlib
import hashlib
import json
import os
import pathlib
import re
import shutil
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from tfsum.atomic_files import write_atomically
from tfsum.errors import CheckpointError, Error
from tfsum.training.log import log

SEED = "__step_seed_generator"  # Keras's name of the first generator of dropout in a process
Copies = dict[str, dict[str, np.ndarray]]
FORMAT = 2  # 1 had no checksums: the JSON file was the state alone, and TensorFlow's file `checkpoint` named the newest


class Checkpoints:
    """The newest checkpoints of a run, in one folder.

    Args:
        folder: path.
        groups: name -> list of Keras variables; each variable is stored under its path, seeds by order.
        keep: checkpoints in the folder.
        check: called in the writer's thread before anything is written, with the step and the copies, name -> path ->
            array; where it raises an `Error`, nothing is written, and `wait` raises it.

    Raises:
        CheckpointError: two variables of a group share a path.

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
        check: Callable[[int, Copies], None] = lambda step, copies: None,
    ) -> None:
        self.folder, self._keep, self._check = pathlib.Path(folder), keep, check
        tables = {}
        for name, variables in groups.items():
            tables[name] = _by_path(variables)
            if len(tables[name]) != len(variables):
                raise CheckpointError(
                    f"{folder}: two variables of {name} share a path; name the layers apart"
                )
        self._tables, self._checkpoint = tables, tf.train.Checkpoint(**tables)
        self._writer = ThreadPoolExecutor(1, "checkpoint")
        self._written: Future | None = None  # of the last `save`

    def restore(self) -> dict | None:
        """Restores the newest checkpoint that is whole; a damaged one is reported.

        Returns:
            The `state` of `save`, or None if there is no checkpoint.

        Raises:
            CheckpointError: it was written by a run of another model or by a later tfsum, or all are damaged.
        """
        damaged = []
        for step in sorted(steps_in(self.folder), reverse=True):
            try:
                return self._read(self.folder / f"ckpt-{step}")
            except _Damaged as error:
                damaged.append(f"ckpt-{step}: {error}")
                log(f"{self.folder}/ckpt-{step} is damaged ({error}); the one before it is used")
            except _Unfinished:
                pass
        if damaged:
            raise CheckpointError(
                f"{self.folder}: no checkpoint is whole ({'; '.join(damaged)}); bring one back from "
                "a copy, or remove the run folder to start over"
            )
        return None

    def save(self, step: int, state: dict) -> None:
        """Copies the variables, and begins to write a checkpoint of this step; waits for the one before it.

        Args:
            step: number of optimizer steps done.
            state: further state, JSON-serializable.

        Raises:
            Error: the one before it could not be written.
        """
        self.wait()
        copies = {
            name: {path: np.asarray(variable.numpy()) for path, variable in table.items()}
            for name, table in self._tables.items()
        }
        self._written = self._writer.submit(self._write, step, json.dumps(state), copies)

    def wait(self) -> None:
        """Waits until the last checkpoint is on the disk.

        Raises:
            Error: it could not be written; the checkpoint before it is kept. Once for each checkpoint.
        """
        written, self._written = self._written, None
        if written is not None:
            written.result()

    @property
    def writing(self) -> bool:
        """Whether a checkpoint is being written."""
        return self._written is not None and not self._written.done()

    @property
    def failed(self) -> bool:
        """Whether the last checkpoint could not be written, which `wait` and the next `save` will raise."""
        return (
            self._written is not None
            and self._written.done()
            and self._written.exception() is not None
        )

    def _write(self, step: int, state: str, copies: Copies) -> None:
        """Checks and writes the copies; its thread is the only one that changes the folder."""
        self._check(step, copies)
        writing = self.folder / f"writing-{step}"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            for left in self.folder.glob("writing-*"):  # of a killed process
                shutil.rmtree(left)
            tf.train.Checkpoint(**_as_variables(copies)).write(str(writing / f"ckpt-{step}"))
            files = {}
            for file in sorted(writing.iterdir()):
                files[file.name] = _checksum(file)
                _to_disk(file)
            for name in files:
                os.replace(writing / name, self.folder / name)
            writing.rmdir()
            _to_disk(self.folder)
            described = {"format": FORMAT, "state": json.loads(state), "files": files}
            write_atomically(self.folder / f"ckpt-{step}.json", json.dumps(described))
            _to_disk(self.folder / f"ckpt-{step}.json")  # before an older checkpoint is removed
            _to_disk(self.folder)
        except (OSError, tf.errors.OpError) as error:
            shutil.rmtree(writing, ignore_errors=True)
            with contextlib.suppress(OSError):
                _remove(self.folder, step)
            reason = getattr(error, "strerror", None) or str(error).splitlines()[0]
            raise Error(
                f"{self.folder}: the checkpoint of step {step} cannot be written ({reason}); the one before it "
                "is kept. Make room, and run the command again to resume"
            ) from None
        with contextlib.suppress(
            OSError
        ):  # this checkpoint is whole, even where an older one cannot be removed
            (self.folder / "checkpoint").unlink(missing_ok=True)  # format 1's
            kept = sorted(steps_in(self.folder))[-self._keep :]
            for old in {
                int(found[1]) for file in self.folder.iterdir() if (found := _NAME.match(file.name))
            } - {*kept}:
                _remove(self.folder, old)

    def _read(self, prefix: pathlib.Path) -> dict:
        """Restores a checkpoint and returns its state."""
        try:
            described = json.loads(pathlib.Path(f"{prefix}.json").read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise _Damaged(f"its JSON file cannot be read: {error}") from None
        if not isinstance(described, dict):
            raise _Damaged(f"its JSON file holds a {type(described).__name__}")
        number, state = (
            (described["format"], described.get("state"))
            if "format" in described
            else (1, described)
        )
        if (
            number == 1 and not pathlib.Path(f"{prefix}.index").is_file()
        ):  # which was written after the JSON file
            raise _Unfinished
        if number not in (1, FORMAT):
            raise CheckpointError(
                f"{prefix}: its format is {number!r}, and this tfsum reads 1 and {FORMAT}: take a "
                "newer tfsum to resume this run"
            )
        for name, expected in described.get("files", {}).items() if number == FORMAT else ():
            file = self.folder / name
            if not file.is_file() or _checksum(file) != expected:
                raise _Damaged(f"{name} is {'changed' if file.is_file() else 'missing'}")
        try:
            if number == 1:  # with a counter of TensorFlow's manager
                tf.train.Checkpoint(**self._tables).restore(str(prefix)).assert_consumed()
            else:
                self._checkpoint.read(str(prefix)).assert_consumed()
        except (AssertionError, ValueError) as error:
            raise CheckpointError(
                f"{prefix}: does not fit this recipe's model ({str(error).splitlines()[0]}); "
                "choose another run folder, or use the recipe that started this one"
            ) from None
        except (IndexError, OSError, tf.errors.OpError) as error:
            raise _Damaged(str(error).splitlines()[0]) from None
        return state if isinstance(state, dict) else {}


def _as_variables(copies: Copies) -> dict[str, dict[str, tf.Variable]]:
    """The copies, which are taken out of their tables, as what TensorFlow writes, in the processors' memory."""
    with tf.device("CPU:0"):
        return {
            name: {path: tf.Variable(table.pop(path), trainable=False) for path in list(table)}
            for name, table in copies.items()
        }


class _Damaged(Exception):
    """A checkpoint that is not whole."""


class _Unfinished(Exception):
    """A checkpoint of format 1 that was not written to its end."""


_NAME = re.compile(r"ckpt-(\d+)\.")


def steps_in(folder: pathlib.Path) -> list[int]:
    """The steps of the checkpoints in a folder, without a look into them.

    Example:
        >>> steps_in(pathlib.Path("no_such_folder"))
        []
    """
    return [
        int(found[1]) for file in folder.glob("ckpt-*.json") if (found := _NAME.match(file.name))
    ]


def _remove(folder: pathlib.Path, step: int) -> None:
    """Removes a checkpoint, its JSON file first, without which the rest is none."""
    (folder / f"ckpt-{step}.json").unlink(missing_ok=True)
    for file in folder.glob(f"ckpt-{step}.*"):
        file.unlink(missing_ok=True)


def _checksum(file: pathlib.Path) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "blake2b").hexdigest()[:32]


def _to_disk(path: pathlib.Path) -> None:
    """Waits until a file, or the names in a folder, are on the disk."""
    number = os.open(path, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def _by_path(variables: Sequence[keras.Variable]) -> dict[str, Any]:
    """The variables by their path; seeds by their order, since Keras numbers them through the whole process."""
    table, seeds = {}, 0
    for variable in variables:
        path = variable.path
        if path.endswith("/seed_generator_state"):
            path = (
                f"{SEED}_{seeds}/seed_generator_state" if seeds else f"{SEED}/seed_generator_state"
            )
            seeds += 1
        table[path] = variable.value
    return table
