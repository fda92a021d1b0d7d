"""The keys of a recipe for a BertSumAbs."""

from typing import Literal

from pydantic import Field

from tfsum.data.settings import DocumentSettings, TextSettings
from tfsum.training.settings import (
    ClipNorm,
    Decay,
    EncoderLearningRate,
    LabelSmoothing,
    LearningRate,
    MaxLength,
    OptimizerSettings,
    Recipe,
    Settings,
    SummarizerSettings,
    TokensPerBatch,
    WarmupSteps,
)


class DataSettings(DocumentSettings):
    """[data] of a recipe for a BertSumAbs."""

    legacy: Literal["presumm"] | None = Field(
        None, description="Program whose preprocessing and batches are repeated."
    )


class ModelSettings(SummarizerSettings):
    """[model] of a recipe for a BertSumAbs."""

    kind: Literal["bert_sum_abs"] = Field(description="Kind of the model.")
    num_decoder_layers: int = Field(6, ge=1, description="Layers of the decoder.")
    num_heads: int = Field(8, ge=1, description="Attention heads of the decoder.")
    feed_forward_width: int = Field(2048, ge=1, description="Feed-forward width of the decoder.")
    dropout: float = Field(0.2, ge=0, lt=1, description="Dropout of the decoder.")
    label_smoothing: LabelSmoothing = 0.1
    max_length: MaxLength = 150
    copy_attention: bool = Field(
        False, alias="copy", description="Whether tokens of the source may also be copied."
    )


class TrainSettings(OptimizerSettings):
    """[train] of a recipe for a BertSumAbs.

    Example:
        >>> TrainSettings(folder="runs/news_abs", steps=1000).encoder_warmup_steps
        20000
    """

    tokens_per_batch: TokensPerBatch = 8192
    max_windows: int = Field(1, ge=1, description="Windows read of a document.")
    gap_sentences: int = Field(
        0,
        ge=0,
        description="Sentences that are taken out of each window and written in place of the"
        " summary; 0 trains on the summaries.",
    )
    gap_kept: float = Field(
        0.2, ge=0, le=1, description="Share of windows that keep these sentences in the source."
    )
    learning_rate: LearningRate = 2e-3
    warmup_steps: WarmupSteps = 10_000
    encoder_learning_rate: EncoderLearningRate = 1.4e-5
    encoder_warmup_steps: int = Field(
        20_000, ge=0, description="Steps of linear growth of the encoder's rate."
    )
    decay: Decay = "sqrt"
    clip_norm: ClipNorm = 0.0


class EvaluateSettings(Settings):
    """[evaluate] of a recipe for a BertSumAbs."""

    metric: Literal["rouge", "loss"] = Field(
        "rouge", description="Measure that selects the best model."
    )
    documents: int | None = Field(
        None, ge=1, description="Documents that are summarized, from the first; by default all."
    )
    words: Literal["english", "plain"] = Field(
        "english", description="Words that ROUGE compares: stemmed English ones, or plain ones."
    )


class RecipeSettings(Recipe):
    """Recipe for a BertSumAbs."""

    data: DataSettings
    text: TextSettings = TextSettings()
    model: ModelSettings
    train: TrainSettings
    evaluate: EvaluateSettings = EvaluateSettings()
