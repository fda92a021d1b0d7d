"""`Client`: the methods of `AsyncClient` for code without coroutines."""

import asyncio
import contextlib
import functools
import threading
from collections.abc import Callable, Coroutine
from typing import Any, Concatenate, ParamSpec, TypeVar

from tfsum.errors import Error
from tfsum.serving.client import AsyncClient
from tfsum.tasks.model_choice import AUTO

T = TypeVar("T")
P = ParamSpec("P")


def _blocking(
    method: Callable[Concatenate[AsyncClient, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate["Client", P], T]:
    """The method of `Client` that waits for a method of `AsyncClient`."""

    @functools.wraps(method)
    def call(client: "Client", *args: P.args, **kwargs: P.kwargs) -> T:
        return client._run(method(client._client, *args, **kwargs))

    return call


class Client(contextlib.AbstractContextManager["Client"]):
    """Asks a server for summaries, generated texts and labels.

    A client may be used by several threads. `with` or `close` ends its connections.

    Args:
        url: "http://HOST:PORT", "https://HOST:PORT" or "grpc://HOST:PORT".
        model: Name of the model on the server.
        **options: Options of `AsyncClient`.

    Example:
        >>> from tfsum.serving import Client
        >>> with Client("http://localhost:8501") as client:  # doctest: +SKIP
        ...     print(client.summarize("It rained. The bridge was closed.", sentences=1).summary)
        The bridge was closed.
    """

    def __init__(self, url: str, model: str = AUTO, **options: Any) -> None:
        self._loop = asyncio.new_event_loop()
        self._client = AsyncClient(url, model, **options)
        self._thread = threading.Thread(
            target=self._loop.run_forever, name="tfsum client", daemon=True
        )
        self._thread.start()

    def __exit__(self, *exception: object) -> None:
        """Closes the connections."""
        self.close()

    def close(self) -> None:
        """Closes the connections."""
        if self._thread.is_alive():
            self._run(self._client.close())
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()

    signatures = _blocking(AsyncClient.signatures)
    predict = _blocking(AsyncClient.predict)
    summarize = _blocking(AsyncClient.summarize)
    answer = _blocking(AsyncClient.answer)
    together = _blocking(AsyncClient.together)
    score = _blocking(AsyncClient.score)
    keywords = _blocking(AsyncClient.keywords)
    generate = _blocking(AsyncClient.generate)
    classify = _blocking(AsyncClient.classify)

    def _run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """The value of a coroutine in the client's own loop."""
        if not self._thread.is_alive():
            coroutine.close()
            raise Error("the client is closed; make another")

        future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise
