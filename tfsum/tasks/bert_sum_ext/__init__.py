"""Extractive summarization by BertSumExt (Liu 2019; Liu and Lapata 2019)."""

from collections.abc import Callable

from tfsum.tasks import task as parts


def _settings() -> "type[parts.Recipe]":
    from tfsum.tasks.bert_sum_ext.settings import RecipeSettings

    return RecipeSettings


def _prepare() -> "type[parts.Preparation]":
    from tfsum.data.documents.prepare import DocumentPreparation

    return DocumentPreparation


def _training() -> "parts.Training":
    from tfsum.tasks.bert_sum_ext import train

    return train


def _export() -> parts.Export:
    from tfsum.tasks.bert_sum_ext.export import export_model

    return export_model


def _golden() -> "parts.Golden":
    from tfsum.tasks.bert_sum_ext import golden

    return golden


def _evaluate() -> parts.Evaluate:
    from tfsum.tasks.bert_sum_ext.evaluate import evaluate

    return evaluate


def _explain() -> parts.Explain:
    from tfsum.tasks.bert_sum_ext.explain import explain_page

    return explain_page


def _exported_model() -> "type[parts.ExportedModel]":
    from tfsum.tasks.bert_sum_ext.summarizer import Summarizer

    return Summarizer


def _by_text() -> Callable[..., "parts.ExportedModel"]:
    from tfsum.tasks.bert_sum_ext.summarizer import AutoSummarizer

    return AutoSummarizer


TASK = parts.Task(
    name="bert_sum_ext",
    owns=lambda config: config.get("model_type") == "bert" and "bert_sum_ext" in config,
    export_kind="extractive",
    verb="summarize",
    settings=_settings,
    prepare=_prepare,
    training=_training,
    export=_export,
    golden=_golden,
    evaluate=_evaluate,
    explain=_explain,
    exported_model=_exported_model,
    by_text=_by_text,
)
