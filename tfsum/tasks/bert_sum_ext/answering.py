"""From a request to the signatures of an extractive model, and from their outputs to the answers;
needs no TensorFlow, as in a client."""

import bisect
import dataclasses
import itertools
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from tfsum.errors import Error
from tfsum.inference.texts import (
    KNOWN_ENOUGH,
    CountTokens,
    as_bytes,
    check_texts,
    one_line,
    rewrite_newlines,
    tokens_of,
)
from tfsum.request import (
    DOCUMENT_SEPARATOR,
    INPUTS,
    AnswerWarning,
    Keyword,
    SummaryAnswer,
    SummaryRequest,
    Value,
    warnings_of,
)

LARGEST = (1 << 31) - 1
LIMITS = ("words", "characters", "tokens", "share", "min_score")
"""Limits within which a summary has as many sentences as have room."""
# What says that a text has to do with a query: the share of its words, by rarity, that are there,
# which 1 of 100 lines of validation summaries does not have in its own text and 61 (of stories) and
# 42 (of documents) in another; or the cosine with a sentence, which 85 % of 60 questions have in
# their own text and half of them in another.
SHARED, NEAR = 0.25, 0.74
FEW = 0.45  # of the share of frequent words that the training corpus has
# ... and of the share of whole words that 99 of 100 documents of a corpus in many languages have:
# two sentences in Korean or Finnish, whose words have endings, may have a third of it, a text in
# letters that the model does not know has none.
FEW_KNOWN = 0.25
BEGINNING = 20_000  # characters of a text whose tokens are counted first
WORDS_TO_JUDGE = 15  # of a text; shorter ones have too few of them ...
LETTERS_TO_JUDGE = 100  # ... if they are no long words of a script without spaces
SPELLED = ("LATIN", "HANGUL")  # letters of which a model of many languages has pieces

Row = Mapping[str, np.ndarray]  # output of a signature -> its value for one text


@dataclasses.dataclass(frozen=True)
class Defaults:
    """What an export does where a request leaves it open.

    Attributes:
        sentences: The most sentences of a summary, or "auto".
        automatic: Value of the input `max_sentences` for "auto"; None where the model was not
            exported to choose the number.
        block_trigrams: Whether a sentence that repeats a word trigram is skipped.
        newline: Meaning of a new line.
        frequent: Share of frequent words in the training corpus; 0 where it is not known.
        least_frequent: Share of them below which a text is of another kind or language.
        least_known: Share of whole words below which a text is in another language.

    Example:
        >>> Defaults().sentences
        3
    """

    sentences: int | str = 3
    automatic: int | None = None
    block_trigrams: bool = False
    newline: str = "sentence"
    frequent: float = 0.0
    least_frequent: float = 0.0
    least_known: float = KNOWN_ENOUGH


def defaults_of(description: Mapping[str, Any]) -> Defaults:
    """The defaults of an export.

    Args:
        description: Content of its assets.extra/tfsum.json.

    Example:
        >>> text = {"newline": "auto"}
        >>> defaults_of({"sentences": 3, "block_trigrams": True, "text": text}).newline
        'auto'
    """
    frequent = description.get("frequent", {})
    share, least_known = frequent.get("share", 0.0), frequent.get("least_known", 1.0)
    if least_known < KNOWN_ENOUGH:
        least_known *= FEW_KNOWN
    return Defaults(
        sentences=description["sentences"],
        automatic=description.get("automatic"),
        block_trigrams=bool(description["block_trigrams"]),
        newline=description["text"]["newline"],
        frequent=share,
        least_frequent=min(FEW * share, frequent.get("least", 1.0)),
        least_known=min(KNOWN_ENOUGH, least_known),
    )


class Question:
    """A request about texts, as calls of a model's signatures.

    Args:
        texts: The texts.
        request: What is asked of each of them, or of all together.
        defaults: What the export does where the request leaves it open; None where a server does
            not say it: a request that gives no limit is then answered by the export's default
            signature.
        inputs: Names of the inputs of the model's signature `extract`; None for all of today.
        count_tokens: Function that counts the tokens of a text, see `token_counter`.

    Attributes:
        encoded: The input `text` of every call, in UTF-8.
        calls: Signature -> its other inputs, each a value for all texts.
        is_answered: Whether the last answers keep within their tokens; else the calls, which ask
            for fewer now, are to be made again.

    Raises:
        Error: An element is not a str, or the export cannot do what is asked.

    Example:
        >>> question = Question(["It rained."], SummaryRequest(all=True, keywords=2), Defaults())
        >>> question.calls
        {'score': {}, 'keywords': {'max_keywords': 2}}
    """

    def __init__(
        self,
        texts: Sequence[str],
        request: SummaryRequest,
        defaults: Defaults | None,
        inputs: Collection[str] | None = None,
        count_tokens: CountTokens = tokens_of,
    ) -> None:
        self._count_tokens, self.is_answered = count_tokens, False
        self._given = check_texts(texts)
        self._request, self._defaults = request, defaults or Defaults()
        self._texts = self._given
        if request.together:
            whole = (text.replace(DOCUMENT_SEPARATOR, " ") for text in self._given)
            self._texts = [DOCUMENT_SEPARATOR.join(whole)]

        self.encoded = [as_bytes(text) for text in self._texts]
        self._newlines: list[str] | None = None
        exported = self._defaults.newline
        if request.newline is not None and request.newline != exported:
            self.encoded, self._newlines = rewrite_newlines(self.encoded, request.newline, exported)

        self.calls: dict[str, dict[str, Value]]
        if request.all and request.query:
            self.calls = {"relevance": {"query": request.query}}
        elif request.all:
            self.calls = {"score": {}}
        elif defaults is None and not request.given() & set(INPUTS):
            self.calls = {"serving_default": {}}
        else:
            self.calls = {"extract": self._inputs(inputs)}
        if request.keywords is not None:
            self.calls["keywords"] = {"max_keywords": request.keywords}

    def answers(self, outputs: Mapping[str, Sequence[Row]], model: str) -> list[SummaryAnswer]:
        """The answers to the texts; one answer to texts together.

        Args:
            outputs: Signature of `calls` -> the outputs of each text.
            model: Name of the model.
        """
        (signature, *_) = self.calls
        answers = [self._answer(i, row, model) for i, row in enumerate(outputs[signature])]
        if "keywords" in outputs:
            answers = [
                dataclasses.replace(answer, keywords=keywords_of(text, row))
                for answer, text, row in zip(answers, self._texts, outputs["keywords"])
            ]
        if self._request.together:
            answers = [with_documents(answer, self._given) for answer in answers]
        self.is_answered = self._keep_tokens(answers)
        return answers

    def _keep_tokens(self, answers: Sequence[SummaryAnswer]) -> bool:
        """Whether answers have as few tokens as they can and were to have; else the graph, which
        knows tokens of four bytes alone, is asked for as many fewer as they are over."""
        most = self._request.tokens or LARGEST
        over = [each for each in answers if (each.tokens or 0) > most and len(each.sentences) > 1]
        if over:
            fewer = min(tokens_of(each.summary) * most // (each.tokens or 1) for each in over)
            self.calls["extract"][INPUTS["tokens"].name] = max(1, fewer)
        return not over

    def _in_bytes(self, tokens: int) -> int:
        """About how many tokens of four bytes so many tokens are, by the beginning of the text."""
        beginning = "".join(self._texts[:1])[:BEGINNING]
        counted = self._count_tokens(beginning) or 1
        return max(1, tokens * (tokens_of(beginning) or 1) // counted)

    def _inputs(self, known: Collection[str] | None) -> dict[str, Value]:
        """The inputs of the signature `extract`, of those that the model knows."""
        request, defaults = self._request, self._defaults
        given = {name: getattr(request, name) for name in INPUTS}
        if request.tokens:
            given["tokens"] = self._in_bytes(request.tokens)
        if given["sentences"] is None and all(given[name] is None for name in LIMITS):
            given["sentences"] = defaults.sentences
        if given["sentences"] == "auto":
            if defaults.automatic is None:
                raise Error(
                    "sentences='auto': this model was not exported to choose the number; give a"
                    " number, or export the model again with selection='expected_rouge'"
                )
            given["sentences"] = defaults.automatic
        if given["block_trigrams"] is None:
            given["block_trigrams"] = request.together or defaults.block_trigrams

        inputs: dict[str, Value] = {}
        for name, entry in INPUTS.items():
            if known is not None and entry.name not in known:
                if given[name] is None:
                    continue
                raise Error(
                    f"{name}: this model was exported by an older tfsum, which did not have it;"
                    " take another model, export it again, or leave it out"
                )
            value = entry.nothing if given[name] is None else type(entry.nothing)(given[name])
            # as good as no limit, and int32
            inputs[entry.name] = min(value, LARGEST) if type(value) is int else value
        return inputs

    def _answer(self, number: int, row: Row, model: str) -> SummaryAnswer:
        """The answer to a text from the outputs of its row."""
        newline = self._defaults.newline
        if self._newlines is not None:
            newline = self._newlines[number]
        elif "newline" in row:  # an export that decides itself says what it took a new line for
            newline = bytes(row["newline"]).decode()

        text = self._texts[number]
        offsets = _places(text, row)
        sentences = [text[start:end] for start, end in offsets]
        summary = _in_a_row(sentences, newline)
        tokens = None if self._request.tokens is None else self._count_tokens(summary)
        return SummaryAnswer(
            summary,
            sentences,
            row["score"][: len(offsets)].tolist(),
            offsets,
            float(row["coverage"]),
            _warnings(text, row, self._defaults)
            + request_warnings(self._request, text, summary, _is_about(row), tokens or 0),
            newline,
            model,
            tokens=tokens,
        )


def keywords_of(text: str, row: Row) -> list[Keyword]:
    """The keywords of a text from the outputs of its row of the signature `keywords`.

    Args:
        text: The text.
        row: Name of an output -> its value for this text.

    Example:
        >>> row = {"count": 1, "start": np.array([3]), "end": np.array([9])}
        >>> keywords_of("It rained.", {**row, "score": np.array([0.5])})
        [Keyword(text='rained', start=3, end=9, score=0.5)]
    """
    return [
        Keyword(text[start:end], start, end, score)
        for (start, end), score in zip(_places(text, row), row["score"].tolist())
    ]


def with_documents(answer: SummaryAnswer, texts: Sequence[str]) -> SummaryAnswer:
    """The answer to joined texts with offsets in each of them.

    Args:
        answer: Answer to the joined text.
        texts: The texts.

    Example:
        >>> answer = SummaryAnswer("It rained.", ["It rained."], [0.9], [(4, 14)], 1.0, [])
        >>> found = with_documents(answer, ["No.", "It rained."])
        >>> found.documents, found.offsets
        ([1], [(0, 10)])
    """
    begins = [0, *itertools.accumulate(len(text) + 1 for text in texts)][:-1]
    documents = [bisect.bisect_right(begins, start) - 1 for start, _ in answer.offsets]
    offsets = [
        (start - begins[i], end - begins[i]) for i, (start, end) in zip(documents, answer.offsets)
    ]
    return dataclasses.replace(answer, documents=documents, offsets=offsets)


def _places(text: str, row: Row) -> list[tuple[int, int]]:
    """The offsets of a row in characters; those of the graph are bytes."""
    count = int(row["count"])
    # (bytes + 1,) the characters that begin before a byte; the bytes 10xxxxxx go on with one
    begins = (np.frombuffer(as_bytes(text), np.uint8) & 0xC0) != 0x80
    before = np.concatenate([[0], np.cumsum(begins)])
    starts, ends = (before[row[name][:count]].tolist() for name in ("start", "end"))
    return list(zip(starts, ends))


def _in_a_row(sentences: Sequence[str], newline: str) -> str:
    """The sentences with a space between them, each in one line."""
    if newline != "sentence":
        sentences = [one_line(sentence) for sentence in sentences]
    return " ".join(sentences)


def request_warnings(
    request: SummaryRequest, text: str, summary: str, is_about: bool = True, tokens: int = 0
) -> list[AnswerWarning]:
    """What of a request an answer could not keep.

    Args:
        request: What was asked.
        text: The text.
        summary: Its summary.
        is_about: Whether the text has to do with the query.
        tokens: Tokens of the summary, where they are limited.

    Example:
        >>> request = SummaryRequest(words=1, query="zebra")
        >>> request_warnings(request, "It rained.", "It rained.", is_about=False)
        [{'code': 'limit'}, {'code': 'query'}]
    """
    limits = (
        (request.words, len(summary.split())),
        (request.characters, len(summary)),
        (request.tokens, tokens),
    )
    return warnings_of(
        {
            "limit": (any(limit and size > limit for limit, size in limits), {}),
            "query": (bool(request.query and text.strip()) and not is_about, {}),
        }
    )


def _is_about(row: Row) -> bool:
    """Whether a text has to do with the query; an older export does not say it."""
    return float(row.get("shared", 1.0)) >= SHARED or float(row.get("nearest", 0.0)) >= NEAR


def _warnings(text: str, row: Row, defaults: Defaults) -> list[AnswerWarning]:
    """What the reader of an answer should know."""
    coverage, known = float(row["coverage"]), float(row["known"])
    frequent, words = float(row.get("frequent", 1.0)), text.split(maxsplit=WORDS_TO_JUDGE)
    is_foreign = frequent < defaults.least_frequent and len(words) >= WORDS_TO_JUDGE
    # where words have endings, as in many languages of a model, a few may all be several pieces
    is_short = len(words) < WORDS_TO_JUDGE and len(text) < LETTERS_TO_JUDGE
    is_short &= unicodedata.name(next(filter(str.isalpha, text), " "), "").startswith(SPELLED)
    can_judge = defaults.least_known == KNOWN_ENOUGH or not is_short
    is_unknown = can_judge and not is_foreign and known < defaults.least_known
    return warnings_of(
        {
            "empty": (not row["count"] and not words, {}),
            "none": (not row["count"] and bool(words), {}),
            "words": (is_foreign, {"frequent": frequent, "expected": defaults.frequent}),
            "language": (is_unknown, {"known": known}),
            "unpunctuated": (bool(row.get("unpunctuated", False)), {}),
            "long_sentences": (coverage < 1, {"coverage": coverage}),
        }
    )
