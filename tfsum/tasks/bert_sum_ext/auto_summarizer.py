"""The summarizer that chooses the model by the text, among the shipped ones."""

import pathlib
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from tfsum.inference.exported_model import computed_in
from tfsum.inference.saved_model import read_description
from tfsum.inference.texts import check_texts, token_counter
from tfsum.request import Keyword, Newline, SummaryAnswer, SummaryRequest
from tfsum.tasks.bert_sum_ext.read_once import Reading, model_of, open_document
from tfsum.tasks.bert_sum_ext.summarizer import Summarizer
from tfsum.tasks.model_choice import divide_texts

T = TypeVar("T")


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
