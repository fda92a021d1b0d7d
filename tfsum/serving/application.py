"""The HTTP application: the REST API, the page and what it asks, health, metrics, and the access
log."""

import asyncio
import ipaddress
import pathlib
import time
import urllib.parse

import numpy as np
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route, Router
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tfsum.errors import DataError
from tfsum.inference.saved_model import read_vocabularies
from tfsum.inference.texts import as_bytes
from tfsum.inputs.apart import text_apart
from tfsum.request import SENTENCES
from tfsum.serving.json_body import JsonResponse, read_object, received, unless_gone
from tfsum.serving.openapi import openapi_document
from tfsum.serving.predictor import MAX_LOGGED, Predictor, as_request_error, offload, span
from tfsum.serving.request_error import RequestError, invalid, require
from tfsum.serving.rest import OpenInference, RestApi
from tfsum.serving.servable import Arrays
from tfsum.serving.summarize_api import SummarizeApi

# Path -> (file in the folder `page`, its type)
FILES = {
    "/": ("index.html", "text/html"),
    "/page.css": ("page.css", "text/css"),
    "/page.js": ("page.js", "text/javascript"),
    "/page/example.txt": ("example.txt", "text/plain"),
}
PAGE_HEADERS = {
    # The page may load files of this server alone, and ask it alone.
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; connect-src"
        " 'self'; img-src data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-cache",
}
MAX_UPLOADS = 16  # files that wait to be read
PROBES = {"/healthz", "/readyz"}  # paths that answer however many requests there are
WITHOUT_TOKEN = {*FILES, *PROBES}  # paths that need no token


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
        # Files of the page: those that are read or wait, and the one that is read.
        self._uploads, self._reading = asyncio.Semaphore(MAX_UPLOADS), asyncio.Semaphore(1)
        self.draining = False
        folder = pathlib.Path(__file__).parent / "page"
        files = {
            path: Response((folder / name).read_bytes(), headers=PAGE_HEADERS, media_type=kind)
            for path, (name, kind) in FILES.items()
        }
        routes = [
            *(Route(path, file, methods=["GET"]) for path, file in files.items()),
            Route("/page/attention", self._attention, methods=["POST"]),
            Route("/page/text", self._text, methods=["POST"]),
            Route("/page/warnings.json", JsonResponse(SENTENCES), methods=["GET"]),
            Route("/healthz", PlainTextResponse("ok\n"), methods=["GET"]),
            Route("/readyz", self._readyz),
            Route("/monitoring/prometheus/metrics", self._prometheus),
            Route("/metrics", self._prometheus),
            Route("/openapi.json", self._openapi),
            *SummarizeApi(predictor).routes,
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

    async def _attention(self, request: Request) -> Response:
        """The attention between the pieces of a text and of its answer, and the alternatives.

        The body of the request is {"model": NAME, "text": TEXT}.
        """
        body = await received(request, self._predictor)
        document = await offload(len(body), read_object, body)
        name, text = document.get("model"), document.get("text")
        if not isinstance(name, str) or not isinstance(text, str):
            raise invalid('expected {"model": "NAME", "text": "..."}')

        with self._predictor.versions.use(name) as servable:
            require(
                "attend" in servable.signatures,
                f"{name} has no signature 'attend'; it is not an abstractive model, or was"
                " exported by an older tfsum",
            )
            inputs = {"text": np.array([as_bytes(text)], object)}
            answer = self._predictor.predict(
                servable, servable.signatures["attend"], inputs, request.scope["take"]
            )
            outputs = await unless_gone(request, answer)
            # The vocabularies are read from files.
            return JsonResponse(await asyncio.to_thread(_in_words, servable.path, outputs))

    async def _text(self, request: Request) -> Response:
        """The text of a file that is the body of the request; its name is the parameter `name`."""
        name = request.query_params.get("name", "")[:MAX_LOGGED]
        name = "".join(c for c in name if c.isprintable()) or "the file"
        body = await received(request, self._predictor)
        reading = self._text_apart(body, name)
        return JsonResponse({"text": await unless_gone(request, reading)})

    async def _text_apart(self, body: bytes, name: str) -> str:
        """The text of a file, which is read when those before it are."""
        settings = self._predictor.settings
        require(
            not self._uploads.locked(),
            f"{MAX_UPLOADS} files wait to be read; ask again later",
            "RESOURCE_EXHAUSTED",
            retry_after=1,
        )
        try:
            async with self._uploads, asyncio.timeout(settings.timeout), self._reading:
                return await text_apart(body, name, settings.timeout, settings.max_body)
        except TimeoutError:
            raise RequestError(
                "DEADLINE_EXCEEDED",
                f"{name}: was not read in {settings.timeout:g} s (the server's `--timeout`), with"
                " the files before it; ask again later, or send a smaller one",
            ) from None
        except DataError as error:
            raise invalid(str(error)) from None

    async def _readyz(self, request: Request) -> Response:
        if self._predictor.versions.ready and not self.draining:
            return PlainTextResponse("ready\n")
        return PlainTextResponse("models are not loaded yet, or the server stops\n", 503)

    async def _prometheus(self, request: Request) -> Response:
        return Response(self._predictor.metrics.text(), media_type=CONTENT_TYPE_LATEST)

    async def _openapi(self, request: Request) -> Response:
        needs_token = self._predictor.settings.token is not None
        return JsonResponse(openapi_document(self._predictor.versions.available(), needs_token))


def _failure(error: RequestError) -> Response:
    headers = {} if error.retry_after is None else {"Retry-After": f"{error.retry_after:g}"}
    if error.code == "UNAUTHENTICATED":
        headers["WWW-Authenticate"] = "Bearer"
    if error.http_status in (408, 413):
        headers["Connection"] = "close"  # the rest of the body is not read
    return JsonResponse({"error": error.message}, error.http_status, headers)


def _no_route(request: Request, error: HTTPException) -> Response:
    path = request.scope["path"][:MAX_LOGGED]
    message = f"there is no {path}; models are below /v1/models/"
    if error.headers is not None:
        message = f"{request.method} {path}; expected {error.headers['Allow']}"
    return JsonResponse({"error": message}, error.status_code, error.headers)


def _in_words(path: pathlib.Path, outputs: Arrays) -> dict[str, object]:
    """The outputs of `attend` for one text, with word pieces in place of ids."""
    row = {name: array[0] for name, array in outputs.items()}
    source_pieces, target_pieces = read_vocabularies(path)
    source_ids, ids = (row[name][: np.count_nonzero(row[name])] for name in ("source_ids", "ids"))
    attention = row["attention"][: len(ids), : len(source_ids)]
    shares = row["alternative_probability"].astype(float).round(4).tolist()
    return {
        "source": [source_pieces[i] for i in source_ids],
        "answer": [target_pieces[i] for i in ids],
        "attention": attention.astype(float).round(4).tolist(),
        "alternatives": [
            [[target_pieces[i], share] for i, share in zip(candidates, place)]
            for candidates, place in zip(row["alternatives"][: len(ids)], shares)
        ],
    }


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
