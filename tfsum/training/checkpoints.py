"""Checkpoints of a run: weights, optimizer, dropout seeds and average, written atomically and restored by path.

Keras's own callbacks leave out the seeds and write in place; here TensorFlow's checkpoint files are written first and
the index that names them last, so a killed run always resumes from a complete checkpoint.
"""

import json
import pathlib
import shutil
from collections.abc import Sequence

import keras
import tensorflow as tf

from tfsum.atomic_files import write_atomically
from tfsum.errors import CheckpointError, Error

SEED = "__step_seed_generator"  # Keras's name of the first generator of dropout in a process
KEPT = 2  # checkpoints in a folder


class Checkpoints:
    """The newest checkpoints of a run, in one folder.

    Args:
        folder: path.
        groups: name -> list of Keras variables; each variable is stored under its path, seeds by order.

    Raises:
        CheckpointError: two variables of a group share a path.

    Example:
        >>> import keras, tempfile
        >>> weight = keras.Variable([1.0, 2.0], name="weight")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     checkpoints = Checkpoints(folder, {"model": [weight]})
        ...     checkpoints.save(10, {"best": None})
        ...     _ = weight.assign([0.0, 0.0])
        ...     checkpoints.restore()
        {'best': None}
        >>> weight.numpy().tolist()
        [1.0, 2.0]
    """

    def __init__(self, folder: str | pathlib.Path, groups: dict[str, list]) -> None:
        self.folder = pathlib.Path(folder)
        tables = {}
        for name, variables in groups.items():
            tables[name] = _by_path(variables)
            if len(tables[name]) != len(variables):
                raise CheckpointError(f"{folder}: two variables of {name} share a path; name the layers apart")
        self._manager = tf.train.CheckpointManager(tf.train.Checkpoint(**tables), str(self.folder), KEPT)

    def restore(self) -> dict | None:
        """Restores the newest checkpoint.

        Returns:
            The `state` of `save`, or None if there is no checkpoint.

        Raises:
            CheckpointError: it was written by a run of another model.
        """
        newest = self._manager.latest_checkpoint
        if newest is None:
            return None
        try:
            self._manager.checkpoint.restore(newest).assert_consumed()
            return json.loads(pathlib.Path(f"{newest}.json").read_text())
        except (AssertionError, ValueError, OSError, tf.errors.OpError) as error:
            raise CheckpointError(f"{newest}: does not fit this recipe's model ({str(error).splitlines()[0]}); "
                                  "choose another run folder, or use the recipe that started this one") from None

    def save(self, step: int, state: dict) -> None:
        """Writes a checkpoint of this step.

        Args:
            step: number of optimizer steps done.
            state: further state, JSON-serializable.

        Raises:
            Error: it cannot be written; the checkpoint before it is kept.
        """
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            # Written before the index that makes the checkpoint the newest.
            write_atomically(self.folder / f"ckpt-{step}.json", json.dumps(state))
            self._manager.save(checkpoint_number=step)
        except (OSError, tf.errors.OpError) as error:
            for left in self.folder.glob(f"ckpt-{step}[._]*"):
                shutil.rmtree(left) if left.is_dir() else left.unlink()
            reason = getattr(error, "strerror", None) or str(error).splitlines()[0]
            raise Error(f"{self.folder}: the checkpoint of step {step} cannot be written ({reason}); the one before it "
                        "is kept. Make room, and run the command again to resume") from None
        kept = {pathlib.Path(c).name for c in self._manager.checkpoints}
        for old in self.folder.glob("ckpt-*.json"):
            if old.stem not in kept:
                old.unlink()


def _by_path(variables: Sequence[keras.Variable]) -> dict:
    """The variables by their path; seeds by their order, since Keras numbers them through the whole process."""
    table, seeds = {}, 0
    for variable in variables:
        path = variable.path
        if path.endswith("/seed_generator_state"):
            path = f"{SEED}_{seeds}/seed_generator_state" if seeds else f"{SEED}/seed_generator_state"
            seeds += 1
        table[path] = variable.value
    return table
