"""The chat of OpenAI's API, asked by its own client."""

import asyncio

import pytest

openai = pytest.importorskip("openai")
import httpx2

TEXT = (
    "The council met on Monday, he said. The bridge will cost forty million dollars. Rain fell all"
    " night. Mayor Anna Holt said that it begins in May."
)


@pytest.fixture(scope="module")
def chat(ask_shipped):
    """Asks the shipped models."""

    def chat(ask):
        async def asked():
            transport = httpx2.ASGITransport(ask_shipped.server.application)
            async with httpx2.AsyncClient(transport=transport) as http:
                client = openai.AsyncOpenAI(
                    api_key="none",
                    base_url="http://localhost/v1",
                    http_client=http,
                    max_retries=0,
                )
                return await ask(client)

        return asyncio.run(asked())

    return chat


def create(content, **given):
    async def ask(client):
        messages = [{"role": "user", "content": content}]
        answer = await client.chat.completions.create(
            **{"model": "auto", "messages": messages, **given}
        )
        return [each async for each in answer] if given.get("stream") else answer

    return ask


def test_a_summary_of_the_text(chat, shipped):
    answer = chat(create(f"Summarize in two sentences:\n{TEXT}", temperature=0.7, max_tokens=2048))
    expected = shipped(TEXT, sentences=2)
    assert answer.choices[0].message.content == expected.summary
    assert answer.choices[0].finish_reason == "stop" and answer.model == "bert_sum_ext_news_en"
    assert answer.usage.completion_tokens == -(-len(expected.summary) // 4)
    bullets = chat(create(f"Summarize as 2 bullet points:\n{TEXT}")).choices[0].message.content
    assert bullets == "".join(f"- {each}\n" for each in expected.sentences).strip()


def test_an_answer_that_has_no_room_ends_for_its_length(chat):
    (choice,) = chat(create(f"Summarize:\n{TEXT}", max_tokens=1)).choices
    assert choice.message.content and choice.finish_reason == "length"
    chunks = chat(create(f"Summarize:\n{TEXT}", max_tokens=1, stream=True))
    assert chunks[-1].choices[0].finish_reason == "length"


def test_what_a_summary_is_to_be_about(chat, shipped):
    query = "the cost of a ferry"
    answer = chat(create(f"Summarize in one sentence what it says about {query}:\n{TEXT}"))
    assert answer.choices[0].message.content == shipped(TEXT, sentences=1, query=query).summary


def test_sentence_by_sentence(chat, shipped):
    options = {"stream": True, "stream_options": {"include_usage": True}}
    chunks = chat(create(f"Summarize in 2 sentences:\n{TEXT}", **options))
    deltas = [each.choices[0].delta.content or "" for each in chunks if each.choices]
    expected = shipped(TEXT, sentences=2)
    assert [each for each in deltas if each] == [expected.sentences[0], " " + expected.sentences[1]]
    assert chunks[-2].choices[0].finish_reason == "stop"
    assert chunks[-1].usage.total_tokens > 0 and not chunks[-1].choices


def respond(content, **given):
    async def ask(client):
        answer = await client.responses.create(**{"model": "auto", "input": content, **given})
        return [each async for each in answer] if given.get("stream") else answer

    return ask


def test_a_model_response(chat, shipped):
    text = {"format": {"type": "text"}}
    answer = chat(respond(TEXT, instructions="Summarize in two sentences.", text=text, store=False))
    assert answer.output_text == shipped(TEXT, sentences=2).summary
    assert answer.status == "completed" and answer.model == "bert_sum_ext_news_en"
    assert answer.usage.output_tokens == -(-len(answer.output_text) // 4)
    assert type(answer).model_validate(answer.to_dict()) == answer
    parts = [{"role": "user", "content": [{"type": "input_text", "text": f"Summarize:\n{TEXT}"}]}]
    assert 0 < len(chat(respond(parts, max_output_tokens=14)).output_text) <= 4 * 14


def test_the_events_of_a_model_response(chat, shipped):
    """As the newest ArticleSummary of FreshRSS asks."""
    asked = [
        {"role": "system", "content": "Summarize in 2 sentences."},
        {"role": "user", "content": f"input: \n{TEXT}"},
    ]
    options = {"reasoning": {"effort": "minimal"}, "max_output_tokens": 2048, "stream": True}
    events = chat(respond(asked, **options))
    expected = shipped(TEXT, sentences=2)
    deltas = [each.delta for each in events if each.type == "response.output_text.delta"]
    assert deltas == [expected.sentences[0], " " + expected.sentences[1]]
    assert [each.sequence_number for each in events] == list(range(len(events)))
    for each in events:
        assert type(each).model_validate(each.to_dict()) == each
    assert events[0].type == "response.created" and events[0].response.status == "in_progress"
    assert events[-1].type == "response.completed"
    assert events[-1].response.output_text == expected.summary


def test_within_the_tokens_that_there_is_room_for(chat):
    answer = chat(create(f"Summarize:\n{TEXT}", max_completion_tokens=14))
    assert 0 < len(answer.choices[0].message.content) <= 4 * 14


def test_html_of_a_reader(chat):
    pytest.importorskip("trafilatura")
    parts = "".join(f"<p>{part.strip()}.</p>" for part in TEXT.strip(".").split(". "))
    answer = chat(create(f"Summarize in 1 sentence:\n<div>{parts}</div>"))
    assert answer.choices[0].message.content.rstrip(".") in TEXT


def test_the_models(chat):
    async def ask(client):
        return [model.id async for model in await client.models.list()]

    names = chat(ask)
    assert names[0] == "auto" and "bert_sum_ext_news_en" in names
    assert "transformer_tatoeba_en_fr" not in names


@pytest.mark.parametrize(
    ("given", "error", "reason"),
    [
        ({"content": "What is the capital of France?"}, "BadRequestError", "summarizes texts"),
        ({"n": 2}, "BadRequestError", "n: a summarizer has one answer"),
        ({"response_format": {"type": "json_object"}}, "BadRequestError", "a summary is text"),
        ({"max_tokens": 0}, "BadRequestError", "max_tokens: Input should be greater"),
        ({"model": "gpt-9"}, "NotFoundError", "gpt-9.*there are auto, bert"),
        (
            {"tools": [{"type": "function", "function": {"name": "f", "parameters": {}}}]},
            "BadRequestError",
            "calls none",
        ),
    ],
)
def test_what_a_summarizer_cannot_do(chat, given, error, reason):
    with pytest.raises(getattr(openai, error), match=reason) as found:
        chat(create(**{"content": f"Summarize:\n{TEXT}", **given}))
    assert found.value.body["type"] == "invalid_request_error"


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"content": "What is the capital of France?"}, "summarizes texts"),
        ({"content": 5}, "input: Input should be a valid list"),
        ({"previous_response_id": "resp_1"}, "keeps no answers"),
        ({"text": {"format": {"type": "json_object"}}}, "text.format: a summary is text"),
    ],
)
def test_what_no_model_response_can_be(chat, given, reason):
    with pytest.raises(openai.BadRequestError, match=reason):
        chat(respond(**{"content": f"Summarize:\n{TEXT}", **given}))
