"""When a run is validated, and when its checkpoints are written."""

import time

from tfsum.training.settings import RunSettings


class CheckpointPolicy:
    """Decides at which steps a run is validated and its checkpoint is written.

    Args:
        settings: Settings of the run.
        step: Number of steps done, whose checkpoint is there.

    Example:
        >>> policy = CheckpointPolicy(RunSettings(folder="a", steps=9, validate_every=4), step=0)
        >>> [step for step in range(1, 10) if policy.is_validated(step)]
        [4, 8, 9]
    """

    def __init__(self, settings: RunSettings, step: int) -> None:
        self._settings = settings
        self.begin(step)

    def begin(self, step: int) -> None:
        """Notes that the checkpoint of a step is being written."""
        self._step, self._since = step, time.monotonic()

    def is_validated(self, step: int) -> bool:
        """Whether the model is validated after a step."""
        return step % self._settings.validate_every == 0 or step == self._settings.steps

    def is_due(self, step: int) -> bool:
        """Whether a checkpoint by time is due; each validation is followed by one anyway."""
        seconds = 60 * self._settings.checkpoint_minutes
        passed = time.monotonic() - self._since
        return 0 < seconds <= passed and not self.is_validated(step)

    def is_new(self, step: int) -> bool:
        """Whether a step is not in the newest checkpoint, or its validation is not."""
        return step != self._step or self.is_validated(step)
