"""From any BERT format to any other: Google's, Hugging Face's, BertSum's, PreSumm's, tfsum's."""

import json
import os
import pathlib
import shutil
import warnings
from typing import Any

import numpy as np

from tfsum.atomic_files import new_path
from tfsum.errors import CheckpointError, require
from tfsum.formats import google, model_folder, open_folder, text_settings, weight_names
from tfsum.models import Bert, BertClassifier, BertForPretraining
from tfsum.models.bert_classifier import other_head
from tfsum.papers.checkpoint_reader import checkpoint_to_folder
from tfsum.papers.checkpoint_writer import FLAVOURS, folder_to_checkpoint

FOLDERS = ("google", "hugging-face", "tfsum")
FORMATS = (*FOLDERS, *FLAVOURS)
# transformers' class of a model that has tensors of these names beside the encoder's; the first
# that fits.
HEADS = {
    ("cls.predictions", "cls.seq_relationship"): "BertForPreTraining",
    ("cls.predictions",): "BertForMaskedLM",
    ("cls.seq_relationship",): "BertForNextSentencePrediction",
    ("classifier",): "BertForSequenceClassification",
    (): "BertModel",
}
PRETRAINED = ("cls.predictions", "cls.seq_relationship", "cls/predictions", "cls/seq_relationship")


def convert(
    source: str | os.PathLike,
    destination: str | os.PathLike,
    to: str,
    lowercase: bool | None = None,
    vocabulary: str | os.PathLike | None = None,
    bert: dict[str, Any] | None = None,
    **changes: Any,
) -> list[str]:
    """Writes a BERT in another format, with the heads that the source has.

    Pretraining heads and a classifier are kept.

    A checkpoint of BertSum or PreSumm becomes a model folder of tfsum, and such a folder a
    checkpoint.

    The numbers of the weights stay as they are, bit by bit (float64 becomes float32); vocab.txt is
    copied, or written from a tokenizer.json, and label names are kept (Google's format has no place
    for them: bert_config.json holds them for tfsum).

    Args:
        source: What `Bert.from_pretrained` reads; or the .pt file of BertSum or PreSumm, for
            "tfsum"; or the model folder of a `BertSumExt` or `BertSumAbs`, for "bertsum" and
            "presumm".
        destination: A folder that does not exist or is empty; for "bertsum" and "presumm" a file
            that does not exist.
        to: "google", "hugging-face", "tfsum", "bertsum" or "presumm".
        lowercase: Whether the model's tokenizer lower-cases, where `read_text_settings` would get
            it wrong.
        vocabulary: Vocabulary of a checkpoint's BERT, which the file lacks.
        bert: Arguments of `Bert` that a checkpoint lacks.
        **changes: Further options of `tfsum.papers.checkpoint_to_folder`.

    Returns:
        Notes, one line each: tensors left out, a function that the format cannot express.

    Raises:
        CheckpointError: Source cannot be read, or the destination exists or cannot be written.

    Example:
        >>> import tempfile, tfsum
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     tfsum.Bert(10, 8, 1, 2, 16, hidden_act="gelu_new").save_pretrained(f"{folder}/ours")
        ...     notes = convert(f"{folder}/ours", f"{folder}/google", "google", lowercase=True)
        ...     sorted(path.name for path in pathlib.Path(folder, "google").iterdir())
        ['bert_config.json', 'bert_model.ckpt.data-00000-of-00001', 'bert_model.ckpt.index']
        >>> notes
        []
    """
    require(
        to in FORMATS, f"convert: no format {to!r}; known are {', '.join(FORMATS)}", CheckpointError
    )

    destination = pathlib.Path(destination)
    checkpoint = pathlib.Path(source).is_file()
    require(
        to == "tfsum" or not checkpoint,
        f"{source}: is a checkpoint, which is converted to tfsum first (--to tfsum)",
        CheckpointError,
    )

    if surplus := [
        name
        for name, value in {"vocabulary": vocabulary, "bert": bert, **changes}.items()
        if value is not None and not checkpoint
    ]:
        raise CheckpointError(
            f"{source}: {', '.join(surplus)}: of a checkpoint of BertSum or PreSumm alone, and this"
            " is none; leave it out"
        )
    folder = pathlib.Path(source)
    configured = any((folder / name).is_file() for name in ("config.json", "bert_config.json"))
    if not configured and (files := sorted(folder.glob("*.pt"))):
        raise CheckpointError(
            f"{source}: is a folder with {len(files)} checkpoints of torch; name one of them, such "
            f"as {files[-1]}"
        )
    require(
        not destination.exists() or (destination.is_dir() and not any(destination.iterdir())),
        f"{destination}: already exists; choose a new folder",
        CheckpointError,
    )

    with model_folder.writing_errors(destination), new_path(destination) as part:
        if to in FLAVOURS:
            return folder_to_checkpoint(source, part, to)
        if checkpoint:
            return checkpoint_to_folder(source, part, vocabulary, lowercase, bert, **changes)

        stored = open_folder.open_folder(source)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*has no pooler")  # none is written then
            tensors, config = _checked(stored)
        _write(part, stored.folder, config, tensors, to, lowercase)
        return _notes(stored, tensors, config, to)


def _checked(stored: weight_names.StoredModel) -> tuple[dict, dict]:
    """The tensors of the source under full Hugging Face names, and the config, checked by building
    the model."""
    if any(name.startswith(PRETRAINED) for name in stored.tensors):
        model = BertForPretraining.from_stored(stored, warn=False)
        tensors, config = model.tensors(), model.bert.config
    elif stored.has("classifier.weight") and not other_head(stored):
        model = BertClassifier.from_stored(stored)
        tensors, config = model.tensors(), model.bert.config | model.head_config()
    else:
        bert = Bert.from_stored(stored)
        tensors, config = weight_names.bert_tensors(bert, "bert."), bert.config

    # A head that the file lacks was initialized at random: it is not written.
    return {name: value for name, value in tensors.items() if stored.has(name)}, config


def _write(
    folder: pathlib.Path,
    origin: pathlib.Path,
    config: dict,
    tensors: dict[str, np.ndarray],
    to: str,
    lowercase: bool | None,
) -> None:
    folder.mkdir()
    settings = text_settings.read_text_settings(origin, lowercase)
    if to == "google":
        labels = {key: config[key] for key in ("id2label", "classifier_dropout") if key in config}
        google.write_google(
            folder,
            config,
            tensors,
            text_settings.google_keys(settings, origin / "vocab.txt") | labels,
        )
    else:
        architecture = next(
            kind
            for heads, kind in HEADS.items()
            if all(any(name.startswith(f"{head}.") for name in tensors) for head in heads)
        )
        if architecture == "BertModel":
            tensors = {name.removeprefix("bert."): value for name, value in tensors.items()}
        kind = {"model_type": "bert", "architectures": [architecture]}
        extra = (
            {"tfsum.json": json.dumps({"text": settings}, indent=2) + "\n"}
            if to == "tfsum"
            else {"tokenizer_config.json": text_settings.tokenizer_config(settings)}
        )
        model_folder.save(folder, kind | config, tensors, extra)

    if (origin / "vocab.txt").is_file():
        shutil.copyfile(origin / "vocab.txt", folder / "vocab.txt")
    elif pieces := text_settings.read_vocabulary(origin / "vocab.txt"):
        (folder / "vocab.txt").write_text("\n".join(pieces) + "\n", encoding="utf-8", newline="\n")


def _notes(
    stored: weight_names.StoredModel, tensors: dict[str, np.ndarray], config: dict, to: str
) -> list[str]:
    from tfsum.text.escape import is_reversible

    read = {stored.name(name, True)[0] for name in (*tensors, *weight_names.TIED)}
    left = sorted(stored.tensors.keys() - read)
    rounded = sum(stored.tensors[name].dtype == np.float64 for name in read & stored.tensors.keys())
    pieces = text_settings.read_vocabulary(stored.folder / "vocab.txt") or ()
    why = (
        stored.has("classifier.weight")
        and "classifier.weight" not in tensors
        and other_head(stored)
    )
    notes = {
        f"left out {len(left)} tensors of heads of other tasks: {', '.join(left)}": left,
        f"{why}; tfsum has no such model, and the encoder alone is written": why,
        f"{rounded} tensors of float64 are rounded to float32": rounded,
        "the vocabulary marks spaces, which other programs' tokenizers do not: to them nearly"
        " every word is [UNK]; learn it with `tfsum vocab --plain` or [text] reversible = false"
        " for use elsewhere": to != "tfsum" and is_reversible(pieces),
        "the model computes the exact GELU and Google's program the tanh form, which moves its"
        " outputs by up to 1e-3; bert_config.json says exact_gelu, which tfsum reads": (
            to == "google" and config["hidden_act"] not in (*google.TANH_GELU, "relu")
        ),
        f"layer_norm_eps is {config['layer_norm_eps']}, and Google's program computes with 1e-12;"
        " bert_config.json keeps it for tfsum": (
            to == "google" and config["layer_norm_eps"] != google.EPSILON
        ),
    }
    return [note for note, applies in notes.items() if applies]
