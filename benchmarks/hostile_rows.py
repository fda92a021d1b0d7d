"""The attacks that a reviewer tried, sent again; `python benchmarks/hostile.py rows` prints them.

The rows are those of the reviewer's table that a process can show by itself, or a server that is
started here, on 127.0.0.1 and a free port. Files are read in a process that is ended after two
minutes, and nothing is asked but addresses of this machine. Memory is how far the peak of the
process that reads, or of the server, rose above what it held before (VmHWM, reset before each).
"""

import contextlib
import gzip
import http.client
import http.server
import io
import itertools
import json
import multiprocessing
import multiprocessing.connection
import os
import pathlib
import pickle
import random
import re
import socket
import struct
import tempfile
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

MODEL = "bert_sum_ext_news_en"
PREDICT = f"/v1/models/{MODEL}:predict"
MEGABYTE = 1 << 20
LIMIT = 120.0  # seconds for the trials of a row, and for an answer of the server
SHOWN = 100  # characters of an answer
FORM = "{:>3}  {:58} {:>8} {:>6}  {}"

Trials = Iterator[tuple[str, Callable[[], Any]]]  # what is sent, and a call that sends it


def memory(process: int | str, field: str) -> float:
    """The megabytes in a field of a process's status."""
    for line in pathlib.Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) / 1024
    return float("nan")


def measure(row: int, sent: str, call: Callable[[], Any], process: int | str = "self") -> None:
    """Makes a call, and prints its time, the memory of a process, and the answer."""
    with contextlib.suppress(OSError):  # without it the growth is that beyond the earlier peak
        pathlib.Path(f"/proc/{process}/clear_refs").write_text("5")
    before, begin = memory(process, "VmRSS"), time.perf_counter()
    try:
        answer = str(call())
    except Exception as error:  # an attack may find any
        answer = f"{type(error).__name__}: {error}"
    seconds = time.perf_counter() - begin
    growth = max(0.0, memory(process, "VmHWM") - before)
    line = " ".join(answer[: 2 * SHOWN].split())[:SHOWN]
    line = "".join(character if character.isprintable() else "?" for character in line)
    length = f" ({len(answer)} characters)" if len(answer) > 1000 else ""
    print(FORM.format(row, sent, f"{seconds:.2f}", f"{growth:.0f}", line + length), flush=True)


# Rows of files and pages, each in a process of its own


def deep_json(folder: pathlib.Path) -> Trials:
    from tfsum.serving.json_body import read_object

    start = b'{"instances": ' + b"[" * 5000
    for name, text in (("letters", b"a"), ("escaped quotes", b'\\"')):
        body = start + b'"' + text * (8 * MEGABYTE // len(text)) + b'"' + b"]" * 5000 + b"}"
        yield f"JSON 5,000 deep with 8 MB of {name}", partial(read_object, body)


def comments(folder: pathlib.Path) -> Trials:
    from tfsum.inputs.formats import text_of
    from tfsum.inputs.kinds import kind_of

    for count in (24, 30, 400, 131_072):
        yield f"{count:,} comments, no tag", partial(kind_of, b"<!-- -->" * count)
    page = b"<html><body>It rained." + b"<!-- -->" * 131_072
    yield "a page with 1 MB of comments", partial(text_of, "html", page, "a.html")


def mails(folder: pathlib.Path) -> Trials:
    from tfsum.inputs.formats import text_of

    head = b"From: Anna\nSubject: Rain\n\nIt rained.\n"
    for name, unit in (
        ("new lines", b"\n"),
        ("spaces", b" "),
        ("lines '> '", b"> \n"),
        ("dashes", b"-"),
        ("'On ... wrote'", b"On Monday Anna wrote\n"),
    ):
        mail = head + unit * (MEGABYTE // len(unit)) + b"x"
        yield f"a mail of 1 MB of {name}", partial(text_of, "mail", mail, "a.eml")
    mail = head.replace(b"\n\n", b"\nReferences: " + b"<a@b> " * 170_000 + b"\n\n")
    yield "a mail with a field of 1 MB", partial(text_of, "mail", mail, "a.eml")
    parts = b"".join(
        b"Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n" % (i, i) for i in range(3000)
    )
    nested = b"From: Anna\nSubject: Rain\nMIME-Version: 1.0\n" + parts + b"\nIt rained.\n"
    yield "a mail of 3,000 parts in each other", partial(text_of, "mail", nested, "a.eml")


def torch_file(path: pathlib.Path, value: bytes) -> pathlib.Path:
    """A `.pt` file of {"w": value}, whose one storage has 16 bytes; `value` is pickle's code."""
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a/data.pkl", b"\x80\x02}X\x01\0\0\0w" + value + b"s.")
        archive.writestr("a/data/0", bytes(16))
    return path


def tensor(kind: str, count: int, offset: bytes, size: tuple, stride: tuple) -> bytes:
    """Pickle's code of a tensor; of `offset` too."""

    def code(value: Any) -> bytes:
        return pickle.dumps(value, 2)[2:-1]

    def text(value: str) -> bytes:
        return b"X" + struct.pack("<I", len(value)) + value.encode()

    storage = b"(" + text("storage") + f"ctorch\n{kind}\n".encode() + text("0") + text("cpu")
    storage += code(count) + b"tQ"
    rebuilt = b"ctorch._utils\n_rebuild_tensor_v2\n(" + storage + offset
    return rebuilt + code(size) + code(stride) + b"\x89NtR"


def torch_bombs(folder: pathlib.Path) -> Trials:
    from tfsum.formats.torch_file import read_torch_file

    doubled = b")" + 40 * b"2\x86"  # a tuple, and 40 times that of the last one twice
    wide = partial(tensor, "BFloat16Storage", 8, b"K\0")
    for sent, value in (
        ("of tuples that double", tensor("FloatStorage", 4, doubled, (2,), (1,))),
        ("with 2^27 bfloat16 of stride 0", wide((1 << 27,), (0,))),
        ("with 2^40 bfloat16 of stride 0", wide((1 << 40,), (0,))),
        ("with 900 views of 2^17", b"(" + wide((1 << 17,), (0,)) * 900 + b"t"),
    ):
        path = torch_file(folder / "a.pt", value)
        size = path.stat().st_size
        yield f"a .pt file of {size} bytes {sent}", partial(read_torch_file, path)


def run_command(*words: str) -> tuple[int, str]:
    """The exit status of `tfsum`, and what it wrote to standard error."""
    from tfsum.cli.main import main

    with contextlib.redirect_stderr(io.StringIO()) as errors:
        status = main([*words])
    return status, errors.getvalue()


def own_notes(folder: pathlib.Path) -> Trials:
    notes, own = folder / "notes", folder / "notes.txt"
    notes.write_text("It rained on Monday. The river rose.")
    for name, age in (("older", 0), ("newer", 4_000_000_000)):
        own.write_text("my own")
        os.utime(own, (age, age))

        def call() -> str:
            status, said = run_command("summarize", "notes", "-o", ".")
            kept = "kept" if own.read_text() == "my own" else "OVERWRITTEN"
            return f"{kept}, status {status}: {said}"

        yield f"`summarize notes -o .`, a notes.txt {name}", call


class Pages(http.server.BaseHTTPRequestHandler):
    """Pages that are cut off, come in drips, lead elsewhere, or are none."""

    def log_message(self, *_: Any) -> None:
        pass

    def do_GET(self) -> None:
        self.close_connection = True
        if self.path == "/nonsense":
            self.wfile.write(b"\x1b[31m" + b"nonsense " * 7000 + b"\r\n\r\n")
        elif self.path == "/longhead":
            self.wfile.write(b"HTTP/1.1 200 OK\r\nA: " + b"a" * 100_000 + b"\r\n\r\n")
        elif self.path == "/inner":
            self.wfile.write(b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:9/\r\n\r\n")
        elif self.path == "/cut":
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nIt rained.")
        elif self.path in ("/drip", "/driphead"):
            end = "\r\n" if self.path == "/drip" else ""
            with contextlib.suppress(OSError):
                self.wfile.write(f"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n{end}A: ".encode())
                for _ in range(20):
                    self.wfile.write(b"a")
                    time.sleep(0.5)


def serve_pages() -> str:
    """Starts a server of `Pages` that ends with this process; its address."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Pages)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}"


def cut_pages(folder: pathlib.Path) -> Trials:
    from tfsum.inputs import fetching

    address = serve_pages()
    fetching.SECONDS = 2
    yield "a page with 10 of its 1,000 bytes", partial(fetching.fetch, f"{address}/cut")
    yield "a page in drips (its limit set to 2 s)", partial(fetching.fetch, f"{address}/drip")
    yield "a head in drips (its limit set to 2 s)", partial(fetching.fetch, f"{address}/driphead")


def first(read: Callable[[Any], Iterator[Any]], source: Any) -> Any:
    """The first of what a generator reads."""
    return next(read(source))


def packed_files(folder: pathlib.Path) -> Trials:
    from tfsum.data.readers import read_corpus
    from tfsum.inputs.sources import Source, read_source

    member = gzip.compress(b"a" * (64 * MEGABYTE))
    texts, corpus = folder / "a.txt.gz", folder / "a.jsonl.gz"
    texts.write_bytes(member * 80)
    size = len(member) * 80 / MEGABYTE
    yield f"{size:.1f} MB of gzip, 5 GB unpacked", partial(first, read_source, Source(str(texts)))
    corpus.write_bytes(gzip.compress(b'{"text": "') + member * 16)
    size = len(member) * 16 / MEGABYTE
    yield f"a corpus of {size:.1f} MB of gzip, 1 GB a line", partial(first, read_corpus, corpus)


def addresses(folder: pathlib.Path) -> Trials:
    from tfsum.inputs.sources import Source, read_source

    local = serve_pages()
    for sent, address in (
        ("http://[::1/", "http://[::1/"),
        ("http://[abc]/", "http://[abc]/"),
        ("a name of 70 letters", f"http://{'a' * 70}.localhost/"),
        ("a name with an empty part", "http://a..localhost/"),
        ("no name", "http://"),
        ("a port that is none", "http://127.0.0.1:a/"),
        ("the port 99999", "http://127.0.0.1:99999/"),
        ("a port where nobody listens", "http://127.0.0.1:9/"),
        ("a space", f"{local}/a b"),
        ("a new line", f"{local}/a\nHost: b"),
        ("a path with é", f"{local}/é"),
        ("an answer that is none", f"{local}/nonsense"),
        ("an answer without a byte", f"{local}/nothing"),
        ("a field of 100 kB in the answer", f"{local}/longhead"),
    ):
        yield sent, partial(first, read_source, Source(address))
    good = folder / "good.txt"
    good.write_text("It rained on Monday. The river rose.")
    output = folder / "answers"

    def together() -> str:
        status, said = run_command("summarize", "http://[::1/", str(good), "-o", str(output))
        written = [path.name for path in output.glob("*.txt")]
        return f"status {status}, written {written}: {said}"

    yield "`summarize` of such an address and of a file", together


def wide_cell(folder: pathlib.Path) -> Trials:
    import docx

    from tfsum.inputs.formats import text_of

    document = docx.Document()
    cell = document.add_table(1, 1).cell(0, 0)
    cell.text = "It rained."
    cell._tc.grid_span = 10_000_000
    document.save(str(folder / "a.docx"))
    data = (folder / "a.docx").read_bytes()
    yield "a .docx cell that spans 10^7 columns", partial(text_of, "docx", data, "a.docx")


def inner_pages(folder: pathlib.Path) -> Trials:
    from tfsum.inputs import fetching

    address = serve_pages().replace("127.0.0.1", "localhost")
    # What localhost names plays the web, and 127.0.0.1 this machine.
    setattr(fetching, "_is_inner", lambda url: "127.0.0.1" in url)  # noqa: B010
    yield "a page of the web that leads to 127.0.0.1", partial(fetching.fetch, f"{address}/inner")


# Rows of a server


class Served:
    """A server of the shipped models, in a process of its own.

    Args:
        settings: Settings of the server.

    Attributes:
        port, grpc_port: Ports on 127.0.0.1.
        pid: Number of the process.
    """

    def __init__(self, **settings: Any) -> None:
        spawn = multiprocessing.get_context("spawn")
        self._pipe, theirs = spawn.Pipe()
        self._process = spawn.Process(target=serve, args=(settings, theirs), daemon=True)
        self._process.start()
        theirs.close()
        self.port, self.grpc_port = self._pipe.recv()
        self.pid = self._process.pid or 0

    def close(self) -> None:
        self._process.kill()
        self._process.join()

    def ask(
        self, method: str, path: str, body: bytes = b"", headers: dict[str, str] | None = None
    ) -> tuple[int, str]:
        """Status and body of an answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=LIMIT)
        with contextlib.closing(connection):
            connection.request(method, path, body, headers or {})
            response = connection.getresponse()
            return response.status, response.read().decode()

    def call(self, shape: list[int], *texts: bytes, token: str = "") -> str:
        """The answer to Predict with a tensor of texts."""
        import grpc

        from tfsum.tensorflow_messages import message

        request = message("PredictRequest")()
        request.model_spec.name = MODEL
        request.inputs["text"].dtype = 7
        request.inputs["text"].string_val.extend(texts)
        for size in shape:
            request.inputs["text"].tensor_shape.dim.add(size=size)
        options = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]
        with grpc.insecure_channel(f"127.0.0.1:{self.grpc_port}", options=options) as channel:
            predict = channel.unary_unary("/tensorflow.serving.PredictionService/Predict")
            metadata = [("authorization", f"Bearer {token}")]
            try:
                answer = predict(request.SerializeToString(), timeout=LIMIT, metadata=metadata)
            except grpc.RpcError as error:
                return f"{error.code().name}: {error.details()}"
        return f"OK, {len(answer):,} bytes"


def serve(settings: dict[str, Any], pipe: multiprocessing.connection.Connection) -> None:
    """Serves until the other end of the pipe is closed."""
    from tfsum.serving import Server, ServerSettings

    with Server(settings=ServerSettings(port=0, grpc_port=0, **settings)) as server:
        while not server.versions.ready:
            time.sleep(0.05)
        pipe.send((server.port, server.grpc_port))
        with contextlib.suppress(EOFError):
            pipe.recv()


def many_rows(server: Served) -> Trials:
    rows = 11_000_000
    body = b'{"instances": [' + b'"",' * (rows - 1) + b'""]}'
    packed = gzip.compress(body, 9)
    headers = {"Content-Encoding": "gzip"}
    size = f"{len(body) / 1e6:.0f} MB, {len(packed) / 1e3:.0f} kB packed"

    def together(count: int) -> str:
        answers: list[tuple[int, str]] = []
        askers = [
            threading.Thread(
                target=lambda: answers.append(server.ask("POST", PREDICT, packed, headers))
            )
            for _ in range(count)
        ]
        for asker in askers:
            asker.start()
        longest = 0.0
        while any(asker.is_alive() for asker in askers):
            begin = time.perf_counter()
            server.ask("GET", "/healthz")
            longest = max(longest, time.perf_counter() - begin)
            time.sleep(0.02)
        statuses = ", ".join(str(status) for status, _ in answers)
        said = answers[0][1] if answers else "no answer"
        return f"{statuses}, /healthz in at most {longest:.2f} s: {said}"

    yield f"{rows:,} empty rows ({size})", partial(together, 1)
    yield "eight of these at the same time", partial(together, 8)


def odd_requests(server: Served) -> Trials:
    for depth in (65, 900, 100_000):
        body = b'{"instances": ' + b"[" * depth + b"1" + b"]" * depth + b"}"
        yield f"arrays {depth:,} deep", partial(server.ask, "POST", PREDICT, body)
    digits = f"/v1/models/{MODEL}/versions/{'1' * 5001}"
    yield "a version of 5,001 digits", partial(server.ask, "GET", digits)
    yield (
        "and asked to predict",
        partial(server.ask, "POST", f"{digits}:predict", b'{"instances": ["a"]}'),
    )
    number = b'{"instances": [' + b"1" * 5001 + b"]}"
    yield "a number of 5,001 digits", partial(server.ask, "POST", PREDICT, number)
    yield "gRPC, the shape [2^62, 0]", partial(server.call, [1 << 62, 0])
    yield "gRPC, 70 dimensions", partial(server.call, [1] * 70, b"a")
    yield "gRPC, the shape [-1]", partial(server.call, [-1], b"a")


def many_paths(server: Served) -> Trials:
    choose = random.Random(0)

    def cased(path: str) -> str:
        return "".join(choose.choice((c.lower(), c.upper())) for c in path)

    def call(requests: list[tuple[str, str]]) -> str:
        def lines() -> int:
            return len(server.ask("GET", "/metrics")[1].splitlines())

        before = lines()
        for method, path in requests:
            server.ask(method, path)
        return f"metrics had {before} lines, and have {lines()}"

    paths = ["/healthz", "/monitoring/prometheus/metrics", f"/v1/models/{MODEL}/metadata"]
    each = [("GET", cased(path)) for path in paths for _ in range(100)]
    yield "300 paths in all cases", partial(call, each)
    models = [("GET", f"/v1/models/model{i}") for i in range(300)]
    yield "300 models that are not there", partial(call, models)
    methods = [(f"GET{i}", "/healthz") for i in range(300)]
    yield "300 methods", partial(call, methods)


def short_values(server: Served) -> Trials:
    def until_answered() -> str:
        end, refused = time.monotonic() + LIMIT / 2, 0
        while not (answer := server.call([1], b"It rained.")).startswith("OK"):
            if time.monotonic() > end:
                return f"refused for {LIMIT / 2:.0f} s: {answer}"
            refused += 1
            time.sleep(0.2)
        return f"{answer}, after {refused} refusals"

    yield "gRPC, no text of the shape [1024]", partial(server.call, [1024])
    for sent, text in (
        ("20 bytes", b"It rained on Monday."),
        ("20 kB", b"It rained on Monday. " * 1000),
        ("1 MB", b"It rained on Monday. " * 47_000),
    ):
        yield f"gRPC, one text of {sent} of the shape [1024]", partial(server.call, [1024], text)
        yield "a short one after it, again and again until it is answered", until_answered


def without_token(server: Served) -> Trials:
    texts = [b""] * 15_000_000
    yield (
        "gRPC, 30 MB of empty texts, a wrong token",
        partial(server.call, [len(texts)], *texts, token="wrong"),
    )
    yield (
        "gRPC, one text of 30 MB, a wrong token",
        partial(server.call, [1], b"a" * 30_000_000, token="wrong"),
    )


def other_sites(server: Served) -> Trials:
    body = json.dumps({"instances": ["It rained."]}).encode()
    for sent, headers in (
        ("Host: example.org", {"Host": "example.org"}),
        ("Host: [::1", {"Host": "[::1"}),
        ("text/plain from https://example.org", {"Origin": "https://example.org"}),
        ("Origin: null", {"Origin": "null"}),
        ("Host: localhost", {"Host": "localhost"}),
    ):
        plain = {"Content-Type": "text/plain", **headers}
        yield sent, partial(server.ask, "POST", PREDICT, body, plain)


def two_lengths(server: Served) -> Trials:
    def call(head: bytes, body: bytes) -> str:
        """What comes back on a connection with two requests, of which a proxy may see one."""
        with socket.create_connection(("127.0.0.1", server.port), timeout=5) as connection:
            connection.sendall(b"POST " + PREDICT.encode() + b" HTTP/1.1\r\nHost: localhost\r\n")
            connection.sendall(head + b"\r\n" + body)
            connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            answer, end = b"", "open after 5 s"
            with contextlib.suppress(TimeoutError):
                while part := connection.recv(65536):
                    answer += part
                end = "closed"
        statuses = re.findall(r"HTTP/1\.1 (\d+)", answer.decode())
        return f"statuses {', '.join(statuses)}; the connection is {end}"

    chunked = b"Transfer-Encoding: chunked\r\n"
    body = b'14\r\n{"instances": ["a"]}\r\n0\r\n\r\n'
    yield (
        "Transfer-Encoding and Content-Length",
        partial(call, chunked + b"Content-Length: 4\r\n", body),
    )
    yield (
        "two Content-Lengths",
        partial(call, b"Content-Length: 20\r\nContent-Length: 4\r\n", b'{"instances": ["a"]}'),
    )


IN_A_PROCESS: list[tuple[int, Callable[[pathlib.Path], Trials]]] = [
    (2, deep_json),
    (4, comments),
    (5, mails),
    (7, torch_bombs),
    (9, own_notes),
    (11, cut_pages),
    (12, packed_files),
    (17, addresses),
    (21, wide_cell),
    (24, inner_pages),
]
OF_A_SERVER: list[tuple[int, Callable[[Served], Trials], dict[str, Any]]] = [
    (1, many_rows, {}),
    (16, odd_requests, {}),
    (19, many_paths, {}),
    (24, other_sites, {}),
    (25, two_lengths, {}),
    (20, short_values, {}),  # the last: its work goes on
    (20, without_token, {"token": "secret"}),
]


def try_in_process(row: int, trials: Callable[[pathlib.Path], Trials]) -> None:
    """Prints the trials of a row."""
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for sent, call in trials(pathlib.Path()):
            measure(row, sent, call)


def print_rows(wanted: list[int]) -> None:
    """Prints the rows of the table, or those that are wanted."""
    print(FORM.format("row", "sent", "seconds", "MB", "answer"), flush=True)
    spawn = multiprocessing.get_context("spawn")
    for row, trials in IN_A_PROCESS:
        if wanted and row not in wanted:
            continue
        process = spawn.Process(target=try_in_process, args=(row, trials))
        process.start()
        process.join(LIMIT)
        if process.exitcode != 0:
            status = process.exitcode
            process.kill()
            process.join()
            why = f"ended after {LIMIT:.0f} s" if status is None else f"ended with status {status}"
            print(FORM.format(row, "the next", "", "", why), flush=True)

    chosen = [entry for entry in OF_A_SERVER if not wanted or entry[0] in wanted]
    for settings, entries in itertools.groupby(chosen, key=lambda entry: entry[2]):
        server = Served(**settings)
        for row, of_server, _ in entries:
            for sent, call in of_server(server):
                measure(row, sent, call, server.pid)
        server.close()
