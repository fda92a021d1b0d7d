"""`POST /v1/chat/completions` and `GET /v1/models` in the shape of OpenAI's API: for programs that
people read in, which ask a language model for summaries.

Source: OpenAI's API reference, "Create chat completion" and "List models".
"""

import json
import re
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable

from pydantic import BaseModel, Field, ValidationError
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from tfsum.inference.model_choice import AUTO
from tfsum.inference.texts import as_bytes, tokens_of
from tfsum.request import TOKEN_BYTES
from tfsum.serving.chat_prompt import Prompt, prompt_of
from tfsum.serving.json_body import JsonResponse, read_object, received, unless_gone
from tfsum.serving.predictor import Predictor, as_request_error, offload
from tfsum.serving.request_error import headers_of, invalid, require
from tfsum.serving.servable import Servable
from tfsum.serving.summarize_api import SummarizeApi

HTML = re.compile(r"<(?:p|div|br|h[1-6]|ul|ol|li|table|figure|img|a)\b[^<>]*>", re.IGNORECASE)


class ChatBody(BaseModel):
    """The fields of a body that matter here; others, such as the temperature, change no summary."""

    messages: list[dict[str, object]] = Field(min_length=1, max_length=1000)
    model: str = AUTO
    max_tokens: int | None = Field(None, ge=1)
    max_completion_tokens: int | None = Field(None, ge=1)
    stream: bool | None = None
    stream_options: dict[str, object] | None = None
    n: int | None = None
    tools: list[object] | None = None
    response_format: dict[str, object] | None = None


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
        ['/v1/chat/completions', '/v1/models']
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
            Route("/v1/models", self.models, methods=["GET"]),
        ]

    async def models(self, request: Request) -> Response:
        """The models that summarize, and "auto", which chooses one by the text."""
        loaded = self._predictor.versions.available().items()
        names = [
            name for name, (*_, servable) in loaded if servable.takes_texts and servable.summarizes
        ]
        models = [
            {"id": name, "object": "model", "created": 0, "owned_by": "tfsum"}
            for name in (AUTO, *names)
        ]
        return JsonResponse({"object": "list", "data": models})

    async def complete(self, request: Request) -> Response:
        """The summary of the text of the last message of the user."""
        try:
            return await self._complete(request)
        except ClientDisconnect:
            raise
        except Exception as error:
            failure = as_request_error(error)
            kind = "invalid_request_error" if failure.http_status < 500 else "server_error"
            content = {
                "message": failure.message,
                "type": kind,
                "param": None,
                "code": failure.code,
            }
            return JsonResponse({"error": content}, failure.http_status, headers_of(failure))

    async def _complete(self, request: Request) -> Response:
        content = await received(request, self._predictor)
        body = _checked(await offload(len(content), read_object, content))
        prompt = prompt_of(body.messages)
        text = prompt.text
        if HTML.search(text):
            html = as_bytes(f"<html><body>{text}</body></html>")
            text = await unless_gone(request, self._read_file(html, "message.html"))

        fields: dict[str, object] = {"text": text, "model": body.model}
        with self._summarize.use(request, fields) as servable:
            fields |= _lengths(servable, prompt, body, text)
            answer = await self._summarize.answered(request, servable, fields)
        sentences = [str(each["text"]) for each in answer.get("sentences", [])]
        sentences = sentences or [str(answer["summary"])]  # of a model that writes, or of nothing
        parts = _parts(sentences, prompt.bullets)
        finished = _Completion(servable.name, text, parts)
        if body.stream:
            usage = bool(body.stream_options and body.stream_options.get("include_usage"))
            return StreamingResponse(finished.events(usage), media_type="text/event-stream")
        return JsonResponse(finished.whole())


class _Completion:
    """An answer of OpenAI's API, whole or part by part."""

    def __init__(self, model: str, text: str, parts: list[str]) -> None:
        self._parts = parts
        self._head = {
            "id": f"chatcmpl-{uuid.uuid4().hex}",
            "created": int(time.time()),
            "model": model,
        }
        asked, answered = tokens_of(text), tokens_of("".join(parts))
        self._usage = {
            "prompt_tokens": asked,
            "completion_tokens": answered,
            "total_tokens": asked + answered,
        }

    def whole(self) -> dict[str, object]:
        message = {"role": "assistant", "content": "".join(self._parts), "refusal": None}
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}
        kind = {"object": "chat.completion"}
        return {**self._head, **kind, "choices": [choice], "usage": self._usage}

    async def events(self, usage: bool) -> AsyncIterator[str]:
        deltas: list[dict[str, str]] = [{"role": "assistant", "content": ""}]
        deltas += [{"content": part} for part in self._parts]
        for delta in (*deltas, {}):
            reason = None if delta else "stop"
            choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
            yield self._event([choice])
        if usage:
            yield self._event([], usage=self._usage)
        yield "data: [DONE]\n\n"

    def _event(self, choices: list[dict], **more: object) -> str:
        chunk = {**self._head, "object": "chat.completion.chunk", "choices": choices, **more}
        return f"data: {json.dumps(chunk, ensure_ascii=False)}\n\n"


def _checked(fields: dict) -> ChatBody:
    """The body, if it asks for what a summarizer can do."""
    try:
        body = ChatBody(**{name: fields[name] for name in ChatBody.model_fields if name in fields})
    except ValidationError as error:
        (first, *_) = error.errors(include_url=False)
        place = ".".join(map(str, first["loc"]))
        raise invalid(f"{place}: {first['msg']}") from None
    require(body.n in (None, 1), "n: a summarizer has one answer; leave it out")
    require(not body.tools, "tools: this server summarizes texts, and calls none; leave them out")
    kind = (body.response_format or {}).get("type", "text")
    require(kind == "text", "response_format: a summary is text; leave it out")
    return body


def _lengths(servable: Servable, prompt: Prompt, body: ChatBody, text: str) -> dict[str, object]:
    """The fields of a request that say how long a summary is to be: as the prompt says, and within
    the tokens that there is room for."""
    signature = servable.signatures.get("extract")
    if signature is None:  # a model that writes has a length of its own
        return {}
    lengths: dict[str, object] = dict(prompt.lengths)
    most = min(filter(None, (body.max_tokens, body.max_completion_tokens)), default=None)
    if most is not None and most < tokens_of(text):
        if "max_tokens" in signature.inputs:
            lengths["tokens"] = most
        else:  # an older export
            room = TOKEN_BYTES * most
            lengths["characters"] = min(room, prompt.lengths.get("characters", room))
        if not prompt.lengths and servable.description.get("automatic"):
            lengths["sentences"] = "auto"
    return lengths


def _parts(sentences: list[str], bullets: bool) -> list[str]:
    """The sentences with what stands between them."""
    lines = [" ".join(sentence.split()) for sentence in sentences]
    first, mark = ("- ", "\n- ") if bullets else ("", " ")
    return [(mark if number else first) + line for number, line in enumerate(lines)]
