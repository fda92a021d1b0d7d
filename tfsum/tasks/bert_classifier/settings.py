"""The keys of a recipe for a BertClassifier."""

from typing import Literal

from pydantic import Field

from tfsum.data.settings import CaseSettings
from tfsum.training.settings import (
    EncoderLearningRate,
    EncoderSettings,
    LearningRate,
    OptimizerSettings,
    Recipe,
    Settings,
    TokensPerBatch,
    WarmupSteps,
    WeightDecay,
)


class DataSettings(Settings):
    """[data] of a recipe for a BertClassifier."""

    train: str = Field(
        description='Training texts: JSON lines, an object a line such as {"text": "It rained.",'
        ' "label": "weather"}, or a .csv or .tsv table with these columns.'
        " Give a file: --set data.train=FILE."
    )
    validation: str | None = Field(
        None, description="Texts that select the best model; by default a share of train."
    )
    validation_share: float = Field(
        0.1, description="Share of train that is held out where there is no validation file."
    )
    labels: list[str | int] | None = Field(
        None,
        description="Labels in the order of the model's scores; by default those of train, sorted.",
    )
    text: str = Field("text", description="Column of the text, by its name or number.")
    label: str = Field("label", description="Column of the label, by its name or number.")
    text_pair: str | None = Field(None, description="Column of the second text, if there is one.")


class TextSettings(CaseSettings):
    """[text] of a recipe for a BertClassifier."""

    max_length: int = Field(description="Most tokens of a text; longer texts are cut.")


class ModelSettings(EncoderSettings):
    """[model] of a recipe for a BertClassifier."""

    kind: Literal["bert_classifier"] = Field(description="Kind of the model.")
    encoder: str = Field(description="BERT that is fine-tuned.")
    pretrained: bool = Field(
        True, description="Whether the encoder's weights are read, or only its size and vocabulary."
    )
    classifier_dropout: float = Field(0.1, ge=0, lt=1, description="Dropout of the pooled output.")


class TrainSettings(OptimizerSettings):
    """[train] of a recipe for a BertClassifier.

    The pooler has the rate of the classifier, since many encoders have an untrained one.

    Example:
        >>> TrainSettings(folder="runs/tweets", steps=500).encoder_learning_rate
        5e-05
    """

    tokens_per_batch: TokensPerBatch = 1024
    learning_rate: LearningRate = 5e-4
    encoder_learning_rate: EncoderLearningRate = 5e-5
    warmup_steps: WarmupSteps = 50
    weight_decay: WeightDecay = 0.01


class RecipeSettings(Recipe):
    """Recipe for a BertClassifier."""

    data: DataSettings
    text: TextSettings
    model: ModelSettings
    train: TrainSettings
