"""Batches of concurrent requests: the answers of single ones, a budget of characters, and long
documents apart."""

import asyncio
import threading

import moved_time
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfsum.inference.texts import ROW_COST, row_sizes
from tfsum.serving.batching import Batcher
from tfsum.serving.request_error import RequestError
from tfsum.serving.servable import Signature, TensorInfo
from tfsum.serving.settings import ServerSettings

TEXT = TensorInfo("string", (None,))
ECHO = Signature("echo", {"text": TEXT}, {"summary": TEXT, "length": TensorInfo("int32", (None,))})


class Model:
    """Echoes texts, notes its batches, and takes `seconds` for each in a loop of moved time."""

    def __init__(self, seconds=0.0):
        self.batches, self.seconds = [], seconds

    def __call__(self, signature, inputs):
        texts = inputs["text"]
        self.batches.append(texts.tolist())
        if self.seconds:
            asyncio.get_running_loop().work(self.seconds)
        if b"bad" in texts.tolist():
            raise RequestError("INVALID_ARGUMENT", "found a bad text")
        return {"summary": texts, "length": np.array([len(text) for text in texts], np.int32)}


class Batches(Batcher):
    """Answers requests whose rows cost what `row_sizes` says."""

    async def answer(self, model, run, signature, inputs):
        return await super().answer(model, run, signature, inputs, row_sizes(inputs))


def texts(*given):
    return {"text": np.array([text.encode() for text in given], object)}


async def answers_of(model, *requests, signature=ECHO, **options):
    """The answers, or errors, of requests that are sent at the same time."""
    batcher = Batches(ServerSettings(**options))
    try:
        return await asyncio.gather(
            *(batcher.answer("model", model, signature, request) for request in requests),
            return_exceptions=True,
        )
    finally:
        batcher.close()


def ask(model, *requests, **options):
    """The answers, or errors, and what is computed within an hour, in moved time."""

    async def ask_and_wait(loop):
        answers = await answers_of(model, *requests, **options)
        await asyncio.sleep(3600)
        return answers

    return moved_time.run(ask_and_wait)


@given(
    st.lists(st.lists(st.text(max_size=30), max_size=5), min_size=1, max_size=12),
    st.integers(1, 2000),
    st.integers(1, 3),
)
def test_each_request_gets_its_own_answer(requests, budget, threads):
    answers = asyncio.run(
        answers_of(
            Model(),
            *(texts(*request) for request in requests),
            batch_characters=budget,
            threads=threads,
            timeout=600,
        )
    )
    for request, answer in zip(requests, answers):
        assert [text.decode() for text in answer["summary"]] == request
        assert answer["length"].tolist() == [len(text.encode()) for text in request]


def test_requests_that_wait_run_together_within_the_budget():
    model = Model(0.1)
    ask(model, *(texts(str(i)) for i in range(9)), threads=1, batch_characters=4 * (ROW_COST + 1))
    assert [len(batch) for batch in model.batches] == [1, 4, 4]  # the first did not wait


def test_nothing_waits_where_nothing_is_computed():
    async def ask_one(loop):
        await answers_of(Model(1.0), texts("a"), batch_wait=30.0, threads=2)
        return loop.time()

    assert moved_time.run(ask_one) == 1.0


def test_a_request_that_is_larger_than_a_batch_is_divided():
    model = Model()
    given = [f"{i:0100d}" for i in range(10)]
    (answer,) = ask(model, texts(*given), batch_characters=3 * (ROW_COST + 100), threads=1)
    assert (
        sorted(map(len, model.batches)) == [1, 3, 3, 3]
        and [text.decode() for text in answer["summary"]] == given
    )


def test_an_error_of_one_request_is_not_that_of_those_beside_it():
    one, two, three = ask(Model(0.05), texts("first"), texts("bad"), texts("good"), threads=1)
    assert (
        isinstance(two, RequestError)
        and one["length"].tolist() == [5]
        and three["length"].tolist() == [4]
    )


def test_an_error_of_a_part_is_that_of_the_whole():  # 110
    (answer,) = ask(Model(), texts("a", "bad", "c"), batch_characters=1, threads=1)
    assert isinstance(answer, RequestError)


def test_a_long_document_does_not_delay_short_ones():
    """In threads: the long one ends when the short one is answered."""
    answered = threading.Event()

    def slow(signature, inputs):
        assert answered.wait(600)
        return {"summary": inputs["text"]}

    async def ask_both():
        batcher = Batches(ServerSettings(threads=1, long_characters=1000, timeout=600))
        long = asyncio.create_task(batcher.answer("slow", slow, ECHO, texts("a" * 1001)))
        await asyncio.sleep(0)  # it is sent first
        await batcher.answer("fast", Model(), ECHO, texts("b"))
        answered.set()
        return await long

    assert asyncio.run(ask_both())["summary"].tolist() == [b"a" * 1001]


def test_a_full_queue_and_a_time_that_is_over():
    answers = ask(
        Model(0.5), *(texts(str(i)) for i in range(4)), threads=1, max_queue=2, batch_characters=1
    )
    full = [answer for answer in answers if isinstance(answer, RequestError)]
    assert len(full) == 1 and full[0].http_status == 429 and full[0].retry_after
    first, second = ask(
        Model(0.5), texts("a"), texts("b"), threads=1, timeout=0.1, batch_characters=1
    )
    assert first.http_status == 504 and second.http_status == 429  # 108
    assert "Run() timeout exceeded while waiting in batching queue" in str(second)


def test_what_nobody_waits_for_leaves_the_queue():
    async def give_up(loop):
        batcher = Batches(ServerSettings(threads=1, batch_characters=1))
        answers = [
            asyncio.create_task(batcher.answer("model", Model(0.3), ECHO, texts(str(number))))
            for number in range(9)
        ]
        await asyncio.sleep(0.1)
        before = batcher.waiting
        for answer in answers[1:]:
            answer.cancel()
        await asyncio.sleep(0)
        return before, batcher.waiting, await answers[0]

    before, after, answer = moved_time.run(give_up)
    assert (before, after) == (8, 0) and answer["length"].tolist() == [1]


def test_what_nobody_waits_for_is_not_computed():
    model = Model(0.3)
    ask(model, texts("a"), texts("b"), threads=1, timeout=0.1, batch_characters=1)
    assert model.batches == [[b"a"]]


def ask_after_one(model, count, **options):
    """The answers, or errors, of requests that are sent together when one was measured."""

    async def ask_and_wait(loop):
        batcher = Batches(ServerSettings(threads=1, batch_characters=1, **options))
        await batcher.answer("model", model, ECHO, texts("measured"))
        requests = (batcher.answer("model", model, ECHO, texts("x" * 8)) for _ in range(count))
        answers = await asyncio.gather(*requests, return_exceptions=True)
        await asyncio.sleep(3600)
        return answers

    return moved_time.run(ask_and_wait)


def test_what_could_not_be_answered_in_time_is_refused_at_once():
    model = Model(0.25)
    answers = ask_after_one(model, 12, timeout=2.0)
    refused = [answer for answer in answers if isinstance(answer, RequestError)]
    assert {error.http_status for error in refused} == {429}
    assert [error.retry_after for error in refused][:5] == [1, 1, 2, 2, 2]  # half their number
    assert all("an answer would take about 2 s" in str(error) for error in refused)
    assert len(refused) == 6  # three quarters of 2 s have room for the other six
    assert len(model.batches) == 1 + 6


def test_behind_a_batch_that_is_overdue_all_are_refused_at_once():
    async def ask_behind(loop):
        batcher = Batches(ServerSettings(threads=1, batch_characters=1))
        await batcher.answer("model", Model(0.25), ECHO, texts("measured"))
        slow = asyncio.create_task(batcher.answer("model", Model(20.0), ECHO, texts("slow")))
        await asyncio.sleep(10)
        with pytest.raises(RequestError, match="longer than expected") as refused:
            await batcher.answer("model", Model(), ECHO, texts("a"))
        at = loop.time()
        await slow
        return at, refused.value, await batcher.answer("model", Model(), ECHO, texts("a"))

    at, error, answer = moved_time.run(ask_behind)
    assert at < 11 and (error.http_status, error.retry_after) == (429, 5)
    assert answer["length"].tolist() == [1]


@pytest.mark.parametrize("end", [*".!?\n\r\u2028。？", "\x1e"])
def test_a_sentence_or_a_document_costs_more_than_its_bytes(end):
    """By measured times: a sentence costs what 10 characters of news do, a document 150."""
    (words,), (short,) = (row_sizes(texts(text * 1000)) for text in ("ab", f"a{end}"))
    assert (short - ROW_COST) / (words - ROW_COST) >= (100 if end == "\x1e" else 5)


def test_words_that_are_not_known_cost_more_than_their_bytes():
    """By measured times: 2.3 to 2.5 times what words of news do, which are one token each."""
    given, known = texts("rain " * 1000, "xqzv " * 1000), frozenset([b"rain"])
    known_cost, unknown_cost = (size - ROW_COST for size in row_sizes(given, known))
    assert 2 <= unknown_cost / known_cost <= 3
    assert len({*row_sizes(given)}) == 1  # nobody knows the words


def test_what_cannot_be_computed_in_time_is_not_begun(monkeypatch):
    monkeypatch.setattr("tfsum.serving.batching.SHARE", 100.0)
    monkeypatch.setattr("tfsum.serving.batching.FRESH", 0.0)
    model = Model(0.4)
    answers = ask_after_one(model, 4, timeout=1.0)
    late = [answer for answer in answers if isinstance(answer, RequestError)]
    assert len(late) == 2 and {error.http_status for error in late} == {429}
    assert len(model.batches) == 3


def test_a_pace_that_was_wrong_is_measured_again():
    """A first batch may take long; requests that come alone are tried whatever was measured."""

    async def ask_alone(loop):
        slow, model = Model(0.5), Model()
        batcher = Batches(ServerSettings(threads=1, timeout=0.6, batch_characters=1))
        await batcher.answer("model", slow, ECHO, texts("a"))
        return [await batcher.answer("model", model, ECHO, texts("a" * 9999)) for _ in range(3)]

    assert len(moved_time.run(ask_alone)) == 3


@pytest.mark.parametrize(
    "outputs", [{"words": TensorInfo("string", (None, None))}, {"sum": TensorInfo("int32", ())}]
)
def test_outputs_whose_shape_depends_on_other_rows_are_computed_alone(outputs):
    model = Model(0.05)
    ask(
        model,
        texts("a"),
        texts("b"),
        texts("c"),
        signature=Signature("s", {"text": TEXT}, outputs),
        threads=1,
    )
    assert model.batches == [[b"a"], [b"b"], [b"c"]]


def test_rows_of_other_shapes_do_not_share_a_batch():
    ids = Signature(
        "ids", {"text": TensorInfo("int32", (None, None))}, {"summary": TEXT, "length": TEXT}
    )
    model = Model(0.05)
    answers = ask(
        model,
        *({"text": np.ones([1, size], np.int32)} for size in (2, 3, 3)),
        signature=ids,
        threads=1,
    )
    assert [len(batch) for batch in model.batches] == [1, 2] and len(answers) == 3
