"""Abstractive summarization: BertSumAbs writes the summary (Liu and Lapata 2019)."""

import dataclasses

from tfsum.tasks.task import later
from tfsum.tasks.writing import WRITING

TASK = dataclasses.replace(
    WRITING,
    name="bert_sum_abs",
    owns=lambda config: "bert_sum_abs" in config,
    settings=later("tfsum.tasks.bert_sum_abs.settings:RecipeSettings"),
    prepare=later("tfsum.data.documents.prepare:DocumentPreparation"),
    training=later("tfsum.tasks.bert_sum_abs.train"),
    export=later("tfsum.tasks.bert_sum_abs.export:export_model"),
)
