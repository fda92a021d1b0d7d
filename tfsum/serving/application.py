"""The HTTP application: its connections, the REST API, the page, health, metrics, and the access
log."""

import asyncio
import collections
import ipaddress
import math
import time
import urllib.parse

from prometheus_client.exposition import CONTENT_TYPE_LATEST
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route, Router
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from tfsum.serving.chat_api import ChatApi
from tfsum.serving.json_body import JsonResponse
from tfsum.serving.openapi import openapi_document
from tfsum.serving.page_api import FILES, PageApi
from tfsum.serving.predictor import MAX_LOGGED, Predictor, as_request_error, span
from tfsum.serving.request_error import RequestError, headers_of, require
from tfsum.serving.rest import OpenInference, RestApi
from tfsum.serving.summarize_api import SummarizeApi

PROBES = {"/healthz", "/readyz"}  # paths that answer however many requests there are
WITHOUT_TOKEN = {*FILES, *PROBES}  # paths that need no token
HEAD_SECONDS = 10.0  # in which the head of a request must arrive
# A client reads at least so much of an answer in that time: bytes, and a share of what is unread.
READ_SECONDS, READ_BYTES, READ_PARTS = 30.0, 1 << 16, 10


class HttpConnection(H11Protocol):
    """Uvicorn's connection of HTTP/1.1, with four changes.

    A client may close its sending side after its request (RFC 9112, section 9.6), as `nc -N` does:
    uvicorn drops the connection then, and the answer. A client that begins a request and never
    ends its head would hold a connection for ever; here it has 10 seconds. So would one that does
    not read its answer; here it must read a tenth in 30 seconds. Where there are as many
    connections as may be, a new one takes the place of one whose client is silent.

    Example:
        >>> import uvicorn
        >>> uvicorn.Config(lambda scope, receive, send: None, http=HttpConnection).http.__name__
        'HttpConnection'
    """

    _head_end: float | None = None  # time until which the head of a request must have arrived
    _seen = 0.0  # time at which data came last
    _reading: asyncio.TimerHandle  # looks whether the client reads, while an answer is written

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Called with a new connection."""
        super().connection_made(transport)
        self._wait_for_head()
        # The application limits the requests itself, but for probes.
        self.limit_concurrency = None
        if len(self.connections) > (self.config.limit_concurrency or math.inf):
            self._take_place()

    def data_received(self, data: bytes) -> None:
        """Called with the data of a client; uvicorn ends its own wait for a request."""
        super().data_received(data)
        self._wait_for_head()

    def eof_received(self) -> bool:  # type: ignore[override]
        """Called when the client sends no more; True keeps the connection for the answer."""
        if self._idle or self.cycle.more_body:
            return False
        self.cycle.keep_alive = False
        return True

    def pause_writing(self) -> None:
        """Called when the client reads more slowly than the server writes."""
        super().pause_writing()
        unread = self.transport.get_write_buffer_size()
        self._check_reader(math.inf, max(READ_BYTES, unread // READ_PARTS))

    def resume_writing(self) -> None:
        """Called when the client has read most of what was written."""
        super().resume_writing()
        self._reading.cancel()

    def _check_reader(self, limit: float, part: int) -> None:
        """Ends the connection if more than `limit` bytes are unread, and looks again later whether
        a part was read."""
        unread = self.transport.get_write_buffer_size()
        if unread > limit or self.transport.is_closing():
            self.transport.abort()
            return

        self._reading = self.loop.call_later(READ_SECONDS, self._check_reader, unread - part, part)

    def _take_place(self) -> None:
        """Ends the connection whose client has been silent for the longest time, of the address
        that has most of these."""
        silent = [
            each
            for each in self.connections
            if isinstance(each, HttpConnection) and each is not self and each._waits
        ]
        counts = collections.Counter(each._address for each in silent)
        oldest = min(silent, key=lambda each: (-counts[each._address], each._seen), default=None)
        if oldest is not None:
            oldest.transport.abort()

    @property
    def _address(self) -> str:
        return self.client[0] if self.client else ""

    @property
    def _idle(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    @property
    def _waits(self) -> bool:
        """Whether the client is to send something: a request, or the rest of one."""
        return (self._idle or self.cycle.more_body) and not self.transport.is_closing()

    def _wait_for_head(self) -> None:
        """Lets uvicorn close the connection at `_head_end`, as it does with an unused one."""
        self._seen = self.loop.time()
        if not self._idle:
            self._head_end = None
            return

        self._head_end = self._head_end or self.loop.time() + HEAD_SECONDS
        self.timeout_keep_alive_task = self.loop.call_at(
            self._head_end, self.timeout_keep_alive_handler
        )


class Application:
    """An ASGI application that answers from loaded models.

    Args:
        predictor: Predictor that answers within the limits of the server.

    Attributes:
        draining: Whether the server is about to stop: it is not ready then, and closes a connection
            after the answer.

    Example:
        >>> from tfsum.serving import Server, ServerSettings
        >>> Server(settings=ServerSettings(port=0)).application.draining
        False
    """

    def __init__(self, predictor: Predictor) -> None:
        self._predictor = predictor
        self.draining = False
        summarize = SummarizeApi(predictor)
        page = PageApi(predictor, summarize)
        routes = [
            *page.routes,
            Route("/healthz", PlainTextResponse("ok\n"), methods=["GET"]),
            Route("/readyz", self._readyz),
            Route("/monitoring/prometheus/metrics", self._prometheus),
            Route("/metrics", self._prometheus),
            Route("/openapi.json", self._openapi),
            *summarize.routes,
            *ChatApi(predictor, summarize, page.read_file).routes,
            *OpenInference(predictor).routes,
            *RestApi(predictor).routes,
        ]
        self._router = Router(routes, redirect_slashes=False)
        self._app: ASGIApp = self._answer
        if predictor.settings.cors is not None:
            self._app = CORSMiddleware(
                self._answer,
                allow_origins=[predictor.settings.cors],
                allow_methods=["GET", "POST"],
                allow_headers=["Authorization"],
            )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers a request over HTTP."""
        begin, request = time.monotonic(), Request(scope)
        # Routes decode the names in a path after they have divided it at its slashes.
        path = scope["raw_path"].decode("latin-1").partition("?")[0]
        scope = {**scope, "path": path, "app": self}
        status = bytes_out = 0

        async def record(message: Message) -> None:
            nonlocal status, bytes_out
            if message["type"] == "http.response.start":
                status = message["status"]
                # A length beside another framing may be an attempt to smuggle a second request
                # past a proxy (RFC 9112, section 6.1).
                two_framings = {"transfer-encoding", "content-length"} <= set(request.headers)
                if self.draining or two_framings:
                    message["headers"] = [*message["headers"], (b"connection", b"close")]
            bytes_out += len(message.get("body", b""))
            if message.get("body"):  # the empty end of the body waits until it is sent
                await send({**message, "more_body": True})
                message = {**message, "body": b""}
            await send(message)

        # Probes and browsers ask for the other paths all the time.
        traced = path.startswith(("/v1/", "/v2/models/", "/summarize"))
        place = path[:MAX_LOGGED]
        opening = span(request.method, request.headers, traced, url_path=place)
        with self._predictor.room() as scope["take"], opening as opened:
            try:
                await self._app(scope, receive, record)
            except asyncio.CancelledError:  # a second signal ends the server
                if status:
                    raise
                stopped = "the server stopped before the answer was computed"
                await _failure(RequestError("UNAVAILABLE", stopped))(scope, receive, record)
            opened["http.response.status_code"] = status

        model = scope.get("path_params", {}).get("name", "")
        bytes_in = request.headers.get("content-length")
        self._predictor.record(
            begin,
            model,
            scope["endpoint"].__name__ if model else "",
            status,
            method=request.method,
            path=place,
            bytes_in=bytes_in and int(bytes_in),
            bytes_out=bytes_out,
        )

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers a request, or tells what is wrong with it."""
        request = Request(scope)
        try:
            if request.method == "OPTIONS":  # as TensorFlow Serving; CORS has a middleware
                options = Response(status_code=200 if "origin" in request.headers else 400)
                return await options(scope, receive, send)

            self._check_site(request)
            most = self._predictor.settings.max_connections
            require(
                scope["path"] in PROBES or self._predictor.answering <= most,
                f"{most} requests are being answered (the server's `--max-connections`); ask again"
                " later",
                "UNAVAILABLE",
                retry_after=1,
            )
            if scope["path"] not in WITHOUT_TOKEN:
                self._predictor.check_token(request.headers.get("authorization", ""))
            return await self._router(scope, receive, send)
        except HTTPException as error:
            response = _no_route(request, error)
        except ClientDisconnect:
            response = Response(status_code=499)
        except Exception as error:
            response = _failure(as_request_error(error))
        await response(scope, receive, send)

    def _check_site(self, request: Request) -> None:
        """Checks the names in a request."""
        settings = self._predictor.settings
        host, origin = request.headers.get("host", ""), request.headers.get("origin", "")
        if settings.cors in ("*", origin):
            origin = ""
        require(
            not is_page_of_another_site(
                host, origin, settings.allowed_host, is_loopback(settings.host)
            ),
            f"the request is for {host} from {origin or 'no page'}, and this server answers"
            " programs, its own pages and those of this machine; start it with --allowed-host NAME,"
            " --cors ORIGIN or another --host",
            "PERMISSION_DENIED",
        )

    async def _readyz(self, request: Request) -> Response:
        if self._predictor.versions.ready and not self.draining:
            return PlainTextResponse("ready\n")
        return PlainTextResponse("models are not loaded yet, or the server stops\n", 503)

    async def _prometheus(self, request: Request) -> Response:
        return Response(self._predictor.metrics.text(), media_type=CONTENT_TYPE_LATEST)

    async def _openapi(self, request: Request) -> Response:
        return JsonResponse(
            openapi_document(
                self._predictor.versions.available(),
                token=self._predictor.settings.token is not None,
            )
        )


def _failure(error: RequestError) -> Response:
    return JsonResponse({"error": error.message}, error.http_status, headers_of(error))


def _no_route(request: Request, error: HTTPException) -> Response:
    path = request.scope["path"][:MAX_LOGGED]
    message = f"there is no {path}; models are below /v1/models/"
    if error.headers is not None:
        message = f"{request.method} {path}; expected {error.headers['Allow']}"
    return JsonResponse({"error": message}, error.status_code, error.headers)


def is_loopback(host: str) -> bool:
    """Whether the name or address of a host is of this machine.

    Args:
        host: Name or address, without its port.

    Example:
        >>> is_loopback("localhost"), is_loopback("::1"), is_loopback("example.org")
        (True, True, False)
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def is_page_of_another_site(host: str, origin: str, known: str | None, local: bool = True) -> bool:
    """Whether a page of another site asks a server, through its user's browser.

    The page gives the server's address a name of its own (DNS rebinding), or posts to it from its
    own origin.

    Args:
        host: Header `Host` of the request; "" where it has none.
        origin: Header `Origin`; "" where it has none.
        known: Further name of the server, "*" for any, or None.
        local: Whether the server is bound to this machine alone; otherwise any name may be its own.

    Example:
        >>> is_page_of_another_site("localhost:8501", "http://localhost:8501", None)
        False
        >>> is_page_of_another_site("localhost:8501", "https://example.org", None)
        True
        >>> is_page_of_another_site("tfsum.example.org", "https://example.org", None, local=False)
        True
    """
    try:
        name, page = (
            urllib.parse.urlsplit(address).hostname or "" for address in (f"//{host}", origin)
        )
    except ValueError:  # brackets that hold no address
        return known != "*"
    foreign = [
        each
        for header, each in ((host, name), (origin, page))
        if header and not is_loopback(each) and each != known and (local or each != name)
    ]
    return known != "*" and bool(foreign)
