"""Clients of `tfsum serve` and of TensorFlow Serving, over REST or gRPC."""

import asyncio
import contextlib
import functools
import importlib
import random
import threading
import urllib.parse
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from typing import (
    TYPE_CHECKING,
    Any,
    Concatenate,
    ParamSpec,
    TypeVar,
    Unpack,
    cast,
    overload,
)

import numpy as np

from tfsum.errors import Error, install_extra
from tfsum.generation.generated import Generated, generated_of
from tfsum.inference.shipped import DEFAULT_MODEL
from tfsum.inference.texts import as_bytes, check_texts, filled, several
from tfsum.serving.request_error import RequestError
from tfsum.serving.signature import Arrays, divide_rows, row_sizes
from tfsum.tasks.bert_classifier.classified import Classified, classified_of
from tfsum.tasks.bert_sum_ext.limits import Limits, check_number_of_keywords, extract_inputs
from tfsum.tasks.bert_sum_ext.summary import (
    Keyword,
    Summary,
    joined,
    keywords_of,
    summary_of,
    with_documents,
)

if TYPE_CHECKING:  # each needs a package that a client of the other does not
    from tfsum.serving.grpc_transport import GrpcTransport
    from tfsum.serving.http_transport import HttpTransport

# The server had no room (429), was not there (503), or ended meanwhile. A prediction changes
# nothing on it: to ask twice does no harm.
RETRIED = {"RESOURCE_EXHAUSTED", "UNAVAILABLE"}
FIRST_WAIT, LONGEST_WAIT = 0.1, 5.0  # seconds before a repetition
LONGEST_ASKED = 60.0  # seconds that a server may ask to wait in addition
# Scheme of an address -> module and class that sends the requests.
TRANSPORTS = {
    "http": ("tfsum.serving.http_transport", "HttpTransport"),
    "https": ("tfsum.serving.http_transport", "HttpTransport"),
    "grpc": ("tfsum.serving.grpc_transport", "GrpcTransport"),
}
SENTENCES = 3  # of a summary, where nothing is asked for
FILLS = {"O": b"", "i": -1}  # kind of an array -> what fills up narrower rows; 0 in others

T = TypeVar("T")
P = ParamSpec("P")


def connect(
    url: str, model: str, version: int | None, token: str | None, timeout: float
) -> "HttpTransport | GrpcTransport":
    """The transport for an address.

    Args:
        url: "http://HOST:PORT", "https://HOST:PORT" or "grpc://HOST:PORT".
        model: Name of the model on the server.
        version: Version of the model; the newest where None.
        token: Token that the server needs, or None.
        timeout: Seconds for a request.

    Raises:
        Error: The address has another form, or the package for it is not installed.

    Example:
        >>> connect("localhost:8501", "news", None, None, 30.0)  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        tfsum.errors.Error: 'localhost:8501': expected http://HOST:PORT, https://HOST:PORT or ...
    """
    parts = urllib.parse.urlsplit(url)
    if parts.scheme not in TRANSPORTS or not parts.hostname:
        raise Error(f"{url!r}: expected http://HOST:PORT, https://HOST:PORT or grpc://HOST:PORT")

    module, name = TRANSPORTS[parts.scheme]
    try:
        transport = getattr(importlib.import_module(module), name)
    except ModuleNotFoundError as error:
        raise Error(
            f"a client of {parts.scheme}:// needs the package {error.name};"
            f" {install_extra('client')}"
        ) from None
    return transport(url, model, version, token, timeout)


class AsyncClient(contextlib.AbstractAsyncContextManager["AsyncClient"]):
    """Asks a server for summaries, generated texts and labels, as coroutines.

    `Client` has the same methods without `await`.

    Args:
        url: "http://HOST:PORT", "https://HOST:PORT" or "grpc://HOST:PORT".
        model: Name of the model on the server.
        version: Version of the model; the newest where None.
        token: Token that the server needs, or None.
        timeout: Seconds for each request.
        retries: How often to repeat a request for which the server had no room, or that did not
            reach its end, each time after a longer wait.
        batch_characters: Characters of a request; more texts are sent in several requests.
        batch_documents: Texts of a request.
        at_once: Number of requests that are sent at the same time.

    Raises:
        Error: The address has another form, or the package for it is not installed.

    Example:
        >>> async def ask():
        ...     async with AsyncClient("http://localhost:8501") as client:
        ...         return await client.summarize("It rained. The bridge was closed.", sentences=1)
        >>> asyncio.run(ask()).summary  # doctest: +SKIP
        'The bridge was closed.'
    """

    def __init__(
        self,
        url: str,
        model: str = DEFAULT_MODEL,
        *,
        version: int | None = None,
        token: str | None = None,
        timeout: float = 30.0,
        retries: int = 4,
        batch_characters: int = 1 << 16,
        batch_documents: int = 32,
        at_once: int = 4,
    ) -> None:
        self._transport = connect(url, model, version, token, timeout)
        self._retries = retries
        self._batch_characters, self._batch_documents = batch_characters, batch_documents
        self._room = asyncio.Semaphore(at_once)

    async def __aexit__(self, *exception: object) -> None:
        """Closes the connections."""
        await self.close()

    async def close(self) -> None:
        """Closes the connections."""
        await self._transport.close()

    async def signatures(self) -> dict[str, tuple[list[str], list[str]]]:
        """The signatures of the model.

        Returns:
            Name of a signature -> (names of its inputs, names of its outputs).

        Raises:
            RequestError: There is no such model, or the server was not reached.
        """
        return await self._send(self._transport.signatures)

    async def predict(
        self, inputs: Mapping[str, Any], signature: str = "serving_default"
    ) -> Arrays:
        """The outputs of any signature.

        Args:
            inputs: Name -> values, the rows first; any number of rows.
            signature: Name of the signature.

        Returns:
            Name -> array, with a row for each row of the inputs.

        Raises:
            RequestError: The server refused a request, or was not reached.
        """
        arrays = {name: _as_array(name, values) for name, values in inputs.items()}
        counts = {array.shape[:1] for array in arrays.values()}
        if len(counts) != 1 or () in counts:
            raise Error(
                "inputs differ in their number of rows, or have none; expected lists of the same"
                " length"
            )

        requests = [
            self._send(
                self._transport.predict,
                signature,
                {name: array[part] for name, array in arrays.items()},
            )
            for part in divide_rows(
                row_sizes(arrays), self._batch_characters, self._batch_documents
            )
        ]
        answers = []
        for answer in await asyncio.gather(*requests, return_exceptions=True):
            if isinstance(answer, BaseException):
                raise answer
            answers.append(answer)
        return {name: _join([answer[name] for answer in answers]) for name in answers[0]}

    @overload
    async def summarize(  # type: ignore[overload-overlap]  # a str is a sequence of str
        self,
        texts: str,
        sentences: int | None = None,
        block_trigrams: bool = False,
        **limits: Unpack[Limits],
    ) -> Summary: ...

    @overload
    async def summarize(
        self,
        texts: Sequence[str],
        sentences: int | None = None,
        block_trigrams: bool = False,
        **limits: Unpack[Limits],
    ) -> list[Summary]: ...

    async def summarize(
        self,
        texts: str | Sequence[str],
        sentences: int | None = None,
        block_trigrams: bool = False,
        **limits: Unpack[Limits],
    ) -> Summary | list[Summary]:
        """Summarizes texts with an extractive model.

        Args:
            texts: One text or a sequence of them.
            sentences: Largest number of sentences of a summary; 3 by default, or with limits as
                many as there is room for.
            block_trigrams: Whether to skip a sentence that repeats a word trigram of the summary.
            **limits: Limits in words, characters or a share of the text, a lowest score, and a
                query, as in `tfsum.tasks.bert_sum_ext.limits.Limits`.

        Returns:
            A `tfsum.Summary`, or a list of them for a sequence.

        Raises:
            Error: A limit is not possible.
            RequestError: The server refused a request, or was not reached.
        """
        if isinstance(texts, str):
            return (await self.summarize([texts], sentences, block_trigrams, **limits))[0]

        if limits:
            signature, inputs = "extract", extract_inputs(limits, sentences, SENTENCES)
        else:
            number = SENTENCES if sentences is None else sentences
            signature, inputs = "summarize", {"max_sentences": number}
        return await self._summaries(signature, texts, block_trigrams=block_trigrams, **inputs)

    async def together(
        self,
        texts: Sequence[str],
        sentences: int | None = None,
        block_trigrams: bool = True,
        **limits: Unpack[Limits],
    ) -> Summary:
        """Summarizes several texts on the same matter in one summary, which says a thing once.

        Args:
            texts: The texts.
            sentences: As in `summarize`; so are the arguments below.
            block_trigrams: Whether to skip a sentence that repeats a word trigram of the summary.
            **limits: Limits; `share` counts the words of all texts.

        Returns:
            A `tfsum.Summary`, whose `documents` tell the text of each sentence.

        Raises:
            Error: A limit is not possible.
            RequestError: The server refused a request, or was not reached.
        """
        texts = check_texts(several(texts))
        summary = await self.summarize(joined(texts), sentences, block_trigrams, **limits)
        return with_documents(summary, texts)

    async def score(self, texts: Sequence[str]) -> list[Summary]:
        """Scores every sentence of texts with an extractive model.

        Args:
            texts: Texts.

        Returns:
            A `tfsum.Summary` of all sentences for each.

        Raises:
            RequestError: The server refused a request, or was not reached.
        """
        return await self._summaries("score", several(texts))

    async def keywords(self, texts: Sequence[str], number: int = 8) -> list[list[Keyword]]:
        """The words and phrases that carry texts, by an extractive model.

        Args:
            texts: Texts.
            number: Keywords of a text at most.

        Returns:
            The keywords of each text, the best first.

        Raises:
            Error: The number is not possible.
            RequestError: The server refused a request, or was not reached.
        """
        texts = check_texts(several(texts))
        rows = await self._rows("keywords", texts, max_keywords=check_number_of_keywords(number))
        return [keywords_of(text, row) for text, row in zip(texts, rows)]

    async def _summaries(
        self, signature: str, texts: Sequence[str], **options: Any
    ) -> list[Summary]:
        texts = check_texts(texts)
        rows = await self._rows(signature, texts, **options)
        return [
            summary_of(text, row, row.get("newline", b"sentence").decode())
            for text, row in zip(texts, rows)
        ]

    @overload
    async def generate(self, texts: str) -> Generated: ...  # type: ignore[overload-overlap]

    @overload
    async def generate(self, texts: Sequence[str]) -> list[Generated]: ...

    async def generate(self, texts: str | Sequence[str]) -> Generated | list[Generated]:
        """Generates an answer to each text with an abstractive model.

        Args:
            texts: One text or a sequence of them.

        Returns:
            A `tfsum.Generated`, or a list of them for a sequence.

        Raises:
            Error: The model is not abstractive.
            RequestError: The server refused a request, or was not reached.
        """
        if isinstance(texts, str):
            return (await self.generate([texts]))[0]

        texts = check_texts(texts)
        rows = await self._rows("serving_default", texts)
        _check_kind("generate", rows, ("summary", "log_probability", "ended"))
        return [generated_of(text, row) for text, row in zip(texts, rows)]

    @overload
    async def classify(  # type: ignore[overload-overlap]
        self, texts: str, pairs: str | None = None
    ) -> Classified: ...

    @overload
    async def classify(
        self, texts: Sequence[str], pairs: Sequence[str] | None = None
    ) -> list[Classified]: ...

    async def classify(
        self, texts: str | Sequence[str], pairs: str | Sequence[str] | None = None
    ) -> Classified | list[Classified]:
        """Labels each text with a classifier.

        Args:
            texts: One text or a sequence of them.
            pairs: Second text of each, for a model that was trained on pairs.

        Returns:
            A `tfsum.Classified`, or a list of them for a sequence.

        Raises:
            Error: The number of second texts is wrong, or the model is no classifier.
            RequestError: The server refused a request, or was not reached.
        """
        if isinstance(texts, str):
            second = None if pairs is None else [cast(str, pairs)]
            return (await self.classify([texts], second))[0]

        texts = check_texts(texts)
        options = {}
        if pairs is not None:
            pairs = options["text_pair"] = check_texts(pairs)
            if len(pairs) != len(texts):
                raise Error(
                    f"{len(texts)} texts and {len(pairs)} second texts; expected a second text for"
                    " each"
                )

        rows = await self._rows("serving_default", texts, **options)
        _check_kind("classify", rows, ("label", "labels", "probability"))
        not_blank = [any(map(str.strip, row)) for row in zip(texts, pairs or texts)]
        return [classified_of(row, any_word) for row, any_word in zip(rows, not_blank)]

    async def _rows(self, signature: str, texts: list[str], **options: Any) -> list[dict[str, Any]]:
        """The outputs of each text; an option is a value for all texts, or a list of values."""
        if not texts:
            return []

        inputs = {
            name: value if isinstance(value, list) else filled(len(texts), value)
            for name, value in options.items()
        }
        outputs = await self.predict({"text": texts, **inputs}, signature)
        return [{name: array[row] for name, array in outputs.items()} for row in range(len(texts))]

    async def _send(self, send: Callable[P, Awaitable[T]], *args: P.args, **kwargs: P.kwargs) -> T:
        """Sends one request in its turn, and again where the server gave no answer."""
        async with self._room:
            for attempt in range(self._retries):
                try:
                    return await send(*args, **kwargs)
                except RequestError as error:
                    if error.code not in RETRIED:
                        raise
                    wait = min(LONGEST_WAIT, FIRST_WAIT * 2**attempt) * random.uniform(0.5, 1.0)
                    await asyncio.sleep(min(LONGEST_ASKED, error.retry_after or 0.0) + wait)
            return await send(*args, **kwargs)


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

    def __init__(self, url: str, model: str = DEFAULT_MODEL, **options: Any) -> None:
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


def _check_kind(method: str, rows: list[dict[str, Any]], expected: tuple[str, ...]) -> None:
    """Checks that the model has the outputs that a method of the client needs."""
    missing = [name for name in expected if rows and name not in rows[0]]
    if missing:
        raise Error(
            f"the model gives {', '.join(sorted(rows[0]))}, and not {', '.join(missing)}, which"
            f" `{method}` needs: it is a model of another kind; `summarize` is for extractive"
            " models, `generate` for abstractive ones, `classify` for classifiers and `predict`"
            " for all"
        )


def _as_array(name: str, values: Any) -> np.ndarray:
    """Converts the values of an input to an array; texts become bytes."""
    try:
        array = np.asarray(values)
    except ValueError:
        raise Error(
            f"the rows of input {name} differ in their lengths; expected rows of one length: pad"
            " the shorter ones, or send them in requests of their own"
        ) from None
    if array.dtype.kind not in "USO":
        return array

    texts = np.array(values, object)  # as they are: numpy converts numbers beside texts
    for index, text in enumerate(texts.flat):
        if not isinstance(text, str | bytes):
            raise Error(
                f"row {index} of input {name} is {type(text).__name__}; expected a text, as the"
                " other rows"
            )
        texts.flat[index] = text if isinstance(text, bytes) else as_bytes(text)
    return texts


def _join(arrays: list[np.ndarray]) -> np.ndarray:
    """Joins the rows of several answers; narrower ones are filled up as exports do."""
    width = np.max([array.shape[1:] for array in arrays], axis=0)
    fill: Any = FILLS.get(arrays[0].dtype.kind, 0)
    missing = [[(0, 0), *((0, size) for size in width - array.shape[1:])] for array in arrays]
    return np.concatenate(
        [np.pad(array, sizes, constant_values=fill) for array, sizes in zip(arrays, missing)]
    )
