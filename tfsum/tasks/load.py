"""`tfsum.export_model`, `load`, `evaluate` and `verify`: a model folder of any task becomes a
SavedModel, which is a callable, measured on a corpus, and checked against the day of its export."""

import contextlib
import pathlib
import tempfile
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tfsum.errors import ExportError, require
from tfsum.formats.config_json import read_json
from tfsum.inference.exported_model import ExportedModel
from tfsum.inference.saved_model import newest, read_description, shipped_model, shipped_models
from tfsum.tasks import Task, task_of_config, task_of_export, tasks
from tfsum.tasks.model_choice import AUTO, SUMMARIZERS, Licence, named_model

if TYPE_CHECKING:
    from tfsum.data.readers import Corpus

SEARCH = ("strategy", "max_length", "max_source_length", "max_windows")
"""Options of an export, for `evaluate` of a model folder."""


def export_model(
    folder: str | pathlib.Path, destination: str | pathlib.Path, **options: Any
) -> pathlib.Path:
    """Writes a model folder as a SavedModel that takes raw strings, and verifies it before it gets
    its name.

    Args:
        folder: A model folder, as `save_pretrained` or a training run wrote it.
        destination: `.../NAME/VERSION`, VERSION an integer not there yet; or `.../NAME`, which gets
            the next one.
        **options: Options of the task's own `export_model`, such as
            `tfsum.tasks.bert_sum_ext.export.export_model` for a `BertSumExt`.

    Returns:
        The folder written.

    Raises:
        ExportError: Such a model is not exported, or it has no such option; and what the task's
            function raises.
        CheckpointError: Model folder cannot be read.

    Example:
        >>> export_model("runs/news/best", "served/news", storage="small")  # doctest: +SKIP
        PosixPath('served/news/1')
    """
    require(
        not pathlib.Path(folder).is_file(),
        f"{folder}: is a file, expected a model folder. A .keras file holds no vocabulary;"
        " write a folder with keras.models.load_model(file).save_pretrained(folder, vocabulary)",
        ExportError,
    )

    path = pathlib.Path(folder) / "config.json"
    if not path.is_file() and (path.parent / "best" / "config.json").is_file():
        raise ExportError(f"{folder}: is the folder of a run; its model is {path.parent / 'best'}")

    config = read_json(path)
    task = task_of_config(config)
    if task is None:
        raise ExportError(
            f"{path}: model_type is {config.get('model_type')!r}, which is of none of the tasks"
            f" that export ({', '.join(task.name for task in tasks() if task.export)})"
        )

    if task.export_kind is None:
        what = ", ".join(config.get("architectures") or ["BertModel"])
        raise ExportError(
            f"{path}: is of an encoder alone ({what}), and tfsum exports models with the head of a"
            " task; train one on this encoder by `tfsum train`, and export the folder `best` of"
            " that run"
        )

    return task.call(task.need(task.export, "export"), folder, destination, options=options)


def load(
    path: str | pathlib.Path | None = None, model_licence: Licence = "any", **options: Any
) -> Any:
    """Loads an exported model.

    Args:
        path: Folder `.../NAME/VERSION` or `.../NAME`, or the name of a shipped model; by default
            one of the shipped summarizers, which is chosen by the text.
        model_licence: "production" for models alone whose training data allow production.
        **options: Options of `ExportedModel`: `compute`, such as "auto", and `tokenizer`, a file by
            which the field `tokens` of a request counts.

    Returns:
        A callable: a `Summarizer` for an extractive model, a `Generator` for an abstractive one, a
        `Classifier`, or the callable of a registered task.

    Raises:
        ExportError: The model does not exist or is corrupt.
        Error: The model cannot be computed in this type here, or answers within no tokens.

    Example:
        >>> summarize = load()
        >>> print(summarize("The bridge was closed on Monday. It rained.", sentences=1))
        The bridge was closed on Monday.
    """
    name = named_model(path, model_licence)
    if name == AUTO:
        shipped = shipped_models()
        folders = {name: shipped[name] for name in SUMMARIZERS if name in shipped}
    else:
        folders = {name: newest(name)}
    folder, *others = folders.values() or [shipped_model()]
    task = task_of(folder, read_description(folder))
    require(
        task.export_kind == "extractive" or not options.get("tokenizer"),
        f"tokenizer: counts the tokens of sentences that a model selects, and {folder} is"
        f" {task.export_kind}; leave it out",
    )
    if others:
        return task.need(task.by_text, "by_text")(folders, **options)
    return task.need(task.exported_model, "exported_model")(folder, **options)


def task_of(folder: pathlib.Path, description: dict) -> Task:
    """Returns the task of an exported model.

    Args:
        folder: Folder of the model, which messages name.
        description: Content of its assets.extra/tfsum.json.

    Raises:
        ExportError: No task has models of this kind.
    """
    task = task_of_export(description)
    if task is None:
        kinds = dict.fromkeys(task.export_kind for task in tasks())
        raise ExportError(
            f"{folder}: its kind is {description.get('kind')!r}; this tfsum knows"
            f" {', '.join(filter(None, kinds))}: take a newer tfsum, or fetch or export the model"
            " again"
        )

    return task


@contextlib.contextmanager
def open_model(
    model: ExportedModel | str | pathlib.Path, search: dict[str, Any] | None = None
) -> Iterator[Any]:
    """Loads a model in any form; a model folder is exported for the duration of the block.

    Args:
        model: Result of `load`, folder of an exported model, or model folder.
        search: Options for the export of a model folder.

    Yields:
        The Python callable.

    Raises:
        ExportError: The model cannot be read or exported, or `search` is given for an exported one.
    """
    path = model.path if isinstance(model, ExportedModel) else pathlib.Path(model)
    if isinstance(model, ExportedModel) or not (path / "config.json").is_file():
        if search:
            raise ExportError(
                f"{path}: was exported with its own decoding strategy; leave out"
                f" {', '.join(sorted(search))}, or give the model folder"
            )

        yield model if isinstance(model, ExportedModel) else load(model)
        return

    with tempfile.TemporaryDirectory() as folder:
        # TF Text's operations give the same bytes faster, and this process has them.
        yield load(export_model(path, f"{folder}/model/1", ops="text", **(search or {})))


def evaluate(model: ExportedModel | str | pathlib.Path, corpus: "Corpus", **options: Any) -> Any:
    """Measures a model on a corpus.

    Args:
        model: A result of `tfsum.load`, an exported model's folder, or a model folder, which is
            exported temporarily.
        corpus: A corpus file, or its rows in memory: dicts with the columns of the file.
        **options: Options of the task's own `evaluate`, such as
            `tfsum.tasks.bert_sum_ext.evaluate.evaluate`; for a model folder of an abstractive model
            also `strategy`, `max_length`, `max_source_length` and `max_windows`, see
            `tfsum.tasks.transformer.export.export_model`.

    Returns:
        A report that `tfsum evaluate` prints, with `to_text()` and `to_json()`.

    Raises:
        Error: Task has no such option, or a number is not possible.
        DataError: Corpus cannot be read.
        ExportError: Model cannot be read, or exported.

    Example:
        >>> rows = [
        ...     {"text": "It rained. The bridge was closed.", "summary": "The bridge was closed."}
        ... ]
        >>> import tfsum
        >>> report = evaluate(tfsum.load(), rows, sentences=1)
        >>> sorted(report.systems)
        ['lead', 'longest', 'model', 'oracle', 'random']
    """
    # In here: who calls a model does without them.
    from tfsum.evaluation.settings import MeasureSettings

    MeasureSettings(
        **{name: options[name] for name in options.keys() & MeasureSettings.model_fields}
    )
    search = {name: options.pop(name) for name in SEARCH if name in options}
    with open_model(model, search) as answer:
        task = task_of(answer.path, answer.description)
        return task.call(task.need(task.evaluate, "evaluate"), answer, corpus, options=options)


def verify(path: str | pathlib.Path) -> dict[str, Any]:
    """Checks an exported model: signatures, operations, weights, and recorded answers.

    Args:
        path: Folder `.../NAME/VERSION` or `.../NAME`.

    Returns:
        The report, a dict that prints as lines.

    Raises:
        ExportError: The first difference found.

    Example:
        >>> from tfsum.inference.saved_model import shipped_model
        >>> verify(shipped_model())["kind"]
        'extractive'
    """
    # In here: who calls a model does without the export engine.
    from tfsum.export.golden import verify_export

    folder = newest(path)
    description = read_description(folder)
    task = task_of(folder, description)
    return verify_export(folder, description, task.need(task.golden, "golden"))
