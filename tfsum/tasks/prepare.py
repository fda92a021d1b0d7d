"""A corpus of any task as records: `tfsum.prepare` and `tfsum prepare`."""

import inspect
import pathlib
from typing import Any

from tfsum.errors import Error
from tfsum.tasks import task


def prepare(
    corpus: str | pathlib.Path,
    out_dir: str | pathlib.Path,
    vocabulary: str | pathlib.Path,
    task_name: str = "extractive",
    **options: Any,
) -> dict[str, int]:
    """Writes a corpus as records for training; a second call continues where the first was stopped.

    Args:
        corpus: the corpus file.
        out_dir: folder of the shards and of `manifest.json`, one folder a corpus.
        vocabulary: a vocab.txt, or the folder that holds one.
        task_name: "extractive", "abstractive" or "pretraining"; classification reads its texts at training.
        **options: those of the task's own `prepare`, such as `tfsum.tasks.extractive.prepare.prepare`.

    Returns:
        The counts of what was written, cut and left out.

    Raises:
        DataError: the corpus or the vocabulary cannot be read.
        Error: an option is unknown or invalid, or `out_dir` was prepared with other settings.

    Example:
        >>> tfsum.prepare(
        ...     "train.jsonl.gz", "records/train", "minilm/vocab.txt", shards=4
        ... )  # doctest: +SKIP
        {'documents': 1000, 'sentences': 20000, ...}
    """
    function = task(task_name).part("prepare").prepare
    known = list(inspect.signature(function).parameters)[3:]
    if unknown := sorted(options.keys() - set(known)):
        raise Error(
            f"prepare: {', '.join(unknown)}: no option of the task {task_name!r}; its options are "
            f"{', '.join(known)}"
        )
    return function(corpus, out_dir, vocabulary, **options)
