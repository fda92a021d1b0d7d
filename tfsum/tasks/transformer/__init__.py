"""Translation and short summaries: a Transformer generates the answer (Vaswani et al. 2017)."""

import dataclasses

from tfsum.tasks.task import later
from tfsum.tasks.writing import WRITING

TASK = dataclasses.replace(
    WRITING,
    name="transformer",
    owns=lambda config: config.get("model_type") == "transformer",
    settings=later("tfsum.tasks.transformer.settings:RecipeSettings"),
    prepare=later("tfsum.tasks.transformer.prepare:PairPreparation"),
    training=later("tfsum.tasks.transformer.train"),
    export=later("tfsum.tasks.transformer.export:export_model"),
)
