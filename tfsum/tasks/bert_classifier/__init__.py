"""Classification: BertClassifier labels a text or a pair of texts (Devlin et al. 2019, section
4)."""

from tfsum.tasks import task as parts


def _settings() -> "type[parts.Recipe]":
    from tfsum.tasks.bert_classifier.settings import RecipeSettings

    return RecipeSettings


def _training() -> "parts.Training":
    from tfsum.tasks.bert_classifier import train

    return train


def _export() -> parts.Export:
    from tfsum.tasks.bert_classifier.export import export_model

    return export_model


def _golden() -> "parts.Golden":
    from tfsum.tasks.bert_classifier import golden

    return golden


def _evaluate() -> parts.Evaluate:
    from tfsum.tasks.bert_classifier.report import evaluate

    return evaluate


def _exported_model() -> "type[parts.ExportedModel]":
    from tfsum.tasks.bert_classifier.classifier import Classifier

    return Classifier


TASK = parts.Task(
    name="bert_classifier",
    owns=lambda config: "BertForSequenceClassification" in (config.get("architectures") or []),
    export_kind="classifier",
    verb="classify",
    settings=_settings,
    training=_training,
    export=_export,
    golden=_golden,
    evaluate=_evaluate,
    exported_model=_exported_model,
)
