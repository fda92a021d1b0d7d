"""The summarizers of Python: texts in, `SummaryAnswer` objects out, by an exported model, or by the
one of several that each text is for."""

import pathlib
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, TypeVar, Unpack, overload

from tfsum.inference.exported_model import ExportedModel, computed_in
from tfsum.inference.saved_model import read_description
from tfsum.inference.texts import check_texts, token_counter, tokens_of
from tfsum.request import Keyword, Newline, SummaryAnswer, SummaryOptions, SummaryRequest
from tfsum.tasks.bert_sum_ext.answering import Question, defaults_of, keywords_of
from tfsum.tasks.bert_sum_ext.read_once import Reading, model_of, open_document
from tfsum.tasks.model_choice import divide_texts

T = TypeVar("T")


class Summarizer(ExportedModel):
    """Summarizes texts with an exported extractive model; for the arguments see `ExportedModel`.

    Example:
        >>> from tfsum.inference.saved_model import shipped_model
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
        **options: Unpack[SummaryOptions],
    ) -> SummaryAnswer: ...

    @overload
    def __call__(
        self,
        texts: Sequence[str],
        sentences: int | Literal["auto"] | None = None,
        **options: Unpack[SummaryOptions],
    ) -> list[SummaryAnswer]: ...

    def __call__(
        self,
        texts: str | Sequence[str],
        sentences: int | Literal["auto"] | None = None,
        **options: Unpack[SummaryOptions],
    ) -> SummaryAnswer | list[SummaryAnswer]:
        """Summarizes texts.

        Args:
            texts: One text or a sequence of them.
            sentences: The most sentences of a summary; "auto" for two to four, as many as the model
                expects to score best. As the model was exported by default, and with a limit as
                many as it has room for.
            **options: Other fields of `tfsum.SummaryRequest`: limits in words, characters or a
                share of the text, a lowest score, a query, a number of keywords. What is left out
                is as the model was exported.

        Returns:
            A `SummaryAnswer`, or a list of them for a sequence.

        Raises:
            Error: An element is not a str, or what is asked is not possible.
        """
        request = SummaryRequest(sentences=sentences, **options)
        if isinstance(texts, str):
            return self.answer([texts], request)[0]
        return self.answer(texts, request)

    def answer(self, texts: Sequence[str], request: SummaryRequest) -> list[SummaryAnswer]:
        """Answers a request about texts.

        Args:
            texts: Texts.
            request: The request.

        Returns:
            An answer for each text; one answer alone where they are summarized together.

        Raises:
            Error: An element is not a str, or the model cannot do what is asked.
        """
        is_counted = request.tokens and self.count_tokens is not tokens_of
        if is_counted and len(texts) > 1 and not request.together:  # each has tokens of its length
            return [self.answer([text], request)[0] for text in check_texts(texts)]

        question = Question(
            texts,
            request,
            defaults_of(self.description),
            self.inputs("extract"),
            self.count_tokens,
        )
        while not question.is_answered:
            rows = {
                name: self._ask(name, {"text": question.encoded}, **inputs)
                for name, inputs in question.calls.items()
            }
            answers = question.answers(rows, self.path.parent.name)
        return answers

    def together(
        self,
        texts: Sequence[str],
        sentences: int | Literal["auto"] | None = None,
        **options: Unpack[SummaryOptions],
    ) -> SummaryAnswer:
        """Summarizes several texts on the same matter in one summary, which says a thing once.

        Args:
            texts: Texts.
            sentences: The most sentences, as in the call.
            **options: Other fields of `tfsum.SummaryRequest`; `share` counts the words of all
                texts.

        Returns:
            A `SummaryAnswer`, whose `documents` tell the text of each sentence.

        Raises:
            Error: As in the call.
        """
        options["together"] = True
        return self.answer(texts, SummaryRequest(sentences=sentences, **options))[0]

    def keywords(self, texts: Sequence[str], number: int = 8) -> list[list[Keyword]]:
        """The words and phrases that carry texts.

        Args:
            texts: Texts.
            number: Keywords of a text at most.

        Returns:
            The keywords of each text, the best first.

        Raises:
            Error: Texts are not a sequence of str, or the number is not possible.
        """
        texts = check_texts(texts)
        SummaryRequest(keywords=number)
        rows = self._ask("keywords", {"text": texts}, max_keywords=number)
        return list(map(keywords_of, texts, rows))

    @overload
    def read(self, texts: str, newline: Newline | None = None) -> Reading: ...  # type: ignore[overload-overlap]

    @overload
    def read(self, texts: Sequence[str], newline: Newline | None = None) -> list[Reading]: ...

    def read(
        self, texts: str | Sequence[str], newline: Newline | None = None
    ) -> Reading | list[Reading]:
        """Reads texts once, for any number of requests.

        Args:
            texts: One text or a sequence of them.
            newline: Meaning of a new line, as in `tfsum.SummaryRequest`.

        Returns:
            A `Reading`, or a list of them for a sequence.

        Raises:
            Error: An element is not a str, or an older tfsum exported the model.
        """
        if isinstance(texts, str):
            return self._read([texts], newline)[0]
        return self._read(texts, newline)

    def _read(self, texts: Sequence[str], newline: Newline | None) -> list[Reading]:
        """What the model reads of each text."""
        question = Question(texts, SummaryRequest(newline=newline), defaults_of(self.description))
        rows = self._ask("read", {"text": question.encoded})
        return [Reading(self, text, row, newline) for text, row in zip(texts, rows, strict=True)]

    def open(self, data: bytes) -> Reading:
        """Opens a document that this model has read.

        Args:
            data: Result of `Reading.to_bytes`.

        Returns:
            A `Reading`.

        Raises:
            DataError: The data are broken, or another model read the text.
        """
        return open_document(data, {model_of(self): self})

    @overload
    def score(self, texts: str, newline: Newline | None = None) -> SummaryAnswer: ...  # type: ignore[overload-overlap]

    @overload
    def score(
        self, texts: Sequence[str], newline: Newline | None = None
    ) -> list[SummaryAnswer]: ...

    def score(
        self, texts: str | Sequence[str], newline: Newline | None = None
    ) -> SummaryAnswer | list[SummaryAnswer]:
        """Scores every sentence of texts: a `SummaryAnswer` of all of them.

        Args:
            texts: One text or a sequence of them.
            newline: Meaning of a new line, as in `tfsum.SummaryRequest`.

        Returns:
            A `SummaryAnswer`, or a list of them for a sequence.

        Raises:
            Error: An element is not a str.
        """
        return self(texts, all=True, newline=newline)


class AutoSummarizer(Summarizer):
    """Summarizes each text with the model that it is for; a model is opened by its first text.

    Args:
        folders: Name of a model -> its directory `.../NAME/VERSION`.
        compute: Type to compute in, as in `ExportedModel`.
        tokenizer: File of a tokenizer, as in `ExportedModel`.

    Attributes:
        path: Directory of the first model.
        description: Its description.

    Raises:
        ExportError: There is no such model.
        Error: A model cannot be computed in this type here.

    Example:
        >>> from tfsum.inference.saved_model import shipped_model
        >>> summarize = AutoSummarizer({"bert_sum_ext_news_en": shipped_model()})
        >>> summarize("It rained.").model
        'bert_sum_ext_news_en'
    """

    def __init__(
        self,
        folders: Mapping[str, pathlib.Path],
        compute: str = "float32",
        tokenizer: str | pathlib.Path | None = None,
    ) -> None:
        self.count_tokens = token_counter(tokenizer)
        self.path = next(iter(folders.values()))
        self.description = read_description(self.path)
        self._folders, self._compute = folders, computed_in(compute)
        self._opened: dict[str, Summarizer] = {}

    def interrupt(self) -> None:
        """Ends what another thread computes, which fails; no model can be called again."""
        for model in self._opened.values():
            model.interrupt()

    def answer(self, texts: Sequence[str], request: SummaryRequest) -> list[SummaryAnswer]:
        """Answers a request about texts, as `Summarizer.answer`; texts together have one model.

        Args:
            texts: Texts.
            request: The request.
        """
        return self._divided(
            texts, lambda model, part: model.answer(part, request), request.together
        )

    def keywords(self, texts: Sequence[str], number: int = 8) -> list[list[Keyword]]:
        """The words and phrases that carry texts, as `Summarizer.keywords`.

        Args:
            texts: Texts.
            number: Keywords of a text at most.
        """
        return self._divided(texts, lambda model, part: model.keywords(part, number))

    def _read(self, texts: Sequence[str], newline: Newline | None) -> list[Reading]:
        """What the model that each text is for reads of it."""
        return self._divided(texts, lambda model, part: model.read(part, newline))

    def open(self, data: bytes) -> Reading:
        """Opens a document that one of the models has read, as `Summarizer.open`.

        Args:
            data: Result of `Reading.to_bytes`.
        """
        return open_document(
            data, {model_of(model): model for model in map(self._model_of, self._folders)}
        )

    def _model_of(self, name: str) -> Summarizer:
        """The model of this name, opened when it is first asked for."""
        if name not in self._opened:
            self._opened[name] = Summarizer(self._folders[name], self._compute)
            self._opened[name].count_tokens = self.count_tokens
        return self._opened[name]

    def _divided(
        self,
        texts: Sequence[str],
        ask: Callable[[Summarizer, Sequence[str]], list[T]],
        together: bool = False,
    ) -> list[T]:
        """The answers of the models to their texts, in the order of the texts."""
        texts, found = check_texts(texts), dict[int, T]()
        for name, numbers in divide_texts(texts, self._folders, together).items():
            answers = ask(self._model_of(name), [texts[i] for i in numbers])
            found |= zip(numbers or [0], answers)
        return [found[i] for i in sorted(found)]
