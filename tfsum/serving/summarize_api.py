"""`POST /summarize` and `GET /models`: one text in plain JSON, an answer without padding.

TensorFlow Serving has no such paths; its own are in `rest.py`.
"""

from typing import Any

import numpy as np
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tfsum.errors import Error
from tfsum.inference.shipped import DEFAULT_MODEL
from tfsum.inference.texts import as_bytes, filled
from tfsum.serving.json_body import read_object
from tfsum.serving.predictor import Predictor, offload
from tfsum.serving.request_error import invalid, require
from tfsum.serving.rest import JsonResponse, read_body, unless_gone
from tfsum.serving.servable import Servable
from tfsum.tasks.bert_sum_ext.limits import Limits, check_number_of_keywords, extract_inputs
from tfsum.tasks.bert_sum_ext.summary import keywords_of, plain, summary_of

FIELDS = ("text", "model", "sentences", "all", "keywords", *Limits.__annotations__)


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
        newest = [servables[-1] for servables in self._predictor.versions.available().values()]
        models = [
            {
                "name": servable.name,
                "version": servable.version,
                "kind": servable.description["kind"],
                "max_sentences": servable.description.get("max_sentences", 0),
                "signatures": sorted(servable.signatures),
            }
            for servable in newest
            if _takes_texts(servable)
        ]
        return JsonResponse({"models": models})

    async def summarize(self, request: Request) -> Response:
        """The summary of a text, and its keywords if a number of them is asked for."""
        with self._predictor.room() as take:
            body = await read_body(request, self._predictor.settings, take)
            asked = await offload(len(body), read_object, body)
            if unknown := sorted(set(asked) - set(FIELDS)):
                raise invalid(
                    f"{', '.join(unknown)}: unknown; expected fields among {', '.join(FIELDS)}"
                )
            text, name = asked.pop("text", None), asked.pop("model", DEFAULT_MODEL)
            if not isinstance(text, str) or not isinstance(name, str):
                raise invalid('expected {"text": "..."}, and "model": "NAME" for another model')
            request.path_params["name"] = name  # for the metrics and the log
            with self._predictor.versions.use(name) as servable:
                answer = await self._answer(request, servable, text, asked)
            return JsonResponse({"model": name, "version": servable.version, **answer})

    async def _answer(
        self, request: Request, servable: Servable, text: str, asked: dict[str, Any]
    ) -> dict[str, Any]:
        """The answer of a model to a text."""
        require(
            _takes_texts(servable),
            f"{servable.name}: takes no text; ask it at /v1/models/{servable.name}:predict",
        )
        if "extract" not in servable.signatures:
            require(
                "summary" in servable.signatures["serving_default"].outputs,
                f"{servable.name}: writes no summary; it is a {servable.description['kind']} model",
            )
            require(
                not asked,
                f"{', '.join(sorted(asked))}: {servable.name} is not extractive, or an older tfsum"
                " exported it; leave it out",
            )
            row = await self._row(request, servable, "serving_default", text, {})
            return {"summary": row["summary"].decode("utf-8", "replace")}

        try:
            if nulls := sorted(field for field, value in asked.items() if value is None):
                raise Error(f"{', '.join(nulls)}: null; leave out what is not asked for")
            every = asked.pop("all", False)
            if not isinstance(every, bool):
                raise Error(f"all={every!r}: expected true or false")
            if every and set(asked) - {"keywords"}:
                raise Error(f"all: every sentence has no {', '.join(sorted(asked))}; leave it out")
            number, sentences = asked.pop("keywords", None), asked.pop("sentences", None)
            if number is not None:
                check_number_of_keywords(number)
            if sentences is not None and (not _is_whole(sentences) or not 1 <= sentences < 1 << 31):
                raise Error(f"sentences={sentences!r}: expected a whole number from 1")
            default = servable.description["sentences"]
            default = default if _is_whole(default) else servable.description["automatic"]
            inputs = extract_inputs(asked, sentences, default)  # type: ignore[arg-type]
        except Error as error:
            raise invalid(str(error)) from None

        inputs["block_trigrams"] = bool(servable.description["block_trigrams"])
        signature, inputs = ("score", {}) if every else ("extract", inputs)
        row = await self._row(request, servable, signature, text, inputs)
        decided = row.get("newline", servable.description["text"]["newline"].encode())
        expected = servable.description.get("frequent", {}).get("share", 0.0)
        answer = plain(summary_of(text, row, decided.decode(), expected))
        if number is not None:
            row = await self._row(request, servable, "keywords", text, {"max_keywords": number})
            answer["keywords"] = [vars(word) for word in keywords_of(text, row)]
        return answer

    async def _row(
        self, request: Request, servable: Servable, signature: str, text: str, options: dict
    ) -> dict[str, Any]:
        """The outputs of a signature for one text."""
        inputs = {name: filled(1, value) for name, value in options.items()}
        inputs["text"] = np.array([as_bytes(text)], object)
        outputs = await unless_gone(
            request, self._predictor.predict(servable, servable.signatures[signature], inputs)
        )
        return {name: array[0] for name, array in outputs.items()}


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _takes_texts(servable: Servable) -> bool:
    """Whether tfsum exported the model, and its default signature takes texts."""
    signature = servable.signatures.get("serving_default")
    return bool(servable.description) and signature is not None and "text" in signature.inputs
