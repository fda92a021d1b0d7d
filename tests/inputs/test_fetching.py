"""Pages that are cut, endless, slow or lead elsewhere, from a server in this process."""

import gzip
import http.server
import threading
import types
import zlib

import pytest

from tfsum.errors import DataError
from tfsum.inputs import fetching

CODED = {
    "gzip": gzip.compress(b"It rained."),
    "deflate": zlib.compress(b"It rained."),
    "deflate0": zlib.compress(b"It rained.", wbits=-15),
    "br": b"\x8b\x04\x80It rained.\x03",
    "identity": b"It rained.",
}


dripped, ended = threading.Event(), threading.Event()


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_GET(self):
        if self.path == "/inner":
            self.send_response(302)
            self.send_header("Location", f"http://127.0.0.1:{self.server.server_port}/page")
            self.end_headers()
            return
        if self.path == "/nonsense":
            self.wfile.write(b"non\nsense " * 5000 + b"\r\n\r\n")
            return
        if coding := self.path.partition("/coded/")[2]:
            self.send_response(200)
            self.send_header("Content-Encoding", coding.rstrip("0"))
            self.end_headers()
            self.wfile.write(CODED[coding])
            return
        self.send_response(200)
        self.send_header("Content-Length", {"/cut": "30", "/drip": "1000"}.get(self.path, "10"))
        self.end_headers()
        self.wfile.write(b"It rained.")
        if self.path == "/drip":
            self.wfile.write(b" ")
            dripped.set()
            ended.wait(600)


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setattr(fetching, "SECONDS", 600)  # on a machine with much else to do
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://localhost:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_a_whole_page(server):
    assert fetching.fetch(f"{server}/page") == b"It rained."


@pytest.mark.parametrize("coding", CODED)
def test_a_page_that_the_server_has_compressed(server, coding):
    if coding == "br":
        pytest.importorskip("brotli")
    assert fetching.fetch(f"{server}/coded/{coding}") == b"It rained."


def test_a_page_that_is_compressed_in_another_way_or_damaged(server, monkeypatch):
    monkeypatch.setitem(CODED, "zstd", b"x")
    with pytest.raises(DataError, match="/coded/zstd: is compressed as 'zstd'"):
        fetching.fetch(f"{server}/coded/zstd")
    monkeypatch.setitem(CODED, "gzip", b"\x1f\x8bx")
    with pytest.raises(DataError, match="/coded/gzip: cannot be decompressed"):
        fetching.fetch(f"{server}/coded/gzip")


def test_a_page_that_is_cut_off(server):
    with pytest.raises(DataError, match="/cut: the page is cut off, 10 of 30 bytes came"):
        fetching.fetch(f"{server}/cut")


def test_an_answer_that_is_none(server):
    with pytest.raises(DataError, match="/nonsense: cannot be fetched") as caught:
        fetching.fetch(f"{server}/nonsense")
    assert len(str(caught.value)) < 300 and "\n" not in str(caught.value)


def test_a_page_that_comes_in_drips(server, monkeypatch):
    class Thread(threading.Thread):
        def join(self, seconds):  # which are over when the first drips have come
            assert seconds == 600 and dripped.wait(seconds)

    monkeypatch.setattr(fetching, "threading", types.SimpleNamespace(Thread=Thread))
    with pytest.raises(DataError, match="/drip: did not come within 600 s"):
        fetching.fetch(f"{server}/drip")
    ended.set()


def test_a_page_of_the_web_leads_to_no_inner_address(server, monkeypatch):
    assert fetching.fetch(f"{server}/inner") == b"It rained."  # the user named an inner one
    monkeypatch.setattr(fetching, "_is_inner", lambda address: "127.0.0.1" in address)
    with pytest.raises(DataError, match=r"/inner: cannot be fetched \(it leads to http://127"):
        fetching.fetch(f"{server}/inner")


@pytest.mark.parametrize(
    "address", ["http://[::1/a", "http://" + "a" * 70 + ".example/", "https://", "http://a:b/"]
)
def test_what_is_no_address(address):
    with pytest.raises(DataError, match="cannot be fetched"):
        fetching.fetch(address)
