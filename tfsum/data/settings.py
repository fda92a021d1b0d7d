"""The keys of recipes that say how a corpus is read and prepared, some of them options of
`tfsum prepare` too."""

from typing import Annotated, Literal

from pydantic import Field

from tfsum.settings import Settings

# Keys whose default differs from model to model: a class sets the default and nothing else.
Shards = Annotated[int, Field(ge=1, description="Number of files of the records of a corpus.")]
Processes = Annotated[int, Field(ge=1, description="Processes that prepare the records.")]
MaxSentences = Annotated[int, Field(ge=1, description="Sentences kept of a document.")]


class DocumentSettings(Settings):
    """[data] of a model that reads documents with summaries."""

    train: str = Field(
        description='Training documents: JSON lines, an object a line such as {"text": "It rained'
        ' all day. ...", "summary": "Rain fell."}, or another corpus file (see tfsum prepare).'
        " Give a file: --set data.train=FILE."
    )
    validation: str = Field(description="Documents that select the best model, as in train.")
    records: str = Field(description="Folder of the prepared records.")
    id: str | None = Field(None, description="Name of the corpus's field with the id.")
    text: str | None = Field(None, description="Name of the corpus's field with the text.")
    summary: str | None = Field(None, description="Name of the corpus's field with the summary.")
    max_sentences: MaxSentences = 1000
    shards: Shards = 8
    processes: Processes = 1

    @property
    def columns(self) -> dict[str, str] | None:
        """The fields that have other names in the corpus; None if none has."""
        names = {"id": self.id, "text": self.text, "summary": self.summary}
        return {field: name for field, name in names.items() if name is not None} or None


class CaseSettings(Settings):
    """Keys of [text] that every model has."""

    lowercase: bool | None = Field(
        None,
        description="Whether texts are lower-cased; by default as the encoder's folder says.",
    )
    strip_accents: bool | None = Field(
        None, description="Whether texts lose their accents; by default as lowercase says."
    )

    @property
    def loses_accents(self) -> bool | None:
        """Whether texts lose their accents, by what is set."""
        if self.strip_accents is None:
            return self.lowercase
        return self.strip_accents


class TextSettings(CaseSettings):
    """[text] of a model that splits documents into sentences."""

    newline: Literal["sentence", "line", "paragraph", "space", "auto"] = Field(
        "sentence", description="What a new line means in a document."
    )


class LabelSettings(Settings):
    """Keys of [data] that choose the labels of sentences."""

    labels: Literal["greedy", "combination", "soft", "corpus"] = Field(
        "greedy",
        description="Oracle labels of the sentences. greedy and combination are 0 or 1, soft the"
        " shares of the best extracts, corpus those in the corpus.",
    )
    summary_sentences: int = Field(
        3, ge=1, description="Most sentences of an extract of the oracle."
    )
    temperature: float = Field(0.02, gt=0, description="Temperature of the soft labels.")
    unlabelled: bool = Field(
        False,
        description="Whether texts without a summary are kept, for embedding_teacher alone.",
    )
