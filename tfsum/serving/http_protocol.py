"""A connection of HTTP/1.1 that answers clients which closed their sending side, and ends those that send nothing."""

import asyncio

from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD = 30.0  # seconds in which the head of a request comes


class HttpProtocol(H11Protocol):
    """Uvicorn's protocol, in two points more patient and less.

    A client may close its sending side when it has sent its request (RFC 9112, section 9.6), as `nc -N` does: uvicorn
    drops the connection then, and the answer. A client that begins a request and never ends its head holds a connection
    for ever; here, for 30 seconds.

    Example:
        >>> import uvicorn
        >>> uvicorn.Config(lambda scope, receive, send: None, http=HttpProtocol).http.__name__
        'HttpProtocol'
    """

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Called with a new connection."""
        super().connection_made(transport)
        self._watch_head()

    def data_received(self, data: bytes) -> None:
        """Called with what a client sends."""
        super().data_received(data)
        self._watch_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Called when the connection has ended."""
        super().connection_lost(exc)
        self._forget_deadline()

    def eof_received(self) -> bool:  # type: ignore[override]
        """Called when the client sends no more; True keeps the connection for the answer, after which it is closed."""
        if self._idle or self.cycle.more_body:
            return False
        self.cycle.keep_alive = False
        return True

    @property
    def _idle(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def _watch_head(self) -> None:
        if not self._idle:
            self._forget_deadline()
        elif self._deadline is None:
            self._deadline = self.loop.call_later(HEAD, self._close_if_idle)

    def _forget_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _close_if_idle(self) -> None:
        self._deadline = None
        if self._idle and not self.transport.is_closing():
            self.transport.close()
