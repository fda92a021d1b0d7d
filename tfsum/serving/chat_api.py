"""`POST /v1/chat/completions`, `POST /v1/responses` and `GET /v1/models` in the shapes of OpenAI's
API: for programs that people read in, which ask a language model for summaries.

Source: OpenAI's API reference, "List models".
"""

import asyncio
import re
from collections.abc import Awaitable, Callable

from pydantic import ValidationError
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from tfsum.inference.texts import CountTokens, as_bytes
from tfsum.request import TOKEN_BYTES
from tfsum.serving.chat_bodies import ChatBody, ResponsesBody
from tfsum.serving.chat_prompt import Prompt, prompt_of
from tfsum.serving.json_body import JsonResponse, read_object, received, unless_gone
from tfsum.serving.predictor import Predictor, as_request_error, offload
from tfsum.serving.request_error import headers_of, invalid, require
from tfsum.serving.servable import Servable
from tfsum.serving.summarize_api import SummarizeApi, body_of
from tfsum.tasks.model_choice import AUTO

HTML = re.compile(r"<(?:p|div|br|h[1-6]|ul|ol|li|table|figure|img|a)\b[^<>]*>", re.IGNORECASE)
Kind = type[ChatBody] | type[ResponsesBody]


class ChatApi:
    """The routes for programs that know language models.

    Args:
        predictor: Predictor that answers within the limits of the server.
        summarize: Routes for programs that want a summary.
        read_file: Function from a file's content and name to its text.

    Attributes:
        routes: Routes of the application.

    Example:
        >>> from tfsum.serving import Server, ServerSettings
        >>> from tfsum.serving.page_api import PageApi
        >>> predictor = Server(settings=ServerSettings(port=0)).application._predictor
        >>> summarize = SummarizeApi(predictor)
        >>> page = PageApi(predictor, summarize)
        >>> [route.path for route in ChatApi(predictor, summarize, page.read_file).routes]
        ['/v1/chat/completions', '/v1/responses', '/v1/models']
    """

    def __init__(
        self,
        predictor: Predictor,
        summarize: SummarizeApi,
        read_file: Callable[[bytes, str], Awaitable[str]],
    ) -> None:
        self._predictor, self._summarize, self._read_file = predictor, summarize, read_file
        self.routes = [
            Route("/v1/chat/completions", self.complete, methods=["POST"]),
            Route("/v1/responses", self.respond, methods=["POST"]),
            Route("/v1/models", self.models, methods=["GET"]),
        ]

    async def models(self, request: Request) -> Response:
        """The models that summarize, and "auto", which chooses one by the text."""
        names = [
            name
            for name, (*_, servable) in self._predictor.versions.available().items()
            if servable.takes_texts and servable.summarizes
        ]
        return JsonResponse(
            {
                "object": "list",
                "data": [
                    {"id": name, "object": "model", "created": 0, "owned_by": "tfsum"}
                    for name in (AUTO, *names)
                ],
            }
        )

    async def complete(self, request: Request) -> Response:
        """The summary of the text of the last message of the user."""
        return await self._answered(request, ChatBody)

    async def respond(self, request: Request) -> Response:
        """The same, as a model response."""
        return await self._answered(request, ResponsesBody)

    async def _answered(self, request: Request, kind: Kind) -> Response:
        """The answer, or the error, in the shape of a kind of body."""
        try:
            return await self._answer(request, kind)
        except ClientDisconnect:
            raise
        except Exception as error:
            failure = as_request_error(error)
            content = {
                "message": failure.message,
                "type": "server_error" if failure.http_status >= 500 else "invalid_request_error",
                "param": None,
                "code": failure.code,
            }
            return JsonResponse({"error": content}, failure.http_status, headers_of(failure))

    async def _answer(self, request: Request, kind: Kind) -> Response:
        content = await received(request, self._predictor)
        body = _checked(await offload(len(content), read_object, content), kind)
        prompt = prompt_of(body.asked())
        text = prompt.text
        if HTML.search(text):
            html = as_bytes(f"<html><body>{text}</body></html>")
            text = await unless_gone(request, self._read_file(html, "message.html"))

        fields: dict[str, object] = {"text": text, "model": body.model}
        with self._summarize.use(request, fields) as (servable, _):
            count, most = self._summarize.count_tokens, body.most()
            fields |= await asyncio.to_thread(_asked, servable, prompt, most, text, count)
            answer = await self._summarize.answered(request, servable, body_of(fields))
        sentences = [str(each["text"]) for each in answer.get("sentences", [])]
        sentences = sentences or [str(answer["summary"])]  # of a model that writes, or of nothing
        parts = _parts(sentences, prompt.bullets)
        answered = await asyncio.to_thread(body.answer, servable.name, text, parts, count)
        if body.stream:
            return StreamingResponse(body.events(answered, parts), media_type="text/event-stream")
        return JsonResponse(answered)


def _checked(fields: dict, kind: Kind) -> ChatBody | ResponsesBody:
    """The body, of those of its fields that matter."""
    try:
        body = kind(**{name: fields[name] for name in kind.model_fields if name in fields})
    except ValidationError as error:
        (first, *_) = error.errors(include_url=False)
        place = ".".join(map(str, first["loc"]))
        raise invalid(f"{place}: {first['msg']}") from None
    require(not body.tools, "tools: this server summarizes texts, and calls none; leave them out")
    return body


def _asked(
    servable: Servable, prompt: Prompt, most: int | None, text: str, count_tokens: CountTokens
) -> dict[str, object]:
    """The fields of a request that say how long a summary is to be, and about what: as the prompt
    says, and within the tokens that there is room for."""
    signature = servable.signatures.get("extract")
    if signature is None:  # a model that writes has a length of its own
        return {}
    asked: dict[str, object] = dict(prompt.lengths)
    if prompt.query and "query" in signature.inputs:
        asked["query"] = prompt.query
    if most is not None and most < count_tokens(text):
        if "max_tokens" in signature.inputs:
            asked["tokens"] = most
        else:  # an older export
            room = TOKEN_BYTES * most
            asked["characters"] = min(room, prompt.lengths.get("characters", room))
        if not prompt.lengths and servable.description.get("automatic"):
            asked["sentences"] = "auto"
    return asked


def _parts(sentences: list[str], bullets: bool) -> list[str]:
    """The sentences with what stands between them."""
    lines = [" ".join(sentence.split()) for sentence in sentences]
    first, mark = ("- ", "\n- ") if bullets else ("", " ")
    return [(mark if number else first) + line for number, line in enumerate(lines)]
