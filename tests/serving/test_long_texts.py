"""Long texts of the page: their answers, how far they are, and their end when nobody waits."""

import asyncio
import contextlib
import json
import threading

import numpy as np
import pytest
from opened_models import unverified

from tfsum.serving import long_texts
from tfsum.serving.long_texts import LongTexts, _Call
from tfsum.serving.request_error import RequestError
from tfsum.serving.servable import Servable

pytestmark = pytest.mark.usefixtures("opened_once")
SENTENCES = "The council met on day {} of the flood. The bridge was closed, and trains stopped. "
LONG = "".join(SENTENCES.format(number) for number in range(410))


@pytest.fixture(scope="module")
def servable(transformer, opened_once):
    return Servable("news", 1, transformer.folder)


@pytest.fixture(scope="module")
def ask(serving, transformer):
    """Asks a server of the tiny model."""
    with unverified():
        return serving.Asked(transformer.folder.parent)


class ToldCall(_Call):
    """A call that is not measured, and does not end, before its client was told how far it is."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.told = {False: threading.Event(), True: threading.Event()}  # by whether it has begun

    def progress(self, before):
        self.told[bool(self.begin)].set()
        return super().progress(before)

    def beginning(self, size):
        assert self.told[False].wait(600)
        return super().beginning(size)

    def timed(self):
        assert not self.begin or self.told[True].wait(600)
        return super().timed()


@pytest.fixture
def told(monkeypatch):
    """Clients are told of each call, however busy the machine is."""
    monkeypatch.setattr(long_texts, "_Call", ToldCall)
    monkeypatch.setattr(long_texts, "TICK", 0.01)


def calls_of(text, *signatures):
    return {name: {"text": np.array([text.encode()], object)} for name in signatures}


async def stages_of(texts, servable, calls):
    return [stage async for stage in texts.outputs(servable, calls)]


def test_each_call_is_answered_after_how_far_it_is(servable, told):
    calls = calls_of(LONG, "score", "serving_default")
    stages = asyncio.run(stages_of(LongTexts(), servable, calls))
    progress = [stage for stage in stages if isinstance(stage, dict)]
    answers = dict(stage for stage in stages if isinstance(stage, tuple))
    assert progress[0]["share"] is None  # the model is opened, and samples are computed
    shares = [stage["share"] for stage in progress if stage["share"] is not None]
    assert shares and all(0 <= share < 1 for share in shares)
    assert stages[-1][0] == "serving_default" and list(answers) == [*calls]
    for name, outputs in answers.items():
        expected = servable.run(name, calls[name])
        assert all(np.array_equal(outputs[key], expected[key]) for key in expected)


def test_what_nobody_waits_for_ends(servable):
    texts = LongTexts()

    async def ask_and_leave():
        stages = texts.outputs(servable, calls_of(20 * LONG, "score"))
        async with contextlib.aclosing(stages):
            async for stage in stages:
                if isinstance(stage, dict) and stage["share"]:
                    break
        waiting = [stage async for stage in texts.outputs(servable, calls_of("Rain.", "score"))]
        return waiting[-1]

    name, outputs = asyncio.run(ask_and_leave())
    assert name == "score" and outputs["count"].tolist() == [1]


def test_one_is_computed_at_a_time_and_few_wait(servable, told, monkeypatch):
    monkeypatch.setattr(long_texts, "MAX_WAITING", 2)
    texts, calls = LongTexts(), calls_of(LONG, "score")

    async def ask():
        return await asyncio.gather(
            *(stages_of(texts, servable, calls) for _ in range(3)), return_exceptions=True
        )

    first, second, third = asyncio.run(ask())
    assert {stage["before"] for stage in first[:-1]} == {0}
    assert {stage["before"] for stage in second[:-1]} == {0, 1} and second[0]["before"] == 1
    assert isinstance(third, RequestError) and third.code == "RESOURCE_EXHAUSTED"


def test_the_error_of_a_text_is_told(servable):
    with pytest.raises(RequestError, match="one value for each text"):
        inputs = {"text": np.array([b"Rain."], object), "max_keywords": np.array([1, 2], np.int32)}
        asyncio.run(stages_of(LongTexts(), servable, {"keywords": inputs}))


def lines_of(answer):
    return [json.loads(line) for line in answer.text.splitlines()]


def test_the_page_has_the_answer_of_the_api(ask):
    body = {"text": LONG, "model": "news", "words": 60, "keywords": 3}
    answer = ask("POST", "/page/summarize", json.dumps(body).encode())
    plain = ask("POST", "/summarize", json.dumps(body).encode()).json()
    lines = lines_of(answer)
    assert answer.headers["content-type"] == "application/x-ndjson"
    assert lines[0] == {"progress": {"before": 0, "share": None, "seconds": None}}
    summary, whole = (line["answer"] for line in lines if "answer" in line)
    assert whole == plain and lines[-1] == {"answer": plain}
    assert summary == {name: value for name, value in plain.items() if name != "keywords"}

    short = json.dumps({**body, "text": SENTENCES}).encode()
    answers = [ask("POST", path, short).json() for path in ("/summarize", "/page/summarize")]
    assert answers[0] == answers[1]


def test_the_page_is_told_what_is_wrong(ask):
    for body, message in (
        ({"text": LONG, "model": "news", "share": 20}, "share=20: expected a number above 0"),
        ({"text": LONG, "model": "none"}, "Servable not found"),
        ({"text": "a" * 4_000_001, "model": "news"}, "--max-document-bytes"),
    ):
        (line,) = lines_of(ask("POST", "/page/summarize", json.dumps(body).encode()))
        assert message in line["error"]
    small = ask(
        "POST", "/page/summarize", json.dumps({"text": "", "model": "news", "words": 0}).encode()
    )
    assert small.status_code == 400
