"""The keys of a recipe for a Transformer."""

from typing import Literal

from pydantic import Field

from tfsum.data.settings import CaseSettings
from tfsum.training import settings

WindowTargets = Literal["sentences", "lines", "both"]


class PairSettings(settings.Settings):
    """Keys of [data] that say how pairs become records."""

    source: str = Field(
        "source", description="Name of the source's field, or its number in a table."
    )
    target: str = Field(
        "target", description="Name of the target's field, or its number in a table."
    )
    max_source_length: int = Field(
        512, ge=3, description="Most tokens of a source, [CLS] and [SEP] included."
    )
    max_target_length: int = Field(
        512, ge=2, description="Most tokens of a target. A pair with a longer one is left out."
    )
    cut_sources: bool = Field(
        False, description="Whether a longer source is cut, or its pair left out."
    )
    target_lines: int | None = Field(
        None, ge=1, description="First lines kept of a target. Not set, all are kept."
    )
    window_sentences: int | None = Field(
        None,
        ge=2,
        description="Sentences of the windows that replace the training sources; not set, none do.",
    )
    window_targets: WindowTargets = Field(
        "sentences",
        description="Target of a window. It is its first sentence, a line of the target, or both.",
    )


class CorpusSettings(settings.Settings):
    """Keys of [data] that say where the pairs are."""

    train: str = Field(
        description='Training pairs: JSON lines, an object a line such as {"source": "The cat",'
        ' "target": "Le chat"}, a table with these columns, or a text with a source a line.'
        " Give a file: --set data.train=FILE."
    )
    train_target: str | None = Field(None, description="File of the training targets, if apart.")
    validation: str = Field(description="Pairs that select the best model, as in train.")
    validation_target: str | None = Field(
        None, description="File of the validation targets, if apart."
    )
    records: str = Field(description="Folder of the prepared records.")


class DataSettings(PairSettings, CorpusSettings):
    """[data] of a recipe for a Transformer."""


class TextSettings(CaseSettings):
    """[text] of a recipe for a Transformer."""

    vocabulary: str | None = Field(
        None, description="Ready vocabulary of both sides, or of the sources."
    )
    target_vocabulary: str | None = Field(
        None, description="Ready vocabulary of the targets, if they have their own."
    )
    vocabulary_size: int | None = Field(None, ge=1, description="Word pieces to learn.")
    target_vocabulary_size: int | None = Field(
        None, ge=1, description="Word pieces to learn for the targets, if they have their own."
    )
    lowercase: bool = Field(False, description="Whether texts are lower-cased.")


class ModelSettings(settings.ModelSettings):
    """[model] of a recipe for a Transformer."""

    kind: Literal["transformer"] = Field(description="Kind of the model.")
    start: str | None = Field(
        None, description="Model folder of a Transformer whose weights training starts from."
    )
    num_encoder_layers: int = Field(6, ge=1, description="Layers of the encoder.")
    num_decoder_layers: int = Field(6, ge=1, description="Layers of the decoder.")
    d_model: int = Field(512, ge=1, description="Width of embeddings and layers.")
    num_heads: int = Field(8, ge=1, description="Attention heads of a layer.")
    feed_forward_width: int = Field(2048, ge=1, description="Width of the feed-forward networks.")
    activation: str = Field("relu", description="Activation of the feed-forward networks.")
    norm: Literal["post", "pre"] = Field(
        "post", description="Place of the normalization, after or before each sublayer."
    )
    dropout: float = Field(
        0.1, ge=0, lt=1, description="Dropout of the layers and of the embeddings."
    )
    attention_dropout: float = Field(
        0.0, ge=0, lt=1, description="Dropout of the attention weights."
    )
    activation_dropout: float = Field(
        0.0, ge=0, lt=1, description="Dropout inside the feed-forward networks."
    )
    epsilon: float = Field(1e-6, gt=0, description="Constant in the normalization's denominator.")
    shared_embeddings: bool = Field(
        True, description="Whether source and target have one embedding table and one vocabulary."
    )
    tied_output: bool = Field(
        True, description="Whether the target's embedding table is the output projection."
    )
    label_smoothing: settings.LabelSmoothing = 0.1
    max_length: settings.MaxLength = 64


class TrainSettings(settings.OptimizerSettings):
    """[train] of a recipe for a Transformer; the defaults of Adam are the paper's.

    Example:
        >>> TrainSettings(folder="runs/translator", steps=1000).warmup_steps
        4000
    """

    learning_rate: settings.LearningRate = 1e-3
    warmup_steps: settings.WarmupSteps = 4000
    decay: settings.Decay = "sqrt"
    beta_1: float = Field(0.9, ge=0, lt=1, description="Decay of Adam's mean of the gradients.")
    beta_2: float = Field(0.98, ge=0, lt=1, description="Decay of Adam's mean of their squares.")
    epsilon: float = Field(1e-9, gt=0, description="Constant in Adam's denominator.")
    clip_norm: settings.ClipNorm = 0.0
    shuffle_sources: bool = Field(
        False,
        description="Whether each target has another pair's source, as a control.",
    )


class EvaluateSettings(settings.Settings):
    """[evaluate] of a recipe for a Transformer."""

    metric: Literal["bleu", "rouge", "loss"] = Field(
        "bleu", description="Measure that selects the best model."
    )
    documents: int | None = Field(
        None, ge=1, description="Validation pairs that are answered; by default all."
    )
    tokenize: Literal["13a", "intl", "zh", "char", "none"] = Field(
        "13a", description="Tokenization of BLEU."
    )
    words: Literal["english", "plain"] = Field(
        "english", description="Words that ROUGE compares: stemmed English ones, or plain ones."
    )


class RecipeSettings(settings.Recipe):
    """Recipe for a Transformer."""

    data: DataSettings
    text: TextSettings = TextSettings()
    model: ModelSettings
    train: TrainSettings
    evaluate: EvaluateSettings = EvaluateSettings()
