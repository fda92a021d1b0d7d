"""The documents of agents: texts that a model reads once, and that are asked about by their ids."""

import asyncio
import hashlib
import time
from collections.abc import Callable, Iterator
from typing import TypeVar

from tfsum.errors import Error
from tfsum.inference.exported_model import MissingSignature
from tfsum.inference.texts import DocumentCache, as_bytes
from tfsum.request import Newline, SummaryAnswer, SummaryRequest
from tfsum.tasks.bert_sum_ext.read_once import Reading
from tfsum.tasks.bert_sum_ext.summarizer import Summarizer

T = TypeVar("T")
URI = "tfsum://documents/"  # before the id of a document


class ReadDocument:
    """A text, with what a model has read of it.

    Args:
        text: The text.
        newline: Meaning of a new line; None for the model's own.

    Attributes:
        id: Name that agents know it by, of its text and `newline`.

    Example:
        >>> ReadDocument("It rained.").id
        'eefd119b6e7bfa91'
    """

    def __init__(self, text: str, newline: Newline | None = None) -> None:
        self.text, self.newline = text, newline
        self.id = hashlib.sha256(as_bytes(f"{newline or ''} {text}")).hexdigest()[:16]
        self._model: Summarizer | None = None
        self._reading: Reading | None = None

    @property
    def is_read(self) -> bool:
        """Whether a model has read the text."""
        return self._model is not None

    @property
    def nbytes(self) -> int:
        """The bytes of the text and of what was read."""
        read = self._reading.nbytes if self._reading else 0
        return len(as_bytes(self.text)) + read

    def read(self, model: Summarizer) -> None:
        """Lets a model read the text, if it has not; one that an older tfsum exported cannot.

        Args:
            model: The model.
        """
        if self._model is model:
            return
        try:
            self._reading = model.read(self.text, self.newline)
        except MissingSignature:
            self._reading = None
        self._model = model

    def answer(self, model: Summarizer, request: SummaryRequest) -> SummaryAnswer:
        """The answer of a model to a request about the text.

        Args:
            model: The model.
            request: The request.

        Raises:
            Error: What is asked is not possible.
        """
        self.read(model)
        if self._reading is None:
            newline = {"newline": self.newline}
            return model.answer([self.text], request.model_copy(update=newline))[0]
        return self._reading.answer(request.model_copy(update={"newline": None}))


class Documents:
    """The documents asked about last, and the model that answers, for one request at a time.

    Args:
        load: Function that loads the model: at first, and after a cancelled request has stopped it.
        limit: Bytes of all documents that are kept.

    Attributes:
        count_tokens: Function that counts the tokens of a text, as the model does.
        rate: Seconds that a character of the last document took.

    Example:
        >>> import tfsum
        >>> asyncio.run(Documents(tfsum.load, limit=1 << 20).read(ReadDocument("It rained."))).text
        'It rained.'
    """

    def __init__(self, load: Callable[[], Summarizer], limit: int) -> None:
        self._load, self._models = load, [load()]
        self.count_tokens = self._models[0].count_tokens
        self._computing = asyncio.Lock()  # a model is stopped for one request
        self._kept = DocumentCache[ReadDocument](limit)
        self.rate = 1e-4

    def __iter__(self) -> Iterator[ReadDocument]:
        return iter(self._kept.values())

    def __contains__(self, document: ReadDocument) -> bool:
        return self._kept.find(document.id) is not None

    def find(self, id: str) -> ReadDocument:
        """The document of this id.

        Args:
            id: Its id.

        Raises:
            Error: It is not kept, or not any more.
        """
        document = self._kept.find(id)
        if document is None:
            raise Error(
                f"document: {id[:100]!r} is not kept, or not any more (--document-cache limits the"
                " bytes of all); send its text again"
            )
        return document

    async def read(self, new: ReadDocument) -> ReadDocument:
        """Reads a document, if it was not read lately.

        Args:
            new: The document.

        Returns:
            It, or an equal one that was read.
        """
        document = self._kept.find(new.id) or new
        if not document.is_read:
            begin = time.monotonic()
            await self.compute(document.read)
            self.rate = (time.monotonic() - begin) / max(len(document.text), 1)
            self.keep(document)
        return document

    def keep(self, document: ReadDocument) -> None:
        """Keeps a document, which need not be read yet, if there is room for it.

        Args:
            document: The document.
        """
        self._kept.keep(document.id, document, document.nbytes)

    async def compute(self, ask: Callable[[Summarizer], T]) -> T:
        """Computes in a thread; when it is cancelled, the model stops, and is loaded again.

        Args:
            ask: Function of the model.
        """
        async with self._computing:
            if not self._models:
                self._models.append(await asyncio.to_thread(self._load))
            try:
                return await asyncio.to_thread(ask, self._models[0])
            except asyncio.CancelledError:
                self._models.pop().interrupt()
                raise
