"""The shape of OpenAI's Chat Completions: what is asked, and the answer whole or as events.

Source: OpenAI's API reference, "Create chat completion".
"""

import json
import time
import uuid
from collections.abc import AsyncIterator, Sequence

from pydantic import Field

from tfsum.inference.texts import CountTokens
from tfsum.serving.chat_prompt import Messages, PromptBody
from tfsum.serving.request_error import require


class ChatBody(PromptBody):
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
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}
        asked, answered = count_tokens(text), count_tokens(content)
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

    async def events(self, answer: dict[str, object], parts: Sequence[str]) -> AsyncIterator[str]:
        """An answer as events, one for each part."""

        def event(choices: list[dict], **usage: object) -> str:
            head = {name: answer[name] for name in ("id", "created", "model")}
            chunk = {**head, "object": "chat.completion.chunk", "choices": choices, **usage}
            return f"data: {json.dumps(chunk, ensure_ascii=False)}\n\n"

        deltas: list[dict[str, str]] = [{"role": "assistant", "content": ""}]
        deltas += [{"content": part} for part in parts]
        for delta in (*deltas, {}):
            reason = None if delta else "stop"
            choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
            yield event([choice])
        if self.stream_options and self.stream_options.get("include_usage"):
            yield event([], usage=answer["usage"])
        yield "data: [DONE]\n\n"
