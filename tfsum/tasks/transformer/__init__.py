"""Translation and short summaries: a Transformer generates the answer (Vaswani et al. 2017)."""

import dataclasses

from tfsum.tasks import task as parts
from tfsum.tasks.writing import WRITING


def _settings() -> "type[parts.Recipe]":
    from tfsum.tasks.transformer.settings import RecipeSettings

    return RecipeSettings


def _prepare() -> "type[parts.Preparation]":
    from tfsum.tasks.transformer.prepare import PairPreparation

    return PairPreparation


def _training() -> "parts.Training":
    from tfsum.tasks.transformer import train

    return train


def _export() -> parts.Export:
    from tfsum.tasks.transformer.export import export_model

    return export_model


TASK = dataclasses.replace(
    WRITING,
    name="transformer",
    owns=lambda config: config.get("model_type") == "transformer",
    settings=_settings,
    prepare=_prepare,
    training=_training,
    export=_export,
)
