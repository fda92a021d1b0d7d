"""What can be asked of a text, and what the answer holds: said here once, for every entrance.

The options of `tfsum summarize`, the arguments of Python, of the client and of Beam, the bodies of
`POST /summarize` with their OpenAPI schema, the tools of `tfsum mcp` and the inputs of the exported
graph have their names, types, ranges, defaults and sentences from the fields of `SummaryRequest`.
A new field is written here (in `SummaryRequest` and `SummaryOptions`; in `NEEDED` where it asks
nothing by itself), and where the graph acts on it: as a field of `Options` in
`tfsum.tasks.bert_sum_ext.choosing`, which gives a limit to `tfsum.text.budget`. Models that were
exported before answer as ever, and refuse it where it is given.
"""

import dataclasses
import itertools
from collections.abc import Iterable, Mapping
from typing import Annotated, Literal, TypeAlias, TypedDict

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from tfsum.settings import Checked, Option

MOST_KEYWORDS = 100
QUERY_WEIGHT = 0.7
TOKEN_BYTES = 4  # of a language model's token, about
DOCUMENT_SEPARATOR = "\x1e"  # between the documents of a text: ASCII's record separator

LENGTH, ABOUT, READING = "Length", "What it is about", "Reading files"
Count = Annotated[int, Field(ge=1)]
Share = Annotated[float, Field(ge=0, le=1)]
Newline = Literal["auto", "sentence", "paragraph", "space"]
Value = bool | int | float | str

# Field of a request -> the one without which it is refused.
NEEDED = {"query_weight": "query", "max_per_document": "together"}

# What the reader of an answer should know: its `code`, and shares from 0 to 1 by name, such as
# `{"code": "language", "known": 0.02}`. Programs read the code; its sentence is made where it is
# shown.
AnswerWarning: TypeAlias = dict[str, str | float]


@dataclasses.dataclass(frozen=True)
class Input:
    """An input of the signature `extract`, into which a field of a request goes.

    Attributes:
        name: Name of the input.
        nothing: Value for a field that was not given; its type is that of the input.

    Example:
        >>> Input("max_words", 0).nothing
        0
    """

    name: str
    nothing: Value


class SummaryRequest(Checked):
    """What is asked of a text, or of several.

    Raises:
        Error: A value is not possible, or two fields do not go together.

    Example:
        >>> SummaryRequest(words=60).words
        60
        >>> SummaryRequest(share=20)
        Traceback (most recent call last):
        tfsum.errors.Error: share=20: expected a number above 0 and at most 1
    """

    model_config = ConfigDict(
        json_schema_extra={"dependentRequired": {name: [other] for name, other in NEEDED.items()}}
    )

    sentences: Annotated[
        Count | Literal["auto"] | None,
        Option("-n", metavar="N", group=LENGTH),
        Input("max_sentences", 0),
    ] = Field(None, description="The most sentences, or auto: two to four, as the model sees fit.")
    words: Annotated[Count | None, Option(metavar="N", group=LENGTH), Input("max_words", 0)] = (
        Field(None, description="The most words; as many sentences as there is room for.")
    )
    characters: Annotated[
        Count | None, Option(metavar="N", group=LENGTH), Input("max_characters", 0)
    ] = Field(None, description="The most characters, with a space between sentences.")
    tokens: Annotated[Count | None, Option(metavar="N", group=LENGTH), Input("max_tokens", 0)] = (
        Field(
            None,
            description="The most tokens of a language model, four bytes each or by --tokenizer.",
        )
    )
    share: Annotated[
        Annotated[float, Field(gt=0, le=1)] | None,
        Option(metavar="S", group=LENGTH),
        Input("max_share", 0.0),
    ] = Field(None, description="The largest share of the text's words, such as 0.2.")
    min_score: Annotated[
        Share | None, Option(metavar="S", group=LENGTH), Input("min_score", 0.0)
    ] = Field(None, description="The lowest score of a sentence, from 0 to 1.")
    fill: Annotated[bool | None, Option(group=LENGTH), Input("fill", False)] = Field(
        None, description="Whether the limits are filled with what matters little."
    )
    all: Annotated[bool, Option(group=LENGTH)] = Field(
        False, description="Every sentence with its score; with a query, by that alone."
    )
    query: Annotated[
        Annotated[str, Field(pattern=r"\S")] | None,
        Option(metavar="TEXT", group=ABOUT),
        Input("query", ""),
    ] = Field(None, description="A question or a title that the sentences are to be about.")
    query_weight: Annotated[
        Share | None, Option(metavar="S", group=ABOUT), Input("query_weight", QUERY_WEIGHT)
    ] = Field(
        None,
        description=f"How much the query counts, from 0 to 1; {QUERY_WEIGHT} where it is left out.",
    )
    keywords: Annotated[
        Annotated[int, Field(ge=1, le=MOST_KEYWORDS)] | None, Option(metavar="N", group=ABOUT)
    ] = Field(None, description="The number of words and phrases that say most of the text.")
    together: Annotated[bool, Option(group=ABOUT)] = Field(
        False, description="One summary of several texts, which says a thing once."
    )
    max_per_document: Annotated[
        Count | None, Option(metavar="N", group=ABOUT), Input("max_per_document", 0)
    ] = Field(None, description="The most sentences of each text, with together.")
    block_trigrams: Annotated[bool | None, Option(group=LENGTH), Input("block_trigrams", False)] = (
        Field(None, description="Whether to skip a sentence that repeats three words in a row.")
    )
    newline: Annotated[Newline | None, Option(group=READING)] = Field(
        None,
        description="A sentence ends at a new line (sentence), a blank line (paragraph) or neither"
        " (space).",
    )

    @model_validator(mode="after")
    def _fits_together(self) -> "SummaryRequest":
        limits = sorted(self.given() & {*INPUTS, "together"} - {"query"})
        if self.all and limits:
            raise ValueError(f"all: gives every sentence; leave it out, or {', '.join(limits)}")
        if self.together and self.keywords:
            raise ValueError("keywords: are those of one text; leave out keywords or together")
        for name, other in NEEDED.items():
            if getattr(self, name) is not None and not getattr(self, other):
                raise ValueError(f"{name}: goes with {other}; give {other} too, or leave it out")
        return self


# Field of a request -> the input of the graph that it goes into.
INPUTS: Mapping[str, Input] = {
    name: entry
    for name, field in SummaryRequest.model_fields.items()
    for entry in field.metadata
    if isinstance(entry, Input)
}


class SummaryOptions(TypedDict, total=False):
    """The fields of a `SummaryRequest` as keyword arguments, for type checkers."""

    words: int
    characters: int
    tokens: int
    share: float
    min_score: float
    fill: bool | None
    all: bool
    query: str
    query_weight: float
    keywords: int
    together: bool
    max_per_document: int
    block_trigrams: bool | None
    newline: Newline | None


@dataclasses.dataclass(frozen=True)
class Keyword:
    """A word or phrase that carries a text.

    Attributes:
        text: Phrase, as it first stands in the text.
        start: Position of its first character in the text.
        end: Position after its last character.
        score: Number of times that the summary can be expected to hold its words.

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


@dataclasses.dataclass(frozen=True)
class SummaryAnswer:
    """The answer to one text, or to several together.

    Attributes:
        summary: Chosen sentences, joined by a space.
        sentences: Chosen sentences in the order of the text.
        scores: Score of each sentence, between 0 and 1.
        offsets: (start, end) of each sentence in the text, in characters: `text[start:end]` is the
            sentence.
        coverage: Share of the text's non-space bytes that the model read.
        warnings: Warnings for the reader of the answer; see `sentence_of`.
        newline: Meaning given to new lines: "sentence", its end; "paragraph", part of one
            (hard-wrapped text); or "space".
        model: Name of the model that chose the sentences.
        documents: Number of each sentence's document, from 0, in a summary of several; its offsets
            are in that one. None for a summary of one.
        keywords: Words and phrases that say most, the best first; None where none were asked for.
        tokens: Tokens of the summary, where they are limited: four bytes each, or by the tokenizer
            that was given.

    Example:
        >>> print(SummaryAnswer("It rained.", ["It rained."], [0.9], [(0, 10)], 1.0, []))
        It rained.
    """

    summary: str
    sentences: list[str]
    scores: list[float]
    offsets: list[tuple[int, int]]
    coverage: float
    warnings: list[AnswerWarning]
    newline: str = "sentence"
    model: str = ""
    documents: list[int] | None = None
    keywords: list[Keyword] | None = None
    tokens: int | None = None

    def __str__(self) -> str:
        return self.summary

    def record(self) -> dict[str, object]:
        """The answer for programs: an `AnswerRecord` as JSON has it.

        Example:
            >>> answer = SummaryAnswer("It rained.", ["It rained."], [0.9], [(0, 10)], 1.0, [])
            >>> answer.record()["sentences"]
            [{'text': 'It rained.', 'start': 0, 'end': 10, 'score': 0.9}]
        """
        documents: Iterable[int | None] = self.documents or itertools.repeat(None)
        return AnswerRecord(
            summary=self.summary,
            sentences=[
                Place(text=text, start=start, end=end, score=score, document=document)
                for text, (start, end), score, document in zip(
                    self.sentences, self.offsets, self.scores, documents
                )
            ],
            coverage=self.coverage,
            warnings=self.warnings,
            newline=self.newline,
            model=self.model,
            keywords=self.keywords and [Place(**vars(word)) for word in self.keywords],
            tokens=self.tokens,
        ).model_dump(exclude_none=True)


Summary = SummaryAnswer


class Place(BaseModel):
    """A sentence or a keyword of an answer."""

    text: str = Field(description="The sentence, or the word or phrase.")
    start: int = Field(description="Position of its first character in its text.")
    end: int = Field(description="Position after its last character.")
    score: Annotated[float, AfterValidator(lambda score: round(score, 6))] = Field(
        description="Its score."
    )
    document: int | None = Field(None, description="Number of its text, of several together.")


class AnswerRecord(BaseModel):
    """A `SummaryAnswer` as `POST /summarize` and the tools of `tfsum mcp` give it."""

    summary: str = Field(description="The chosen sentences, joined by a space.")
    sentences: list[Place] = Field(description="The chosen sentences, in the order of the text.")
    coverage: float = Field(description="Share of the text that the model read.")
    warnings: list[AnswerWarning] = Field(description="What a reader should know, by code.")
    newline: str = Field(description="What a new line was taken for.")
    model: str = Field(description="The name of the model that chose the sentences.")
    keywords: list[Place] | None = Field(None, description="The keywords, the best first.")
    tokens: int | None = Field(None, description="Tokens of the summary, where they are limited.")


# Language -> code -> sentence; a name in braces is a share, which is written in percent.
SENTENCES = {
    "en": {
        "empty": "there is no word in the text",
        "none": "no sentence was chosen",
        "language": (
            "only {known} of the words are in the model's vocabulary: the text seems to be in a"
            " language or script that the model was not trained on, and the answer means little"
        ),
        "words": (
            "only {frequent} of the words are frequent ones of the training corpus, which has"
            " {expected}: the text seems to be in a language that the model was not trained on, and"
            " the choice of sentences means little"
        ),
        "unpunctuated": (
            "the text has hardly any full stop, so it was split by conjunctions and by length"
        ),
        "long_sentences": (
            "the model read {coverage} of the text: sentences longer than its window were cut"
        ),
        "long_text": ("the model read {coverage} of the text: what is beyond its length was cut"),
        "limit": "no sentence of the text is as short as was asked for",
        "query": (
            "hardly anything of the query is in the text: the sentences may be of other things"
        ),
        "unended": (
            "the answer is as long as this export lets it be, and stops there: it may lack its end"
        ),
    },
    "ko": {
        "empty": "본문에 단어가 없습니다",
        "none": "선택된 문장이 없습니다",
        "language": (
            "모델이 아는 단어가 {known}뿐입니다. 다른 언어로 학습한 모델이므로 결과를 신뢰하기"
            " 어렵습니다"
        ),
        "words": (
            "학습 데이터에 자주 나오는 단어가 {frequent}뿐입니다(학습 데이터는 {expected}). 다른"
            " 언어로 학습한 모델이므로 결과를 신뢰하기 어렵습니다"
        ),
        "unpunctuated": "마침표가 거의 없어 접속사와 길이를 기준으로 문장을 나누었습니다",
        "long_sentences": "모델이 본문의 {coverage}만 읽었습니다. 윈도보다 긴 문장은 잘렸습니다",
        "long_text": "모델이 본문의 {coverage}만 읽었습니다. 최대 길이를 넘는 부분은 잘렸습니다",
        "limit": "요청한 길이보다 짧은 문장이 본문에 없습니다",
        "query": "질문의 내용이 본문에 거의 없어, 고른 문장이 질문과 관련이 적을 수 있습니다",
        "unended": "결과가 이 모델의 최대 길이에 이르러 끝부분이 잘렸을 수 있습니다",
    },
}


def warnings_of(found: Mapping[str, tuple[bool, Mapping[str, float]]]) -> list[AnswerWarning]:
    """The warnings of an answer; shares are rounded to four digits.

    Args:
        found: Code of a warning, of `SENTENCES` -> whether it is so, and the shares from 0 to 1
            that its sentence names.

    Example:
        >>> warnings_of({"empty": (False, {}), "language": (True, {"known": 1 / 3})})
        [{'code': 'language', 'known': 0.3333}]
    """
    return [
        {"code": code, **{name: round(float(share), 4) for name, share in shares.items()}}
        for code, (is_so, shares) in found.items()
        if is_so
    ]


def sentence_of(warning: AnswerWarning, language: str = "en") -> str:
    """The sentence of a warning, without a full stop.

    Args:
        warning: Warning of an answer.
        language: "en" or "ko".

    Example:
        >>> sentence_of({"code": "long_text", "coverage": 0.125})
        'the model read 12.5% of the text: what is beyond its length was cut'
        >>> sentence_of({"code": "none"}, "ko")
        '선택된 문장이 없습니다'
    """
    shares = {
        name: f"{round(100 * float(share), 1):g}%"  # one digit behind the point at most
        for name, share in warning.items()
        if name != "code"
    }
    return SENTENCES[language][str(warning["code"])].format(**shares)
