"""Random and mutated requests to `tfsum serve`: crashes, hangs, wrong answers, and memory.

    python -m benchmarks fuzz --requests 20000
    python -m benchmarks fuzz --requests 2000 --limits

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
import dataclasses
import gzip
import io
import json
import pathlib
import socket
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

from benchmarks.serving.random_bodies import MAX_TEXT, Maker
from benchmarks.serving.server import Serving

PATH = "/v1/models/text:predict"
TIMEOUT, PATIENCE = 2.0, 20.0  # seconds: of the server for a request, and of ours for its answer
MAX_BODY, MAX_ROWS = 32 << 20, 1024  # limits of the server
BAD = ("crash", "hang", "wrong", "lost", "refused")

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


def as_double(digits: str) -> int:
    """An integer, if TensorFlow Serving's reader of JSON could hold it."""
    value = int(digits)
    float(value)
    return value


def read_texts(body: bytes) -> tuple[list[bytes], bool] | None:
    """The texts of a body, and whether they are rows; None where it is to be refused."""
    text = body.decode("utf-8-sig").lstrip(" \t\r\n")
    document, _ = json.JSONDecoder(parse_int=as_double).raw_decode(text)
    if not isinstance(document, dict) or ("instances" in document) == ("inputs" in document):
        return None
    if document.get("signature_name", "") not in ("", "serving_default"):
        return None

    rows = "instances" in document
    given = document.get("instances", document.get("inputs"))
    if not rows and isinstance(given, dict):
        given = given.get("text")
    if not isinstance(given, list) or (rows and not given) or len(given) > MAX_ROWS:
        return None
    if rows and all(isinstance(row, dict) and list(row) == ["text"] for row in given):
        given = [row["text"] for row in given]

    texts = []
    for value in given:
        if isinstance(value, dict) and list(value) == ["b64"] and isinstance(value["b64"], str):
            packed = "".join(value["b64"].split()).rstrip("=")
            texts.append(base64.b64decode(packed + "=" * (-len(packed) % 4), validate=True))
        elif isinstance(value, str):
            texts.append(value.encode())  # raises for half of a surrogate pair
        else:
            return None
    return None if any(len(text) > MAX_TEXT for text in texts) else (texts, rows)


def right_answer(body: bytes) -> dict | None:
    """The JSON that a body ought to be answered with; None where it is to be refused."""
    try:
        read = read_texts(body) if len(body) <= MAX_BODY else None
    except (ValueError, RecursionError, OverflowError):
        return None
    if read is None:
        return None
    texts, rows = read
    shown = [text.decode("utf-8", "replace") for text in texts]
    lengths = [len(text) for text in texts]
    if rows:
        pairs = zip(lengths, shown)
        return {"predictions": [{"length": length, "summary": said} for length, said in pairs]}
    return {"outputs": {"length": lengths, "summary": shown}}


def read_answer(stream: io.BufferedReader) -> Answer | None:
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


def head(path: str, *headers: str, method: str = "POST") -> bytes:
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost", *headers]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def sized(body: bytes, *headers: str) -> bytes:
    return head(PATH, f"Content-Length: {len(body)}", *headers)


@dataclasses.dataclass
class Sending:
    """How a request is sent, and what may come back.

    Attributes:
        parts: What is sent, the head first.
        right: The right answer; None for a refusal.
        any_answer: Whether any answer is right.
        answers: The number of answers; with 0 there may be none.
        wait: Seconds between the parts.
        half: Whether the client closes its side then.
        leave: Whether it leaves then.
    """

    parts: list[bytes]
    right: dict | None
    any_answer: bool = False
    answers: int = 1
    wait: float = 0.0
    half: bool = False
    leave: bool = False


def sending(maker: Maker, way: str, body: bytes) -> Sending:
    """A body sent in some way."""
    made = Sending([sized(body), body], right_answer(body))
    match way:
        case "gzip":
            packed = gzip.compress(body)
            made.parts = [sized(packed, "Content-Encoding: gzip"), packed]
        case "broken gzip":
            packed = maker.mutated(gzip.compress(body))
            made.parts = [sized(packed, "Content-Encoding: gzip"), packed]
            made.any_answer = True
        case "chunks":
            cuts = [0, *sorted(maker.random.integers(0, len(body) + 1, 3)), len(body)]
            pieces = [body[begin:end] for begin, end in zip(cuts, cuts[1:]) if begin < end]
            chunks = [b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces]
            made.parts = [head(PATH, "Transfer-Encoding: chunked"), *chunks, b"0\r\n\r\n"]
        case "slowly":
            quarters = [body[len(body) * i // 4 : len(body) * (i + 1) // 4] for i in range(4)]
            made.parts, made.wait = [sized(body), *quarters], 0.05
        case "half closed":
            made.half = True
        case "dropped" | "stalled":
            cut = body[: int(maker.random.integers(len(body) + 1))]
            made.parts = [head(PATH, f"Content-Length: {len(body) + 1}"), cut]
            made.any_answer, made.leave = True, way == "dropped"
        case "two at once":
            made.parts, made.answers = made.parts * 2, 2
        case "mutated head":
            made.parts = [maker.mutated(sized(body)), body]
            made.any_answer, made.half, made.answers = True, True, 0
        case "random path":
            path = "".join(map(chr, maker.random.integers(33, 127, maker.random.integers(1, 40))))
            method = maker.one_of("GET", "POST", "PUT")
            place = f"/v1/models/{path}".replace("#", "")
            made.parts[0] = head(place, f"Content-Length: {len(body)}", method=method)
            made.any_answer = True
    return made


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
    made = sending(maker, way, body)
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as connection:
            outcome = exchanged(connection, made, limits)
    except TimeoutError:
        outcome = "hang"
    except ConnectionRefusedError:
        outcome = "crash"
    except ConnectionResetError:
        outcome = "no answer" if made.any_answer or made.right is None else "refused"
    return f"{kind}, {way}", outcome


def exchanged(connection: socket.socket, made: Sending, limits: bool) -> str:
    """Sends the parts of a request, and judges its answers."""
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    try:
        for part in made.parts:
            connection.sendall(part)
            time.sleep(made.wait)
        if made.half:
            connection.shutdown(socket.SHUT_WR)
    except TimeoutError:
        raise
    except OSError:
        pass  # refused before it was read
    if made.leave:
        return "no answer"

    stream, outcome = connection.makefile("rb"), "no answer"
    for _ in range(max(made.answers, 1)):
        outcome = judged(read_answer(stream), made, limits)
        if outcome not in ("right", "refused rightly"):
            break
    return outcome


def judged(answer: Answer | None, made: Sending, limits: bool) -> str:
    """What an answer is."""
    if answer is None:
        return "lost" if made.answers else "no answer"
    status, body = answer
    if status == 429 or (limits and status == 504):
        return "no room"
    if status >= 500 and status != 501:
        return "crash"
    if made.any_answer:
        return "any"
    if status != 200:
        return "refused" if made.right else "refused rightly"
    return "right" if made.right and json.loads(body) == made.right else "wrong"


def send_all(server: Serving, options: argparse.Namespace) -> tuple[collections.Counter, list]:
    """What became of the requests, and the memory of the server after each thousand."""
    outcomes: collections.Counter[str] = collections.Counter()
    memory = []
    with ThreadPoolExecutor(options.clients) as pool:
        for first in range(0, options.requests, 1000):
            last = min(first + 1000, options.requests)
            seeds = range(options.seed + first, options.seed + last)
            sent = pool.map(lambda seed: send(server.port, seed, options.limits), seeds)
            for seed, (kind, outcome) in zip(seeds, sent):
                outcomes[outcome] += 1
                if outcome in BAD and outcomes[outcome] <= 5:
                    print(f"{outcome}: seed {seed} ({kind})", flush=True)
            memory.append(server.memory())
    return outcomes, memory


OPTIONS = {
    "--requests": {"type": int, "default": 20000},
    "--seed": {"type": int, "default": 0},
    "--clients": {"type": int, "default": 16},
    "--limits": {"action": "store_true"},
}


def run(options: argparse.Namespace) -> int:
    with tempfile.TemporaryDirectory() as folder:
        models = pathlib.Path(folder) / "models"
        write_model(models / "text" / "1")
        server = Serving(models, "--no-access-log", "--timeout", str(TIMEOUT))
        begin = time.monotonic()
        try:
            outcomes, memory = send_all(server, options)
            alive = server.process.poll() is None
        finally:
            status = server.end()
        log = server.log()
    print(
        f"{options.requests} requests in {time.monotonic() - begin:.0f} s: {dict(outcomes)}\n"
        f"memory: {memory[0]:.0f} MB after the first 1,000, {memory[len(memory) // 2]:.0f} MB"
        f" in the middle, {memory[-1]:.0f} MB at last; exceptions in the log:"
        f" {log.count('Traceback')}; it {'ran' if alive else 'had ended'}, exit status {status}"
    )
    if "Traceback" in log:
        print(log[log.index("Traceback") - 200 :][:3000])
    bad = "Traceback" in log or any(outcomes[name] for name in BAD)
    return int(bad or not alive or status != 0)
