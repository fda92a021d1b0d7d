"""The settings of a recipe: what every section can hold, and the keys that several models share.

Each model has its own sections in the `settings.py` of its folder in `tfsum/tasks/`. They extend
these classes, so that every key of a recipe is an attribute with a type, a default and a
description. What a key is called in TOML is what the code reads:
`[train] learning_rate` is `recipe.train.learning_rate`.
"""

import importlib.util
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator

from tfsum.errors import install_extra
from tfsum.settings import Settings

# Keys whose default differs from model to model: a section sets the default and nothing else.
LearningRate = Annotated[
    float,
    Field(
        gt=0,
        description="Peak learning rate. Where there is a key encoder_learning_rate, that is the"
        " encoder's.",
    ),
]
EncoderLearningRate = Annotated[float, Field(ge=0, description="Peak rate of the encoder.")]
WarmupSteps = Annotated[int, Field(ge=0, description="Steps of linear growth of the rate.")]
Decay = Annotated[
    Literal["linear", "sqrt"],
    Field(
        description="Fall of the rate after the warm-up: linear to 0 at the last step, or with the"
        " inverse square root of the step."
    ),
]
WeightDecay = Annotated[float, Field(ge=0, description="Decay of AdamW; 0 is Adam.")]
ClipNorm = Annotated[
    float, Field(ge=0, description="Largest global norm of the gradients; 0 never clips.")
]
TokensPerBatch = Annotated[
    int,
    Field(
        ge=1,
        description="Padded tokens of a step's batch, which all devices share; for pairs, tokens of"
        " the longer side.",
    ),
]
LabelSmoothing = Annotated[
    float, Field(ge=0, lt=1, description="Probability taken from the true token in the loss.")
]
MaxLength = Annotated[
    int, Field(ge=1, description="Most tokens of an answer, the end token included.")
]


class ModelSettings(Settings):
    """Key of [model] that every model has; a subclass names its kind, the name of the task."""

    kind: str = Field(description="Kind of the model.")


class BertSettings(ModelSettings):
    """Keys of [model] of every BERT."""

    hidden_dropout_prob: float = Field(0.1, ge=0, lt=1, description="Dropout of the encoder.")
    attention_probs_dropout_prob: float = Field(
        0.1, ge=0, lt=1, description="Dropout of the encoder's attention weights."
    )

    @property
    def dropout_rates(self) -> dict[str, float]:
        """Arguments of `Bert`."""
        return {
            "hidden_dropout_prob": self.hidden_dropout_prob,
            "attention_probs_dropout_prob": self.attention_probs_dropout_prob,
        }


class EncoderSettings(BertSettings):
    """Keys of [model] of a BERT with something on top."""

    freeze_layers: int = Field(
        0, ge=0, description="Lowest encoder layers, with the embeddings, that are not trained."
    )


class SummarizerSettings(EncoderSettings):
    """Keys of [model] of a summarizer of documents, which begins with a BERT or another one."""

    encoder: str | None = Field(
        None,
        description="BERT folder, or that of a BertSumExt, whose encoder is taken; the layers above"
        " it start with random weights.",
    )
    start: str | None = Field(
        None,
        description="Model folder to continue from, in place of an encoder: a BertSumExt, or for a"
        " BertSumAbs also a BertSumAbs.",
    )
    window_length: int | None = Field(
        None, ge=3, description="Tokens of a window; by default the encoder's positions."
    )

    @model_validator(mode="after")
    def _has_one_origin(self) -> "SummarizerSettings":
        if (self.encoder is None) == (self.start is None):
            raise ValueError(
                "give either encoder or start: encoder is a BERT folder, above which all layers"
                " start with random weights; start is a model folder to continue from, a"
                " BertSumExt, or for a BertSumAbs also a BertSumAbs"
            )
        return self

    @property
    def has_stored_encoder(self) -> bool:
        """Whether the encoder's weights are read, and not its size alone."""
        return True


class RunSettings(Settings):
    """[train] keys of every task, which `Run` reads.

    Raises:
        pydantic.ValidationError: A value is wrong, or TensorBoard is not installed.

    Example:
        >>> RunSettings(folder="runs/news", steps=1000).validate_every
        100
    """

    folder: str = Field(description="Folder of the run.")
    steps: int = Field(ge=1, description="Optimizer steps of the whole run.")
    strategy: Literal["auto", "one", "mirrored", "multi_worker"] = Field(
        "auto", description="Devices and machines that train, which share each batch."
    )
    precision: Literal["float32", "bfloat16", "float16"] = Field(
        "float32", description="Type of products and activations; weights are float32."
    )
    seed: int = Field(
        0, ge=0, description="Seed of new weights, of dropout and of the order of the data."
    )
    deterministic: bool = Field(
        False, description="Whether a GPU computes the same bits each time, which is slower."
    )
    jit_compile: bool = Field(
        False,
        description="Whether XLA compiles the steps, once for each shape of a batch; it pays in"
        " long runs on a GPU.",
    )
    validate_every: int = Field(
        100, ge=1, description="Steps between two validations, each with a checkpoint."
    )
    patience: int = Field(
        0,
        ge=0,
        description="Validations without improvement after which the run ends; 0 for never.",
    )
    average_decay: float = Field(
        0.99,
        ge=0,
        lt=1,
        description="Decay of the moving average of the weights, which is validated and saved; 0"
        " for the weights themselves.",
    )
    micro_batches: int = Field(
        1, ge=1, description="Parts of a batch whose gradients are accumulated."
    )
    tensorboard: bool = Field(
        False, description="Whether TensorBoard's event files are written (extra tensorboard)."
    )
    keep: int = Field(2, ge=1, description="Number of the newest checkpoints that are kept.")
    checkpoint_minutes: float = Field(
        10.0, ge=0, description="Minutes between checkpoints within an interval; 0 for never."
    )
    worker_timeout: int = Field(
        60, ge=1, description="Seconds after which workers stop when one of them does not answer."
    )

    @field_validator("tensorboard")
    @classmethod
    def _is_installed(cls, tensorboard: bool) -> bool:
        if tensorboard and importlib.util.find_spec("tensorboard") is None:
            raise ValueError(
                f"TensorBoard is not installed: run {install_extra('tensorboard')}, or leave the"
                " key out"
            )
        return tensorboard

    @model_validator(mode="after")
    def _has_one_compiler(self) -> "RunSettings":
        if self.deterministic and self.jit_compile:
            raise ValueError(
                "deterministic and jit_compile are both true, and XLA does not promise the same"
                " bits; leave one out"
            )
        return self


class OptimizerSettings(RunSettings):
    """[train] keys of the models that Adam trains on batches of tokens."""

    tokens_per_batch: TokensPerBatch = 4096
    learning_rate: LearningRate = 1e-3
    warmup_steps: WarmupSteps = 100
    weight_decay: WeightDecay = 0.0
    clip_norm: ClipNorm = 1.0


class Recipe(Settings):
    """Base class of the recipes of a model; a section that a model does not have is empty.

    A subclass declares the sections that it has, each with its own class.
    """

    data: Settings = Settings()
    text: Settings = Settings()
    model: ModelSettings
    train: RunSettings
    evaluate: Settings = Settings()

    def without_folders(self) -> dict[str, dict[str, Any]]:
        """Returns section -> key -> value, but the folders of the records and of the run.

        What is learned depends on neither of them.

        Example:
            >>> train = RunSettings(folder="runs/news", steps=100)
            >>> recipe = Recipe(model=ModelSettings(kind="mine"), train=train)
            >>> "folder" in recipe.without_folders()["train"]
            False
        """
        folders = {"data": {"records"}, "train": {"folder"}}
        return {name: keys for name, keys in self.model_dump(exclude=folders).items() if keys}


def keys_of(recipe: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Lists the keys of a recipe by the names that messages give them.

    Args:
        recipe: Section -> key -> value.

    Example:
        >>> keys_of({"train": {"steps": 10}})
        {'[train] steps': 10}
    """
    return {
        f"[{section}] {key}": value
        for section, table in recipe.items()
        for key, value in table.items()
    }
