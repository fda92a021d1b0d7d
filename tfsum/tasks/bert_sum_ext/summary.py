"""The answer of an extractive model to one text."""

import bisect
import dataclasses
import itertools
from collections.abc import Sequence
from typing import Any

from tfsum.inference.texts import KNOWN_ENOUGH, as_bytes
from tfsum.tasks.bert_sum_ext.limits import DOCUMENT_SEPARATOR
from tfsum.text.newlines import one_line

FEW = 0.45  # of the share of frequent words that the training corpus has
WORDS_TO_JUDGE = 15  # of a text; shorter ones have too few of them


@dataclasses.dataclass(frozen=True)
class Summary:
    """The answer to one text.

    Attributes:
        summary: The chosen sentences, joined by a space.
        sentences: The chosen sentences in the order of the text.
        scores: The score of each, between 0 and 1.
        offsets: (start, end) of each in the text, in characters: `text[start:end]` is the sentence.
        coverage: Share of the text's non-space bytes that the model read.
        warnings: Messages for the reader of this answer.
        newline: Meaning given to new lines: "sentence", its end; "paragraph", part of one
            (hard-wrapped text); or "space".
        documents: Number of each sentence's document, from 0, in a summary of several; its offsets
            are in that one. None for a summary of one.

    Example:
        >>> print(Summary("It rained.", ["It rained."], [0.9], [(0, 10)], 1.0, []))
        It rained.
    """

    summary: str
    sentences: list[str]
    scores: list[float]
    offsets: list[tuple[int, int]]
    coverage: float
    warnings: list[str]
    newline: str = "sentence"
    documents: list[int] | None = None

    def __str__(self) -> str:
        return self.summary


@dataclasses.dataclass(frozen=True)
class Keyword:
    """A word or phrase that carries a text.

    Attributes:
        text: As it first stands in the text.
        start: Its first character in the text.
        end: The character after it.
        score: How often the summary can be expected to hold its words.

    Example:
        >>> print(Keyword("Anna Holt", 4, 13, 0.5))
        Anna Holt
    """

    text: str
    start: int
    end: int
    score: float

    def __str__(self) -> str:
        return self.text


def keywords_of(text: str, outputs: dict) -> list[Keyword]:
    """The keywords of a text from the outputs of its row of the signature `keywords`.

    Args:
        text: The text.
        outputs: Name of an output -> its value for this text.

    Example:
        >>> import numpy as np
        >>> numbers = {"start": np.array([3]), "end": np.array([9]), "score": np.array([0.5])}
        >>> keywords_of("It rained.", {"count": 1, **numbers})
        [Keyword(text='rained', start=3, end=9, score=0.5)]
    """
    data, count = as_bytes(text), int(outputs["count"])
    rows = zip(*(outputs[name][:count].tolist() for name in ("start", "end", "score")))
    places = [
        (_characters(data, start), _characters(data, end), score) for start, end, score in rows
    ]
    return [Keyword(text[start:end], start, end, score) for start, end, score in places]


def joined(texts: Sequence[str]) -> str:
    """Several documents as one text for an extractive model.

    Args:
        texts: The documents.

    Example:
        >>> joined(["It rained.", "The sun shone."])
        'It rained.\\x1eThe sun shone.'
    """
    return DOCUMENT_SEPARATOR.join(text.replace(DOCUMENT_SEPARATOR, " ") for text in texts)


def with_documents(summary: Summary, texts: Sequence[str]) -> Summary:
    """A summary of `joined` texts, with offsets in each of them, and no sentence twice.

    The model leaves out what repeats three words; of shorter sentences, which have no three, the
    first is kept here.

    Args:
        summary: Summary of the joined text.
        texts: The texts.

    Example:
        >>> summary = Summary("It rained.", ["It rained."], [0.9], [(4, 14)], 1.0, [])
        >>> found = with_documents(summary, ["No.", "It rained."])
        >>> found.documents, found.offsets
        ([1], [(0, 10)])
    """
    begins = [0, *itertools.accumulate(len(text) + 1 for text in texts)][:-1]
    kept = [i for i, one in enumerate(summary.sentences) if one not in summary.sentences[:i]]
    sentences = [summary.sentences[i] for i in kept]
    places = [summary.offsets[i] for i in kept]
    documents = [bisect.bisect_right(begins, start) - 1 for start, _ in places]
    offsets = [(start - begins[i], end - begins[i]) for i, (start, end) in zip(documents, places)]
    return dataclasses.replace(
        summary,
        summary=_in_a_row(sentences, summary.newline),
        sentences=sentences,
        scores=[summary.scores[i] for i in kept],
        documents=documents,
        offsets=offsets,
    )


def summary_of(text: str, outputs: dict, newline: str, expected: float = 0.0) -> Summary:
    """The answer to a text from the outputs of its row.

    Args:
        text: The text.
        outputs: Name of an output of the signature -> its value for this text.
        newline: Meaning given to new lines.
        expected: Share of frequent words in the training corpus; 0 where it is not known.

    Example:
        >>> import numpy as np
        >>> outputs = {
        ...     "count": 1,
        ...     "start": np.array([0]),
        ...     "end": np.array([10]),
        ...     "score": np.array([0.5]),
        ...     "coverage": 1.0,
        ...     "known": 1.0,
        ... }
        >>> summary_of("It rained.", outputs, "sentence").sentences
        ['It rained.']
    """
    data, count = as_bytes(text), int(outputs["count"])
    offsets = [
        (_characters(data, start), _characters(data, end))
        for start, end in zip(outputs["start"][:count].tolist(), outputs["end"][:count].tolist())
    ]
    sentences = [text[start:end] for start, end in offsets]
    return Summary(
        _in_a_row(sentences, newline),
        sentences,
        outputs["score"][:count].tolist(),
        offsets,
        float(outputs["coverage"]),
        _warnings(text, outputs, expected),
        newline,
    )


def plain(summary: Summary) -> dict[str, Any]:
    """A summary for programs: an object for each sentence, offsets in characters.

    Args:
        summary: The summary.

    Example:
        >>> summary = Summary("It rained.", ["It rained."], [0.9], [(0, 10)], 1.0, [])
        >>> plain(summary)["sentences"]
        [{'text': 'It rained.', 'start': 0, 'end': 10, 'score': 0.9}]
    """
    rows = zip(summary.sentences, summary.offsets, summary.scores)
    return {
        "summary": summary.summary,
        "sentences": [
            {"text": text, "start": start, "end": end, "score": round(score, 6)}
            for text, (start, end), score in rows
        ],
        "coverage": summary.coverage,
        "warnings": summary.warnings,
    }


def _in_a_row(sentences: Sequence[str], newline: str) -> str:
    """The sentences with a space between them, each in one line."""
    return " ".join(one if newline == "sentence" else one_line(one) for one in sentences)


def _characters(data: bytes, offset: int) -> int:
    """The number of characters before a byte offset."""
    return len(data[:offset].decode("utf-8"))


def _warnings(text: str, outputs: dict, expected: float) -> list[str]:
    """What the reader of an answer should know; `expected` is the share of frequent words in the
    training corpus."""
    known, coverage, warnings = float(outputs["known"]), float(outputs["coverage"]), []
    if not outputs["count"]:
        warnings.append(
            "no sentence was chosen" if text.strip() else "there is no sentence in the text"
        )

    few = (
        expected
        and float(outputs.get("frequent", 1.0)) < FEW * expected
        and len(text.split()) >= WORDS_TO_JUDGE
    )
    if few or known < KNOWN_ENOUGH:
        what = (
            f"only {float(outputs['frequent']):.0%} of the words are frequent ones of the training"
            f" corpus, which has {expected:.0%}"
            if few
            else f"only {known:.0%} of the words are in the model's vocabulary"
        )
        warnings.append(
            f"{what}: the text seems to be in a language that the model was not trained on, and the"
            " choice of sentences means little"
        )

    if outputs.get("unpunctuated", False):
        warnings.append(
            "the text has hardly any full stop, so it was split by conjunctions and by length"
        )

    if coverage < 1:
        warnings.append(
            f"the model read {coverage:.1%} of the text: sentences longer than its window were cut"
        )

    return warnings
