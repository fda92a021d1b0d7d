"""Clients of `tfsum serve` and of TensorFlow Serving, over REST or gRPC."""

import asyncio
import contextlib
import pathlib
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Unpack, cast, overload

from tfsum.errors import require
from tfsum.generation.generator import Generated, generated_of
from tfsum.inference.texts import (
    check_texts,
    divide_rows,
    filled,
    row_sizes,
    rows_of,
    token_counter,
)
from tfsum.request import Keyword, SummaryAnswer, SummaryOptions, SummaryRequest
from tfsum.serving.servable import Arrays, as_array, join_rows
from tfsum.serving.served_models import ServedModels, Signatures
from tfsum.tasks.bert_classifier.classified import Classified, classified_of
from tfsum.tasks.bert_sum_ext.answering import Question, keywords_of
from tfsum.tasks.model_choice import AUTO


class AsyncClient(contextlib.AbstractAsyncContextManager["AsyncClient"]):
    """Asks a server for summaries, generated texts and labels, as coroutines.

    `Client` has the same methods without `await`.

    Args:
        url: "http://HOST:PORT", "https://HOST:PORT" or "grpc://HOST:PORT".
        model: Name of the model on the server; "auto" for one of the shipped summarizers, which is
            chosen by the text.
        version: Version of the model; the newest where None.
        token: Token that the server needs, or None.
        timeout: Seconds for each request, and for models that the server still loads.
        retries: How often to repeat a request for which the server had no room, or that did not
            reach its end, each time after a longer wait.
        batch_characters: Characters of a request; more texts are sent in several requests.
        batch_documents: Texts of a request.
        at_once: Number of requests that are sent at the same time.
        tokenizer: File of a tokenizer, by which the field `tokens` of a request counts; see
            `tfsum.load`.

    Raises:
        Error: The address has another form, or the package for it is not installed.
        DataError: There is no such tokenizer.

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
        model: str = AUTO,
        *,
        version: int | None = None,
        token: str | None = None,
        timeout: float = 30.0,
        retries: int = 4,
        batch_characters: int = 1 << 16,
        batch_documents: int = 32,
        at_once: int = 4,
        tokenizer: str | pathlib.Path | None = None,
    ) -> None:
        self._count_tokens = token_counter(tokenizer)
        self._models = ServedModels(url, model, version, token, timeout, retries, at_once)
        self._batch_characters, self._batch_documents = batch_characters, batch_documents

    async def __aexit__(self, *exception: object) -> None:
        """Closes the connections."""
        await self.close()

    async def close(self) -> None:
        """Closes the connections."""
        await self._models.close()

    async def signatures(self) -> Signatures:
        """The signatures of the model.

        Returns:
            Name of a signature -> (names of its inputs, names of its outputs).

        Raises:
            RequestError: There is no such model, or the server was not reached.
        """
        return next(iter((await self._models.signatures()).values()))

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
        return await self._predict(await self._models.default(), signature, inputs)

    async def _predict(self, model: str, signature: str, inputs: Mapping[str, Any]) -> Arrays:
        arrays = {name: as_array(name, values) for name, values in inputs.items()}
        counts = {array.shape[:1] for array in arrays.values()}
        require(
            len(counts) == 1 and () not in counts,
            "inputs differ in their number of rows, or have none; expected lists of the same"
            " length",
        )
        requests = [
            self._models.predict(
                model, signature, {name: array[part] for name, array in arrays.items()}
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
        return {name: join_rows([answer[name] for answer in answers]) for name in answers[0]}

    @overload
    async def summarize(  # type: ignore[overload-overlap]  # a str is a sequence of str
        self,
        texts: str,
        sentences: int | Literal["auto"] | None = None,
        **options: Unpack[SummaryOptions],
    ) -> SummaryAnswer: ...

    @overload
    async def summarize(
        self,
        texts: Sequence[str],
        sentences: int | Literal["auto"] | None = None,
        **options: Unpack[SummaryOptions],
    ) -> list[SummaryAnswer]: ...

    async def summarize(
        self,
        texts: str | Sequence[str],
        sentences: int | Literal["auto"] | None = None,
        **options: Unpack[SummaryOptions],
    ) -> SummaryAnswer | list[SummaryAnswer]:
        """Summarizes texts with an extractive model, as `tfsum.Summarizer` does.

        TensorFlow Serving does not say what an export does by default: there a query without a
        limit is answered with three sentences, and trigrams are blocked only where it is asked for.

        Args:
            texts: One text or a sequence of them.
            sentences: The most sentences of a summary, or "auto" for two to four.
            **options: Other fields of `tfsum.SummaryRequest`.

        Returns:
            A `tfsum.SummaryAnswer`, or a list of them for a sequence.

        Raises:
            Error: What is asked is not possible.
            RequestError: The server refused a request, or was not reached.
        """
        request = SummaryRequest(sentences=sentences, **options)
        if isinstance(texts, str):
            return (await self.answer([texts], request))[0]
        return await self.answer(texts, request)

    async def answer(self, texts: Sequence[str], request: SummaryRequest) -> list[SummaryAnswer]:
        """Answers a request about texts.

        Args:
            texts: Texts.
            request: The request.

        Returns:
            An answer for each text; one answer alone where they are summarized together.

        Raises:
            Error: The model cannot do what is asked.
            RequestError: The server refused a request, or was not reached.
        """

        async def answer(model: str, texts: Sequence[str]) -> list[SummaryAnswer]:
            inputs, _ = (await self._models.signatures())[model].get("extract", (None, None))
            question = Question(
                texts, request, self._models.defaults(model), inputs, self._count_tokens
            )
            while not question.is_answered:
                outputs = {
                    signature: await self._rows(model, signature, question.encoded, **inputs)
                    for signature, inputs in question.calls.items()
                }
                answers = question.answers(outputs, model)
            return answers

        return await self._models.divided(texts, answer, request.together)

    async def together(
        self,
        texts: Sequence[str],
        sentences: int | Literal["auto"] | None = None,
        **options: Unpack[SummaryOptions],
    ) -> SummaryAnswer:
        """Summarizes several texts on the same matter in one summary, which says a thing once.

        Args:
            texts: Texts.
            sentences: The most sentences, as in `summarize`.
            **options: Other fields of `tfsum.SummaryRequest`; `share` counts the words of all
                texts.

        Returns:
            A `tfsum.SummaryAnswer`, whose `documents` tell the text of each sentence.

        Raises:
            Error: What is asked is not possible.
            RequestError: The server refused a request, or was not reached.
        """
        options["together"] = True
        return (await self.answer(texts, SummaryRequest(sentences=sentences, **options)))[0]

    async def score(self, texts: Sequence[str]) -> list[SummaryAnswer]:
        """Scores every sentence of texts with an extractive model.

        Args:
            texts: Texts.

        Returns:
            A `tfsum.SummaryAnswer` of all sentences for each.

        Raises:
            RequestError: The server refused a request, or was not reached.
        """
        return await self.answer(texts, SummaryRequest(all=True))

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
        texts = check_texts(texts)
        SummaryRequest(keywords=number)

        async def answer(model: str, texts: Sequence[str]) -> list[list[Keyword]]:
            rows = await self._rows(model, "keywords", texts, max_keywords=number)
            return [*map(keywords_of, texts, rows)]

        return await self._models.divided(texts, answer)

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
        rows = await self._rows(await self._models.default(), "serving_default", texts)
        _check_kind("generate", rows, ("summary", "log_probability", "ended"))
        return [*map(generated_of, texts, rows)]

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
            require(
                len(pairs) == len(texts),
                f"{len(texts)} texts and {len(pairs)} second texts; expected a second text for"
                " each",
            )

        rows = await self._rows(await self._models.default(), "serving_default", texts, **options)
        _check_kind("classify", rows, ("label", "labels", "probability"))
        not_blank = (any(map(str.strip, row)) for row in zip(texts, pairs or texts))
        return [*map(classified_of, rows, not_blank)]

    async def _rows(
        self, model: str, signature: str, texts: Sequence[str | bytes], **options: Any
    ) -> list[dict[str, Any]]:
        """The outputs of each text; an option is a value for all texts, or a list of values."""
        if not texts:
            return []

        inputs = {
            name: value if isinstance(value, list) else filled(len(texts), value)
            for name, value in options.items()
        }
        return rows_of(await self._predict(model, signature, {"text": texts, **inputs}))


def _check_kind(method: str, rows: list[dict[str, Any]], expected: tuple[str, ...]) -> None:
    """Checks that the model has the outputs that a method of the client needs."""
    given = rows[0] if rows else expected
    missing = [name for name in expected if name not in given]
    require(
        not missing,
        f"the model gives {', '.join(sorted(given))}, and not {', '.join(missing)}, which"
        f" `{method}` needs: it is a model of another kind; `summarize` is for extractive models,"
        " `generate` for abstractive ones, `classify` for classifiers and `predict` for all",
    )
