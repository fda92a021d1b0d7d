"""What ends a training before its last step: a signal, or a loss or weights that are not finite."""

import contextlib
import math
import pathlib
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import keras
import numpy as np

from tfsum.errors import Error
from tfsum.training.log import log

EXPLODED = 1e6  # times the first loss
SHOWN = 20  # examples of a batch that a message names


class DivergenceError(Error):
    """A loss or a weight is not finite."""


class FiniteGuard:
    """Checks that the losses and weights of a run are finite.

    Args:
        model: Model that is trained.
        state: State of the run, where `first_loss` is kept.
        rows: Function from a step to the names of the examples in its batch.
        folder: Run folder, for messages.
    """

    def __init__(
        self,
        model: keras.Model,
        state: dict[str, Any],
        rows: Callable[[int], list[str]],
        folder: pathlib.Path,
    ) -> None:
        self._model, self._state, self._rows, self._folder = model, state, rows, folder
        self._warned = False  # of a loss that explodes

    def check_loss(self, step: int, loss: float) -> None:
        """Checks the loss of a step, and warns once of one that explodes.

        Raises:
            DivergenceError: The loss is not finite.
        """
        if not math.isfinite(loss):
            raise self._diverged(step, f"the loss of step {step} is {loss}")

        first = self._state.setdefault("first_loss", abs(loss))
        if abs(loss) > EXPLODED * first > 0 and not self._warned:
            self._warned = True
            log(
                f"warning: the loss of step {step} is {loss:.3g}, and the first was {first:.3g};"
                " lower train.learning_rate, or set train.clip_norm"
            )

    def check_weights(self, step: int, weights: Iterable[tuple[str, np.ndarray]]) -> None:
        """Checks weights before they are validated or written to a checkpoint.

        Args:
            step: Number of steps done.
            weights: Paths and values; those that are not trained are passed over.

        Raises:
            DivergenceError: A weight is not finite.
        """
        trained = {weight.path for weight in self._model.trainable_variables}
        for path, weight in weights:
            if path in trained and not np.isfinite(weight).all():
                raise self._diverged(
                    step, f"{path} holds numbers that are not finite after step {step}"
                )

    def _diverged(self, step: int, what: str) -> DivergenceError:
        batch = ""
        if rows := self._rows(step):
            more = ", ..." if len(rows) > SHOWN else ""
            batch = f" Its batch: {', '.join(rows[:SHOWN])}{more}."
        return DivergenceError(
            f"{what}; training stopped.{batch} The checkpoint before it and the best model so far"
            f" are kept in {self._folder}. Look at these examples, lower train.learning_rate or"
            " set train.clip_norm, and run the command again"
        )


@contextlib.contextmanager
def deferred_signals() -> Iterator[list[int]]:
    """Collects SIGINT and SIGTERM in a list inside the block, so that no step is interrupted.

    Python lets only the main thread handle signals: in another one the list stays empty.

    Example:
        >>> with deferred_signals() as received:
        ...     signal.raise_signal(signal.SIGTERM)
        >>> received == [signal.SIGTERM]
        True
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
