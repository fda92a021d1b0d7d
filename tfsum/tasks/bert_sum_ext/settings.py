"""The keys of a recipe for a BertSumExt."""

from typing import Literal

from pydantic import Field, model_validator

from tfsum.data.settings import DocumentSettings, LabelSettings, TextSettings
from tfsum.training.settings import (
    ClipNorm,
    Decay,
    EncoderLearningRate,
    LearningRate,
    OptimizerSettings,
    Recipe,
    Settings,
    SummarizerSettings,
    TokensPerBatch,
)


class DataSettings(LabelSettings, DocumentSettings):
    """[data] of a recipe for a BertSumExt."""

    legacy: Literal["bertsum", "presumm"] | None = Field(
        None, description="Program whose preprocessing, labels and batches are repeated."
    )


class ModelSettings(SummarizerSettings):
    """[model] of a recipe for a BertSumExt."""

    kind: Literal["bert_sum_ext"] = Field("bert_sum_ext", description="Kind of the model.")
    pretrained: bool = Field(
        True, description="Whether the encoder's weights are read, or only its size and vocabulary."
    )
    round_words: bool = Field(
        False,
        description="Whether the word embeddings are rounded to int8 before training; they must be"
        " frozen.",
    )
    head: Literal["classifier", "transformer", "lstm"] = Field(
        "transformer", description="Head that scores the sentences."
    )
    pooling: Literal["cls", "mean"] = Field(
        "cls", description="Vector of a sentence: that of its [CLS], or the mean of its tokens."
    )
    word_head: bool = Field(
        False,
        description="Whether the model also learns which words the summary will hold, by which"
        " expected_rouge then selects.",
    )
    length_input: bool = Field(
        False, description="Whether the head also sees the number of tokens of each sentence."
    )
    embedding_teacher: str | None = Field(
        None,
        description="Folder of a BERT with the same vocabulary, of the kind of e5; the model"
        " learns to give each sentence the mean vector that this BERT gives it alone, after"
        " 'query: '.",
    )
    head_layers: int = Field(2, ge=1, description="Layers of the transformer head.")
    head_num_heads: int = Field(8, ge=1, description="Attention heads of the transformer head.")
    head_feed_forward_width: int = Field(
        2048, ge=1, description="Feed-forward width of the transformer head."
    )
    head_dropout: float = Field(0.1, ge=0, lt=1, description="Dropout of the head.")
    legacy: bool = Field(
        False, description="Whether the LSTM head computes what the original computes."
    )
    loss_reduction: Literal["mean", "sum"] = Field(
        "mean", description="Reduction of the loss over the sentences of a batch."
    )

    @model_validator(mode="after")
    def _fits_together(self) -> "ModelSettings":
        if self.start and not self.pretrained:
            raise ValueError(
                "pretrained is false and start is given: a model that training starts from has its"
                " weights; leave one of them out"
            )
        if self.round_words and not self.freeze_layers:
            raise ValueError(
                "round_words is true and freeze_layers 0: embeddings that are trained do not stay"
                " rounded; freeze 1 layer or more, or leave round_words out"
            )
        return self

    @property
    def has_stored_encoder(self) -> bool:
        """Whether the encoder's weights are read, and not its size alone."""
        return self.pretrained


class TrainSettings(OptimizerSettings):
    """[train] of a recipe for a BertSumExt.

    Example:
        >>> TrainSettings(folder="runs/news", steps=1000).tokens_per_batch
        8192
    """

    tokens_per_batch: TokensPerBatch = 8192
    max_windows: int = Field(1, ge=1, description="Windows read of a document.")
    first_window_steps: int = Field(
        0, ge=0, description="Steps at the start that read only the first window of a document."
    )
    learning_rate: LearningRate = 1e-3
    encoder_learning_rate: EncoderLearningRate = 5e-5
    decay: Decay = "linear"
    clip_norm: ClipNorm = 1.0


class EvaluateSettings(Settings):
    """[evaluate] of a recipe for a BertSumExt."""

    sentences: int = Field(3, ge=1, description="Sentences of a summary.")
    selection: Literal["score", "expected_rouge"] = Field(
        "score", description="Value by which sentences are selected."
    )
    lead_bias: float = Field(
        0.0,
        ge=0.0,
        description="How much more the first sentence counts by expected_rouge than its score says,"
        " of a text whose scores lean to its beginning; for a model that has read little news.",
    )
    block_trigrams: bool = Field(
        True,
        description="Whether a sentence that shares three words in a row with a selected one is"
        " left out.",
    )
    documents: int | None = Field(
        None, ge=1, description="Validation documents, from the first; by default all."
    )


class RecipeSettings(Recipe):
    """Recipe for a BertSumExt."""

    data: DataSettings
    text: TextSettings = TextSettings()
    model: ModelSettings
    train: TrainSettings
    evaluate: EvaluateSettings = EvaluateSettings()

    @model_validator(mode="after")
    def _can_repeat_the_original(self) -> "RecipeSettings":
        legacy, max_windows = self.data.legacy, self.train.max_windows
        if legacy and max_windows > 1:
            raise ValueError(
                f"[train] max_windows is {max_windows} and [data] legacy {legacy!r}; expected"
                " max_windows 1, since the original reads one window"
            )
        if legacy and self.model.word_head:
            raise ValueError(
                f"[model] word_head is true and [data] legacy {legacy!r}: the batches of that"
                " program hold no words of the summaries; leave one of them out"
            )
        return self
