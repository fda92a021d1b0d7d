"""Random and mutated requests to `tfsum serve`: crashes, hangs, wrong answers, and memory.

    python benchmarks/serving_fuzz.py --requests 20000
    python benchmarks/serving_fuzz.py --requests 2000 --limits

The model repeats its texts with their lengths, so that the right answer to every body is known
here, by a reading of our own. Bodies are correct, mutated byte by byte, random JSON or random
bytes; packed by gzip, truncated or broken; heads are mutated, bodies come slowly, in chunks or not
at all, sockets are closed on one side or on both. Counted are: "crash", the server ended, or
answered 500, or logged an exception; "hang", no answer and no end in 20 seconds; "wrong", a status
of 200 with another answer than the right one, or to a body that has none; "refused", a correct
request that was not answered. "no room" is 429: the server expects the answer too late.
--limits makes bodies about as large as the server takes, or larger: in rows, in depth, in the
digits of a number, in bytes; others come slowly, or their client leaves; 504 is "no room" then.
"""

import argparse
import base64
import collections
import gzip
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np

START = "import sys; from tfsum.cli.main import main; sys.exit(main())"
PATH = "/v1/models/text:predict"
TIMEOUT, PATIENCE = 2.0, 20.0  # seconds: of the server for a request, and of ours for its answer
MAX_BODY, MAX_ROWS, MAX_TEXT = 32 << 20, 1024, 1_000_000  # limits of the server
NO_BODY = object()  # what a body is whose right answer is a refusal

Answer = tuple[int, bytes]


def write_model(folder: pathlib.Path) -> None:
    """A SavedModel that repeats texts, with their lengths in bytes."""
    import tensorflow as tf

    class Echo(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec((None,), tf.string, "text")])
        def repeat(self, text):
            return {"summary": tf.identity(text), "length": tf.strings.length(text)}

    model = Echo()
    tf.saved_model.save(model, str(folder), signatures={"serving_default": model.repeat})


class Maker:
    """Makes requests."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)

    def one_of(self, *choices: Any) -> Any:
        return choices[self.random.integers(len(choices))]

    def text(self) -> str:
        length = int(self.random.integers(0, self.one_of(2, 20, 200, 5000)))
        kind = self.random.integers(5)
        if kind == 0:
            return "".join(map(chr, self.random.integers(32, 127, length)))
        if kind == 1:
            return "".join(map(chr, self.random.integers(0, 0x300, length)))
        if kind == 2:
            return "".join(map(chr, self.random.integers(0xAC00, 0xD7A3, length)))
        if kind == 3:
            return "".join(map(chr, self.random.integers(0x1F300, 0x1F700, length)))
        points = self.random.integers(0, 0x110000, length)
        return "".join(chr(point) for point in points if not 0xD800 <= point < 0xE000)

    def value(self, text: str) -> Any:
        return (
            {"b64": base64.b64encode(text.encode()).decode()}
            if self.random.random() < 0.2
            else text
        )

    def body(self) -> bytes:
        """A correct body."""
        values = [
            self.value(self.text()) for _ in range(self.random.integers(1, self.one_of(2, 5, 40)))
        ]
        if self.random.random() < 0.5:
            rows = [{"text": value} for value in values] if self.random.random() < 0.3 else values
            made: dict[str, Any] = {"instances": rows}
        else:
            made = {"inputs": {"text": values} if self.random.random() < 0.5 else values}
        if self.random.random() < 0.3:
            made["signature_name"] = "serving_default"
        if self.random.random() < 0.2:
            made[self.text()[:20] or "other"] = self.json(3)
        written = json.dumps(
            made, ensure_ascii=bool(self.random.integers(2)), indent=self.one_of(None, 1)
        )
        return written.encode("utf-8", "surrogatepass")

    def json(self, depth: int) -> Any:
        kind = self.random.integers(8 if depth else 6)
        if kind == 6:
            return [self.json(depth - 1) for _ in range(self.random.integers(0, 4))]
        if kind == 7:
            names = ("instances", "inputs", "text", "b64", "signature_name", "", "x")
            return {
                self.one_of(*names): self.json(depth - 1) for _ in range(self.random.integers(0, 4))
            }
        return self.one_of(
            None,
            True,
            1,
            -0.5,
            1e308,
            float("nan"),
            "",
            "a",
            "\ud800",
            "serving_default",
            "AA==",
            10**400,
            self.text()[:9],
        )

    def mutated(self, body: bytes) -> bytes:
        """A body with a few bytes changed, removed, repeated or put in."""
        made = bytearray(body)
        for _ in range(self.random.integers(1, 6)):
            place = int(self.random.integers(len(made) + 1))
            size = int(self.random.integers(1, 9))
            match self.random.integers(5):
                case 0:
                    made[place : place + 1] = bytes([self.random.integers(256)])
                case 1:
                    del made[place : place + size]
                case 2:
                    made[place:place] = made[place : place + size]
                case 3:
                    made[place:place] = self.one_of(
                        b'"',
                        b"{",
                        b"}",
                        b"[",
                        b"]",
                        b",",
                        b":",
                        b"\\",
                        b"\\ud800",
                        b"\0",
                        b"null",
                        b"1e999",
                        b"\xff",
                        b"NaN",
                        b"-",
                    )
                case 4:
                    del made[place:]
        return bytes(made)

    def at_a_limit(self) -> tuple[str, bytes]:
        """A kind of body, and a body near a limit of the server or beyond it."""
        size = int(10 ** self.random.uniform(1, 7.5))
        match self.random.integers(5):
            case 0:
                rows = self.one_of(1, 1023, 1024, 1025, size)
                return "rows", json.dumps({"instances": [self.one_of("", "a")] * rows}).encode()
            case 1:
                deep = self.one_of(b"[", b'{"a":') * min(size, 1_000_000)
                return "depth", self.one_of(deep, b'{"instances":["a"],"x":' + deep)
            case 2:
                digits = b"1" * min(size, 1_000_000)
                return "digits", self.one_of(
                    b'{"instances":["a"],"x":' + digits + b"}", b'{"instances":[' + digits + b"]}"
                )
            case 3:
                text = self.one_of("a", " ", "\n", "\\", '"', "가") * min(size, MAX_TEXT + 2)
                return "a long text", json.dumps({"instances": [text]}).encode()
        texts = [self.one_of("a", "é", "\\") * self.one_of(1, 1000, 40_000)] * self.one_of(
            1, 9, 900
        )
        return "bytes", json.dumps({"inputs": {"text": texts}}).encode()

    def request(self) -> tuple[str, bytes]:
        """A kind of body, and the body."""
        kind = self.one_of(
            "correct", "correct", "mutated", "mutated", "json", "json", "bytes", "deep"
        )
        if kind == "mutated":
            return kind, self.mutated(self.body())
        if kind == "json":
            made = self.json(4)
            return (
                kind,
                json.dumps(made if self.random.integers(2) else {"instances": made}).encode(),
            )
        if kind == "bytes":
            return kind, self.random.bytes(self.random.integers(0, 300))
        if kind == "deep":
            deep = self.one_of(b"[", b'{"a":') * int(self.random.integers(1, 100_000))
            return kind, self.one_of(
                deep, b'{"instances":' + deep, b'{"instances":["a"],"x":' + deep
            )
        return kind, self.body()


def as_double(digits: str) -> int:
    """An integer, if TensorFlow Serving's reader of JSON could hold it."""
    value = int(digits)
    float(value)
    return value


def right_answer(body: bytes) -> Any:
    """The JSON that a body ought to be answered with; NO_BODY where it is to be refused."""
    if len(body) > MAX_BODY:
        return NO_BODY
    try:
        text = body.decode("utf-8-sig").lstrip(" \t\r\n")
        document, _ = json.JSONDecoder(parse_int=as_double).raw_decode(text)
    except (ValueError, RecursionError, OverflowError):
        return NO_BODY
    if not isinstance(document, dict) or ("instances" in document) == ("inputs" in document):
        return NO_BODY
    if document.get("signature_name", "") not in ("", "serving_default"):
        return NO_BODY
    rows = "instances" in document
    given = document["instances"] if rows else document["inputs"]
    if not rows and isinstance(given, dict):
        given = given.get("text")
    if not isinstance(given, list) or (rows and not given) or len(given) > MAX_ROWS:
        return NO_BODY
    if rows and all(isinstance(row, dict) and list(row) == ["text"] for row in given):
        given = [row["text"] for row in given]
    texts = []
    for value in given:
        if isinstance(value, dict) and list(value) == ["b64"] and isinstance(value["b64"], str):
            try:
                packed = "".join(value["b64"].split()).rstrip("=")
                texts.append(base64.b64decode(packed + "=" * (-len(packed) % 4), validate=True))
            except ValueError:
                return NO_BODY
        elif isinstance(value, str) and not re.search("[\ud800-\udfff]", value):
            texts.append(value.encode())
        else:
            return NO_BODY
    if any(len(text) > MAX_TEXT for text in texts):
        return NO_BODY
    shown = [text.decode("utf-8", "replace") for text in texts]
    if rows:
        return {
            "predictions": [
                {"length": len(text), "summary": said} for text, said in zip(texts, shown)
            ]
        }
    return {"outputs": {"length": [len(text) for text in texts], "summary": shown}}


def read_answer(stream: Any) -> Answer | None:
    """(status, body) of the next answer; None where the connection ended before it."""
    line = stream.readline()
    if not line:
        return None
    status, length = int(line.split()[1]), 0
    while (header := stream.readline()) not in (b"\r\n", b""):
        if header.lower().startswith(b"content-length:"):
            length = int(header.split(b":")[1])
    body = stream.read(length)
    return (status, body) if len(body) == length else None


def head(path: str, size: int | None, *headers: str, method: str = "POST") -> bytes:
    lines = [
        f"{method} {path} HTTP/1.1",
        "Host: localhost",
        *headers,
        *([] if size is None else [f"Content-Length: {size}"]),
    ]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def send(port: int, seed: int, limits: bool) -> tuple[str, str]:
    """Sends one random request: (its kind, what became of it)."""
    maker = Maker(seed)
    kind, body = maker.at_a_limit() if limits else maker.request()
    ways = ["plain", "plain", "plain", "gzip", "chunks", "slowly", "dropped", "stalled"]
    if not limits:
        ways += ["broken gzip", "half closed", "two at once", "mutated head", "random path"]
    way = maker.one_of(*ways)
    if way == "stalled" and maker.random.random() < 0.9:  # each takes the server's whole timeout
        way = "plain"
    right, answers = right_answer(body), 1
    parts, wait, half, headers = [body], 0.0, False, []
    if way == "gzip":
        parts, headers = [gzip.compress(body)], ["Content-Encoding: gzip"]
    elif way == "broken gzip":
        packed = maker.mutated(gzip.compress(body))
        parts, headers, right = [packed], ["Content-Encoding: gzip"], None
    elif way == "chunks":
        cuts = sorted(maker.random.integers(0, len(body) + 1, 3))
        pieces = [
            piece for piece in (body[: cuts[0]], body[cuts[0] : cuts[1]], body[cuts[1] :]) if piece
        ]
        parts = [f"{len(piece):x}\r\n".encode() + piece + b"\r\n" for piece in pieces] + [
            b"0\r\n\r\n"
        ]
        headers = ["Transfer-Encoding: chunked"]
    elif way == "slowly":
        parts, wait = [body[len(body) * i // 4 : len(body) * (i + 1) // 4] for i in range(4)], 0.05
    elif way == "half closed":
        half = True
    size = None if way == "chunks" else sum(map(len, parts))
    sent = head(PATH, size, *headers)
    if way in ("dropped", "stalled"):
        parts, right, answers = (
            [body[: int(maker.random.integers(len(body) + 1))]],
            None,
            way != "dropped",
        )
        sent = head(PATH, len(body) + 1)
    elif way == "two at once":
        parts, answers = [body, sent, body], 2
    elif way == "mutated head":
        sent, right, answers = maker.mutated(sent), None, 0
    elif way == "random path":
        path = "".join(map(chr, maker.random.integers(33, 127, maker.random.integers(1, 40))))
        sent, right = (
            head(
                f"/v1/models/{path}".replace("#", ""),
                size,
                method=maker.one_of("GET", "POST", "PUT"),
            ),
            None,
        )
    kind = f"{kind}, {way}"
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            try:
                connection.sendall(sent)
                for part in parts:
                    connection.sendall(part)
                    if wait:
                        time.sleep(wait)
                if half or way == "mutated head":
                    connection.shutdown(socket.SHUT_WR)
                if way == "dropped":
                    return kind, "no answer"
            except TimeoutError:
                raise
            except OSError:
                pass  # refused before it was read
            stream, outcome = connection.makefile("rb"), "no answer"
            for _ in range(max(answers, 1)):
                outcome = judged(read_answer(stream), right, answers, limits)
                if outcome not in ("right", "refused rightly"):
                    break
            return kind, outcome
    except TimeoutError:
        return kind, "hang"
    except ConnectionResetError:
        return kind, "no answer" if right is None or right is NO_BODY else "refused"
    except ConnectionRefusedError:
        return kind, "crash"


def judged(answer: Answer | None, right: Any, answers: int, limits: bool) -> str:
    """What an answer is, where `right` is the right one, NO_BODY for a refusal, None where any
    is."""
    if answer is None:
        return "no answer" if right is None and not answers else "lost"
    status, body = answer
    if status == 429 or (limits and status == 504):
        return "no room"
    if status >= 500 and status != 501:
        return "crash"
    if right is None:
        return "any"
    if status == 200:
        return "right" if right is not NO_BODY and json.loads(body) == right else "wrong"
    return "refused rightly" if right is NO_BODY else "refused"


def resident(process: int) -> float:
    status = pathlib.Path(f"/proc/{process}/status").read_text(encoding="ascii")
    return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1024


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--requests", type=int, default=20000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--limits", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        write_model(pathlib.Path(folder) / "models" / "text" / "1")
        log = pathlib.Path(folder) / "log"
        with open(log, "w", encoding="utf-8") as stream:
            process = subprocess.Popen(
                [
                    sys.executable,
                    "-c",
                    START,
                    "serve",
                    f"{folder}/models",
                    "--port",
                    "0",
                    "--no-access-log",
                    "--timeout",
                    str(TIMEOUT),
                ],
                stderr=stream,
                env={**os.environ, "PYTHONPATH": str(pathlib.Path(__file__).resolve().parents[1])},
            )
        try:
            while not (
                found := re.search(
                    r"http://[^:]+:(\d+) answers for text", log.read_text(encoding="utf-8")
                )
            ):
                if process.poll() is not None:
                    raise SystemExit(log.read_text(encoding="utf-8"))
                time.sleep(0.1)
            port, counts = int(found[1]), collections.Counter()
            examples: dict[str, list[int]] = collections.defaultdict(list)
            begin, memory = time.monotonic(), []
            with ThreadPoolExecutor(options.clients) as pool:
                for first in range(0, options.requests, 1000):
                    seeds = range(
                        options.seed + first, options.seed + min(first + 1000, options.requests)
                    )
                    for seed, (kind, outcome) in zip(
                        seeds, pool.map(lambda seed: send(port, seed, options.limits), seeds)
                    ):
                        counts[outcome] += 1
                        if outcome in ("crash", "hang", "wrong", "lost", "refused"):
                            examples[outcome].append(seed)
                            if len(examples[outcome]) <= 5:
                                print(f"{outcome}: seed {seed} ({kind})", flush=True)
                    memory.append(resident(process.pid))
        except BaseException:
            process.kill()
            raise
        said = log.read_text(encoding="utf-8")
        alive = process.poll() is None
        process.send_signal(signal.SIGTERM)
        status = process.wait(60)
        print(f"{options.requests} requests in {time.monotonic() - begin:.0f} s: {dict(counts)}")
        print(
            f"memory: {memory[0]:.0f} MB after the first 1,000, {memory[len(memory) // 2]:.0f} MB"
            f" in the middle, {memory[-1]:.0f} MB at last; exceptions in the log:"
            f" {said.count('Traceback')}; {'it ran' if alive else 'it had ended'}, exit status"
            f" {status}"
        )
        if "Traceback" in said:
            print(said[said.index("Traceback") - 200 :][:3000])
    return 0 if alive and not status and not examples and "Traceback" not in said else 1


if __name__ == "__main__":
    sys.exit(main())
