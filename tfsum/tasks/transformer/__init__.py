"""Translation and short summaries: a Transformer generates the answer (Vaswani et al. 2017)."""

from tfsum.tasks.task import Task, later

TASK = Task(
    name="transformer",
    owns=lambda config: config.get("model_type") == "transformer",
    export_kind="abstractive",
    verb="summarize",
    settings=later("tfsum.tasks.transformer.settings:RecipeSettings"),
    prepare=later("tfsum.tasks.transformer.prepare:PairPreparation"),
    training=later("tfsum.tasks.transformer.train"),
    export=later("tfsum.tasks.transformer.export:export_model"),
    golden=later("tfsum.generation.golden"),
    evaluate=later("tfsum.generation.evaluate:evaluate"),
    explain=later("tfsum.generation.explain:explain_page"),
    exported_model=later("tfsum.generation.generator:Generator"),
)
