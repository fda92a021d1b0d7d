"""Requests with documents to `tfsum serve`, and what becomes of them."""

import asyncio
import contextlib
import dataclasses
import itertools
import json
import random
import re
import time
from collections.abc import Awaitable, Callable

import numpy as np

import tfsum
from benchmarks import corpora, results
from tfsum.inference.saved_model import shipped_model

MODEL = "news"
CLIENTS = 16  # of a saturated server
REFUSED = ("429", "503")

Ask = Callable[[int], Awaitable[str]]  # number of a request -> what became of it


@dataclasses.dataclass
class Sent:
    """A request: how long its answer took, in seconds, and what became of it."""

    seconds: float
    outcome: str


class Requests:
    """Documents, and the answers that they ought to get."""

    def __init__(self, corpus: str, count: int, smallest: int, largest: int) -> None:
        numbers = np.random.default_rng(0)
        texts = [row["text"] for row in corpora.read(corpus)]
        sizes = np.exp(numbers.uniform(np.log(smallest), np.log(largest), count)).astype(int)
        places = numbers.integers(0, len(texts) - 1, count)
        self.texts = [_of_size(texts, place, size) for place, size in zip(places, sizes)]
        self._model = tfsum.load(shipped_model())
        self.summaries = [self._model(text).summary for text in self.texts]
        self.bodies = [json.dumps({"inputs": {"text": [text]}}).encode() for text in self.texts]

    def in_this_process(self) -> float:
        """Documents a second of the model in this process."""
        return len(self.texts) / results.seconds(lambda: self._model(self.texts))


def _of_size(texts: list[str], place: int, size: int) -> str:
    text = texts[place]
    while len(text) < size:
        place += 1
        text += "\n" + texts[place % len(texts)]
    return text[:size]


class Http:
    """Requests over connections that are kept open, without a library that would need the
    processors."""

    def __init__(self, port: int, requests: Requests) -> None:
        self._port, self._requests, self._free = port, requests, []
        self.retry_after = 1.0  # seconds that the last refusal asked to wait

    async def ask(self, number: int) -> str:
        """What became of the request with a document: "ok", "wrong", its status, or the error."""
        number %= len(self._requests.bodies)
        try:
            status, body = await self._post(self._requests.bodies[number])
        except ConnectionRefusedError:
            return "refused"
        except (OSError, asyncio.IncompleteReadError) as error:
            return type(error).__name__
        if status != 200:
            return str(status)
        found = json.loads(body)["outputs"]["summary"]
        return "ok" if found == [self._requests.summaries[number]] else "wrong"

    async def _post(self, body: bytes) -> tuple[int, bytes]:
        head = (
            f"POST /v1/models/{MODEL}:predict HTTP/1.1\r\nHost: localhost\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        while self._free:
            # Where the server has closed a connection that was idle, another is taken.
            with contextlib.suppress(OSError, asyncio.IncompleteReadError):
                return await self._exchange(*self._free.pop(), head.encode() + body)
        opened = await asyncio.open_connection("127.0.0.1", self._port, limit=1 << 24)
        return await self._exchange(*opened, head.encode() + body)

    async def _exchange(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bytes
    ) -> tuple[int, bytes]:
        try:
            writer.write(request)
            head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
            answer = await reader.readexactly(int(re.search(r"content-length: (\d+)", head)[1]))
        except BaseException:
            writer.close()
            raise
        if wait := re.search(r"retry-after: (\d+)", head):
            self.retry_after = float(wait[1])
        if "connection: close" in head:
            writer.close()
        else:
            self._free.append((reader, writer))
        return int(head.split()[1]), answer


async def open_load(ask: Ask, rate: float, seconds: float, seed: int = 0) -> list[Sent]:
    """Requests at random moments, so many a second."""
    numbers = np.random.default_rng(seed)
    sent: list[Sent] = []
    begin, due, number, tasks = time.monotonic(), 0.0, int(numbers.integers(1 << 20)), []

    async def one(due: float, number: int) -> None:
        outcome = await ask(number)
        sent.append(Sent(time.monotonic() - begin - due, outcome))

    while (due := due + numbers.exponential(1 / rate)) < seconds:
        await asyncio.sleep(max(0.0, due - (time.monotonic() - begin)))
        tasks.append(asyncio.create_task(one(due, number := number + 1)))
    await asyncio.gather(*tasks)
    return sent


async def waiting_clients(http: Http, seconds: float, clients: int = CLIENTS) -> list[Sent]:
    """Requests of clients that each wait for an answer, or as long as a refusal says."""
    end, number = time.monotonic() + seconds, itertools.count()
    sent: list[Sent] = []

    async def one() -> None:
        while (begin := time.monotonic()) < end:
            outcome = await http.ask(next(number))
            sent.append(Sent(time.monotonic() - begin, outcome))
            if outcome in REFUSED:
                await asyncio.sleep(http.retry_after * random.uniform(1.0, 1.5))
            elif outcome != "ok":
                await asyncio.sleep(0.5)

    await asyncio.gather(*(one() for _ in range(clients)))
    return sent
