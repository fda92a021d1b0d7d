"""A model folder of any kind to a SavedModel: `tfsum export`."""

import inspect
import pathlib

from tfsum.errors import ExportError
from tfsum.export.abstractive_model import export_abstractive
from tfsum.export.classifier_model import export_classifier
from tfsum.export.saved_model import export_extractive
from tfsum.models import model_folder

EXPORTERS = {"transformer": export_abstractive, "bert": export_extractive, "classifier": export_classifier}
"""What `_kind_of` finds in a config.json -> the function that exports it."""


def export_model(folder, destination, **options) -> pathlib.Path:
    """Writes a model folder as a SavedModel that takes raw strings, by the function for its kind.

    Args:
        folder: a model folder, as `save_pretrained` wrote it.
        destination: see the function.
        **options: those of `export_extractive` for a `BertSumExt`, of `export_abstractive` for a `Transformer`, of
            `export_classifier` for a `BertClassifier`.

    Returns:
        The folder written.

    Raises:
        ExportError: such a model is not exported, or it has no such option; and what the function raises.
        CheckpointError: the model folder cannot be read.
    """
    path = pathlib.Path(folder) / "config.json"
    if not path.is_file() and (path.parent / "best" / "config.json").is_file():
        raise ExportError(f"{folder}: is the folder of a run; its model is {path.parent / 'best'}")
    config = model_folder.read_json(path)
    kind = _kind_of(config)
    if kind == "bert" and "bert_sum_ext" not in config:
        what = ", ".join(config.get("architectures") or ["BertModel"])
        raise ExportError(f"{path}: is of an encoder ({what}), without the head of a summarizer or a classifier; train "
                          "one on it (tfsum train), and give the folder that this writes")
    if kind not in EXPORTERS:
        raise ExportError(f"{path}: model_type is {kind!r}; tfsum exports {', '.join(map(repr, EXPORTERS))}")
    known = list(inspect.signature(EXPORTERS[kind]).parameters)[2:]
    strange = sorted(options.keys() - set(known))
    if strange:
        given, may = (", ".join(map(_option, names)) for names in (strange, known))
        raise ExportError(f"{folder}: a model of type {kind!r} is not exported with {given}; its options are {may}")
    return EXPORTERS[kind](folder, destination, **options)


def _option(name: str) -> str:
    """An option's name; the search is one object here, and several options of `tfsum export`."""
    return "strategy (--search and its options)" if name == "strategy" else name


def _kind_of(config: dict) -> str | None:
    """The model_type; the classifier among the BERTs stands under architectures, as transformers has it."""
    if "BertForSequenceClassification" in (config.get("architectures") or []):
        return "classifier"
    return config.get("model_type")
