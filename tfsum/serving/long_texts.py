"""Long texts of the page: each is computed apart from the batches, says how far it is, and ends
with its client."""

import asyncio
import functools
import threading
import time
import weakref
from collections.abc import AsyncGenerator, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from tfsum.inference.c_session import CSession
from tfsum.inference.texts import row_sizes
from tfsum.serving.request_error import require
from tfsum.serving.servable import Arrays, Servable

MAX_WAITING = 16  # texts that are computed or wait
TICK = 0.5  # seconds between two looks at how far a text is
# Bytes of a text that are computed to learn how long one takes: a few first, since the first call
# of a session takes a second whatever its size.
SAMPLES = (1 << 10, 1 << 14)

# How far a call is: calls of other clients `before` it, the `share` of it that is computed, from 0
# to 1, and `seconds` that are left, as far as the time of the last text tells; None while that is
# not known.
Progress = dict[str, float | None]


class LongTexts:
    """Computes long texts one after another, in a session that is closed when a client goes.

    To close a session is the way in which TensorFlow's C library gives up what it computes, so this
    one is none that others use. A model that the library cannot open is computed to the end.

    Example:
        >>> from tfsum.inference.saved_model import shipped_model
        >>> servable = Servable("news", 1, shipped_model())
        >>> calls = {"serving_default": {"text": np.array([b"It rained."], object)}}
        >>> async def ask():
        ...     return [stage async for stage in LongTexts().outputs(servable, calls)]
        >>> signature, outputs = asyncio.run(ask())[-1]
        >>> outputs["summary"].tolist()
        [b'It rained.']
    """

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(1, "tfsum long text")
        self._calls: list[_Call] = []  # that are computed or wait, the first first
        self._lock = threading.Lock()
        # The last model, its session, and the seconds that a character of its cost took last.
        self._model: Callable[[], Servable | None] = lambda: None
        self._session: CSession | None = None
        self._rate = 0.0

    async def outputs(
        self, servable: Servable, calls: Mapping[str, Arrays]
    ) -> AsyncGenerator[Progress | tuple[str, Arrays]]:
        """Computes calls of one client.

        Args:
            servable: Loaded model.
            calls: Signature -> its inputs.

        Yields:
            A signature and its outputs, when they are there; until then, twice a second, how far
            they are.

        Raises:
            RequestError: As many texts wait as may, or the model refuses the inputs.
        """
        require(
            len(self._calls) < MAX_WAITING,
            f"{MAX_WAITING} long texts wait to be read; ask again later",
            "RESOURCE_EXHAUSTED",
            retry_after=10,
        )
        for signature, inputs in calls.items():
            call = _Call(servable, signature, inputs)
            self._calls.append(call)
            answer = asyncio.get_running_loop().run_in_executor(self._pool, self._compute, call)
            try:
                while not (await asyncio.wait([answer], timeout=TICK))[0]:
                    yield call.progress(self._calls.index(call))
                yield signature, answer.result()
            finally:
                answer.cancel()
                self._calls.remove(call)
                self._stop(call)

    def close(self) -> None:
        """Lets the thread end when its text is computed."""
        self._pool.shutdown(wait=False)

    def _compute(self, call: "_Call") -> Arrays:
        """The outputs of a call; called in the thread."""
        self._open(call.servable)
        with self._lock:
            require(not call.stopped, "nobody waits for the answer", "CANCELLED")
            call.session = self._session
        try:
            for size in () if self._rate else SAMPLES:
                self._rate = call.beginning(size).timed()[1]
            call.expected, call.begin = self._rate * call.cost, time.monotonic()
            outputs, self._rate = call.timed()
            return outputs
        finally:
            with self._lock:
                call.session = None

    def _open(self, servable: Servable) -> None:
        """Opens a model, if another one was the last, or a client has gone."""
        if servable is not self._model():
            self._model, self._session, self._rate = weakref.ref(servable), None, 0.0
        if self._session is None and isinstance(servable.model, CSession):
            self._session = servable.model.again()

    def _stop(self, call: "_Call") -> None:
        """Ends a call, if it is not over."""
        with self._lock:
            call.stopped = True
            if call.session is not None:
                call.session.interrupt()
                self._session = None


class _Call:
    """A call of a signature, in a session where it is computed in one of its own."""

    def __init__(
        self, servable: Servable, signature: str, inputs: Arrays, session: CSession | None = None
    ) -> None:
        self.servable, self.session, self.stopped = servable, session, False
        self._signature, self._inputs = signature, inputs
        self.begin = self.expected = 0.0  # seconds; 0 where they are not known yet

    @functools.cached_property
    def cost(self) -> int:
        """Its cost in characters, which takes a second to find for a text of megabytes."""
        return sum(row_sizes(self._inputs, self.servable.words))

    def beginning(self, size: int) -> "_Call":
        """The same for the first bytes of its texts."""
        inputs = {
            name: np.array([text[:size].decode(errors="ignore").encode() for text in array], object)
            if array.dtype == object
            else array
            for name, array in self._inputs.items()
        }
        return _Call(self.servable, self._signature, inputs, self.session)

    def progress(self, before: int) -> Progress:
        """How far it is, with so many calls before it."""
        if not self.begin:
            return {"before": before, "share": None, "seconds": None}
        passed = time.monotonic() - self.begin
        # of a text that takes longer than the last one did, the end is not known
        left = max(self.expected - passed, 0.1 * passed)
        share, seconds = round(passed / (passed + left), 3), round(left, 1)
        return {"before": before, "share": share, "seconds": seconds}

    def timed(self) -> tuple[Arrays, float]:
        """The outputs, and the seconds that a character of the cost took."""
        cost, begin = self.cost, time.monotonic()
        outputs = self.servable.run(self._signature, self._inputs, self.session)
        return outputs, (time.monotonic() - begin) / cost
