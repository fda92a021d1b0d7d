"""What the tasks that write texts share: their exports are asked in the same way."""

from tfsum.tasks import task as parts


def _golden() -> "parts.Golden":
    from tfsum.generation import golden

    return golden


def _evaluate() -> parts.Evaluate:
    from tfsum.generation.evaluate import evaluate

    return evaluate


def _explain() -> parts.Explain:
    from tfsum.generation.explain import explain_page

    return explain_page


def _exported_model() -> "type[parts.ExportedModel]":
    from tfsum.generation.generator import Generator

    return Generator


WRITING = parts.Task(
    name="writing",
    owns=lambda config: False,
    export_kind="abstractive",
    verb="summarize",
    golden=_golden,
    evaluate=_evaluate,
    explain=_explain,
    exported_model=_exported_model,
)
"""No task of its own: a task that writes texts replaces its name, its owner and its other parts."""
