"""The keys of a recipe for a BertForPretraining."""

from typing import Literal

from pydantic import Field

from tfsum.data import settings as data
from tfsum.training import settings


class PairSettings(settings.Settings):
    """Keys of [data] that say how pairs are drawn.

    Example:
        >>> PairSettings(max_length=128).max_pieces
        125
    """

    text: str = Field("text", description="Field of the text, by its name or number.")
    max_length: int = Field(
        128, ge=5, description="Most tokens of a pair, [CLS] and [SEP] included."
    )
    next_sentence: Literal["even", "original", "none"] = Field(
        "even",
        description="Second segments. Half of them are true (even), or they are drawn as"
        " google-research/bert draws them (original), or there are none.",
    )
    same_document_share: float = Field(
        0.0, ge=0, le=1, description="Share of false second segments of the same document."
    )
    short_share: float = Field(
        0.1, ge=0, le=1, description="Share of documents whose pairs aim at a shorter length."
    )
    duplicates: int = Field(
        1, ge=1, description="Passes over a document, with other pairs each time."
    )
    seed: int = Field(0, description="Seed of the pairs.")
    shards: data.Shards = 8
    processes: data.Processes = 1

    @property
    def max_pieces(self) -> int:
        """The number of word pieces that fit beside the special tokens."""
        return self.max_length - 2 - (self.next_sentence != "none")  # [CLS] and each [SEP]


class CorpusSettings(settings.Settings):
    """Keys of [data] that say where the documents are."""

    train: str = Field(
        description='Training documents: JSON lines, an object a line such as {"text": "It rained.'
        ' ..."}, a table with this column, or plain text with an empty line between documents.'
        " Give a file: --set data.train=FILE."
    )
    validation: str | None = Field(
        None, description="Documents that select the best model; by default a share of train."
    )
    validation_share: float = Field(
        0.02, description="Share of train that is held out where there is no validation file."
    )
    records: str = Field(description="Folder of the prepared records.")


class DataSettings(PairSettings, CorpusSettings):
    """[data] of a recipe for a BertForPretraining."""


class TextSettings(data.TextSettings):
    """[text] of a recipe for a BertForPretraining."""

    vocabulary: str | None = Field(None, description="Ready vocabulary of a new model.")
    vocabulary_size: int | None = Field(
        None, ge=1, description="Word pieces to learn for a new model."
    )
    reversible: bool = Field(
        True, description="Whether a learned vocabulary decodes to the original text."
    )


class ModelSettings(settings.BertSettings):
    """[model] of a recipe for a BertForPretraining."""

    kind: Literal["bert_for_pretraining"] = Field(description="Kind of the model.")
    encoder: str | None = Field(
        None, description="BERT that is trained further; by default a new one."
    )
    size: Literal["tiny", "mini", "small", "medium", "base", "large"] = Field(
        "mini", description="Size of a new model."
    )
    max_position_embeddings: int = Field(512, ge=1, description="Positions of a new model.")


class TrainSettings(settings.OptimizerSettings):
    """[train] of a recipe for a BertForPretraining.

    Example:
        >>> TrainSettings(folder="runs/bert", steps=1000).max_predictions
        20
    """

    max_predictions: int = Field(20, ge=1, description="Most masked tokens of a row.")
    whole_words: bool = Field(
        False, description="Whether all pieces of a word are masked together."
    )
    learning_rate: settings.LearningRate = 1e-4
    encoder_learning_rate: float | None = Field(
        None, ge=0, description="Peak rate of a trained encoder; by default learning_rate."
    )
    weight_decay: settings.WeightDecay = 0.01
    bias_correction: bool = Field(
        True, description="Whether Adam corrects its bias, which google-research/bert does not."
    )
    next_sentence_weight: float = Field(
        1.0, ge=0, description="Factor of the next-sentence loss; the original's is 1."
    )


class EvaluateSettings(settings.Settings):
    """[evaluate] of a recipe for a BertForPretraining."""

    pairs: int | None = Field(
        None, ge=1, description="Held-out pairs that are read of each folder; by default all."
    )


class RecipeSettings(settings.Recipe):
    """Recipe for a BertForPretraining."""

    data: DataSettings
    text: TextSettings = TextSettings()
    model: ModelSettings
    train: TrainSettings
    evaluate: EvaluateSettings = EvaluateSettings()
