"""A server of exported models: it loads them, listens, and stops without losing a request."""

import asyncio
import functools
import pathlib
import signal
import socket
import threading
import time
from types import FrameType

import grpc
import uvicorn

from tfsum.errors import Error, as_error
from tfsum.inference.exported_model import computed_in
from tfsum.private_names import check_private_names
from tfsum.serving.application import HEAD_SECONDS, Application, HttpConnection
from tfsum.serving.grpc_services import GrpcServices
from tfsum.serving.model_versions import ModelVersions
from tfsum.serving.predictor import LOG, Predictor
from tfsum.serving.settings import ServerSettings
from tfsum.serving.version_folders import load_servable
from tfsum.shipped_files import SAVED_MODELS

MAX_MESSAGE = (1 << 31) - 1  # bytes that gRPC can send
POLL_SECONDS = 0.1  # between two looks of uvicorn at whether it is to stop
IDLE_SECONDS = 75  # in which an open connection must bring a request
CALLS = 100  # at once on a connection of gRPC
AGE_SECONDS = 300  # of a connection of gRPC, which holds what its client does not read
DESCRIPTORS = 256  # beside those of connections
DRAIN_SECONDS = 0.5  # after SIGTERM, until others see that the server is not ready


class Server:
    """Serves the models of a folder over TensorFlow Serving's REST API and gRPC services.

    Args:
        folder: Directory with folders NAME/VERSION of exported models, or one NAME; that of the
            shipped models where None.
        settings: What to listen on, what to accept, and how to answer.

    Attributes:
        port: Port of HTTP.
        grpc_port: Port of gRPC; 0 before it listens.

    Raises:
        Error: There is no such folder, or the address cannot be bound.

    Example:
        >>> with Server(settings=ServerSettings(port=0)) as server:  # doctest: +SKIP
        ...     print(f"http://127.0.0.1:{server.port}")
    """

    def __init__(
        self, folder: str | pathlib.Path | None = None, settings: ServerSettings | None = None
    ) -> None:
        settings = settings or ServerSettings()
        connections = _with_descriptors(settings.max_connections)
        self.settings = settings = settings.model_copy(update={"max_connections": connections})
        self.versions = ModelVersions(
            pathlib.Path(folder or SAVED_MODELS),
            settings,
            functools.partial(load_servable, compute=computed_in(settings.compute)),
        )
        self.predictor = Predictor(self.versions, settings)
        self.application = Application(self.predictor)

        self._socket = _listen(settings)
        self.port = self._socket.getsockname()[1]
        self.grpc_port = 0
        self._http: _HttpServer | None = None
        # A daemon thread does not keep the process from ending while a model is loaded.
        self._scans = threading.Thread(
            target=self.versions.watch, args=(self._log_models,), name="tfsum scan", daemon=True
        )

    def run(self) -> bool:
        """Serves until SIGTERM or SIGINT; a second signal ends it at once.

        Returns:
            Whether every accepted request was answered within `grace`.
        """
        return asyncio.run(self._serve())

    def __enter__(self) -> "Server":
        """Serves in a thread; returns when the models are loaded."""
        self._thread = threading.Thread(target=self.run, name="tfsum server", daemon=True)
        self._thread.start()
        while self.versions.starting and self._thread.is_alive():
            time.sleep(0.01)
        return self

    def __exit__(self, *exception: object) -> None:
        """Stops when the accepted requests are answered, and no model is loaded or warmed up."""
        if self._http is not None:
            self._http.stop(drain=0.0)
        self._thread.join()
        if self._scans.is_alive():  # at Python's end TensorFlow may abort what is computed
            self._scans.join()

    async def _serve(self) -> bool:
        self._http = _HttpServer(self.application, await self._listen_grpc(), self.settings)
        # when uvicorn has its signal handlers
        asyncio.get_running_loop().call_soon(self._scans.start)
        try:
            await self._http.serve([self._socket])
        finally:
            self.versions.stop()
            self.predictor.batcher.close()
            self.predictor.long_texts.close()

        return self._http.answered

    async def _listen_grpc(self) -> grpc.aio.Server:
        """Starts the gRPC server, which listens on no port where none is set."""
        server = grpc.aio.server(
            options=[
                ("grpc.max_receive_message_length", self.settings.max_body),
                ("grpc.max_send_message_length", MAX_MESSAGE),
                ("grpc.max_allowed_incoming_connections", self.settings.max_connections),
                ("grpc.max_concurrent_streams", CALLS),  # of a connection
                ("grpc.max_connection_idle_ms", round(1000 * IDLE_SECONDS)),
                ("grpc.max_connection_age_ms", 1000 * AGE_SECONDS),  # clients make a new one
                ("grpc.max_connection_age_grace_ms", round(2000 * self.settings.timeout)),
                ("grpc.server_handshake_timeout_ms", round(1000 * HEAD_SECONDS)),
                ("grpc.so_reuseport", int(self.settings.reuse_port)),
            ],
            maximum_concurrent_rpcs=self.settings.max_connections,
        )
        server.add_generic_rpc_handlers(GrpcServices(self.predictor).handlers())
        if self.settings.grpc_port is not None:
            address = f"{self.settings.host}:{self.settings.grpc_port}"
            try:
                self.grpc_port = server.add_insecure_port(address)
            except RuntimeError:
                raise Error(
                    f"{address} cannot be listened on; another program may have the port: take"
                    " another by --grpc-port"
                ) from None
            LOG.info("grpc://%s:%d listens too", self.settings.host, self.grpc_port)

        await server.start()
        return server

    def _log_models(self) -> None:
        """Logs the models that answer after the first scan."""
        models = ", ".join(
            f"{name} ({', '.join(str(servable.version) for servable in servables)})"
            for name, servables in self.versions.available().items()
        )
        LOG.info(
            "http://%s:%d answers for %s", self.settings.host, self.port, models or "no model yet"
        )


class _HttpServer(uvicorn.Server):
    """Uvicorn beside a gRPC server; both go on for a moment after the first signal.

    Args:
        application: Application that is told of the first signal.
        grpc_server: GRPC server, which has been started.
        settings: `grace`, from the first signal, in which accepted requests are answered, and
            `max_connections`.

    Attributes:
        answered: Whether all accepted requests were answered in time.
    """

    def __init__(
        self,
        application: Application,
        grpc_server: grpc.aio.Server,
        settings: ServerSettings,
    ) -> None:
        super().__init__(
            uvicorn.Config(
                application,
                http=HttpConnection,
                lifespan="off",
                log_config=None,
                access_log=False,
                server_header=False,
                ws="none",
                backlog=2048,
                timeout_keep_alive=IDLE_SECONDS,
                limit_concurrency=settings.max_connections,
            )
        )
        unused = HttpConnection(self.config, self.server_state, {})
        check_private_names("uvicorn", unused, "cycle", "loop", "timeout_keep_alive_task")
        self._application, self._grpc_server = application, grpc_server
        self._grace = settings.grace
        self._loop = asyncio.get_running_loop()
        self._end: float | None = None  # of the grace; None before the first signal
        self.answered = True

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Called with each signal."""
        if self._end is not None:
            self.force_exit = self.should_exit = True
            return

        # first, since a second signal may come while the line is written
        self.stop(min(DRAIN_SECONDS, self._grace / 2))
        LOG.info("%s: stopping when the accepted requests are answered", signal.Signals(sig).name)

    def stop(self, drain: float) -> None:
        """Stops the server, from any thread.

        Args:
            drain: Seconds in which new requests are still accepted.
        """
        self._end = time.monotonic() + self._grace
        self._application.draining = True
        self._loop.call_soon_threadsafe(
            self._loop.call_later, drain, setattr, self, "should_exit", True
        )

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Ends HTTP and gRPC together; gives up what is not answered at the end of the grace."""
        seconds = max(0.0, (self._end or 0.0) - time.monotonic() - POLL_SECONDS)
        # uvicorn declares an int, and takes any number of seconds
        self.config.timeout_graceful_shutdown = seconds  # type: ignore[assignment]
        grpc_stop = asyncio.create_task(self._stop_grpc(seconds))
        await super().shutdown(sockets)
        self.answered = not self.server_state.tasks

        while not grpc_stop.done() and not self.force_exit:
            await asyncio.wait([grpc_stop], timeout=POLL_SECONDS)
        self.answered &= not self.force_exit and grpc_stop.result()
        if self.force_exit:
            await self._grpc_server.stop(0)
        if not self.answered:
            LOG.warning("stopped before every accepted request was answered")

    async def _stop_grpc(self, seconds: float) -> bool:
        """Ends gRPC; whether all of its calls were answered in time."""
        begin = time.monotonic()
        await self._grpc_server.stop(seconds)
        return not seconds or time.monotonic() - begin < seconds


def _with_descriptors(connections: int) -> int:
    """The number of connections that descriptors are left for, when the soft limit is raised."""
    try:
        import resource
    except ModuleNotFoundError:  # on Windows
        return connections

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if resource.RLIM_INFINITY in (soft, hard):
        return connections
    wanted = min(hard, max(soft, 2 * connections + DESCRIPTORS))  # as many of gRPC
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    return max(1, min(connections, wanted - DESCRIPTORS))


def _listen(settings: ServerSettings) -> socket.socket:
    host, port = settings.host, settings.port
    with as_error(
        f"{host}:{port} cannot be listened on",
        OSError,
        cure="; another program may have the port: take another by --port",
    ):
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server(
            (host, port),
            family=family,
            reuse_port=settings.reuse_port,
            dualstack_ipv6=family == socket.AF_INET6 and socket.has_dualstack_ipv6(),
        )
