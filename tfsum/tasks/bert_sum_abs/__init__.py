"""Abstractive summarization: BertSumAbs writes the summary (Liu and Lapata 2019)."""

import dataclasses

from tfsum.tasks import task as parts
from tfsum.tasks.writing import WRITING


def _settings() -> "type[parts.Recipe]":
    from tfsum.tasks.bert_sum_abs.settings import RecipeSettings

    return RecipeSettings


def _prepare() -> "type[parts.Preparation]":
    from tfsum.data.documents.prepare import DocumentPreparation

    return DocumentPreparation


def _training() -> "parts.Training":
    from tfsum.tasks.bert_sum_abs import train

    return train


def _export() -> parts.Export:
    from tfsum.tasks.bert_sum_abs.export import export_model

    return export_model


TASK = dataclasses.replace(
    WRITING,
    name="bert_sum_abs",
    owns=lambda config: "bert_sum_abs" in config,
    settings=_settings,
    prepare=_prepare,
    training=_training,
    export=_export,
)
