"""The summarizer of Python: texts in, `Summary` objects out, by an exported model."""

from collections.abc import Sequence
from typing import Any, Literal, Unpack, overload

from tfsum.errors import Error
from tfsum.inference.exported_model import ExportedModel
from tfsum.inference.texts import as_bytes, check_texts, several
from tfsum.tasks.bert_sum_ext.limits import (
    MOST_SENTENCES,
    Limits,
    check_number_of_keywords,
    extract_inputs,
)
from tfsum.tasks.bert_sum_ext.summary import (
    Keyword,
    Summary,
    joined,
    keywords_of,
    summary_of,
    with_documents,
)
from tfsum.text.newlines import rewrite_newlines


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
        self,
        texts: str,
        sentences: int | Literal["auto"] | None = None,
        block_trigrams: bool | None = None,
        newline: str | None = None,
        **limits: Unpack[Limits],
    ) -> Summary: ...

    @overload
    def __call__(
        self,
        texts: Sequence[str],
        sentences: int | Literal["auto"] | None = None,
        block_trigrams: bool | None = None,
        newline: str | None = None,
        **limits: Unpack[Limits],
    ) -> list[Summary]: ...

    def __call__(
        self,
        texts: str | Sequence[str],
        sentences: int | Literal["auto"] | None = None,
        block_trigrams: bool | None = None,
        newline: str | None = None,
        **limits: Unpack[Limits],
    ) -> Summary | list[Summary]:
        """Summarizes texts.

        Args:
            texts: One text or a sequence of them.
            sentences: The most sentences of a summary; "auto" for two to four, as many as the model
                expects to score best; as the model was exported by default.
            block_trigrams: Whether to skip a sentence that repeats a word trigram of the summary;
                as the model was exported by default.
            newline: Meaning of a new line: "sentence", its end; "paragraph", of which a blank line
                is the end; "space"; or "auto", which decides for each text by the widths of its
                lines. As the model was exported by default.
            **limits: Limits in words, characters or a share of the text, a lowest score, and a
                query; see `Limits`. With a limit there are as many sentences as it has room for,
                unless `sentences` gives a number.

        Returns:
            A `Summary`, or a list of them for a sequence.

        Raises:
            Error: An element is not a str, a limit is not possible, or `sentences` is above the
                model's limit, or "auto" where the model was not exported to choose by expected
                ROUGE.
        """
        if isinstance(texts, str):
            return self([texts], sentences, block_trigrams, newline, **limits)[0]

        block = (
            self.description["block_trigrams"] if block_trigrams is None else bool(block_trigrams)
        )
        default = self._most(self.description["sentences"])
        most = None if sentences is None else self._most(sentences, limits)
        if limits:
            signature, inputs = "extract", extract_inputs(limits, most, default)
        else:
            signature, inputs = "summarize", {"max_sentences": default if most is None else most}
        return self._answers(signature, check_texts(texts), newline, block_trigrams=block, **inputs)

    def _most(self, sentences: int | str, limits: Limits | None = None) -> int:
        """The input `max_sentences` for a number of sentences, or "auto"."""
        limit, automatic = self.description["max_sentences"], self.description.get("automatic")
        if limits:
            limit = MOST_SENTENCES
        if sentences == "auto" and automatic is not None:
            return automatic
        if (
            isinstance(sentences, bool)
            or not isinstance(sentences, int)
            or not 1 <= sentences <= limit
        ):
            raise Error(
                f"sentences={sentences!r}: expected a whole number from 1 to {limit}"
                f"{'' if automatic is None else ' or auto'}, which this model was exported with;"
                " export it with a larger max_sentences for more, and again with"
                " selection='expected_rouge' for auto"
            )
        return sentences

    def together(
        self,
        texts: Sequence[str],
        sentences: int | Literal["auto"] | None = None,
        block_trigrams: bool = True,
        newline: str | None = None,
        **limits: Unpack[Limits],
    ) -> Summary:
        """Summarizes several texts on the same matter in one summary, which says a thing once.

        Args:
            texts: The texts.
            sentences: As in the call; so are the arguments below.
            block_trigrams: Whether to skip a sentence that repeats a word trigram of the summary.
            newline: Meaning of a new line.
            **limits: Limits; `share` counts the words of all texts.

        Returns:
            A `Summary`, whose `documents` tell the text of each sentence.

        Raises:
            Error: As in the call.
        """
        texts = check_texts(several(texts))
        summary = self(joined(texts), sentences, block_trigrams, newline, **limits)
        return with_documents(summary, texts)

    def keywords(self, texts: Sequence[str], number: int = 8) -> list[list[Keyword]]:
        """The words and phrases that carry texts.

        Args:
            texts: Texts.
            number: Keywords of a text at most.

        Returns:
            The keywords of each text, the best first.

        Raises:
            Error: Texts are not a sequence of str, or the number is below 1.
        """
        texts = check_texts(several(texts))
        rows = self._ask("keywords", {"text": texts}, max_keywords=check_number_of_keywords(number))
        return [keywords_of(text, row) for text, row in zip(texts, rows)]

    @overload
    def score(self, texts: str, newline: str | None = None) -> Summary: ...  # type: ignore[overload-overlap]

    @overload
    def score(self, texts: Sequence[str], newline: str | None = None) -> list[Summary]: ...

    def score(
        self, texts: str | Sequence[str], newline: str | None = None
    ) -> Summary | list[Summary]:
        """Scores every sentence of texts: a `Summary` of all of them.

        Args:
            texts: One text or a sequence of them.
            newline: Meaning of a new line, as in the call.

        Returns:
            A `Summary`, or a list of them for a sequence.

        Raises:
            Error: An element is not a str.
        """
        if isinstance(texts, str):
            return self.score([texts], newline)[0]
        return self._answers("score", check_texts(texts), newline)

    def _answers(
        self, signature: str, texts: list[str], newline: str | None, **options: Any
    ) -> list[Summary]:
        encoded, exported = [as_bytes(text) for text in texts], self.description["text"]["newline"]
        taken: Sequence[str | None] = [None] * len(texts)  # as the answer says
        if newline is not None and newline != exported:
            encoded, taken = rewrite_newlines(encoded, newline, exported)

        rows: list[dict[str, Any]] = self._ask(signature, {"text": encoded}, **options)
        # an export that decides itself says what it took a new line for
        decided = [row["newline"].decode() if "newline" in row else exported for row in rows]
        expected = self.description.get("frequent", {}).get("share", 0.0)

        return [
            summary_of(text, row, newline or own, expected)
            for text, row, newline, own in zip(texts, rows, taken, decided)
        ]
