"""Abstractive summarization: BertSumAbs writes the summary (Liu and Lapata 2019)."""

from tfsum.tasks.task import Task, later

TASK = Task(
    name="bert_sum_abs",
    owns=lambda config: "bert_sum_abs" in config,
    export_kind="abstractive",
    verb="summarize",
    settings=later("tfsum.tasks.bert_sum_abs.settings:RecipeSettings"),
    prepare=later("tfsum.data.documents.prepare:DocumentPreparation"),
    training=later("tfsum.tasks.bert_sum_abs.train"),
    export=later("tfsum.tasks.bert_sum_abs.export:export_model"),
    golden=later("tfsum.generation.golden"),
    evaluate=later("tfsum.generation.evaluate:evaluate"),
    explain=later("tfsum.generation.explain:explain_page"),
    exported_model=later("tfsum.generation.generator:Generator"),
)
