"""The shapes of OpenAI's Chat Completions and Responses: what is asked, and the answer whole or as
events.

Source: OpenAI's API reference, "Create chat completion", "Create a model response" and "Streaming
events".
"""

import json
import time
import uuid
from collections.abc import AsyncIterator, Sequence
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, Field

from tfsum.inference.texts import CountTokens
from tfsum.serving.request_error import require
from tfsum.tasks.model_choice import AUTO

NOTHING = ("error", "incomplete_details", "instructions", "temperature", "top_p")

Messages = list[dict[str, object]]  # with `role` and `content`


class OpenAiBody(BaseModel):
    """What the bodies have in common."""

    model: str = AUTO
    stream: bool | None = None
    tools: list[object] | None = None


class ChatBody(OpenAiBody):
    """The fields of a body that matter here; others, such as the temperature, change no summary."""

    messages: Messages = Field(min_length=1, max_length=1000)
    max_tokens: int | None = Field(None, ge=1)
    max_completion_tokens: int | None = Field(None, ge=1)
    stream_options: dict[str, object] | None = None
    n: int | None = None
    response_format: dict[str, object] | None = None

    def most(self) -> int | None:
        """The most tokens of an answer."""
        return min(filter(None, (self.max_tokens, self.max_completion_tokens)), default=None)

    def asked(self) -> Messages:
        """The messages.

        Raises:
            RequestError: More than a summarizer can do is asked.
        """
        require(self.n in (None, 1), "n: a summarizer has one answer; leave it out")
        kind = (self.response_format or {}).get("type", "text")
        require(kind == "text", "response_format: a summary is text; leave it out")
        return self.messages

    def answer(
        self, model: str, text: str, parts: Sequence[str], count_tokens: CountTokens
    ) -> dict[str, object]:
        """The answer of a model to a text, made of parts."""
        content = "".join(parts)
        message = {"role": "assistant", "content": content, "refusal": None}
        asked, answered = count_tokens(text), count_tokens(content)
        # a sentence that is longer than there is room for is given whole
        reason = "length" if answered > (self.most() or answered) else "stop"
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": reason}
        return {
            "id": f"chatcmpl-{uuid.uuid4().hex}",
            "object": "chat.completion",
            "created": int(time.time()),
            "model": model,
            "choices": [choice],
            "usage": {
                "prompt_tokens": asked,
                "completion_tokens": answered,
                "total_tokens": asked + answered,
            },
        }

    async def events(self, answer: dict[str, Any], parts: Sequence[str]) -> AsyncIterator[str]:
        """An answer as events, one for each part."""

        def event(choices: list[dict], **usage: object) -> str:
            chunk = {
                **{name: answer[name] for name in ("id", "created", "model")},
                "object": "chat.completion.chunk",
                "choices": choices,
                **usage,
            }
            return f"data: {json.dumps(chunk, ensure_ascii=False)}\n\n"

        finished = answer["choices"][0]["finish_reason"]
        begin = {"role": "assistant", "content": ""}
        for delta in (begin, *({"content": part} for part in parts), {}):
            reason = None if delta else finished
            choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
            yield event([choice])
        if self.stream_options and self.stream_options.get("include_usage"):
            yield event([], usage=answer["usage"])
        yield "data: [DONE]\n\n"


def _messages(given: object) -> object:
    """A text alone is the user's."""
    return [{"role": "user", "content": given}] if isinstance(given, str) else given


class ResponsesBody(OpenAiBody):
    """The fields of a body that matter here; others, such as the effort, change no summary."""

    input: Annotated[Messages, BeforeValidator(_messages, str | Messages)] = Field(
        min_length=1, max_length=1000
    )
    instructions: str | None = None
    max_output_tokens: int | None = Field(None, ge=1)
    previous_response_id: str | None = None
    text: dict[str, object] | None = None

    def most(self) -> int | None:
        """The most tokens of an answer."""
        return self.max_output_tokens

    def asked(self) -> Messages:
        """The messages.

        Raises:
            RequestError: More than a summarizer can do is asked.
        """
        require(
            self.previous_response_id is None,
            "previous_response_id: this server keeps no answers; leave it out",
        )
        form = (self.text or {}).get("format")
        kind = form.get("type", "text") if isinstance(form, dict) else "text"
        require(kind == "text", "text.format: a summary is text; leave it out")
        return [{"role": "system", "content": self.instructions or ""}, *self.input]

    def answer(
        self, model: str, text: str, parts: Sequence[str], count_tokens: CountTokens
    ) -> dict[str, object]:
        """The answer of a model to a text, made of parts."""
        content = {"type": "output_text", "text": "".join(parts), "annotations": []}
        message = {"type": "message", "id": f"msg_{uuid.uuid4().hex}", "role": "assistant"}
        asked, answered = count_tokens(text), count_tokens("".join(parts))
        return dict.fromkeys(NOTHING) | {
            "id": f"resp_{uuid.uuid4().hex}",
            "object": "response",
            "created_at": int(time.time()),
            "status": "completed",
            "model": model,
            "output": [message | {"status": "completed", "content": [content]}],
            "usage": {
                "input_tokens": asked,
                "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
                "output_tokens": answered,
                "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": asked + answered,
            },
            "tools": [],
            "tool_choice": "none",
            "parallel_tool_calls": False,
            "metadata": {},
        }

    async def events(self, answer: dict, parts: Sequence[str]) -> AsyncIterator[str]:
        """An answer as events, a delta for each part."""
        begun = answer | {"status": "in_progress", "output": [], "usage": None}
        (message,) = answer["output"]
        (content,) = message["content"]
        item = message | {"status": "in_progress", "content": []}
        place = {"item_id": message["id"], "output_index": 0, "content_index": 0}
        events: list[tuple[str, dict[str, object]]] = [
            ("created", {"response": begun}),
            ("in_progress", {"response": begun}),
            ("output_item.added", {"output_index": 0, "item": item}),
            ("content_part.added", {**place, "part": content | {"text": ""}}),
            *(("output_text.delta", {**place, "delta": part, "logprobs": []}) for part in parts),
            ("output_text.done", {**place, "text": content["text"], "logprobs": []}),
            ("content_part.done", {**place, "part": content}),
            ("output_item.done", {"output_index": 0, "item": message}),
            ("completed", {"response": answer}),
        ]
        for number, (name, fields) in enumerate(events):
            event = {"type": f"response.{name}", "sequence_number": number, **fields}
            yield f"event: {event['type']}\ndata: {json.dumps(event, ensure_ascii=False)}\n\n"
