"""Extractive summarization by BertSumExt (Liu 2019; Liu and Lapata 2019)."""

from tfsum.tasks.task import Task, later

TASK = Task(
    name="bert_sum_ext",
    owns=lambda config: config.get("model_type") == "bert" and "bert_sum_ext" in config,
    export_kind="extractive",
    verb="summarize",
    settings=later("tfsum.tasks.bert_sum_ext.settings:RecipeSettings"),
    prepare=later("tfsum.data.documents.prepare:DocumentPreparation"),
    training=later("tfsum.tasks.bert_sum_ext.train"),
    export=later("tfsum.tasks.bert_sum_ext.export:export_model"),
    golden=later("tfsum.tasks.bert_sum_ext.golden"),
    evaluate=later("tfsum.tasks.bert_sum_ext.evaluate:evaluate"),
    explain=later("tfsum.tasks.bert_sum_ext.explain:explain_page"),
    exported_model=later("tfsum.tasks.bert_sum_ext.summarizer:Summarizer"),
    by_text=later("tfsum.tasks.bert_sum_ext.summarizer:AutoSummarizer"),
)
