"""Checkpoints of a run: weights, optimizer, dropout seeds and average, written whole and found again by path.

Keras's own callbacks leave out the seeds and write in place; here TensorFlow's checkpoint files are written first and
the index that names them last, so a run killed at any moment resumes from a whole checkpoint.
"""

import json
import pathlib

import tensorflow as tf

from tfsum.atomic_files import write_atomically
from tfsum.errors import CheckpointError

SEED = "__step_seed_generator"  # Keras's name of the first generator of dropout in a process


class Checkpoints:
    """The checkpoints in one folder.

    Args:
        folder: where they are.
        groups: name -> list of Keras variables; each variable is stored under its path, seeds by order.
        keep: how many of the newest are kept.

    Raises:
        CheckpointError: two variables of a group share a path.
    """

    def __init__(self, folder, groups: dict[str, list], keep: int = 2):
        self.folder = pathlib.Path(folder)
        tables = {}
        for name, variables in groups.items():
            tables[name] = _by_path(variables)
            if len(tables[name]) != len(variables):
                raise CheckpointError(f"{folder}: two variables of {name} share a path; name the layers apart")
        self._manager = tf.train.CheckpointManager(tf.train.Checkpoint(**tables), str(self.folder), keep)

    def restore(self) -> dict | None:
        """Restores the newest checkpoint: what `save` was given beside the variables, or None where there is none.

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
            state: what else must come back, in JSON's types.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        # Before the index that makes the checkpoint count.
        write_atomically(self.folder / f"ckpt-{step}.json", json.dumps(state))
        self._manager.save(checkpoint_number=step)
        kept = {pathlib.Path(c).name for c in self._manager.checkpoints}
        for old in self.folder.glob("ckpt-*.json"):
            if old.stem not in kept:
                old.unlink()


def _by_path(variables) -> dict:
    """The variables by their path; seeds by their order, since Keras numbers them through the whole process."""
    table, seeds = {}, 0
    for variable in variables:
        path = variable.path
        if path.endswith("/seed_generator_state"):
            path = f"{SEED}_{seeds}/seed_generator_state" if seeds else f"{SEED}/seed_generator_state"
            seeds += 1
        table[path] = variable.value
    return table
