"""How fast each model answers, measured: what a queue of requests is expected to take."""

from collections.abc import Hashable

FORGET = 0.9  # weight of what was measured before the last time


class Pace:
    """How long a character takes, by model and signature, from the last batches.

    Example:
        >>> pace = Pace()
        >>> pace.observe("news", 1000, 0.5)
        >>> pace.seconds("news", 3000), pace.seconds("not measured yet", 3000)
        (1.5, 0.0)
    """

    def __init__(self) -> None:
        self._measured: dict[Hashable, tuple[float, float]] = {}  # characters, seconds

    def observe(self, kind: Hashable, characters: int, seconds: float) -> None:
        """Takes a batch into account.

        Args:
            kind: Model and signature.
            characters: Cost of the batch.
            seconds: Time that it took.
        """
        before = self._measured.get(kind, (0.0, 0.0))
        self._measured[kind] = (FORGET * before[0] + characters, FORGET * before[1] + seconds)

    def seconds(self, kind: Hashable, characters: int) -> float:
        """The time that a batch is expected to take; 0 for what was not measured yet.

        Args:
            kind: Model and signature.
            characters: Cost of the batch.
        """
        measured, seconds = self._measured.get(kind, (0.0, 0.0))
        return characters * seconds / max(1.0, measured)  # a batch may have no rows
