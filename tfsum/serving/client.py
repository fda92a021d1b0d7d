"""Clients of `tfsum serve` and of TensorFlow Serving, over REST or gRPC."""

import asyncio
import random
import threading
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from typing import Any, TypeVar, cast, overload

import numpy as np

from tfsum.errors import Error
from tfsum.inference.shipped import DEFAULT_MODEL
from tfsum.inference.texts import as_bytes, check_texts
from tfsum.serving.request_error import RequestError
from tfsum.serving.transport import Question, Signatures, Transport, transport_of
from tfsum.tasks.abstractive.generated import Generated, generated_of
from tfsum.tasks.classification.classified import Classified, classified_of
from tfsum.tasks.extractive.summary import Summary, summary_of

RETRIED = {
    "RESOURCE_EXHAUSTED",
    "UNAVAILABLE",
}  # 429 and 503: the server did not begin; the same request may do better
FIRST_WAIT, LONGEST_WAIT = 0.1, 5.0  # seconds before the first repetition, and at most

Arrays = dict[str, np.ndarray]
T = TypeVar("T")


class AsyncClient:
    """Asks a server for summaries, generated texts and labels, as coroutines; `Client` has the same without `await`.

    Args:
        url: "http://HOST:PORT", "https://..." or "grpc://HOST:PORT".
        model: its name on the server.
        version: of the model; the newest where None.
        token: that the server needs.
        timeout: seconds for each request.
        retries: how often a request is repeated that the server had no room for, each time after a longer wait.
        batch_characters: characters of a request; more texts are sent in several.
        batch_documents: texts of a request.
        at_once: requests that are under way at the same time.

    Raises:
        Error: the address is of no known kind, or the package for it is not installed.

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
        self._transport: Transport = transport_of(url, model, version, token, timeout)
        self._retries, self._characters, self._documents = (
            retries,
            batch_characters,
            batch_documents,
        )
        self._room = asyncio.Semaphore(at_once)

    async def __aenter__(self) -> "AsyncClient":
        """The client; `async with` closes its connections."""
        return self

    async def __aexit__(self, *exception: object) -> None:
        """Closes the connections."""
        await self.close()

    async def close(self) -> None:
        """Closes the connections."""
        await self._transport.close()

    async def signatures(self) -> Signatures:
        """What the model can be asked.

        Returns:
            Name of a signature -> (names of its inputs, names of its outputs).

        Raises:
            RequestError: there is no such model, or the server was not reached.
        """
        return await self._repeated(self._transport.signatures)

    async def predict(
        self, inputs: Mapping[str, Any], signature: str = "serving_default"
    ) -> Arrays:
        """Asks any signature.

        Args:
            inputs: name -> values, the rows first; as many rows as you like.
            signature: its name.

        Returns:
            Name -> array, its rows those of the inputs.

        Raises:
            RequestError: the server refused a request, or was not reached.
        """
        given = {name: _as_array(name, values) for name, values in inputs.items()}
        counts = {len(array) if array.ndim else -1 for array in given.values()}
        if len(counts) != 1 or -1 in counts:
            raise Error(
                "inputs differ in their number of rows, or have none; expected lists of the same length"
            )
        parts = [
            {name: array[rows] for name, array in given.items()} for rows in self._parts(given)
        ]
        async with asyncio.TaskGroup() as group:
            asked = [group.create_task(_kept(self._ask(signature, part))) for part in parts]
        answers = []
        for task in asked:
            if isinstance(answer := task.result(), BaseException):
                raise answer
            answers.append(answer)
        return {name: _joined([answer[name] for answer in answers]) for name in answers[0]}

    @overload
    async def summarize(  # type: ignore[overload-overlap]  # a str is a sequence of str
        self, texts: str, sentences: int = 3, block_trigrams: bool = False
    ) -> Summary: ...

    @overload
    async def summarize(
        self, texts: Sequence[str], sentences: int = 3, block_trigrams: bool = False
    ) -> list[Summary]: ...

    async def summarize(
        self, texts: str | Sequence[str], sentences: int = 3, block_trigrams: bool = False
    ) -> Summary | list[Summary]:
        """Summarizes texts with an extractive model.

        Args:
            texts: one text or a sequence of them.
            sentences: the most sentences of a summary.
            block_trigrams: whether to skip a sentence that repeats a word trigram of the summary.

        Returns:
            A `tfsum.Summary`, or a list of them for a sequence.

        Raises:
            RequestError: the server refused a request, or was not reached.
        """
        if isinstance(texts, str):
            return (await self.summarize([texts], sentences, block_trigrams))[0]
        texts = check_texts(texts)
        rows = await self._rows(
            "summarize",
            texts,
            max_sentences=np.full(len(texts), sentences, np.int32),
            block_trigrams=np.full(len(texts), block_trigrams),
        )
        return [
            summary_of(text, row, row["newline"].decode() if "newline" in row else "sentence")
            for text, row in zip(texts, rows)
        ]

    @overload
    async def generate(self, texts: str) -> Generated: ...  # type: ignore[overload-overlap]

    @overload
    async def generate(self, texts: Sequence[str]) -> list[Generated]: ...

    async def generate(self, texts: str | Sequence[str]) -> Generated | list[Generated]:
        """Generates an answer to each text with an abstractive model.

        Args:
            texts: one text or a sequence of them.

        Returns:
            A `tfsum.Generated`, or a list of them for a sequence.

        Raises:
            Error: the model is not abstractive.
            RequestError: the server refused a request, or was not reached.
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
            texts: one text or a sequence of them.
            pairs: the second text of each, for a model that was trained on pairs.

        Returns:
            A `tfsum.Classified`, or a list of them for a sequence.

        Raises:
            Error: the number of second texts is wrong, or the model is no classifier.
            RequestError: the server refused a request, or was not reached.
        """
        if isinstance(texts, str):
            return (await self.classify([texts], None if pairs is None else [cast(str, pairs)]))[0]
        texts = check_texts(texts)
        seconds = None if pairs is None else check_texts(pairs)
        if seconds is not None and len(seconds) != len(texts):
            raise Error(
                f"{len(texts)} texts and {len(seconds)} second texts; expected a second text for each"
            )
        rows = await self._rows(
            "serving_default", texts, **({} if seconds is None else {"text_pair": seconds})
        )
        _check_kind("classify", rows, ("label", "labels", "probability"))
        written = [any(map(str.strip, row)) for row in zip(texts, seconds or texts)]
        return [classified_of(row, any_word) for row, any_word in zip(rows, written)]

    async def _rows(self, signature: str, texts: list[str], **options: Any) -> list[dict[str, Any]]:
        """The outputs of each text."""
        if not texts:
            return []
        outputs = await self.predict({"text": texts, **options}, signature)
        return [{name: array[row] for name, array in outputs.items()} for row in range(len(texts))]

    async def _ask(self, signature: str, inputs: Arrays) -> Arrays:
        """The answer to one request."""
        async with self._room:
            return await self._repeated(
                lambda: self._transport.predict(Question(signature, inputs))
            )

    async def _repeated(self, ask: Callable[[], Awaitable[T]]) -> T:
        """What a request gives, repeated where the server had no room for it."""
        for attempt in range(self._retries + 1):
            try:
                return await ask()
            except RequestError as error:
                if error.code not in RETRIED or attempt == self._retries:
                    raise
                wait = min(LONGEST_WAIT, FIRST_WAIT * 2**attempt)
                await asyncio.sleep((error.retry_after or 0.0) + wait * random.uniform(0.5, 1.0))
        raise AssertionError("a request ends by an answer or an error")

    def _parts(self, inputs: Arrays) -> list[slice]:
        """The rows of each request."""
        count = len(next(iter(inputs.values())))
        sizes = [
            sum(
                len(array[row]) if array.dtype == object and array.ndim == 1 else array[row].size
                for array in inputs.values()
            )
            for row in range(count)
        ]
        cuts, size = [0], 0
        for row in range(count):
            if row > cuts[-1] and (
                size + sizes[row] > self._characters or row - cuts[-1] == self._documents
            ):
                cuts.append(row)
                size = 0
            size += sizes[row]
        return [slice(start, end) for start, end in zip(cuts, [*cuts[1:], count])]


class Client:
    """Asks a server for summaries, generated texts and labels; the arguments and methods are those of `AsyncClient`.

    A client may be used by several threads. `with` or `close` ends its connections.

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

    def __enter__(self) -> "Client":
        """The client; `with` closes its connections."""
        return self

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

    def signatures(self) -> Signatures:
        """See `AsyncClient.signatures`."""
        return self._run(self._client.signatures())

    def predict(self, inputs: Mapping[str, Any], signature: str = "serving_default") -> Arrays:
        """See `AsyncClient.predict`."""
        return self._run(self._client.predict(inputs, signature))

    @overload
    def summarize(  # type: ignore[overload-overlap]
        self, texts: str, sentences: int = 3, block_trigrams: bool = False
    ) -> Summary: ...

    @overload
    def summarize(
        self, texts: Sequence[str], sentences: int = 3, block_trigrams: bool = False
    ) -> list[Summary]: ...

    def summarize(
        self, texts: str | Sequence[str], sentences: int = 3, block_trigrams: bool = False
    ) -> Summary | list[Summary]:
        """See `AsyncClient.summarize`."""
        return self._run(self._client.summarize(texts, sentences, block_trigrams))

    @overload
    def generate(self, texts: str) -> Generated: ...  # type: ignore[overload-overlap]

    @overload
    def generate(self, texts: Sequence[str]) -> list[Generated]: ...

    def generate(self, texts: str | Sequence[str]) -> Generated | list[Generated]:
        """See `AsyncClient.generate`."""
        return self._run(self._client.generate(texts))

    @overload
    def classify(  # type: ignore[overload-overlap]
        self, texts: str, pairs: str | None = None
    ) -> Classified: ...

    @overload
    def classify(
        self, texts: Sequence[str], pairs: Sequence[str] | None = None
    ) -> list[Classified]: ...

    def classify(
        self, texts: str | Sequence[str], pairs: str | Sequence[str] | None = None
    ) -> Classified | list[Classified]:
        """See `AsyncClient.classify`."""
        return self._run(self._client.classify(texts, pairs))

    def _run(self, asked: Coroutine[Any, Any, T]) -> T:
        """The value of a coroutine in the client's own loop."""
        if not self._thread.is_alive():
            asked.close()
            raise Error("the client is closed; make another")
        future = asyncio.run_coroutine_threadsafe(asked, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise


async def _kept(asked: Coroutine[Any, Any, Arrays]) -> Arrays | BaseException:
    """The value or the error of a coroutine, so that a group of them ends with its own error and not with a group."""
    try:
        return await asked
    except Error as error:
        return error


def _check_kind(method: str, rows: list[dict[str, Any]], needed: tuple[str, ...]) -> None:
    """Checks that the answer is one of a model that a method is for."""
    if rows and (missing := [name for name in needed if name not in rows[0]]):
        raise Error(
            f"the model gives {', '.join(sorted(rows[0]))}, and not {', '.join(missing)}, which `{method}` "
            "needs: it is a model of another kind; `summarize` is for extractive models, `generate` for "
            "abstractive ones, `classify` for classifiers and `predict` for all"
        )


def _as_array(name: str, values: Any) -> np.ndarray:
    """Values of an input as an array, texts as bytes."""
    if isinstance(values, list | tuple) and any(isinstance(value, str | bytes) for value in values):
        if wrong := [
            place for place, value in enumerate(values) if not isinstance(value, str | bytes)
        ]:
            raise Error(
                f"row {wrong[0]} of input {name} is {type(values[wrong[0]]).__name__}; expected a text, as the "
                "rows beside it"
            )
        return _as_bytes(values)
    try:
        array = np.asarray(values)
    except ValueError:
        raise Error(
            f"the rows of input {name} differ in their lengths; expected rows of one length: fill up the "
            "shorter ones, or ask for them apart"
        ) from None
    return (
        _as_bytes(array.ravel().tolist()).reshape(array.shape)
        if array.dtype.kind in "US"
        else array
    )


def _as_bytes(values: Sequence[str | bytes]) -> np.ndarray:
    array = np.empty(len(values), object)
    array[:] = [value if isinstance(value, bytes) else as_bytes(value) for value in values]
    return array


def _joined(arrays: list[np.ndarray]) -> np.ndarray:
    """The rows of several answers; narrower ones are filled up with empty strings, -1 or 0, as exports do."""
    if len({array.shape[1:] for array in arrays}) > 1:
        width = np.max([array.shape[1:] for array in arrays], axis=0)
        fill: Any = b"" if arrays[0].dtype == object else -1 if arrays[0].dtype.kind == "i" else 0
        arrays = [
            np.pad(
                array,
                [(0, 0), *((0, wide - size) for wide, size in zip(width, array.shape[1:]))],
                constant_values=fill,
            )
            for array in arrays
        ]
    return np.concatenate(arrays)
