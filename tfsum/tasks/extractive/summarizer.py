"""The summarizer of Python: texts in, `Summary` objects out, by an exported model."""

import dataclasses
from collections.abc import Sequence
from typing import Any, overload

from tfsum.errors import Error
from tfsum.inference.exported_model import KNOWN_ENOUGH, ExportedModel, as_bytes, check_texts
from tfsum.text.newlines import one_line, rewrite_newlines

FEW = 0.45  # of the share of frequent words that the training corpus has
WORDS_TO_JUDGE = 15  # of a text; shorter ones have too few of them


@dataclasses.dataclass(frozen=True)
class Summary:
    """The answer to one text.

    Attributes:
        summary: the chosen sentences, joined by a space.
        sentences: the chosen sentences in the order of the text.
        scores: the score of each, between 0 and 1.
        offsets: (start, end) of each in the text, in characters: `text[start:end]` is the sentence.
        coverage: share of the text's non-space bytes that the model read.
        warnings: what the reader of this answer should know.
        newline: what a new line was taken for: "sentence", its end; "paragraph", part of one (hard-wrapped text); or
            "space".

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

    def __str__(self) -> str:
        return self.summary


class Summarizer(ExportedModel):
    """Summarizes texts with an exported extractive model; for the arguments see `ExportedModel`.

    Example:
        >>> from tfsum.inference.shipped import shipped_model
        >>> summarize = Summarizer(shipped_model())
        >>> summarize("It rained. The bridge was closed.", sentences=2).offsets
        [(0, 10), (11, 33)]
        >>> len(summarize.score("It rained. The bridge was closed.").scores)
        2
    """

    @overload
    def __call__(  # type: ignore[overload-overlap]  # a str is a sequence of str
        self, texts: str, sentences: int = 3, block_trigrams: bool | None = None, newline: str | None = None
    ) -> Summary: ...

    @overload
    def __call__(
        self, texts: Sequence[str], sentences: int = 3, block_trigrams: bool | None = None, newline: str | None = None
    ) -> list[Summary]: ...

    def __call__(
        self, texts: str | Sequence[str], sentences: int = 3, block_trigrams: bool | None = None,
        newline: str | None = None,
    ) -> Summary | list[Summary]:
        """Summarizes texts.

        Args:
            texts: one text or a sequence of them.
            sentences: the most sentences of a summary.
            block_trigrams: whether to skip a sentence that repeats a word trigram of the summary; as the model was
                exported by default.
            newline: what a new line means: "sentence", its end; "paragraph", of which a blank line is the end; "space";
                or "auto", which decides for each text by the widths of its lines. As the model was exported by default.

        Returns:
            A `Summary`, or a list of them for a sequence.

        Raises:
            Error: an element is not a str, or `sentences` is above the model's limit.
        """
        if isinstance(texts, str):
            return self([texts], sentences, block_trigrams, newline)[0]
        texts = self._check(texts, sentences)
        block = self.description["block_trigrams"] if block_trigrams is None else bool(block_trigrams)
        return self._answers("summarize", texts, newline, max_sentences=sentences, block_trigrams=block)

    def score(self, text: str, newline: str | None = None) -> Summary:
        """Scores every sentence of a text: a `Summary` of all of them.

        Args:
            text: the text.
            newline: see the call.

        Raises:
            Error: `text` is not a str.
        """
        return self._answers("score", check_texts([text]), newline)[0]

    def _answers(self, signature: str, texts: list[str], newline: str | None, **options: Any) -> list[Summary]:
        encoded, exported = [as_bytes(text) for text in texts], self.description["text"]["newline"]
        taken: Sequence[str | None] = [None] * len(texts)  # as the answer says
        if newline is not None and newline != exported:
            encoded, taken = rewrite_newlines(encoded, newline, exported)
        rows = self._ask(signature, {"text": encoded}, **options)
        expected = self.description.get("frequent", {}).get("share", 0.0)
        return [_summary(text, row, found or _newline(row, exported), expected)
                for text, row, found in zip(texts, rows, taken)]

    def _check(self, texts: Any, sentences: int) -> list[str]:
        limit = self.description["max_sentences"]
        if isinstance(sentences, bool) or not isinstance(sentences, int) or not 1 <= sentences <= limit:
            raise Error(
                f"sentences={sentences!r}: expected a whole number from 1 to {limit}, which this model was "
                "exported with; export it with a larger max_sentences for more"
            )
        return check_texts(texts)


def _newline(given: dict, exported: str) -> str:
    """What the export took a new line for: what it says itself, if it decided."""
    return given["newline"].decode() if "newline" in given else exported


def _summary(text: str, given: dict, newline: str, expected: float) -> Summary:
    data, count = as_bytes(text), int(given["count"])
    offsets = [
        (_characters(data, start), _characters(data, end))
        for start, end in zip(given["start"][:count].tolist(), given["end"][:count].tolist())
    ]
    sentences = [text[start:end] for start, end in offsets]
    return Summary(
        " ".join(sentence if newline == "sentence" else one_line(sentence) for sentence in sentences),
        sentences,
        given["score"][:count].tolist(),
        offsets,
        float(given["coverage"]),
        _warnings(text, given, expected),
        newline,
    )


def _characters(data: bytes, offset: int) -> int:
    """The number of characters before a byte offset."""
    return len(data[:offset].decode("utf-8"))


def _warnings(text: str, given: dict, expected: float) -> list[str]:
    """What the reader of an answer should know; `expected` is the share of frequent words in the training corpus."""
    known, coverage, found = float(given["known"]), float(given["coverage"]), []
    if not given["count"]:
        found.append("there is no sentence in the text")
    few = expected and float(given.get("frequent", 1.0)) < FEW * expected and len(text.split()) >= WORDS_TO_JUDGE
    if few or known < KNOWN_ENOUGH:
        what = (f"only {float(given['frequent']):.0%} of the words are frequent ones of the training corpus, which has "
                f"{expected:.0%}" if few else f"only {known:.0%} of the words are in the model's vocabulary")
        found.append(f"{what}: the text seems to be in a language that the model was not trained on, and the choice "
                     "of sentences means little")
    if given.get("unpunctuated", False):
        found.append("the text has hardly any full stop, so it was split by conjunctions and by length")
    if coverage < 1:
        found.append(f"the model read {coverage:.1%} of the text: sentences longer than its window were cut")
    return found
