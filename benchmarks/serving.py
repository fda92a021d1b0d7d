"""Load on `tfsum serve`, and on the same model behind other servers: throughput, latency, batches,
memory, and faults.

    python benchmarks/serving.py CORPUS find
    python benchmarks/serving.py CORPUS steady --rate 3 --minutes 10
    python benchmarks/serving.py CORPUS compare --rate 3
    python benchmarks/serving.py CORPUS version --rate 2
    python benchmarks/serving.py CORPUS stop --rate 2
    python benchmarks/serving.py CORPUS start
    python benchmarks/serving.py CORPUS overload --clients 4 200
    python benchmarks/serving.py CORPUS faults

CORPUS is a corpus such as ../shared/data/news/validation.jsonl.gz. Documents have 1 kB to 20 kB,
their logarithms evenly spread, made of whole documents of the corpus and the beginning of another.
Each request has one. They arrive at random (Poisson), whether those before are answered or not; a
latency counts from that moment. "saturated" is the throughput where a number of clients always
wait. Each answer is compared with that of the model in this process.

find: the highest rate with a 99th percentile under a second, in 60 s each.
steady: that rate for minutes.
compare: servers in turns, `tfsum serve`, the same application on granian, LitServe with batches,
    and one request at a time; those whose package is not installed are left out.
version: a new version arrives.
stop: SIGTERM; every accepted request must be answered.
start: from the start to the first answer, with one model and three.
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
import dataclasses
import functools
import importlib.util
import json
import os
import pathlib
import random
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import AsyncIterator, Callable
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np

from tfsum.data.readers import read_corpus
from tfsum.errors import Error
from tfsum.inference.shipped import shipped_model
from tfsum.serving import AsyncClient

MODEL = "news"
HERE = pathlib.Path(__file__).parent
START = "import sys; from tfsum.cli.main import main; sys.exit(main())"
SMALL, SHORT, LARGE = 1000, 2000, 20000  # characters of a document
CLIENTS = 16  # of a saturated server
SLOWEST = 1.0  # seconds, of the 99th percentile


@dataclasses.dataclass
class Sent:
    """A request: when it was due, how long its answer took, and what became of it."""

    due: float
    seconds: float
    outcome: str


class Requests:
    """Documents, and the answers that they ought to get."""

    def __init__(self, corpus: str, count: int, largest: int) -> None:
        import tensorflow as tf

        from tfsum.inference.eager_model import load_model

        numbers = np.random.default_rng(0)
        texts = [row["text"] for row in read_corpus(corpus)]
        sizes = np.exp(numbers.uniform(np.log(SMALL), np.log(largest), count)).astype(int)
        places = numbers.integers(0, len(texts) - 1, count)
        self.texts = [_of_size(texts, place, size) for place, size in zip(places, sizes)]
        self._serve = load_model(shipped_model(), {}).signatures["serving_default"]
        self._constant = tf.constant
        self.summaries = [self.answers([text])[0] for text in self.texts]
        self.bodies = [json.dumps({"inputs": {"text": [text]}}).encode() for text in self.texts]

    def answers(self, texts: list[str]) -> list[str]:
        """The summaries of the model in this process."""
        return [
            summary.decode()
            for summary in self._serve(text=self._constant(texts))["summary"].numpy()
        ]

    def batched(self, rows: int = 32) -> float:
        """Documents a second of the model in this process, in batches."""
        begin = time.perf_counter()
        for first in range(0, len(self.texts), rows):
            self.answers(self.texts[first : first + rows])
        return len(self.texts) / (time.perf_counter() - begin)


def _of_size(texts: list[str], place: int, size: int) -> str:
    text = texts[place]
    while len(text) < size:
        place += 1
        text += "\n" + texts[place % len(texts)]
    return text[:size]


class Http:
    """Requests over connections that are kept open, without a library that would need the
    processors."""

    def __init__(self, port: int, path: str) -> None:
        self._port, self._path, self._free = port, path, []
        self.retry_after = 1.0  # seconds that the last refusal asked to wait

    async def ask(self, requests: Requests, number: int) -> str:
        """What became of the request with a document: "ok", "wrong", its status, or the error."""
        number %= len(requests.bodies)
        try:
            status, body = await self._post(requests.bodies[number])
        except ConnectionRefusedError:
            return "refused"
        except (OSError, asyncio.IncompleteReadError) as error:
            return type(error).__name__
        if status != 200:
            return str(status)
        outputs = json.loads(body)["outputs"]
        found = outputs["summary"] if isinstance(outputs, dict) else outputs
        return "ok" if found == [requests.summaries[number]] else "wrong"

    async def _post(self, body: bytes) -> tuple[int, bytes]:
        while True:
            old = bool(self._free)
            reader, writer = (
                self._free.pop()
                if old
                else await asyncio.open_connection("127.0.0.1", self._port, limit=1 << 24)
            )
            try:
                writer.write(
                    f"POST {self._path} HTTP/1.1\r\nHost: localhost\r\nContent-Type:"
                    f" application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode()
                    + body
                )
                head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
                answer = await reader.readexactly(int(re.search(r"content-length: (\d+)", head)[1]))
            except (OSError, asyncio.IncompleteReadError):
                writer.close()
                if old:  # the server closed a connection that was idle
                    continue
                raise
            if wait := re.search(r"retry-after: (\d+)", head):
                self.retry_after = float(wait[1])
            if "connection: close" in head:
                writer.close()
            else:
                self._free.append((reader, writer))
            return int(head.split()[1]), answer


async def open_load(
    http: Http, requests: Requests, rate: float, seconds: float, seed: int = 0
) -> list[Sent]:
    """Requests at random moments, so many a second."""
    numbers = np.random.default_rng(seed)
    sent: list[Sent] = []
    begin, due, number, tasks = time.monotonic(), 0.0, int(numbers.integers(1 << 20)), []

    async def one(due: float, number: int) -> None:
        outcome = await http.ask(requests, number)
        sent.append(Sent(due, time.monotonic() - begin - due, outcome))

    while (due := due + numbers.exponential(1 / rate)) < seconds:
        await asyncio.sleep(max(0.0, due - (time.monotonic() - begin)))
        tasks.append(asyncio.create_task(one(due, number := number + 1)))
    await asyncio.gather(*tasks)
    return sent


async def saturated(
    http: Http, requests: Requests, seconds: float, clients: int = CLIENTS
) -> tuple[float, set[str]]:
    """Documents a second where so many clients always wait, and what became of the requests."""
    begin, done, outcomes = time.monotonic(), 0, set()
    number = iter(range(1 << 30))

    async def one() -> None:
        nonlocal done
        while time.monotonic() - begin < seconds:
            outcomes.add(await http.ask(requests, next(number)))
            done += time.monotonic() - begin < seconds

    await asyncio.gather(*(one() for _ in range(clients)))
    return done / seconds, outcomes


class Running:
    """A server in a process of its own."""

    def __init__(
        self,
        words: list[str],
        port: int,
        ready: str,
        path: str,
        checkout: pathlib.Path = HERE.parent,
    ) -> None:
        path_of_tfsum = os.pathsep.join([str(checkout.resolve()), os.environ.get("PYTHONPATH", "")])
        self.port, self.http, self.begun = port, Http(port, path), time.monotonic()
        self._folder = tempfile.TemporaryDirectory()
        log_file = pathlib.Path(self._folder.name, "log")
        with log_file.open("w") as log:
            self.process = subprocess.Popen(
                words,
                cwd=self._folder.name,  # `python -c` would take tfsum from where this runs
                stdout=log,
                stderr=log,
                env={**os.environ, "PYTHONPATH": path_of_tfsum},
                start_new_session=True,
            )
        while ready not in log_file.read_text():
            if self.process.poll() is not None:
                raise SystemExit(f"{' '.join(words)} ended: {log_file.read_text()}")
            time.sleep(0.01)

    def memory(self) -> float:
        """Its resident memory in MB."""
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text(encoding="ascii")
        return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1024

    def end(self) -> int:
        """Stops it and what it started."""
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(60)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def tfsum_server(
    folder: pathlib.Path,
    options: list[str],
    program: list[str] | None = None,
    checkout: pathlib.Path = HERE.parent,
    port: int | None = None,
    access_log: bool = False,
) -> Running:
    port = port or free_port()
    words = [
        *(program or [sys.executable, "-c", START, "serve"]),
        str(folder),
        "--port",
        str(port),
        *([] if access_log else ["--no-access-log"]),
        *options,
    ]
    path = f"/v1/models/{MODEL}:predict"
    return Running(words, port, f" answers for {MODEL}", path, checkout)


def other_server(script: str) -> Running:
    port = free_port()
    words = [sys.executable, str(HERE / "servers" / script), str(shipped_model()), str(port)]
    return Running(words, port, "ready", "/predict")


def granian_server(folder: pathlib.Path, options: list[str]) -> Running:
    return tfsum_server(
        folder, options, [sys.executable, str(HERE / "servers" / "granian_server.py")]
    )


def models(folder: str) -> pathlib.Path:
    """A folder with the shipped model as version 1 of MODEL."""
    place = pathlib.Path(folder) / "models"
    shutil.copytree(shipped_model(), place / MODEL / "1")
    return place


def described(sent: list[Sent], seconds: float) -> str:
    latency = np.array([one.seconds for one in sent])
    outcomes = collections.Counter(one.outcome for one in sent)
    p50, p95, p99 = np.percentile(latency, [50, 95, 99])
    return (
        f"{len(sent) / seconds:.2f} requests a second, p50 {p50:.3f} s, p95 {p95:.3f} s, p99"
        f" {p99:.3f} s, slowest {latency.max():.3f} s, {dict(outcomes)}"
    )


def batches(port: int) -> tuple[float, float]:
    """(rows, batches) so far, from the server's metrics."""
    with urllib.request.urlopen(
        f"http://127.0.0.1:{port}/monitoring/prometheus/metrics", timeout=30
    ) as answer:
        text = answer.read().decode()
    return tuple(
        float(re.search(rf"^tfsum_batch_rows_{end} (\S+)", text, re.M)[1])
        for end in ("sum", "count")
    )


def find(requests: Requests, folder: pathlib.Path, options: argparse.Namespace) -> int:
    server = tfsum_server(folder, options.serve)
    try:
        run = asyncio.Runner()
        run.run(saturated(server.http, requests, 10))
        best, rate, step = 0.0, options.rate, 2.0
        for seed in range(options.probes):
            sent = run.run(open_load(server.http, requests, rate, options.seconds, seed))
            p99 = float(np.percentile([one.seconds for one in sent], 99))
            print(f"rate {rate:.2f}: {described(sent, options.seconds)}", flush=True)
            if p99 < SLOWEST:
                best = max(best, rate)
            else:
                step = step**0.5
            rate = rate * step if p99 < SLOWEST else rate / step
        print(
            f"highest rate with a 99th percentile under {SLOWEST:g} s: {best:.2f} requests a second"
        )
    finally:
        server.end()
    return 0 if best else 1


def steady(requests: Requests, folder: pathlib.Path, options: argparse.Namespace) -> int:
    alone = [requests.batched()]
    server = tfsum_server(folder, options.serve)
    try:
        run = asyncio.Runner()
        full, outcomes = run.run(saturated(server.http, requests, options.seconds))
        before, memory, seconds = batches(server.port), [], 60 * options.minutes

        async def watched() -> list[Sent]:
            load = asyncio.create_task(open_load(server.http, requests, options.rate, seconds))
            while not load.done():
                memory.append((time.monotonic() / 60, server.memory()))
                await asyncio.wait([load], timeout=5)
            return load.result()

        sent = run.run(watched())
        after = batches(server.port)
        print(f"{options.minutes:g} minutes: {described(sent, seconds)}")
        rows, count = after[0] - before[0], after[1] - before[1]
        kept = np.array(memory[len(memory) // 10 :])
        print(
            f"{rows / count:.2f} documents a batch; memory {kept[0, 1]:.0f} MB at first,"
            f" {kept[-1, 1]:.0f} MB at last, {np.polyfit(*kept.T, 1)[0]:+.2f} MB a minute"
        )
    finally:
        server.end()
    alone.append(requests.batched())
    share = full / np.mean(alone)
    print(
        f"saturated by {CLIENTS} clients: {full:.2f} documents a second ({outcomes}); the model in"
        f" this process, in batches of 32: {alone[0]:.2f} before and {alone[1]:.2f} after;"
        f" {share:.0%}"
    )
    right = all(one.outcome == "ok" for one in sent) and outcomes == {"ok"}
    return (
        0
        if right and share >= 0.8 and np.percentile([one.seconds for one in sent], 99) < SLOWEST
        else 1
    )


def compare(requests: Requests, folder: pathlib.Path, options: argparse.Namespace) -> int:
    kinds: dict[str, Callable[[], Running]] = {
        "tfsum serve": lambda: tfsum_server(folder, options.serve)
    }
    if importlib.util.find_spec("granian"):
        kinds["tfsum serve's application on granian"] = lambda: granian_server(
            folder, options.serve
        )
    if importlib.util.find_spec("litserve"):
        kinds["LitServe"] = lambda: other_server("litserve_server.py")
    kinds["one request at a time"] = lambda: other_server("plain_server.py")
    results: dict[str, list[tuple[float, list[Sent]]]] = collections.defaultdict(list)
    for turn in range(options.rounds):
        for name, start in kinds.items():
            server = start()
            try:
                run = asyncio.Runner()
                run.run(saturated(server.http, requests, 10))
                full, outcomes = run.run(saturated(server.http, requests, options.seconds))
                sent = run.run(
                    open_load(server.http, requests, options.rate, options.seconds, turn)
                )
                results[name].append((full, sent))
                print(
                    f"round {turn + 1}, {name}: saturated {full:.2f} documents a second {outcomes};"
                    f" at {options.rate:g} a second: {described(sent, options.seconds)};"
                    f" {server.memory():.0f} MB",
                    flush=True,
                )
            finally:
                server.end()
        print(
            f"round {turn + 1}, the model in this process, in batches of 32:"
            f" {requests.batched():.2f} documents a second",
            flush=True,
        )
    for name, rounds in results.items():
        latency = [one.seconds for _, sent in rounds for one in sent]
        print(
            f"{name}: saturated {np.median([full for full, _ in rounds]):.2f} documents a second;"
            f" p50 {np.percentile(latency, 50):.3f} s, p99 {np.percentile(latency, 99):.3f} s"
        )
    return 0


def version(requests: Requests, folder: pathlib.Path, options: argparse.Namespace) -> int:
    server = tfsum_server(folder, options.serve)

    def states() -> dict:
        with urllib.request.urlopen(
            f"http://127.0.0.1:{server.port}/v1/models/{MODEL}", timeout=30
        ) as answer:
            return {
                one["version"]: one["state"] for one in json.load(answer)["model_version_status"]
            }

    try:
        run, changed = asyncio.Runner(), {}

        async def watched() -> list[Sent]:
            begin = time.monotonic()
            load = asyncio.create_task(
                open_load(server.http, requests, options.rate, 2 * options.seconds)
            )
            await asyncio.sleep(options.seconds / 2)
            changed["copied"] = time.monotonic() - begin
            await asyncio.to_thread(shutil.copytree, folder / MODEL / "1", folder / MODEL / "2")
            while not load.done():
                await asyncio.wait([load], timeout=0.5)
                found = await asyncio.to_thread(states)
                if found.get("1") == "END" and "done" not in changed:
                    changed["done"] = time.monotonic() - begin
            return load.result()

        run.run(saturated(server.http, requests, 10))
        sent = run.run(watched())
        during = [
            one
            for one in sent
            if changed["copied"] - 1 <= one.due <= changed.get("done", np.inf) + 1
        ]
        print(
            f"version 2 was copied after {changed['copied']:.1f} s; version 1 was unloaded after "
            f"{changed.get('done', np.nan):.1f} s; {states()}"
        )
        print(f"all: {described(sent, 2 * options.seconds)}")
        print(
            "during the change:"
            f" {described(during, changed.get('done', np.nan) - changed['copied'] + 2)}"
        )
        failed = sum(one.outcome != "ok" for one in sent)
        print(f"{failed} of {len(sent)} requests failed")
    finally:
        server.end()
    return 0 if not failed and "done" in changed else 1


def stop(requests: Requests, folder: pathlib.Path, options: argparse.Namespace) -> int:
    server = tfsum_server(folder, options.serve)

    async def stopped() -> list[Sent]:
        load = asyncio.create_task(open_load(server.http, requests, options.rate, options.seconds))
        await asyncio.sleep(options.seconds / 2)
        server.process.send_signal(signal.SIGTERM)
        return await load

    sent = asyncio.run(stopped())
    status = server.process.wait(60)
    outcomes = collections.Counter(one.outcome for one in sent)
    print(f"SIGTERM in the middle: {dict(outcomes)}; exit status {status}")
    return 0 if set(outcomes) == {"ok", "refused"} and status == 0 else 1


def start(requests: Requests, folder: pathlib.Path, options: argparse.Namespace) -> int:
    outcomes = set()
    for count in (1, 3):
        for other in range(1, count):
            shutil.copytree(folder / MODEL, folder / f"other{other}")
        for turn in range(options.rounds + 1):
            server = tfsum_server(folder, options.serve)
            try:
                loaded = time.monotonic() - server.begun
                outcomes.add(asyncio.run(server.http.ask(requests, 0)))
                print(
                    f"models: {count}, turn {turn + 1}: loaded after {loaded:.1f} s, the first"
                    f" answer after {time.monotonic() - server.begun:.1f} s,"
                    f" {server.memory():.0f} MB",
                    flush=True,
                )
            finally:
                server.end()
    return 0 if outcomes == {"ok"} else 1


def overload(requests: Requests, folder: pathlib.Path, options: argparse.Namespace) -> int:
    processors = sorted(os.sched_getaffinity(0))
    server = tfsum_server(folder, options.serve, checkout=options.checkout)
    on_one_processor(server.process.pid, processors[0])
    os.sched_setaffinity(0, processors[1:] or processors)

    run = asyncio.Runner()
    print("| clients | answers a second | p50 | p99 | refused | p95 of refusals | others |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    try:
        for clients in options.clients:
            sent = run.run(waiting_clients(server.http, requests, options.seconds, clients))
            answered = [one.seconds for one in sent if one.outcome == "ok"]
            refused = [one.seconds for one in sent if one.outcome in ("429", "503")]
            others = collections.Counter(one.outcome for one in sent)
            p50, p99 = np.percentile(answered, [50, 99])
            refusals = f"{1000 * np.percentile(refused, 95):.0f} ms" if refused else ""
            rest = {key: count for key, count in others.items() if key not in ("ok", "429", "503")}
            print(
                f"| {clients} | {len(answered) / options.seconds:.2f} | {p50:.1f} s | {p99:.1f} s |"
                f" {len(refused)} | {refusals} | {rest or ''} |",
                flush=True,
            )
    finally:
        server.end()
    return 0


def on_one_processor(pid: int, processor: int) -> None:
    """Binds all threads of a process to a processor."""
    for thread in os.listdir(f"/proc/{pid}/task"):
        os.sched_setaffinity(int(thread), {processor})


async def waiting_clients(
    http: Http, requests: Requests, seconds: float, clients: int
) -> list[Sent]:
    """Requests of clients that each wait for an answer, or as long as a refusal says."""
    begin, number = time.monotonic(), iter(range(1 << 30))
    sent: list[Sent] = []

    async def one() -> None:
        while (due := time.monotonic() - begin) < seconds:
            outcome = await http.ask(requests, next(number))
            sent.append(Sent(due, time.monotonic() - begin - due, outcome))
            if outcome in ("429", "503"):
                await asyncio.sleep(http.retry_after * random.uniform(1.0, 1.5))
            elif outcome != "ok":
                await asyncio.sleep(0.5)

    await asyncio.gather(*(one() for _ in range(clients)))
    return sent


def out_of_memory(server: Running, folder: pathlib.Path) -> None:
    """Lets a server have no more memory than it has."""
    pages = int(pathlib.Path(f"/proc/{server.process.pid}/statm").read_text().split()[0])
    size = pages * os.sysconf("SC_PAGE_SIZE")
    resource.prlimit(server.process.pid, resource.RLIMIT_AS, (size, size))


def full_disk(server: Running, folder: pathlib.Path) -> None:
    """Lets a server write nothing more into files, so not into its log."""
    resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (0, 0))


def new_version(server: Running, folder: pathlib.Path) -> None:
    shutil.copytree(folder / MODEL / "1", folder / MODEL / "2")


def broken_version(server: Running, folder: pathlib.Path) -> None:
    """Adds a version whose golden answers are not its answers."""
    shutil.copytree(folder / MODEL / "1", folder / "broken")
    golden = folder / "broken" / "assets.extra" / "golden.json"
    golden.write_text(re.sub(r"\d\.\d+", "0.123", golden.read_text()))
    (folder / "broken").rename(folder / MODEL / "3")


# Name, what happens to the first server, and the number of servers.
FAULTS: list[tuple[str, Callable[[Running, pathlib.Path], None], int]] = [
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
    print("| fault | lost of 800 | | seconds without an answer | lost by the client |")
    print("| --- | --- | --- | --- | --- |")
    lost_by_client = 0
    for name, strike, count in FAULTS:
        outcomes, gap = asyncio.run(struck(strike, count, requests, folder, ask_once))
        by_client, _ = asyncio.run(struck(strike, count, requests, folder, ask_again))
        lost = {outcome: number for outcome, number in outcomes.items() if outcome != "ok"}
        lost_by_client += by_client.total() - by_client["ok"]
        print(
            f"| {name} | {sum(lost.values())} | {lost or ''} | {gap:.1f} |"
            f" {by_client.total() - by_client['ok']} |",
            flush=True,
        )
    return int(lost_by_client > 0)


async def struck(
    strike: Callable[[Running, pathlib.Path], None],
    count: int,
    requests: Requests,
    folder: pathlib.Path,
    connect: Callable[[int, Requests], contextlib.AbstractAsyncContextManager[Callable]],
) -> tuple[collections.Counter[str], float]:
    """What became of 8 times 100 requests, and the longest time without an answer after the fault.

    A server that ends is started again, as a supervisor would.
    """
    for version in ("2", "3"):
        shutil.rmtree(folder / MODEL / version, ignore_errors=True)
    start = functools.partial(
        tfsum_server, folder, ["--reuse-port"], port=free_port(), access_log=True
    )
    servers = [await asyncio.to_thread(start) for _ in range(count)]
    outcomes: collections.Counter[str] = collections.Counter()
    moments: list[float] = []  # of the fault, and of the answers after it
    ended = asyncio.Event()

    async def supervise() -> None:
        while not ended.is_set():
            for place, server in enumerate(servers):
                if server.process.poll() is not None:
                    servers[place] = await asyncio.to_thread(start)
            await asyncio.sleep(0.1)

    async def client(number: int) -> None:
        async with connect(servers[0].port, requests) as ask:
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
    ended.set()
    await supervisor
    for server in servers:
        server.end()
    return outcomes, float(np.diff(moments).max())


@contextlib.asynccontextmanager
async def ask_once(port: int, requests: Requests) -> AsyncIterator[Callable]:
    """Asks over HTTP, and takes an error for what it is."""
    http = Http(port, f"/v1/models/{MODEL}:predict")
    yield lambda number: http.ask(requests, number)


@contextlib.asynccontextmanager
async def ask_again(port: int, requests: Requests) -> AsyncIterator[Callable]:
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


MODES: dict[str, Callable[[Requests, pathlib.Path, Any], int]] = {
    "find": find,
    "steady": steady,
    "compare": compare,
    "version": version,
    "stop": stop,
    "start": start,
    "overload": overload,
    "faults": faults,
}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("corpus", help="JSON lines with `text`")
    parser.add_argument("mode", choices=MODES)
    parser.add_argument(
        "--rate", type=float, default=2.0, help="requests a second; in `find` the first"
    )
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--probes", type=int, default=6)
    parser.add_argument("--documents", type=int, default=200)
    parser.add_argument("--clients", type=int, nargs="+", default=[4, 32, 200, 1000])
    parser.add_argument("--checkout", type=pathlib.Path, default=HERE.parent)
    parser.add_argument(
        "--serve", nargs=argparse.REMAINDER, default=[], help="options of `tfsum serve`, at the end"
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        largest = SHORT if options.mode == "faults" else LARGE
        requests = Requests(options.corpus, options.documents, largest)
        return MODES[options.mode](requests, models(folder), options)


if __name__ == "__main__":
    sys.exit(main())
