"""Batches of concurrent requests: those to one signature run together."""

import asyncio
import collections
import dataclasses
import functools
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from tfsum.serving.request_error import RequestError
from tfsum.serving.settings import ServerSettings
from tfsum.serving.signature import Signature

Arrays = dict[str, np.ndarray]
Run = Callable[[str, Arrays], Arrays]

ROW = 256  # what a row costs in characters, however short it is
ELEMENT = 4  # what a number costs: a token is about four characters


@dataclasses.dataclass
class Job:
    """Rows of one request that wait for a batch.

    Attributes:
        key: jobs of the same key may share a batch.
        run: calls a signature.
        signature: its name.
        inputs: name -> array.
        rows: of the arrays.
        size: characters.
        arrived: when, in seconds.
        answer: the outputs, when there are any.
        started: whether a batch with them is computed.

    Example:
        >>> async def job():
        ...     return Job(
        ...         (), lambda name, inputs: inputs, "echo", {}, 1, 10, 0.0, asyncio.Future()
        ...     ).started
        >>> asyncio.run(job())
        False
    """

    key: tuple
    run: Run
    signature: str
    inputs: Arrays
    rows: int
    size: int
    arrived: float
    answer: asyncio.Future[Arrays]
    started: bool = False


class Batcher:
    """Puts the rows of concurrent requests together, by a budget of characters, and runs them in threads.

    A batch starts at once where nothing is computed; while another batch is computed, it waits a few milliseconds for
    company. A request that is larger than a batch is divided. Long documents have a thread of their own.

    Args:
        settings: `threads`, `batch_characters`, `batch_wait`, `long_characters`, `max_queue` and `timeout`.
        observe: called with (rows, characters, seconds) of each batch that was computed.

    Example:
        >>> from tfsum.serving.signature import TensorInfo
        >>> async def ask():
        ...     text = TensorInfo("string", (None,))
        ...     signature = Signature("echo", {"text": text}, {"summary": text})
        ...     batcher = Batcher(ServerSettings())
        ...     run = lambda name, inputs: {"summary": inputs["text"]}
        ...     return await batcher.answer(
        ...         "model 1", run, signature, {"text": np.array([b"It rained."], object)}
        ...     )
        >>> asyncio.run(ask())
        {'summary': array([b'It rained.'], dtype=object)}
    """

    def __init__(
        self, settings: ServerSettings, observe: Callable[[int, int, float], None] | None = None
    ) -> None:
        self._settings = settings
        self._short = _Lane("batch", settings.threads, settings, observe)
        self._long = _Lane("long batch", 1, settings, observe)

    @property
    def waiting(self) -> int:
        """Requests, or parts of them, that wait."""
        return self._short.waiting + self._long.waiting

    async def answer(self, model: object, run: Run, signature: Signature, inputs: Arrays) -> Arrays:
        """The outputs of a signature, computed in a batch with those of other requests.

        Args:
            model: stands for the model; requests to the same may share a batch.
            run: calls a signature of the model.
            signature: what is asked.
            inputs: name -> array.

        Returns:
            Name -> array.

        Raises:
            RequestError: the queue is full, the time is over, or the model refuses the inputs.
        """
        if self.waiting >= self._settings.max_queue:
            raise RequestError(
                "RESOURCE_EXHAUSTED",
                f"the queue is full ({self.waiting} requests wait); ask again later",
                retry_after=1,
            )
        loop = asyncio.get_running_loop()
        jobs = []
        for part, sizes in self._parts(signature, inputs):
            shapes = tuple(sorted((name, array.shape[1:]) for name, array in part.items()))
            key: tuple = (
                (model, signature.name, shapes)
                if _mergeable(signature) and len(sizes)
                else (object(),)
            )
            job = Job(
                key,
                run,
                signature.name,
                part,
                len(sizes),
                sum(sizes),
                time.monotonic(),
                loop.create_future(),
            )
            jobs.append(job)
            (
                self._long
                if max(sizes, default=0) > self._settings.long_characters
                else self._short
            ).put(job)
        try:
            async with asyncio.timeout(self._settings.timeout):
                answers = await asyncio.gather(*(job.answer for job in jobs))
        except TimeoutError:
            raise self._too_late(jobs) from None
        finally:
            for job in jobs:
                # What has not begun is not computed, and what failed beside another is not reported again.
                _ = job.answer.cancel() or job.answer.cancelled() or job.answer.exception()
        return (
            answers[0]
            if len(answers) == 1
            else {name: np.concatenate([answer[name] for answer in answers]) for name in answers[0]}
        )

    def close(self) -> None:
        """Ends the threads when they have nothing to compute."""
        self._short.close()
        self._long.close()

    def _parts(self, signature: Signature, inputs: Arrays) -> list[tuple[Arrays, list[int]]]:
        """The rows of a request, divided where they are more than a batch: (inputs, size of each row)."""
        sizes = _sizes(inputs) if signature.batched else [sum(_sizes(inputs))]
        if not _mergeable(signature):
            return [(inputs, sizes)]
        cuts, total = [0], 0
        for row, size in enumerate(sizes):
            if total and (total + size > self._settings.batch_characters):
                cuts.append(row)
                total = 0
            total += size
        cuts.append(len(sizes))
        return [
            ({name: array[start:end] for name, array in inputs.items()}, sizes[start:end])
            for start, end in zip(cuts, cuts[1:])
        ]

    def _too_late(self, jobs: Sequence[Job]) -> RequestError:
        seconds = f"{self._settings.timeout:g} s"
        if any(job.started for job in jobs):
            return RequestError(
                "DEADLINE_EXCEEDED",
                f"the answer was not computed in {seconds} (the server's "
                "`--timeout`); send fewer or shorter documents",
            )
        return RequestError(
            "RESOURCE_EXHAUSTED",
            f"Run() timeout exceeded while waiting in batching queue ({seconds})",
            retry_after=1,
        )


class _Lane:
    """A queue and the threads that empty it."""

    def __init__(
        self,
        name: str,
        threads: int,
        settings: ServerSettings,
        observe: Callable[[int, int, float], None] | None,
    ) -> None:
        self._settings, self._observe, self._free, self._threads = (
            settings,
            observe,
            threads,
            threads,
        )
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix=f"tfsum {name}")
        self._queues: dict[tuple, collections.deque[Job]] = {}  # in the order of their first jobs
        self._timer: asyncio.TimerHandle | None = None

    @property
    def waiting(self) -> int:
        return sum(map(len, self._queues.values()))

    def put(self, job: Job) -> None:
        self._queues.setdefault(job.key, collections.deque()).append(job)
        self._start()

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _start(self) -> None:
        """Starts as many batches as there are threads and as it is time for."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        while self._free and self._queues:
            queue = next(iter(self._queues.values()))
            wait = queue[0].arrived + self._settings.batch_wait - time.monotonic()
            if (
                wait > 0
                and self._free < self._threads
                and sum(job.size for job in queue) < self._settings.batch_characters
            ):
                self._timer = asyncio.get_running_loop().call_later(wait, self._start)
                return
            if batch := self._take():
                self._free -= 1
                for job in batch:
                    job.started = True
                future = asyncio.get_running_loop().run_in_executor(self._pool, _compute, batch)
                future.add_done_callback(functools.partial(self._done, batch))

    def _take(self) -> list[Job]:
        """The jobs of the next batch, the oldest first; those that nobody waits for any more are dropped."""
        key, queue = next(iter(self._queues.items()))
        batch: list[Job] = []
        size = 0
        while queue and not (batch and size + queue[0].size > self._settings.batch_characters):
            job = queue.popleft()
            if not job.answer.done():
                batch.append(job)
                size += job.size
        del self._queues[key]
        if queue:
            self._queues[key] = queue  # behind those of others
        return batch

    def _done(self, batch: list[Job], done: asyncio.Future) -> None:
        self._free += 1
        try:
            answers, seconds = done.result()
            if self._observe:
                self._observe(
                    sum(job.rows for job in batch), sum(job.size for job in batch), seconds
                )
            for job, answer in zip(batch, answers):
                if job.answer.done():
                    continue
                if isinstance(answer, BaseException):
                    job.answer.set_exception(answer)
                else:
                    job.answer.set_result(answer)
        except (asyncio.CancelledError, Exception) as error:
            for job in batch:
                if not job.answer.done():
                    job.answer.set_exception(
                        RequestError("INTERNAL", f"the batch failed ({type(error).__name__})")
                    )
        finally:
            self._start()


def _compute(batch: list[Job]) -> tuple[list[Arrays | BaseException], float]:
    """The answers of the jobs of a batch, in a thread."""
    begin = time.monotonic()
    first = batch[0]
    try:
        if len(batch) == 1:
            answers: list[Any] = [first.run(first.signature, first.inputs)]
        else:
            inputs = {
                name: np.concatenate([job.inputs[name] for job in batch]) for name in first.inputs
            }
            outputs = first.run(first.signature, inputs)
            ends = np.cumsum([job.rows for job in batch])
            answers = [
                {name: array[end - job.rows : end] for name, array in outputs.items()}
                for job, end in zip(batch, ends)
            ]
    except Exception as error:
        # One of them may be at fault: each is asked alone.
        answers = [error] if len(batch) == 1 else [_compute([job])[0][0] for job in batch]
    return answers, time.monotonic() - begin


def _mergeable(signature: Signature) -> bool:
    """Whether rows of several requests may be put together, and their answers taken apart again without a change.

    Where another dimension of an output is of any size, it depends on the other rows.
    """
    return signature.batched and all(
        info.shape is not None and None not in info.shape[1:] for info in signature.outputs.values()
    )


def _sizes(inputs: Arrays) -> list[int]:
    """Characters of each row."""
    rows = max((len(array) for array in inputs.values() if array.ndim), default=1)
    sizes = [ROW] * rows
    for array in inputs.values():
        if array.ndim and len(array) == rows:
            if array.dtype == object:
                sizes = [size + sum(map(len, np.ravel(row))) for size, row in zip(sizes, array)]
            else:
                sizes = [size + ELEMENT * (array.size // rows) for size in sizes] if rows else sizes
    return sizes
