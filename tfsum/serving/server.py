"""A server of exported models: it loads them, listens, and stops without losing a request."""

import asyncio
import logging
import pathlib
import signal
import socket
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import Any

import uvicorn

from tfsum.errors import Error
from tfsum.serving.application import Application
from tfsum.serving.batching import Batcher
from tfsum.serving.http_protocol import HttpProtocol
from tfsum.serving.metrics import Metrics
from tfsum.serving.model_versions import LOG, ModelVersions, watch
from tfsum.serving.predictor import Predictor
from tfsum.serving.rest import RestApi
from tfsum.serving.servable import Servable
from tfsum.serving.settings import ServerSettings

LARGEST_MESSAGE = (1 << 31) - 1  # bytes that gRPC can send
POLL = 0.1  # seconds after which uvicorn looks whether it is to stop, and whether all is answered
DRAIN = 0.5  # seconds in which new requests are still answered after SIGTERM, until others see that we are not ready


def load_servable(name: str, version: int, path: pathlib.Path) -> Servable:
    """Loads a version, warms it up, and checks its answers.

    Raises:
        ExportError: one of these fails.

    Example:
        >>> from tfsum.inference.shipped import shipped_model
        >>> load_servable("news", 1, shipped_model()).version  # doctest: +SKIP
        1
    """
    servable = Servable(name, version, path)
    servable.warm_up()
    servable.verify()
    return servable


class Server:
    """Serves the models of a folder over TensorFlow Serving's REST API.

    Args:
        folder: with folders NAME/VERSION of exported models, or one NAME; the shipped models where None.
        settings: see `ServerSettings`.

    Attributes:
        port: on which it listens.
        grpc_port: the same of gRPC, once it listens; 0 before.

    Raises:
        Error: there is no such folder, or the address cannot be bound.

    Example:
        >>> with Server(settings=ServerSettings(port=0)) as server:  # doctest: +SKIP
        ...     print(f"http://127.0.0.1:{server.port}")
    """

    def __init__(
        self, folder: str | pathlib.Path | None = None, settings: ServerSettings | None = None
    ) -> None:
        if folder is None:
            from tfsum.inference.shipped import shipped_folder

            folder = shipped_folder()
        self.settings = settings or ServerSettings()
        self.metrics = Metrics()
        self.versions = ModelVersions(pathlib.Path(folder), self.settings, load_servable)
        self.batcher = Batcher(self.settings, self.metrics.observe_batch)
        self.metrics.watch(self.batcher, self.versions)
        self.predictor = Predictor(self.versions, self.batcher, self.metrics, self.settings)
        self.application = Application(
            RestApi(self.predictor), self.predictor, self.metrics, self.settings
        )
        self._socket = _listen(self.settings.host, self.settings.port)
        self.port = self._socket.getsockname()[1]
        self.grpc_port = 0
        self._http: _Http | None = None
        self._thread: threading.Thread | None = None

    def run(self) -> bool:
        """Serves until SIGTERM or SIGINT; a second signal ends it at once.

        Returns:
            Whether every accepted request was answered within `grace`.
        """
        return asyncio.run(self._serve())

    def __enter__(self) -> "Server":
        """Serves in a thread, once the models are loaded."""
        self._thread = threading.Thread(target=self.run, name="tfsum server", daemon=True)
        self._thread.start()
        while self.versions.starting and self._thread.is_alive():
            time.sleep(0.01)
        return self

    def __exit__(self, *exception: object) -> None:
        """Stops, when the accepted requests are answered."""
        if self._http is not None:
            self._http.stop(drain=0.0)
        if self._thread is not None:
            self._thread.join()

    async def _serve(self) -> bool:
        settings = self.settings
        config = uvicorn.Config(
            self.application,
            http=HttpProtocol,
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            ws="none",
            backlog=2048,
            timeout_keep_alive=75,
        )
        calls = await self._listen_grpc()
        self._http = _Http(config, calls, settings.grace, self._drain)
        scans = asyncio.create_task(watch(self.versions, settings.poll_seconds, self._say_started))
        try:
            await self._http.serve([self._socket])
        finally:
            self.versions.stop()
            scans.cancel()
            self.batcher.close()
        return self._http.answered

    async def _listen_grpc(self) -> Any:
        """Starts the gRPC server, where there is to be one."""
        if self.settings.grpc_port is None:
            return None
        import grpc

        from tfsum.serving.grpc_services import GrpcServices

        sizes = [
            (f"grpc.max_{way}_message_length", size)
            for way, size in (("receive", self.settings.max_body), ("send", LARGEST_MESSAGE))
        ]
        server = grpc.aio.server(options=[*sizes, ("grpc.so_reuseport", 0)])
        server.add_generic_rpc_handlers(
            GrpcServices(self.predictor, self.settings.token).handlers()
        )
        address = f"{self.settings.host}:{self.settings.grpc_port}"
        try:
            self.grpc_port = server.add_insecure_port(address)
        except RuntimeError:
            raise Error(
                f"{address} cannot be listened on; another program may have the port: take another by "
                "--grpc-port"
            ) from None
        await server.start()
        return server

    def _drain(self) -> None:
        self.application.draining = True

    def _say_started(self) -> None:
        """Logs what the server answers for, when the first scan has ended."""
        found = ", ".join(
            f"{name} ({', '.join(str(servable.version) for servable in servables)})"
            for name, servables in self.versions.available().items()
        )
        LOG.info(
            "http://%s:%d answers for %s", self.settings.host, self.port, found or "no model yet"
        )


class _Http(uvicorn.Server):
    """Uvicorn and a gRPC server, which go on for a moment after the first signal, and end at once after the second.

    Args:
        config: of uvicorn.
        calls: the gRPC server, or None.
        grace: seconds from the first signal in which what was accepted is answered.
        drain: called with the first signal.

    Attributes:
        answered: whether all that was accepted was answered in time.
    """

    def __init__(
        self, config: uvicorn.Config, calls: Any, grace: float, drain: Callable[[], None]
    ) -> None:
        super().__init__(config)
        self._calls, self._grace, self._drain, self._loop = (
            calls,
            grace,
            drain,
            asyncio.get_running_loop(),
        )
        self._end = 0.0
        self.answered = True

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Called with each signal."""
        if self._stopping:
            self.force_exit = self.should_exit = True
        else:
            LOG.info(
                "%s: stopping when the accepted requests are answered", signal.Signals(sig).name
            )
            self.stop(min(DRAIN, self._grace / 2))

    _stopping = False

    def stop(self, drain: float) -> None:
        """Stops after so many seconds, from any thread."""
        self._stopping, self._end = True, time.monotonic() + self._grace
        self._drain()
        self._loop.call_soon_threadsafe(self._loop.call_later, drain, self._exit)

    def _exit(self) -> None:
        self.should_exit = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Ends HTTP and gRPC beside each other; what is not answered at the end of the grace is given up."""
        left = max(0.0, self._end - time.monotonic() - POLL)
        self.config.timeout_graceful_shutdown = left  # type: ignore[assignment]  # any number of seconds will do
        calls = asyncio.create_task(self._stop_calls(left))
        await super().shutdown(sockets)
        self.answered = not self.server_state.tasks
        while not calls.done() and not self.force_exit:
            await asyncio.wait([calls], timeout=POLL)
        self.answered &= not self.force_exit and calls.result()
        if self.force_exit and self._calls is not None:
            await self._calls.stop(0)
        if not self.answered:
            LOG.warning("stopped before every accepted request was answered")

    async def _stop_calls(self, left: float) -> bool:
        """Ends gRPC; whether all of its calls were answered before the time was over."""
        begin = time.monotonic()
        if self._calls is not None:
            await self._calls.stop(left)
        return not left or time.monotonic() - begin < left


def _listen(host: str, port: int) -> socket.socket:
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        listening = socket.socket(family, socket.SOCK_STREAM)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
    except OSError as error:
        raise Error(
            f"{host}:{port} cannot be listened on ({error.strerror or error}); another program may have the "
            "port: take another by --port"
        ) from None
    return listening


def log_to(stream: Any, access: bool) -> None:
    """Sends the server's log to a stream, and its access log too where `access`.

    Example:
        >>> import sys
        >>> log_to(sys.stderr, access=False)
    """
    handler = logging.StreamHandler(stream)
    handler.setFormatter(logging.Formatter("tfsum serve: %(message)s"))
    lines = logging.StreamHandler(stream)
    lines.setFormatter(logging.Formatter("%(message)s"))
    for logger, used, level in (
        (LOG, handler, logging.INFO),
        (logging.getLogger("tfsum.serving.access"), lines, logging.INFO if access else 100),
    ):
        logger.handlers[:] = [used]
        logger.setLevel(level)
        logger.propagate = False
