"""Classification: BertClassifier labels a text or a pair of texts (Devlin et al. 2019, section
4)."""

from tfsum.tasks.task import Task, later

TASK = Task(
    name="bert_classifier",
    owns=lambda config: "BertForSequenceClassification" in (config.get("architectures") or []),
    export_kind="classifier",
    verb="classify",
    settings=later("tfsum.tasks.bert_classifier.settings:RecipeSettings"),
    training=later("tfsum.tasks.bert_classifier.train"),
    export=later("tfsum.tasks.bert_classifier.export:export_model"),
    golden=later("tfsum.tasks.bert_classifier.golden"),
    evaluate=later("tfsum.tasks.bert_classifier.report:evaluate"),
    exported_model=later("tfsum.tasks.bert_classifier.classifier:Classifier"),
)
