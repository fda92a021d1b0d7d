"""The models of a server that a client asks: where they are, what they can do, which texts each
has, and the requests again that the server had no room for."""

import asyncio
import random
import time
import urllib.parse
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from tfsum.errors import needs_extra, require
from tfsum.inference.texts import check_texts
from tfsum.serving.request_error import LOADING, RequestError
from tfsum.serving.servable import Arrays
from tfsum.tasks.bert_sum_ext.answering import Defaults
from tfsum.tasks.model_choice import AUTO, SUMMARIZERS, divide_texts

if TYPE_CHECKING:  # each needs a package that a client of the other does not
    from tfsum.serving.grpc_transport import GrpcTransport
    from tfsum.serving.http_transport import HttpTransport

# The server had no room (429), was not there (503), or ended meanwhile. A prediction changes
# nothing on it: to ask twice does no harm.
RETRIED = {"RESOURCE_EXHAUSTED", "UNAVAILABLE"}
FIRST_WAIT, LONGEST_WAIT = 0.1, 5.0  # seconds before a repetition
LONGEST_ASKED = 60.0  # seconds that a server may ask to wait in addition

T = TypeVar("T")
P = ParamSpec("P")
Signatures = dict[str, tuple[list[str], list[str]]]  # name -> (names of inputs, of outputs)


class ServedModels:
    """A model of a server, or the shipped summarizers, of which a text chooses one.

    Args:
        url: "http://HOST:PORT", "https://HOST:PORT" or "grpc://HOST:PORT".
        model: Name of the model on the server, or "auto".
        version: Version of the model; the newest where None.
        token: Token that the server needs, or None.
        timeout: Seconds for each request, and for models that are still being loaded.
        retries: How often to repeat a request that the server did not answer.
        at_once: Number of requests that are sent at the same time.

    Raises:
        Error: The address has another form, or the package for it is not installed.

    Example:
        >>> models = ServedModels("http://localhost:8501", "news", None, None, 30.0, 4, 4)
        >>> asyncio.run(models.default())
        'news'
    """

    def __init__(
        self,
        url: str,
        model: str,
        version: int | None,
        token: str | None,
        timeout: float,
        retries: int,
        at_once: int,
    ) -> None:
        names = SUMMARIZERS if model == AUTO else (model,)
        self._transports = {name: _connect(url, name, version, token, timeout) for name in names}
        self._signatures: dict[str, Signatures] = {}  # of each model that is there, once known
        self._retries, self._timeout, self._room = retries, timeout, asyncio.Semaphore(at_once)

    async def close(self) -> None:
        """Closes the connections."""
        for transport in self._transports.values():
            await transport.close()

    async def signatures(self) -> dict[str, Signatures]:
        """The signatures of each model that is there.

        Raises:
            RequestError: None is there, or the server was not reached.
        """
        if not self._signatures:
            found = await asyncio.gather(
                *(self._send(transport.signatures) for transport in self._transports.values()),
                return_exceptions=True,
            )
            there = {name: one for name, one in zip(self._transports, found) if type(one) is dict}
            missing = [one for one in found if isinstance(one, BaseException)]
            unexpected = [one for one in missing if getattr(one, "code", "") != "NOT_FOUND"]
            if unexpected or not there:
                raise (unexpected or missing)[0]
            self._signatures = there
        return self._signatures

    async def default(self) -> str:
        """The model whose signatures are called where no text chooses one."""
        if len(self._transports) > 1:
            return next(iter(await self.signatures()))
        return next(iter(self._transports))

    def defaults(self, model: str) -> Defaults | None:
        """What a model does where a request leaves it open, once its signatures are known.

        Args:
            model: Name of the model.
        """
        return self._transports[model].defaults

    async def predict(self, model: str, signature: str, inputs: Arrays) -> Arrays:
        """The outputs of a signature, in one request.

        Args:
            model: Name of the model.
            signature: Name of the signature.
            inputs: Name -> array.

        Raises:
            RequestError: The server refused the request, or was not reached.
        """
        return await self._send(self._transports[model].predict, signature, inputs)

    async def divided(
        self,
        texts: Sequence[str],
        ask: Callable[[str, Sequence[str]], Awaitable[list[T]]],
        together: bool = False,
    ) -> list[T]:
        """The answers of the models to their texts, in the order of the texts.

        Args:
            texts: Texts.
            ask: Function of the name of a model and its texts.
            together: Whether the texts have one answer.
        """
        texts, found = check_texts(texts), dict[int, T]()
        for model, numbers in divide_texts(texts, await self.signatures(), together).items():
            answers = await ask(model, [texts[i] for i in numbers])
            found |= zip(numbers or [0], answers)
        return [found[i] for i in sorted(found)]

    async def _send(self, send: Callable[P, Awaitable[T]], *args: P.args, **kwargs: P.kwargs) -> T:
        """Sends one request in its turn, and again where the server gave no answer."""
        async with self._room:
            end, attempt = time.monotonic() + self._timeout, 0
            while True:
                try:
                    return await send(*args, **kwargs)
                except RequestError as error:
                    is_coming = LOADING in error.message and time.monotonic() < end
                    if error.code not in RETRIED or (attempt >= self._retries and not is_coming):
                        raise
                    wait = min(LONGEST_WAIT, FIRST_WAIT * 2**attempt) * random.uniform(0.5, 1.0)
                    await asyncio.sleep(min(LONGEST_ASKED, error.retry_after or 0.0) + wait)
                attempt += 1


def _connect(
    url: str, model: str, version: int | None, token: str | None, timeout: float
) -> "HttpTransport | GrpcTransport":
    """The transport for an address, HTTP or gRPC by its scheme."""
    parts = urllib.parse.urlsplit(url)
    require(
        parts.scheme in ("http", "https", "grpc") and parts.hostname,
        f"{url!r}: expected http://HOST:PORT, https://HOST:PORT or grpc://HOST:PORT",
    )
    with needs_extra("client", f"a client of {parts.scheme}://"):
        if parts.scheme == "grpc":
            from tfsum.serving.grpc_transport import GrpcTransport

            return GrpcTransport(url, model, version, token, timeout)
        from tfsum.serving.http_transport import HttpTransport
    return HttpTransport(url, model, version, token, timeout)
