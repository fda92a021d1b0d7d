"""A BertClassifier's model folder to a SavedModel that takes raw strings and returns labels."""

import pathlib

from tfsum.errors import ExportError
from tfsum.export.saved_model import read_settings, version_folder, write_export
from tfsum.models import BertClassifier
from tfsum.tasks import task
from tfsum.tasks.classification.module import TextClassifier
from tfsum.text.word_piece import WordPiece

# For a model folder without settings: BERT's own.
TEXT_SETTINGS = {"pair": False}


def export_model(
    folder: str | pathlib.Path,
    destination: str | pathlib.Path,
    ops: str = "core",
    pair: bool | None = None,
    max_length: int | None = None,
    storage: str = "float32",
) -> pathlib.Path:
    """Writes a BertClassifier as a SavedModel that takes raw strings, and verifies it before it gets its name.

    Args:
        folder: a model folder (`BertClassifier.save_pretrained`) with vocab.txt and tfsum.json.
        destination, ops, storage: see `tfsum.tasks.extractive.export.export_model`.
        pair: whether `serving_default` takes `text_pair` beside `text`; by default as the model was trained.
        max_length: tokens read of a text, special ones among them; what is beyond is cut, which `coverage` reports. By
            default as the model was trained, else what the encoder has positions for.

    Returns:
        The folder written.

    Raises:
        ExportError, CheckpointError: as `tfsum.tasks.extractive.export.export_model`.
    """
    source, destination = pathlib.Path(folder), version_folder(destination)
    settings = read_settings(source)
    text = {**TEXT_SETTINGS, **settings["text"]}
    model = BertClassifier.from_pretrained(source)
    word_piece = WordPiece.from_file(
        source / "vocab.txt",
        ops=ops,
        **{name: text[name] for name in ("lowercase", "strip_accents")},
    )
    if len(word_piece.vocabulary) > model.bert.config["vocab_size"]:
        raise ExportError(
            f"{source}/vocab.txt: {len(word_piece.vocabulary)} word pieces, and the model has "
            f"{model.bert.config['vocab_size']} rows for them; take the vocabulary that it was trained "
            "with"
        )
    text["pair"] = text["pair"] if pair is None else pair
    text["max_length"] = (
        max_length or text.get("max_length") or model.bert.config["max_position_embeddings"]
    )
    module = TextClassifier(model, word_piece, text["max_length"], text["pair"], storage)
    return write_export(
        task("classification"),
        module,
        source,
        destination,
        settings,
        {"ops": ops, "storage": storage, "text": text, "labels": module.label_names},
    )
