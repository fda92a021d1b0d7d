"""The summarizer of Python: texts in, `Summary` objects out, by an exported model."""

import dataclasses
from collections.abc import Sequence
from typing import Any, overload

from tfsum.errors import Error
from tfsum.inference.exported_model import KNOWN_ENOUGH, ExportedModel, check_texts


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
        self, texts: str, sentences: int = 3, block_trigrams: bool | None = None
    ) -> Summary: ...

    @overload
    def __call__(
        self, texts: Sequence[str], sentences: int = 3, block_trigrams: bool | None = None
    ) -> list[Summary]: ...

    def __call__(
        self, texts: str | Sequence[str], sentences: int = 3, block_trigrams: bool | None = None
    ) -> Summary | list[Summary]:
        """Summarizes texts.

        Args:
            texts: one text or a sequence of them.
            sentences: the most sentences of a summary.
            block_trigrams: whether to skip a sentence that repeats a word trigram of the summary; as the model was
                exported by default.

        Returns:
            A `Summary`, or a list of them for a sequence.

        Raises:
            Error: an element is not a str, or `sentences` is above the model's limit.
        """
        if isinstance(texts, str):
            return self([texts], sentences, block_trigrams)[0]
        texts = self._check(texts, sentences)
        block = self.description["block_trigrams"] if block_trigrams is None else bool(block_trigrams)
        rows = self._ask("summarize", {"text": texts}, max_sentences=sentences, block_trigrams=block)
        return list(map(_summary, texts, rows))

    def score(self, text: str) -> Summary:
        """Scores every sentence of a text: a `Summary` of all of them.

        Raises:
            Error: `text` is not a str.
        """
        return _summary(text, *self._ask("score", {"text": check_texts([text])}))

    def _check(self, texts: Any, sentences: int) -> list[str]:
        limit = self.description["max_sentences"]
        if isinstance(sentences, bool) or not isinstance(sentences, int) or not 1 <= sentences <= limit:
            raise Error(
                f"sentences={sentences!r}: expected a whole number from 1 to {limit}, which this model was "
                "exported with; export it with a larger max_sentences for more"
            )
        return check_texts(texts)


def _summary(text: str, given: dict) -> Summary:
    data, count = text.encode("utf-8", errors="replace"), int(given["count"])
    offsets = [
        (_characters(data, start), _characters(data, end))
        for start, end in zip(given["start"][:count].tolist(), given["end"][:count].tolist())
    ]
    sentences = [text[start:end] for start, end in offsets]
    return Summary(
        " ".join(sentences),
        sentences,
        given["score"][:count].tolist(),
        offsets,
        float(given["coverage"]),
        _warnings(count, float(given["known"]), float(given["coverage"])),
    )


def _characters(data: bytes, offset: int) -> int:
    """The number of characters before a byte offset."""
    return len(data[:offset].decode("utf-8"))


def _warnings(count: int, known: float, coverage: float) -> list[str]:
    found = []
    if not count:
        found.append("there is no sentence in the text")
    if known < KNOWN_ENOUGH:
        found.append(
            f"only {known:.0%} of the words are in the model's vocabulary: the text seems to be in a language "
            "that the model was not trained on, and the choice of sentences means little"
        )
    if coverage < 1:
        found.append(f"the model read {coverage:.1%} of the text: sentences longer than its window were cut")
    return found
