"""`POST /summarize` and `GET /models`: one text in plain JSON, an answer without padding.

TensorFlow Serving has no such paths; its own are in `rest.py`.
"""

import asyncio
from collections.abc import Mapping

import numpy as np
from pydantic import Field, model_validator
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tfsum.errors import Error
from tfsum.generation.generator import generated_of
from tfsum.inference.saved_model import DEFAULT_MODEL
from tfsum.inference.texts import as_bytes, filled
from tfsum.request import SummaryRequest, Value
from tfsum.serving.json_body import JsonResponse, read_object, received, unless_gone
from tfsum.serving.predictor import Predictor, offload
from tfsum.serving.request_error import RequestError, invalid, require
from tfsum.serving.servable import Servable
from tfsum.tasks.bert_sum_ext.answering import Question, Row, defaults_of


class SummarizeBody(SummaryRequest):
    """The body of `POST /summarize`: a request, its text, and the model that it is for."""

    text: str | list[str] = Field(description="The text; a list of texts to summarize together.")
    model: str = Field(DEFAULT_MODEL, description="The name of the model.")

    @model_validator(mode="after")
    def _has_its_texts(self) -> "SummarizeBody":
        if self.together == isinstance(self.text, str):
            raise ValueError("text: expected one text, or a list of texts and together=true")
        return self


class SummarizeApi:
    """The routes for programs that want a summary and no tensors.

    Args:
        predictor: Predictor that answers within the limits of the server.

    Attributes:
        routes: Routes of the application.

    Example:
        >>> from tfsum.serving import Server, ServerSettings
        >>> predictor = Server(settings=ServerSettings(port=0)).application._predictor
        >>> [route.path for route in SummarizeApi(predictor).routes]
        ['/summarize', '/models']
    """

    def __init__(self, predictor: Predictor) -> None:
        self._predictor = predictor
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
        fields = await offload(len(content), read_object, content)
        model = str(fields.get("model", DEFAULT_MODEL))
        request.path_params["name"] = model  # for the metrics and the log
        with self._predictor.versions.use(model) as servable:
            require(
                servable.takes_texts,
                f"{model}: takes no text; ask it at /v1/models/{model}:predict",
            )
            try:
                body = SummarizeBody(**fields)
                if "extract" in servable.signatures:
                    answer = await self._extract(request, servable, body)
                else:
                    answer = await self._write(request, servable, body)
            except RequestError:
                raise
            except Error as error:
                raise invalid(str(error)) from None
            return JsonResponse({"model": model, "version": servable.version, **answer})

    async def _extract(
        self, request: Request, servable: Servable, body: SummarizeBody
    ) -> Mapping[str, object]:
        """The answer of an extractive model."""
        texts = body.text if isinstance(body.text, list) else [body.text]
        question = await asyncio.to_thread(
            Question,
            texts,
            body,
            defaults_of(servable.description),
            servable.signatures["extract"].inputs,
        )
        rows = {
            name: await self._rows(request, servable, name, question.encoded, inputs)
            for name, inputs in question.calls.items()
        }
        (answer,) = question.answers(rows)
        return answer.record()

    async def _write(
        self, request: Request, servable: Servable, body: SummarizeBody
    ) -> Mapping[str, object]:
        """The answer of a model that writes."""
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
        text = str(body.text)  # they are not together
        (row,) = await self._rows(request, servable, "serving_default", [as_bytes(text)], {})
        return vars(generated_of(text, row))

    async def _rows(
        self,
        request: Request,
        servable: Servable,
        signature: str,
        texts: list[bytes],
        options: Mapping[str, Value],
    ) -> list[Row]:
        """The outputs of a signature for each text."""
        inputs = {name: filled(len(texts), value) for name, value in options.items()}
        inputs["text"] = np.array(texts, object)
        outputs = await unless_gone(
            request,
            self._predictor.predict(
                servable, servable.signatures[signature], inputs, request.scope["take"]
            ),
        )
        return [{name: array[i] for name, array in outputs.items()} for i in range(len(texts))]
