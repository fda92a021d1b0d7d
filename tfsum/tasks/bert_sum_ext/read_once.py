"""A text that was read once, and is asked as often as one likes."""

import functools
import hashlib
import io
import json
import zipfile
from collections.abc import Mapping
from typing import Literal, Unpack, cast

import numpy as np

from tfsum.errors import DataError, as_error, require
from tfsum.inference.exported_model import ExportedModel
from tfsum.inference.openvino_model import OF_READING
from tfsum.inference.texts import as_bytes, filled
from tfsum.request import (
    DOCUMENT_SEPARATOR,
    MOST_KEYWORDS,
    Keyword,
    Newline,
    SummaryAnswer,
    SummaryOptions,
    SummaryRequest,
    Value,
)
from tfsum.tasks.bert_sum_ext.answering import Question, Row, defaults_of, keywords_of

# outputs of the signature `read` that say something of each sentence
OF_SENTENCES = (
    *("start", "end", "score", "logit", "document", "pieces", "embedding", "sentence"),
    *("dateline", "costs", "anaphor", "may_be_chosen", "english", "names"),
)
# ... of each of its parts; another output says how many of these a sentence has
OF_PARTS = {"pieces": ("piece", "rate"), "names": ("name",)}


class Reading:
    """A text that a model has read, which is what takes time: the model's scores, expectations and
    embeddings are kept, and answers come from them.

    Made by `Summarizer.read` and `Summarizer.open`.

    Args:
        model: The model that read it.
        text: The text.
        reading: Its row of the outputs of the signature `read`.
        newline: Meaning of a new line that was asked for; None for the model's own.

    Attributes:
        text: The text.
        embeddings: Unit vectors (S, W) of its S sentences; None of a model that has none.
        nbytes: Bytes of what was read.

    Example:
        >>> import tfsum
        >>> document = tfsum.load("runs/mine").read("It rained. The bridge was closed.")
        ... # doctest: +SKIP
        >>> document(sentences=1, query="bridge").summary  # doctest: +SKIP
        'The bridge was closed.'
    """

    def __init__(
        self, model: ExportedModel, text: str, reading: Row, newline: Newline | None = None
    ) -> None:
        self.text = text
        self._model, self._newline = model, newline
        count = int(reading["count"])
        sizes = dict.fromkeys(OF_SENTENCES, count)
        for of, names in OF_PARTS.items():  # an older export has no `names`
            sizes |= dict.fromkeys(names, int(np.sum(reading.get(of, ())[:count])))
        self._reading = {  # without what pads the rows of several texts
            name: np.copy(value[: sizes[name]]) if name in sizes else value
            for name, value in reading.items()
        }
        self.embeddings: np.ndarray | None = self._reading.get("embedding")
        self.nbytes = sum(np.asarray(value).nbytes for value in self._reading.values())

    def __call__(
        self, sentences: int | Literal["auto"] | None = None, **options: Unpack[SummaryOptions]
    ) -> SummaryAnswer:
        """Summarizes the text, as `Summarizer.__call__` does.

        Args:
            sentences: The most sentences, as there.
            **options: Other fields of `tfsum.SummaryRequest`, but `newline` and `together`, which
                are settled when a text is read.

        Returns:
            A `SummaryAnswer`.

        Raises:
            Error: What is asked is not possible.
        """
        return self.answer(SummaryRequest(sentences=sentences, **options))

    def answer(self, request: SummaryRequest) -> SummaryAnswer:
        """Answers a request about the text.

        Args:
            request: The request.

        Returns:
            A `SummaryAnswer`.

        Raises:
            Error: What is asked is not possible.
        """
        for name in ("newline", "together"):
            require(
                not getattr(request, name),
                f"{name}: is settled when a text is read; ask the summarizer, which reads the"
                " text again",
            )
        request = request.model_copy(update={"newline": self._newline})
        question = Question(
            [self.text],
            request,
            defaults_of(self._model.description),
            self._model.inputs("extract"),
            self._model.count_tokens,
        )
        while not question.is_answered:
            rows = {name: [self._ask(name, inputs)] for name, inputs in question.calls.items()}
            (answer,) = question.answers(rows, self._model.path.parent.name)
        return answer

    def keywords(self, number: int = 8) -> list[Keyword]:
        """The words and phrases that carry the text.

        Args:
            number: Keywords at most.

        Returns:
            The keywords, the best first.

        Raises:
            Error: The number is not possible.
        """
        SummaryRequest(keywords=number)
        return keywords_of(self.text, self._ask("keywords", {"max_keywords": number}))

    def score(self, query: str | None = None) -> SummaryAnswer:
        """Scores every sentence: by how much it matters, or has to do with a query.

        Args:
            query: A question or title.

        Returns:
            A `SummaryAnswer` of all sentences.

        Raises:
            Error: The query is not a str.
        """
        return self.answer(SummaryRequest(all=True, query=query))

    def to_bytes(self) -> bytes:
        """The document as the content of an .npz file or a cell of a table, for `Summarizer.open`.

        Returns:
            An archive of numpy's arrays, with the text and the name of the model.
        """
        arrays = {
            name: np.asarray(value, "S" if np.asarray(value).dtype == object else None)
            for name, value in self._reading.items()
            if name not in ("sentences", "sentence")  # these are in the text
        }
        arrays["text"] = np.frombuffer(as_bytes(self.text), np.uint8)
        arrays["model"] = np.array(model_of(self._model))
        arrays["asked_newline"] = np.array(self._newline or "")
        file = io.BytesIO()
        np.savez_compressed(file, allow_pickle=False, **arrays)
        return file.getvalue()

    def _ask(self, signature: str, inputs: Mapping[str, Value]) -> Row:
        """The outputs of a signature for the text."""
        if signature == "score":
            return self._reading
        if signature == "keywords":
            best = self._best_keywords
            return {**best, "count": np.minimum(best["count"], inputs["max_keywords"])}
        return self._computed(signature, inputs)

    @functools.cached_property
    def _best_keywords(self) -> Row:
        """The outputs of the signature for as many keywords as there can be."""
        return self._computed("keywords", {"max_keywords": MOST_KEYWORDS})

    def _computed(self, signature: str, inputs: Mapping[str, Value]) -> Row:
        """What a signature computes from the reading."""
        known = self._model.inputs(signature + OF_READING)
        rows = {
            name: filled(1, value) if isinstance(value, bytes) else np.asarray(value)[np.newaxis]
            for name, value in self._reading.items()
            if name in known
        }
        given = {name: filled(1, value) for name, value in inputs.items()}
        outputs = self._model.call(signature + OF_READING, {**rows, **given})
        return {name: values[0] for name, values in outputs.items()}


def model_of(model: ExportedModel) -> str:
    """Which export a model is: its name, its version and the hash of its description.

    Args:
        model: An exported model.
    """
    described = json.dumps(model.description, sort_keys=True).encode()
    digest = hashlib.sha256(described).hexdigest()[:16]
    return f"{model.path.parent.name}/{model.path.name} {digest}"


def open_document(data: bytes, models: Mapping[str, ExportedModel]) -> Reading:
    """A document from `Reading.to_bytes`.

    Args:
        data: Its result.
        models: Models by `model_of`, one of which read the text.

    Raises:
        DataError: The data are broken, or another model read the text.
    """
    with as_error(
        "a document that was read is broken",
        *(ValueError, KeyError, TypeError, EOFError, OSError, zipfile.BadZipFile),
        kind=DataError,
        cure="; read its text again",
    ):
        with np.load(io.BytesIO(data)) as file:
            arrays = dict(file)
        text, name = arrays.pop("text").tobytes(), str(arrays.pop("model"))
        newline = cast(Newline | None, str(arrays.pop("asked_newline")) or None)
        ends = zip(arrays["start"].tolist(), arrays["end"].tolist(), strict=True)
        sentences = [text[start:end] for start, end in ends]
        decoded = text.decode("utf-8")

    require(
        name in models,
        f"a document was read by {name}; expected {', '.join(models)}. Read its text again, or"
        " ask the model that read it",
        DataError,
    )
    # `sentence` for exports that took them one by one
    joined = DOCUMENT_SEPARATOR.encode().join(sentences)
    reading = {**arrays, "sentences": joined, "sentence": np.array(sentences, object)}
    return Reading(models[name], decoded, reading, newline)
