"""Pretraining a BERT on documents by masked words and next sentences (Devlin et al. 2019, section
3.1)."""

from tfsum.tasks.task import Task, later

# Its encoder is trained further, not served; one with a head belongs to the head's task.
TASK = Task(
    name="bert_for_pretraining",
    owns=lambda config: config.get("model_type") == "bert",
    settings=later("tfsum.tasks.bert_pretraining.settings:RecipeSettings"),
    prepare=later("tfsum.tasks.bert_pretraining.prepare:SegmentPreparation"),
    training=later("tfsum.tasks.bert_pretraining.train"),
)
