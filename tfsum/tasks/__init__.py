"""The tasks: each kind of model, and the folder with everything particular to it.

A task is a folder of `tfsum/tasks/` whose package has a `Task`, called `TASK`. A task from
elsewhere, as in examples/keyword_tagging, is registered before it is used.
"""

from tfsum.tasks import bert_classifier, bert_pretraining, bert_sum_abs, bert_sum_ext, transformer
from tfsum.tasks.task import Task, register, task, task_of_config, task_of_export, tasks

__all__ = ["Task", "register", "task", "task_of_config", "task_of_export", "tasks"]

for _package in (bert_sum_ext, bert_sum_abs, transformer, bert_classifier, bert_pretraining):
    register(_package.TASK)
