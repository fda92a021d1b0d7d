"""The HTTP application: the REST API, health, metrics, and the access log."""

import asyncio
import contextlib
import hmac
import json
import logging
import time
from collections.abc import Awaitable, Callable

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from tfsum.serving.json_answer import write_error
from tfsum.serving.metrics import Metrics
from tfsum.serving.openapi import document
from tfsum.serving.page import FILES, Page
from tfsum.serving.predictor import Predictor
from tfsum.serving.request_body import read_body
from tfsum.serving.request_error import RequestError
from tfsum.serving.rest import ASK, LOOK, RestApi
from tfsum.serving.settings import ServerSettings
from tfsum.serving.tracing import span

LOG, ACCESS = logging.getLogger("tfsum.serving"), logging.getLogger("tfsum.serving.access")
JSON, TEXT = "application/json", "text/plain; charset=utf-8"
SHOWN = 200  # characters of a path in logs and spans


class Application:
    """An ASGI application that answers from loaded models.

    Args:
        api: the REST API.
        predictor: what it asks.
        metrics: count.
        settings: `max_body`, `timeout`, `token` and `cors`.

    Attributes:
        draining: set when the server is to stop: it is not ready then, and connections end with their answer.

    Example:
        >>> from tfsum.serving import Server
        >>> application = Server().application  # doctest: +SKIP
    """

    def __init__(
        self, api: RestApi, predictor: Predictor, metrics: Metrics, settings: ServerSettings
    ) -> None:
        self._api, self._predictor, self._metrics, self._settings = (
            api,
            predictor,
            metrics,
            settings,
        )
        self.draining = False
        page = Page(predictor, settings)
        # Path -> (method, whether a token is needed, the answer); what is not here is the REST API's.
        self._pages: dict[str, tuple[str, bool, Callable[[Request], Awaitable[Response]]]] = {
            **dict.fromkeys(FILES, ("GET", False, page.file)),
            "/page/models": ("GET", True, page.models),
            "/page/attention": ("POST", True, page.attention),
            "/healthz": ("GET", False, self._health),
            "/readyz": ("GET", False, self._ready),
            "/monitoring/prometheus/metrics": ("GET", True, self._counted),
            "/openapi.json": ("GET", True, self._described),
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers a request of HTTP."""
        begin, request = time.monotonic(), Request(scope, receive)
        path = request.scope["raw_path"].decode("latin-1").partition("?")[0]
        traced: contextlib.AbstractContextManager[dict] = contextlib.nullcontext({})
        if path not in self._pages:  # which probes and browsers look at all the time
            traced = span(request.method, request.headers, url_path=path[:SHOWN])
        with traced as found:
            response = await self._answered(request, path)
            found["http.response.status_code"] = response.status_code
        if self._settings.cors and request.headers.get("origin"):
            response.headers.update(
                {
                    "Access-Control-Allow-Origin": self._settings.cors,
                    "Access-Control-Allow-Methods": "POST, GET",
                    "Access-Control-Allow-Headers": "Content-Type, Authorization",
                }
            )
        if self.draining:
            response.headers["Connection"] = "close"
        await response(scope, receive, send)
        self._note(request, path, response, time.monotonic() - begin)

    async def _answered(self, request: Request, path: str) -> Response:
        """The answer to a request, or that of its error."""
        try:
            return await self._answer(request, path)
        except RequestError as error:
            return _failed(error)
        except ClientDisconnect:
            return Response(status_code=499)
        except asyncio.CancelledError:  # a second signal ends the server
            return _failed(
                RequestError("UNAVAILABLE", "the server stopped before the answer was computed")
            )
        except Exception:
            LOG.exception("a request failed")
            return _failed(
                RequestError("INTERNAL", "the request failed; the server's log says why")
            )

    async def _answer(self, request: Request, path: str) -> Response:
        if request.method == "OPTIONS":
            return Response(
                status_code=200 if request.headers.get("origin") else 400, media_type=JSON
            )
        method, needs_token, answer = self._pages.get(path, ("", True, self._rest))
        if needs_token:
            self._check_token(request.headers.get("authorization", ""))
        if method and request.method not in (method, "HEAD" if method == "GET" else method):
            found = RequestError(
                "UNIMPLEMENTED", f"{request.method} {path}; expected {method}", http_status=405
            )
            refusal = _failed(found)
            refusal.headers["Allow"] = f"{method}, HEAD" if method == "GET" else method
            return refusal
        return await answer(request)

    async def _rest(self, request: Request) -> Response:
        path = request.scope["raw_path"].decode("latin-1").partition("?")[0]
        if not path.lower().startswith("/v1/"):
            raise RequestError("NOT_FOUND", f"there is no {path}; models are below /v1/models/")
        body = await read_body(
            request.stream(),
            request.headers.get("content-encoding", ""),
            self._settings.max_body,
            self._settings.timeout,
        )
        return Response(await self._api.answer(request.method, path, body), media_type=JSON)

    async def _health(self, request: Request) -> Response:
        return Response("ok\n", media_type=TEXT)

    async def _ready(self, request: Request) -> Response:
        if self.draining:
            return Response("the server stops\n", 503, media_type=TEXT)
        if not self._predictor.versions.ready:
            return Response(
                "no model is loaded, or those found at first are not loaded yet\n",
                503,
                media_type=TEXT,
            )
        return Response("ready\n", media_type=TEXT)

    async def _counted(self, request: Request) -> Response:
        return Response(self._metrics.text(), headers={"Content-Type": self._metrics.content_type})

    async def _described(self, request: Request) -> Response:
        found = document(self._predictor.versions.available(), self._settings.token is not None)
        return Response(json.dumps(found, indent=1), media_type=JSON)

    def _check_token(self, given: str) -> None:
        token = self._settings.token
        if token is not None and not hmac.compare_digest(
            given.encode(), f"Bearer {token}".encode()
        ):
            raise RequestError(
                "UNAUTHENTICATED",
                "this server needs its token; send the header Authorization: Bearer TOKEN",
            )

    def _note(self, request: Request, path: str, response: Response, seconds: float) -> None:
        """Counts a request, and writes a line about it that has nothing of its body."""
        found = ASK.fullmatch(path) if request.method == "POST" else LOOK.fullmatch(path)
        model = found["name"] or "" if found else ""
        method = (
            (found["method"].lower() if request.method == "POST" else found["part"] or "status")
            if found
            else ""
        )
        self._predictor.observe(model, method, str(response.status_code), seconds)
        ACCESS.info(
            "%s",
            json.dumps(
                {
                    "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
                    "method": request.method,
                    "path": path[:SHOWN],
                    "status": response.status_code,
                    "milliseconds": round(seconds * 1000, 1),
                    "bytes_in": int(length)
                    if (length := request.headers.get("content-length", "")).isdecimal()
                    else None,
                    "bytes_out": len(response.body),
                }
            ),
        )


def _failed(error: RequestError) -> Response:
    headers = {} if error.retry_after is None else {"Retry-After": f"{error.retry_after:g}"}
    if error.code == "UNAUTHENTICATED":
        headers["WWW-Authenticate"] = "Bearer"
    if error.http_status in (408, 413):
        headers["Connection"] = "close"  # the rest of the body is not read
    return Response(write_error(error.message), error.http_status, headers, JSON)
