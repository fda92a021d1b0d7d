"""Pretraining a BERT on documents by masked words and next sentences (Devlin et al. 2019, section
3.1)."""

from tfsum.tasks import task as parts


def _settings() -> "type[parts.Recipe]":
    from tfsum.tasks.bert_pretraining.settings import RecipeSettings

    return RecipeSettings


def _prepare() -> "type[parts.Preparation]":
    from tfsum.tasks.bert_pretraining.prepare import SegmentPreparation

    return SegmentPreparation


def _training() -> "parts.Training":
    from tfsum.tasks.bert_pretraining import train

    return train


# Its encoder is trained further, not served; one with a head belongs to the head's task.
TASK = parts.Task(
    name="bert_for_pretraining",
    owns=lambda config: config.get("model_type") == "bert",
    settings=_settings,
    prepare=_prepare,
    training=_training,
)
