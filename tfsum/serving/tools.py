"""The tools of agents: what each takes and gives."""

from typing import ClassVar, Generic, TypeVar

from pydantic import BaseModel, Field, TypeAdapter

from tfsum.errors import require
from tfsum.request import (
    MOST_KEYWORDS,
    AnswerRecord,
    Count,
    Newline,
    Place,
    SummaryAnswer,
    SummaryRequest,
    sentence_of,
)
from tfsum.serving.documents import URI, ReadDocument
from tfsum.settings import Checked
from tfsum.tasks.bert_sum_ext.summarizer import Summarizer

FIELDS = SummaryRequest.model_fields
R = TypeVar("R", bound=BaseModel)
Record = dict[str, object]


def record_of(answer: SummaryAnswer) -> Record:
    """An answer for a language model, which reads the sentence of a warning and not its code.

    Args:
        answer: Answer to a text.

    Example:
        >>> answer = SummaryAnswer("", [], [], [], 1.0, [{"code": "empty"}])
        >>> record_of(answer)["warnings"]
        [{'code': 'empty', 'message': 'there is no word in the text'}]
    """
    said = [{**warning, "message": sentence_of(warning)} for warning in answer.warnings]
    return answer.record() | {"warnings": said}


def part_of(text: str, start: int, end: int | None) -> str:
    """The characters of a text from one to before another.

    Args:
        text: Text.
        start: Number of the first one.
        end: That after the last one; None for the text's end.

    Raises:
        Error: There are none.

    Example:
        >>> part_of("It rained.", 3, None)
        'rained.'
    """
    require(
        start < min(len(text), len(text) if end is None else end),
        f"no characters from {start} to {end}; the text has {len(text)}",
    )
    return text[start:end]


class Keywords(BaseModel):
    """The keywords of a text."""

    keywords: list[Place] = Field(description="The keywords, the best first.")


class DocumentRecord(BaseModel):
    """A document that was read."""

    document: str = Field(description="Its id, for this and the other tools.")
    uri: str = Field(description="The resource that has its text.")
    characters: int = Field(description="Its length.")
    tokens: int = Field(description="Tokens of a language model, about.")
    text: str | None = Field(None, description="The characters that were asked for.")


class Several(BaseModel, Generic[R]):
    """The answers to several texts."""

    answers: list[R] = Field(description="An answer for each text.")


class Call(Checked):
    """The texts of a call of a tool, in one of three forms."""

    text: str | list[str] | None = Field(
        None, description="The text; a list of texts for an answer to each."
    )
    file: str | None = Field(
        None, description="A path below the server's folder, in place of a text."
    )
    document: str | list[str] | None = Field(
        None, description="The id of a text that was read, in its place; a list for several."
    )
    newline: Newline | None = Field(None, description=FIELDS["newline"].description)

    output: ClassVar[TypeAdapter] = TypeAdapter(AnswerRecord | Several[AnswerRecord])

    def request(self) -> SummaryRequest:
        """What is asked of each text."""
        raise NotImplementedError

    def record(self, model: Summarizer, document: ReadDocument) -> Record:
        """The answer to a text.

        Args:
            model: The model.
            document: The text.
        """
        return record_of(document.answer(model, self.request()))


class ReadTool(Call):
    """Reads a text once, and gives an id for any number of questions; or a part of its text."""

    start: int | None = Field(None, ge=0, description="First character of the part to give back.")
    end: int | None = Field(None, ge=0, description="Character after the part.")
    output = TypeAdapter(DocumentRecord | Several[DocumentRecord])

    def record(self, model: Summarizer, document: ReadDocument) -> Record:
        text, part = document.text, None
        if (self.start, self.end) != (None, None):
            part = part_of(text, self.start or 0, self.end)
        return DocumentRecord(
            document=document.id,
            uri=URI + document.id,
            characters=len(text),
            tokens=model.count_tokens(text),
            text=part,
        ).model_dump(exclude_none=True)


class AskTool(Call):
    """Finds the sentences of a text that answer a question; without a limit those, up to four,
    that have most to do with it."""

    query: str = Field(pattern=r"\S", description=FIELDS["query"].description)
    sentences: Count | None = Field(None, description="The most sentences.")
    words: Count | None = Field(None, description=FIELDS["words"].description)
    tokens: Count | None = Field(None, description=FIELDS["tokens"].description)

    def request(self) -> SummaryRequest:
        return SummaryRequest(**self.model_dump(include={"query", "sentences", "words", "tokens"}))


class SummarizeTool(SummaryRequest, Call):
    """Chooses the sentences that say most of a text; by default two to four of them."""

    def request(self) -> SummaryRequest:
        return self


class CompressTool(Call):
    """Shortens a text to a number of tokens or words for a context window, verbatim and in
    order."""

    tokens: Count | None = Field(None, description=FIELDS["tokens"].description)
    words: Count | None = Field(None, description=FIELDS["words"].description)
    query: str | None = Field(None, description=FIELDS["query"].description)

    def request(self) -> SummaryRequest:
        require(self.tokens or self.words, "expected `tokens` or `words`, the length of the answer")
        fields = self.model_dump(include={"tokens", "words", "query"})
        return SummaryRequest(block_trigrams=True, **fields)


class KeywordsTool(Call):
    """Finds the words and phrases that carry a text."""

    keywords: int = Field(8, ge=1, le=MOST_KEYWORDS, description=FIELDS["keywords"].description)
    output = TypeAdapter(Keywords | Several[Keywords])

    def request(self) -> SummaryRequest:
        return SummaryRequest(sentences=1, keywords=self.keywords)

    def record(self, model: Summarizer, document: ReadDocument) -> Record:
        return {"keywords": super().record(model, document)["keywords"]}


TOOLS: dict[str, type[Call]] = {
    "read": ReadTool,
    "ask": AskTool,
    "summarize": SummarizeTool,
    "compress": CompressTool,
    "keywords": KeywordsTool,
}
