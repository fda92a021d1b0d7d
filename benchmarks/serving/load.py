"""Load on `tfsum serve`: throughput, latency, batches, memory, and faults.

    python -m benchmarks load find CORPUS
    python -m benchmarks load steady CORPUS --rate 3 --minutes 10
    python -m benchmarks load overload CORPUS --clients 4 200
    python -m benchmarks load faults CORPUS

CORPUS is a corpus such as ../shared/data/news/validation.jsonl.gz. Documents have 1 kB to 20 kB,
their logarithms evenly spread, made of whole documents of the corpus and the beginning of another.
Each request has one. They arrive at random (Poisson), whether those before are answered or not; a
latency counts from that moment. Each answer is compared with that of the model in this process.

find: the highest rate with a 99th percentile under a second, in `--seconds` each.
steady: that rate for minutes, and before it "saturated": the throughput where 16 clients always
    wait, beside the model in this process.
overload: a server on one processor and clients on another, each with one request at a time, which
    wait as long as a refusal asks them to. --checkout serves by another checkout.
faults: 8 clients of 100 short documents each, while a server is killed, told to stop, has no more
    memory, gets a new version or one that fails, or cannot write its log. A server that ended is
    started again. A table of the requests that were lost and the seconds to the next answer; once
    with two servers behind one port, and once with `tfsum.serving.Client`, which asks again.
"""

import argparse
import asyncio
import collections
import contextlib
import functools
import os
import pathlib
import re
import resource
import shutil
import socket
import tempfile
import time
import urllib.request
from collections.abc import AsyncIterator, Callable

import numpy as np

from benchmarks import corpora, results
from benchmarks.serving.documents import (
    CLIENTS,
    MODEL,
    REFUSED,
    Ask,
    Http,
    Requests,
    Sent,
    open_load,
    waiting_clients,
)
from benchmarks.serving.server import Serving
from tfsum.errors import Error
from tfsum.inference.saved_model import shipped_model
from tfsum.serving import AsyncClient

SMALLEST, SHORT, LARGE = 1000, 2000, 20000  # characters of a document
SLOWEST = 1.0  # seconds, of the 99th percentile


def models(folder: str) -> pathlib.Path:
    """A folder with the shipped model as version 1 of MODEL."""
    place = pathlib.Path(folder) / "models"
    shutil.copytree(shipped_model(), place / MODEL / "1")
    return place


def described(sent: list[Sent], seconds: float) -> results.Row:
    """Rate, latencies and outcomes of requests."""
    latency = np.array([one.seconds for one in sent if one.outcome == "ok"])
    refusals = [one.seconds for one in sent if one.outcome in REFUSED]
    others = collections.Counter(one.outcome for one in sent if one.outcome != "ok")
    late = f"{1000 * np.percentile(refusals, 95):.0f} ms" if refusals else ""
    return {
        "answers a second": f"{len(latency) / seconds:.2f}",
        **{f"p{p}, s": f"{np.percentile(latency, p):.3f}" for p in (50, 95, 99)},
        "other outcomes": " ".join(f"{name}: {count}" for name, count in others.items()),
        "p95 of refusals": late,
    }


def batch_rows(port: int) -> np.ndarray:
    """(rows, batches) so far, from the server's metrics."""
    url = f"http://127.0.0.1:{port}/monitoring/prometheus/metrics"
    with urllib.request.urlopen(url, timeout=30) as answer:
        text = answer.read().decode()
    counts = [re.search(rf"^tfsum_batch_rows_{end} (\S+)", text, re.M) for end in ("sum", "count")]
    return np.array([float(found[1]) for found in counts])


def find(requests: Requests, folder: pathlib.Path, options: argparse.Namespace) -> int:
    best, rate, step = 0.0, options.rate, 2.0
    rows = {}
    with Serving(folder, "--no-access-log", *options.serve) as server, asyncio.Runner() as runner:
        http = Http(server.port, requests)
        runner.run(waiting_clients(http, 10))
        for seed in range(options.probes):
            sent = runner.run(open_load(http.ask, rate, options.seconds, seed))
            rows[f"{rate:.2f} a second"] = described(sent, options.seconds)
            fast = np.percentile([one.seconds for one in sent], 99) < SLOWEST
            if fast:
                best = max(best, rate)
            else:
                step = step**0.5
            rate = rate * step if fast else rate / step
    results.show(rows)
    print(f"highest rate with a 99th percentile under {SLOWEST:g} s: {best:.2f} a second")
    return int(not best)


def steady(requests: Requests, folder: pathlib.Path, options: argparse.Namespace) -> int:
    seconds, memory = 60 * options.minutes, []
    alone = [requests.in_this_process()]
    with Serving(folder, "--no-access-log", *options.serve) as server, asyncio.Runner() as runner:
        http = Http(server.port, requests)
        full = runner.run(waiting_clients(http, options.seconds))
        before = batch_rows(server.port)

        async def watched() -> list[Sent]:
            load = asyncio.create_task(open_load(http.ask, options.rate, seconds))
            while not load.done():
                memory.append((time.monotonic() / 60, server.memory()))
                await asyncio.wait([load], timeout=5)
            return load.result()

        sent = runner.run(watched())
        rows, batches = batch_rows(server.port) - before
    alone.append(requests.in_this_process())

    results.show(
        {
            f"saturated by {CLIENTS} clients": described(full, options.seconds),
            f"{options.rate:g} a second, {options.minutes:g} minutes": described(sent, seconds),
        }
    )
    kept = np.array(memory[len(memory) // 10 :])
    print(
        f"{rows / batches:.2f} documents a batch; memory {kept[0, 1]:.0f} MB at first,"
        f" {kept[-1, 1]:.0f} MB at last, {np.polyfit(*kept.T, 1)[0]:+.2f} MB a minute; the model in"
        f" this process: {alone[0]:.2f} documents a second before and {alone[1]:.2f} after"
    )
    right = {one.outcome for one in full + sent} == {"ok"}
    fast = np.percentile([one.seconds for one in sent], 99) < SLOWEST
    return int(not (right and fast))


def overload(requests: Requests, folder: pathlib.Path, options: argparse.Namespace) -> int:
    processors = sorted(os.sched_getaffinity(0))
    words = ("--no-access-log", *options.serve)
    rows = {}
    with Serving(folder, *words, tree=options.checkout) as server, asyncio.Runner() as runner:
        for thread in os.listdir(f"/proc/{server.process.pid}/task"):
            os.sched_setaffinity(int(thread), processors[:1])
        os.sched_setaffinity(0, processors[1:] or processors)
        http = Http(server.port, requests)
        for clients in options.clients:
            sent = runner.run(waiting_clients(http, options.seconds, clients))
            rows[f"{clients} clients"] = described(sent, options.seconds)
    results.show(rows)
    return 0


def out_of_memory(server: Serving, folder: pathlib.Path) -> None:
    """Lets a server have no more memory than it has."""
    pages = int(pathlib.Path(f"/proc/{server.process.pid}/statm").read_text().split()[0])
    size = pages * os.sysconf("SC_PAGE_SIZE")
    resource.prlimit(server.process.pid, resource.RLIMIT_AS, (size, size))


def full_disk(server: Serving, folder: pathlib.Path) -> None:
    """Lets a server write nothing more into files, so not into its log."""
    resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (0, 0))


def new_version(server: Serving, folder: pathlib.Path) -> None:
    shutil.copytree(folder / MODEL / "1", folder / MODEL / "2")


def broken_version(server: Serving, folder: pathlib.Path) -> None:
    """Adds a version whose golden answers are not its answers."""
    shutil.copytree(folder / MODEL / "1", folder / "broken")
    golden = folder / "broken" / "assets.extra" / "golden.json"
    golden.write_text(re.sub(r"\d\.\d+", "0.123", golden.read_text()))
    (folder / "broken").rename(folder / MODEL / "3")


# Name, what happens to the first server, and the number of servers.
FAULTS: list[tuple[str, Callable[[Serving, pathlib.Path], None], int]] = [
    ("SIGKILL", lambda server, folder: server.process.kill(), 1),
    ("SIGTERM", lambda server, folder: server.process.terminate(), 1),
    ("out of memory", out_of_memory, 1),
    ("a new version", new_version, 1),
    ("a version that fails", broken_version, 1),
    ("a full disk", full_disk, 1),
    ("SIGKILL of one of two", lambda server, folder: server.process.kill(), 2),
    ("SIGTERM of one of two", lambda server, folder: server.process.terminate(), 2),
]


def faults(requests: Requests, folder: pathlib.Path, options: argparse.Namespace) -> int:
    rows, lost_by_client = {}, 0
    for name, strike, count in FAULTS:
        lost, gap = asyncio.run(struck(strike, count, requests, folder, ask_once))
        by_client, _ = asyncio.run(struck(strike, count, requests, folder, ask_again))
        lost_by_client += by_client.total()
        rows[name] = {
            "lost of 800": f"{lost.total()}: {dict(lost)}",
            "seconds without an answer": f"{gap:.1f}",
            "lost by the client": str(by_client.total()),
        }
    results.show(rows)
    return int(lost_by_client > 0)


async def struck(
    strike: Callable[[Serving, pathlib.Path], None],
    count: int,
    requests: Requests,
    folder: pathlib.Path,
    connect: Callable[[int, Requests], contextlib.AbstractAsyncContextManager[Ask]],
) -> tuple[collections.Counter[str], float]:
    """What became of those of 8 times 100 requests that had no right answer, and the longest time
    without an answer after the fault.

    A server that ends is started again, as a supervisor would.
    """
    for version in ("2", "3"):
        shutil.rmtree(folder / MODEL / version, ignore_errors=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    start = functools.partial(Serving, folder, "--reuse-port", "--port", str(port))
    servers = [await asyncio.to_thread(start) for _ in range(count)]
    outcomes: collections.Counter[str] = collections.Counter()
    moments: list[float] = []  # of the fault, and of the answers after it

    async def supervise() -> None:
        while True:
            for place, server in enumerate(servers):
                if server.process.poll() is not None:
                    servers[place] = await asyncio.to_thread(start)
            await asyncio.sleep(0.1)

    async def client(number: int) -> None:
        async with connect(port, requests) as ask:
            for turn in range(100):
                outcome = await ask(8 * turn + number)
                outcomes[outcome] += 1
                if outcomes.total() == 400:
                    moments.append(time.monotonic())
                    await asyncio.to_thread(strike, servers[0], folder)
                elif outcome != "ok":
                    await asyncio.sleep(1.0)  # as a program that shows the error and goes on
                elif moments:
                    moments.append(time.monotonic())

    supervisor = asyncio.create_task(supervise())
    await asyncio.gather(*(client(number) for number in range(8)))
    supervisor.cancel()
    for server in servers:
        server.end()
    del outcomes["ok"]
    return outcomes, float(np.diff(moments).max())


@contextlib.asynccontextmanager
async def ask_once(port: int, requests: Requests) -> AsyncIterator[Ask]:
    """Asks over HTTP, and takes an error for what it is."""
    yield Http(port, requests).ask


@contextlib.asynccontextmanager
async def ask_again(port: int, requests: Requests) -> AsyncIterator[Ask]:
    """Asks by tfsum's client, which repeats what was not answered."""
    async with AsyncClient(f"http://127.0.0.1:{port}", MODEL, retries=20) as client:

        async def ask(number: int) -> str:
            number %= len(requests.texts)
            try:
                answer = await client.predict({"text": [requests.texts[number]]})
            except Error as error:
                return str(error)[:60]
            right = answer["summary"][0].decode() == requests.summaries[number]
            return "ok" if right else "wrong"

        yield ask


WAYS = {"find": find, "steady": steady, "overload": overload, "faults": faults}


OPTIONS = {
    "what": {"choices": WAYS},
    "corpus": {"help": "JSON lines with `text`"},
    "--rate": {"type": float, "default": 2.0, "help": "requests a second; in `find` the first"},
    "--seconds": {"type": float, "default": 60},
    "--minutes": {"type": float, "default": 10},
    "--probes": {"type": int, "default": 6},
    "--documents": {"type": int, "default": 200},
    "--clients": {"type": int, "nargs": "+", "default": [4, 32, 200, 1000]},
    "--checkout": {"type": pathlib.Path, "default": corpora.ROOT},
    "--serve": {
        "nargs": argparse.REMAINDER,
        "default": [],
        "help": "options of `tfsum serve`, last",
    },
}


def run(options: argparse.Namespace) -> int:
    largest = SHORT if options.what == "faults" else LARGE
    requests = Requests(options.corpus, options.documents, SMALLEST, largest)
    with tempfile.TemporaryDirectory() as folder:
        return WAYS[options.what](requests, models(folder), options)
