"""A server of exported models: it loads them, listens, and stops without losing a request."""

import asyncio
import collections
import functools
import math
import pathlib
import signal
import socket
import threading
import time
from types import FrameType

import grpc
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from tfsum.errors import Error, as_error
from tfsum.inference.exported_model import computed_in
from tfsum.private_names import check_private_names
from tfsum.serving.application import Application
from tfsum.serving.grpc_services import GrpcServices
from tfsum.serving.model_versions import ModelVersions
from tfsum.serving.predictor import LOG, Predictor
from tfsum.serving.settings import ServerSettings
from tfsum.serving.version_folders import load_servable
from tfsum.shipped_files import SAVED_MODELS

MAX_MESSAGE = (1 << 31) - 1  # bytes that gRPC can send
POLL_SECONDS = 0.1  # between two looks of uvicorn at whether it is to stop
HEAD_SECONDS = 10.0  # in which the head of a request must arrive
IDLE_SECONDS = 75  # in which an open connection must bring a request
CALLS = 100  # at once on a connection of gRPC
AGE_SECONDS = 300  # of a connection of gRPC, which holds what its client does not read
# A client reads at least so much of an answer in that time: bytes, and a share of what is unread.
READ_SECONDS, READ_BYTES, READ_PARTS = 30.0, 1 << 16, 10
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
        """Stops when the accepted requests are answered."""
        if self._http is not None:
            self._http.stop(drain=0.0)
        self._thread.join()

    async def _serve(self) -> bool:
        self._http = _HttpServer(self.application, await self._listen_grpc(), self.settings)
        # A daemon thread does not keep the process from ending while a model is loaded.
        scans = threading.Thread(
            target=self.versions.watch, args=(self._log_models,), name="tfsum scan", daemon=True
        )
        asyncio.get_running_loop().call_soon(scans.start)  # when uvicorn has its signal handlers
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


class HttpConnection(H11Protocol):
    """Uvicorn's connection of HTTP/1.1, with four changes.

    A client may close its sending side after its request (RFC 9112, section 9.6), as `nc -N` does:
    uvicorn drops the connection then, and the answer. A client that begins a request and never
    ends its head would hold a connection for ever; here it has 10 seconds. So would one that does
    not read its answer; here it must read a tenth in 30 seconds. Where there are as many
    connections as may be, a new one takes the place of one whose client is silent.

    Example:
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
        others = (each for each in self.connections if isinstance(each, HttpConnection))
        silent = [each for each in others if each is not self and each._waits]
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
    cure = "; another program may have the port: take another by --port"
    with as_error(f"{host}:{port} cannot be listened on", OSError, cure=cure):
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server(
            (host, port),
            family=family,
            reuse_port=settings.reuse_port,
            dualstack_ipv6=family == socket.AF_INET6 and socket.has_dualstack_ipv6(),
        )
