"""Batches: the requests to one signature that are computed together."""

import asyncio
import dataclasses
import functools
import itertools
import os
import sys
from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from tfsum.inference.texts import divide_rows
from tfsum.serving.request_error import RequestError, require
from tfsum.serving.servable import Arrays, Signature
from tfsum.serving.settings import ServerSettings

Run = Callable[[str, Arrays], Arrays]  # from a signature's name and its inputs to its outputs
Observe = Callable[[int, int, float], None]  # of rows, characters and seconds of a batch

SHARE = 0.75  # of the time-out that the expected wait may take; what is measured varies
FORGET = 0.9  # weight of what was measured before the last time
MAX_RETRY_AFTER = 30  # seconds
COMPUTING = 10  # nice value of the threads that compute
OVERDUE = 5.0  # seconds; a batch that takes twice its expected time and these may never end
FRESH = 1.0  # seconds; a job that has waited less is started whatever it is expected to take


@dataclasses.dataclass
class _Job:
    """Rows of one request that wait for a batch."""

    key: tuple  # model, signature and more; jobs with equal keys may share a batch
    run: Run
    inputs: Arrays
    sizes: list[int]  # cost of each row, in characters
    answer: asyncio.Future[Arrays]
    arrived: float  # by the clock of the event loop, in seconds
    started: bool = False  # whether a batch with the job is being computed

    @property
    def size(self) -> int:
        """Cost of all rows, in characters."""
        return sum(self.sizes)


def lower_priority() -> None:
    """Lets this thread, and those that it starts, compute when the event loop has nothing to do.

    Requests are read, and refused, while all processors compute.
    """
    if sys.platform == "linux":  # elsewhere a priority is that of the process
        os.setpriority(os.PRIO_PROCESS, 0, max(os.getpriority(os.PRIO_PROCESS, 0), COMPUTING))


class Batcher:
    """Computes the rows of concurrent requests together, in threads.

    A batch holds a number of characters, not of rows. It starts at once where nothing is computed;
    otherwise it waits a few milliseconds for more requests. A request that is larger than a batch
    is divided. Long documents have a thread of their own. A request that cannot be answered in time
    beside those before it is refused at once. All times are by the clock of the event loop.

    Args:
        settings: `threads`, `batch_characters`, `batch_wait`, `long_characters`, `max_queue` and
            `timeout`.
        observe: Function of (rows, characters, seconds) that is called after each batch.

    Example:
        >>> from tfsum.serving.servable import TensorInfo
        >>> async def ask():
        ...     text = TensorInfo("string", (None,))
        ...     signature = Signature("echo", {"text": text}, {"summary": text})
        ...     run = lambda name, inputs: {"summary": inputs["text"]}
        ...     inputs = {"text": np.array([b"It rained."], object)}
        ...     batcher = Batcher(ServerSettings())
        ...     return await batcher.answer("model 1", run, signature, inputs, [266])
        >>> asyncio.run(ask())
        {'summary': array([b'It rained.'], dtype=object)}
    """

    def __init__(self, settings: ServerSettings, observe: Observe = lambda *_: None) -> None:
        self._settings = settings
        self._lanes = [
            _Lane("batch", settings.threads, settings, observe),
            _Lane("long batch", 1, settings, observe),
        ]

    @property
    def waiting(self) -> int:
        """Number of the requests, or parts of requests, that wait."""
        return sum(len(lane.waiting()) for lane in self._lanes)

    def check_queue(self) -> None:
        """Checks that the queue has room for a request.

        Raises:
            RequestError: As many requests wait as may.
        """
        waiting = self.waiting
        require(
            waiting < self._settings.max_queue,
            f"the queue is full ({waiting} requests wait); ask again later",
            "RESOURCE_EXHAUSTED",
            retry_after=1,
        )

    async def answer(
        self,
        model: Hashable,
        run: Run,
        signature: Signature,
        inputs: Arrays,
        sizes: list[int],
    ) -> Arrays:
        """The outputs of a signature, computed in a batch with those of other requests.

        Args:
            model: What stands for the model.
            run: Function of (name of a signature, inputs) that returns its outputs.
            signature: Signature to call.
            inputs: Name -> array.
            sizes: Cost of each row, in characters.

        Returns:
            Name -> array.

        Raises:
            RequestError: The queue is full, or too long for an answer in time; the time is over; or
                the model rejects the inputs.
        """
        self.check_queue()
        timeout = self._settings.timeout
        jobs = self._jobs(model, run, signature, inputs, sizes)
        longest = self._settings.long_characters
        lanes = [
            (lane, [job for job in jobs if (max(job.sizes, default=0) > longest) == is_long])
            for lane, is_long in zip(self._lanes, (False, True))
        ]
        for lane, its_jobs in lanes:
            lane.check_wait(its_jobs)
        for lane, its_jobs in lanes:
            lane.put(its_jobs)

        try:
            async with asyncio.timeout(timeout):
                answers = await asyncio.gather(*(job.answer for job in jobs))
        except TimeoutError:
            require(
                not any(job.started for job in jobs),
                f"the answer was not computed in {timeout:g} s (the server's `--timeout`); send"
                " fewer or shorter documents",
                "DEADLINE_EXCEEDED",
            )
            raise _late(timeout) from None
        finally:
            for job in jobs:
                # A job that did not start is dropped. asyncio would log an exception of another
                # job that nobody retrieves.
                if not job.answer.cancel() and not job.answer.cancelled():
                    job.answer.exception()
        return _concatenate(answers)

    def close(self) -> None:
        """Lets the threads end when their batches are computed."""
        for lane in self._lanes:
            lane.pool.shutdown(wait=False)

    def _jobs(
        self,
        model: Hashable,
        run: Run,
        signature: Signature,
        inputs: Arrays,
        sizes: list[int],
    ) -> list[_Job]:
        """The parts of a request, each at most as large as a batch."""
        loop = asyncio.get_running_loop()
        parts = [(inputs, sizes)]
        apart: Sequence[object] = [object()]  # equal to no other
        if signature.mergeable:
            apart = sorted((name, array.shape[1:]) for name, array in inputs.items())
            parts = [
                ({name: array[part] for name, array in inputs.items()}, sizes[part])
                for part in divide_rows(sizes, self._settings.batch_characters)
            ]

        return [
            _Job(
                key=(model, signature.name, *apart),
                run=run,
                inputs=part,
                sizes=its_sizes,
                answer=loop.create_future(),
                arrived=loop.time(),
            )
            for part, its_sizes in parts
        ]


class _Lane:
    """A queue for each key of a job, and the threads that compute batches from them."""

    def __init__(self, name: str, threads: int, settings: ServerSettings, observe: Observe) -> None:
        self._settings, self._observe, self._threads = settings, observe, threads
        self.pool = ThreadPoolExecutor(threads, f"tfsum {name}", lower_priority)
        # The first queue is the next; a queue moves to the end after a batch.
        self._queues: dict[tuple, deque[_Job]] = defaultdict(deque)
        self._timer: asyncio.TimerHandle | None = None
        # Model and signature -> characters and seconds of the last batches
        self._measured: dict[tuple, tuple[float, float]] = defaultdict(lambda: (0.0, 0.0))
        self._refused = 0  # jobs since the last one that was accepted
        self._refusals = 0.0  # the same, between one that was accepted and the next, on average
        # When the batches that are computed, one in a thread, began and are expected to end.
        self._spans: list[tuple[float, float]] = []

    def waiting(self) -> list[_Job]:
        """The jobs that somebody waits for, and that are not begun."""
        return [job for jobs in self._queues.values() for job in jobs if not job.answer.done()]

    def check_wait(self, jobs: list[_Job]) -> None:
        """Checks that jobs can be answered in time after those that are here already.

        Where there are none, they are tried: what was measured may be wrong.
        """
        if not jobs or not (self._spans or self._queues):
            return

        now = asyncio.get_running_loop().time()
        known = [end for begin, end in self._spans if now - end <= end - begin + OVERDUE]
        threads = self._threads - len(self._spans) + len(known)
        require(
            threads,
            "what is computed takes longer than expected; ask again later",
            "RESOURCE_EXHAUSTED",
            retry_after=OVERDUE,
        )
        work = sum(max(0.0, end - now) for end in known)
        work += sum(map(self._seconds, self.waiting() + jobs))
        wait, limit = work / threads, SHARE * self._settings.timeout
        if wait <= limit:
            self._refusals += (1 - FORGET) * (self._refused - self._refusals)
            self._refused = 0
            return

        # The more are refused for each that is accepted, the less often each should ask again.
        self._refused += 1
        later = max(wait - limit, self._refusals / 2, self._refused / 2)
        raise RequestError(
            "RESOURCE_EXHAUSTED",
            f"an answer would take about {wait:.0f} s, and the requests before it must leave it"
            f" within {limit:g} s; ask again later, or start the server with a larger --timeout",
            retry_after=min(MAX_RETRY_AFTER, max(1, round(later))),
        )

    def _seconds(self, job: _Job) -> float:
        """The time that a job is expected to take; 0 for what was not measured yet."""
        characters, seconds = self._measured[job.key[:2]]
        return job.size * seconds / max(1.0, characters)  # a batch may have no rows

    def put(self, jobs: list[_Job]) -> None:
        for job in jobs:
            self._queues[job.key].append(job)
        self._start()

    def _start(self) -> None:
        """Starts the batches for which there is a thread and which need not wait."""
        loop = asyncio.get_running_loop()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

        while len(self._spans) < self._threads and self._queues:
            queue = next(iter(self._queues.values()))
            due = queue[0].arrived + self._settings.batch_wait
            full = sum(job.size for job in queue) >= self._settings.batch_characters
            if due > loop.time() and not full and self._spans:
                self._timer = loop.call_at(due, self._start)
                return

            if batch := self._take_batch(loop.time()):
                span = (loop.time(), loop.time() + sum(map(self._seconds, batch)))
                self._spans.append(span)
                loop.run_in_executor(self.pool, _compute, batch).add_done_callback(
                    functools.partial(self._finish, batch, span)
                )

    def _take_batch(self, now: float) -> list[_Job]:
        """The oldest jobs of the first queue.

        Jobs that nobody waits for any more are dropped, and those that cannot be computed in time.
        """
        key, queue = next(iter(self._queues.items()))
        batch: list[_Job] = []
        size = 0
        while queue and (not batch or size + queue[0].size <= self._settings.batch_characters):
            job = queue.popleft()
            waited = now - job.arrived
            late = waited > FRESH and waited + self._seconds(job) > self._settings.timeout
            if late and not job.answer.done():
                job.answer.set_exception(_late(self._settings.timeout))
            if job.answer.done():
                continue
            job.started = True
            batch.append(job)
            size += job.size

        del self._queues[key]
        if queue:
            self._queues[key] = queue
        return batch

    def _finish(self, batch: list[_Job], span: tuple[float, float], done: asyncio.Future) -> None:
        """Gives the jobs of a batch their answers, and starts the next batch."""
        self._spans.remove(span)
        seconds = asyncio.get_running_loop().time() - span[0]
        rows, size = sum(len(job.sizes) for job in batch), sum(job.size for job in batch)
        self._observe(rows, size, seconds)
        key = batch[0].key[:2]
        before = self._measured[key]
        self._measured[key] = (FORGET * before[0] + size, FORGET * before[1] + seconds)

        for job, answer in zip(batch, done.result()):
            if not job.answer.done() and isinstance(answer, Exception):
                job.answer.set_exception(answer)
            elif not job.answer.done():
                job.answer.set_result(answer)
        self._start()


def _compute(batch: list[_Job]) -> list[Arrays | Exception]:
    """The answer, or the error, of each job of a batch; called in a thread."""
    try:
        outputs = batch[0].run(batch[0].key[1], _concatenate([job.inputs for job in batch]))
    except Exception as error:
        if len(batch) == 1:
            return [error]
        # one of the requests may be at fault
        return [answer for job in batch for answer in _compute([job])]

    if len(batch) == 1:
        return [outputs]
    ends = itertools.accumulate(len(job.sizes) for job in batch)
    return [
        {name: array[end - len(job.sizes) : end] for name, array in outputs.items()}
        for job, end in zip(batch, ends)
    ]


def _concatenate(parts: list[Arrays]) -> Arrays:
    """Joins the rows of several inputs or outputs."""
    if len(parts) == 1:
        return parts[0]
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _late(timeout: float) -> RequestError:
    """The error of a request that waited too long, in TensorFlow Serving's words."""
    return RequestError(
        "RESOURCE_EXHAUSTED",
        f"Run() timeout exceeded while waiting in batching queue ({timeout:g} s)",
        retry_after=1,
    )
