"""`POST /summarize` and `GET /models`: one text in plain JSON, an answer without padding.

TensorFlow Serving has no such paths; its own are in `rest.py`.
"""

import asyncio
import contextlib
import hashlib
import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from pydantic import Field, model_validator
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tfsum.errors import Error
from tfsum.generation.generator import generated_of
from tfsum.inference.texts import (
    CountTokens,
    DocumentCache,
    as_bytes,
    filled,
    rows_of,
    token_counter,
)
from tfsum.request import SummaryRequest, Value
from tfsum.serving.json_body import JsonResponse, read_object, received, unless_gone
from tfsum.serving.predictor import Predictor, Take, offload
from tfsum.serving.request_error import RequestError, invalid, require
from tfsum.serving.servable import Arrays, Servable, byte_count
from tfsum.tasks.bert_sum_ext.answering import Question, defaults_of
from tfsum.tasks.bert_sum_ext.read_once import OF_READING
from tfsum.tasks.model_choice import AUTO, choose_model

MOST_FIELDS = 10 * len(SummaryRequest.model_fields)


class SummarizeBody(SummaryRequest):
    """The body of `POST /summarize`: a request, its text, and the model that it is for."""

    text: str | list[str] = Field(description="The text; a list of texts to summarize together.")
    model: str = Field(AUTO, description="The name of the model; auto: by the text.")

    @model_validator(mode="after")
    def _has_its_texts(self) -> "SummarizeBody":
        if self.together == isinstance(self.text, str):
            raise ValueError("text: expected one text, or a list of texts and together=true")
        return self

    @property
    def texts(self) -> list[str]:
        """The text, or all texts."""
        return [self.text] if isinstance(self.text, str) else self.text


def body_of(fields: Mapping[str, Any]) -> SummarizeBody:
    """The body of a request, checked.

    Args:
        fields: Name -> value, as JSON has them.

    Raises:
        RequestError: A field is wrong.

    Example:
        >>> body_of({"text": "It rained.", "words": 9}).words
        9
    """
    try:
        # of more fields than there are some are unknown, and a few of them are enough to say so
        return SummarizeBody(**dict(itertools.islice(fields.items(), MOST_FIELDS)))
    except Error as error:
        raise invalid(str(error)) from None


class ModelCalls(NamedTuple):
    """What a body asks of a model.

    Attributes:
        calls: Signature -> its inputs.
        answer: Function from the outputs of these signatures to the answer as JSON has it; those of
            the first are enough for an answer without keywords.
        again: Function that says what to ask in place of this, after an answer that was too long;
            None where it was not.
    """

    calls: Mapping[str, Arrays]
    answer: Callable[[Mapping[str, Arrays]], dict[str, object]]
    again: Callable[[], "ModelCalls | None"] = lambda: None


class SummarizeApi:
    """The routes for programs that want a summary and no tensors.

    Args:
        predictor: Predictor that answers within the limits of the server.

    Attributes:
        routes: Routes of the application.
        count_tokens: Function that counts the tokens of a text.

    Example:
        >>> from tfsum.serving import Server, ServerSettings
        >>> predictor = Server(settings=ServerSettings(port=0)).application._predictor
        >>> [route.path for route in SummarizeApi(predictor).routes]
        ['/summarize', '/models']
    """

    def __init__(self, predictor: Predictor) -> None:
        self._predictor = predictor
        self._documents = DocumentCache[Arrays](predictor.settings.document_cache)
        self.count_tokens = token_counter(predictor.settings.tokenizer)
        self._again = asyncio.Semaphore(predictor.settings.threads)  # answers from what was read
        self.routes = [
            Route("/summarize", self.summarize, methods=["POST"]),
            Route("/models", self.models),
        ]

    async def models(self, request: Request) -> Response:
        """The newest version of each model that takes texts."""
        return JsonResponse(
            {
                "models": [
                    {
                        "name": servable.name,
                        "version": servable.version,
                        "kind": servable.description["kind"],
                        "summarizes": servable.summarizes,
                        "max_sentences": servable.description.get("max_sentences", 0),
                        "signatures": sorted(servable.signatures),
                    }
                    for *_, servable in self._predictor.versions.available().values()
                    if servable.takes_texts
                ]
            }
        )

    async def summarize(self, request: Request) -> Response:
        """The summary of a text, and its keywords if a number of them is asked for."""
        content = await received(request, self._predictor)
        return await self.answer(request, await offload(len(content), read_object, content))

    async def answer(self, request: Request, fields: dict[str, Any]) -> Response:
        """The answer to a body.

        Args:
            request: Request over HTTP.
            fields: Its body.

        Raises:
            RequestError: A field is wrong, or the model cannot do what is asked.
        """
        with self.use(request, fields) as (servable, body):
            return JsonResponse(await self.answered(request, servable, body))

    async def answered(
        self, request: Request, servable: Servable, body: SummarizeBody
    ) -> dict[str, Any]:
        """The fields of the answer of a model.

        Args:
            request: Request over HTTP.
            servable: The loaded model.
            body: The body.

        Raises:
            RequestError: The model cannot do what is asked.
        """
        asked: ModelCalls | None = await self.asked(servable, body)
        while asked:
            outputs = {}
            for name, inputs in asked.calls.items():
                found = self._outputs(servable, name, inputs, request.scope["take"])
                outputs[name] = await unless_gone(request, found)
            answer = asked.answer(outputs)
            asked = asked.again()
        return answer

    async def _outputs(self, servable: Servable, name: str, inputs: Arrays, take: Take) -> Arrays:
        """The outputs of a signature for one text, which is not read again if it was lately."""
        predict = self._predictor.predict
        if not self.reads(servable, name):
            return await predict(servable, servable.signatures[name], inputs, take)
        text = inputs["text"]
        read = self.find(servable, text)
        if read is None:
            read = await predict(servable, servable.signatures["read"], {"text": text}, take)
            self.keep(servable, text, read)
        return await self.of_reading(servable, name, inputs, read)

    def reads(self, servable: Servable, name: str) -> bool:
        """Whether documents are kept, and a signature has its outputs from what was read of one.

        Args:
            servable: The loaded model.
            name: Name of the signature.
        """
        is_read = name == "score" and "read" in servable.signatures
        is_read |= name + OF_READING in servable.definitions
        return is_read and self._predictor.settings.document_cache > 0

    def find(self, servable: Servable, text: np.ndarray) -> Arrays | None:
        """What was read of a text, if it is kept.

        Args:
            servable: The loaded model.
            text: The input of that name, of one text.
        """
        return self._documents.find((servable.number, hashlib.sha256(text[0]).digest()))

    def keep(self, servable: Servable, text: np.ndarray, read: Arrays) -> None:
        """Keeps what was read of a text.

        Args:
            servable: The loaded model.
            text: The input of that name, of one text.
            read: Outputs of the signature `read`.
        """
        key = servable.number, hashlib.sha256(text[0]).digest()
        self._documents.keep(key, read, byte_count(read))

    async def of_reading(
        self, servable: Servable, name: str, inputs: Arrays, read: Arrays
    ) -> Arrays:
        """The outputs of a signature, from what was read of a text.

        Args:
            servable: The loaded model.
            name: Name of the signature.
            inputs: Its inputs.
            read: Outputs of the signature `read`.
        """
        if name == "score":
            return read
        options = {name: value for name, value in inputs.items() if name != "text"}
        async with self._again:
            return await asyncio.to_thread(servable.run, name + OF_READING, {**read, **options})

    @contextlib.contextmanager
    def use(
        self, request: Request, fields: Mapping[str, Any]
    ) -> Iterator[tuple[Servable, SummarizeBody]]:
        """Checks a body, and keeps the model that it is for loaded.

        Args:
            request: Request over HTTP, in whose line of the log the model is named.
            fields: Its body.

        Yields:
            The loaded model, and the body.

        Raises:
            RequestError: A field is wrong, there is no such model, or it takes no texts.
        """
        loaded = self._predictor.versions.available().items()
        summarizers = [name for name, (*_, servable) in loaded if servable.summarizes]
        body = body_of(fields)
        name = body.model
        if name == AUTO:
            name = choose_model(body.texts, summarizers)
        request.path_params["name"] = name
        if name not in self._predictor.versions.models:
            there = ", ".join((AUTO, *summarizers))
            message = f"Servable not found for request: Latest({name}); there are {there}"
            raise RequestError("NOT_FOUND", message)
        with self._predictor.versions.use(name) as servable:
            require(
                servable.takes_texts,
                f"{name}: takes no text; ask it at /v1/models/{name}:predict",
            )
            yield servable, body

    async def asked(self, servable: Servable, body: SummarizeBody) -> ModelCalls:
        """What a body asks of a model.

        Args:
            servable: The loaded model.
            body: The body.

        Raises:
            RequestError: The model cannot do what is asked.
        """
        if "extract" in servable.signatures:
            return await asyncio.to_thread(_extracted, servable, body, self.count_tokens)
        return _written(servable, body)


def _extracted(servable: Servable, body: SummarizeBody, count_tokens: CountTokens) -> ModelCalls:
    """What is asked of an extractive model."""
    defaults, inputs = defaults_of(servable.description), servable.signatures["extract"].inputs
    try:
        question = Question(body.texts, body, defaults, inputs, count_tokens)
    except Error as error:
        raise invalid(str(error)) from None

    def answer(outputs: Mapping[str, Arrays]) -> dict[str, object]:
        (found,) = question.answers(
            {name: rows_of(arrays) for name, arrays in outputs.items()}, servable.name
        )
        return {"model": servable.name, "version": servable.version, **found.record()}

    def calls() -> ModelCalls:
        return ModelCalls(
            {name: _inputs(question.encoded, given) for name, given in question.calls.items()},
            answer,
            lambda: None if question.is_answered else calls(),
        )

    for name in question.calls:
        servable.signature(name)  # an older export may lack it
    return calls()


def _written(servable: Servable, body: SummarizeBody) -> ModelCalls:
    """What is asked of a model that writes."""
    name = servable.name
    require(
        "summary" in servable.signatures["serving_default"].outputs,
        f"{name}: writes no summary; it is a {servable.description['kind']} model",
    )
    given = sorted(body.given() - {"text", "model"})
    require(
        not given,
        f"{', '.join(given)}: {name} is not extractive, or an older tfsum exported it; leave it"
        " out",
    )
    (text,) = body.texts  # they are not together

    def answer(outputs: Mapping[str, Arrays]) -> dict[str, object]:
        (row,) = rows_of(outputs["serving_default"])
        return {"model": name, "version": servable.version, **vars(generated_of(text, row))}

    return ModelCalls({"serving_default": _inputs([as_bytes(text)], {})}, answer)


def _inputs(texts: list[bytes], options: Mapping[str, Value]) -> Arrays:
    """The inputs of a signature: a value of each option for every text."""
    return {
        "text": np.array(texts, object),
        **{name: filled(len(texts), value) for name, value in options.items()},
    }
