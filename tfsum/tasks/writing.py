"""What the tasks that write texts share: their exports are asked in the same way."""

from tfsum.tasks.task import Task, later

WRITING = Task(
    name="writing",
    owns=lambda config: False,
    export_kind="abstractive",
    verb="summarize",
    golden=later("tfsum.generation.golden"),
    evaluate=later("tfsum.generation.evaluate:evaluate"),
    explain=later("tfsum.generation.explain:explain_page"),
    exported_model=later("tfsum.generation.generator:Generator"),
)
"""No task of its own: a task that writes texts replaces its name, its owner and its other parts."""
