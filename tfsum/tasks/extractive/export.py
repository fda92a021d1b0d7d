"""A BertSumExt's model folder to a SavedModel that takes raw strings and returns sentences."""

import pathlib

from tfsum.errors import ExportError
from tfsum.export.saved_model import read_settings, version_folder, write_export
from tfsum.models import BertSumExt
from tfsum.tasks import task
from tfsum.tasks.extractive.module import ExtractiveSummarizer
from tfsum.text.sentence_splitter import SentenceSplitter
from tfsum.text.word_piece import WordPiece

# For a model folder without settings: BERT's own.
TEXT_SETTINGS = {"newline": "sentence"}


def export_model(
    folder: str | pathlib.Path,
    destination: str | pathlib.Path,
    ops: str = "core",
    max_sentences: int = 10,
    sentences: int = 3,
    selection: str | None = None,
    block_trigrams: bool | None = None,
    storage: str = "float32",
    newline: str | None = None,
) -> pathlib.Path:
    """Writes a BertSumExt as a SavedModel that takes raw strings, and verifies it before it gets its name.

    Args:
        folder: a model folder (`BertSumExt.save_pretrained`) with vocab.txt and tfsum.json.
        destination: `.../NAME/VERSION`, VERSION a new integer; or `.../NAME`, for the next version.
        ops: "core" for any host of TensorFlow, "text" for hosts with TF Text's ops (faster).
        max_sentences: N, the most sentences of a summary.
        sentences: the number that `serving_default` returns.
        selection: "score" or "expected_rouge": how sentences are selected, see `ExtractiveSummarizer`; by default as
            the model's recipe was evaluated, else by score (the papers').
        block_trigrams: whether `serving_default` skips a sentence that repeats a word trigram of the summary; by
            default as the model's recipe was evaluated, else True (the papers').
        storage: "float32", "float16", or "small" (float16, and int8 rows of the word embedding with a scale each).
        newline: what a new line means, see `SentenceSplitter`; "auto" decides for each text and returns its decision.
            By default as the model was trained.

    Returns:
        The folder written.

    Raises:
        ExportError: the folder is incomplete, an option is invalid, the destination exists or cannot be written.
        CheckpointError: the model folder cannot be read.
    """
    source, destination = pathlib.Path(folder), version_folder(destination)
    settings = read_settings(source)
    if newline is not None:
        settings["text"] = {**settings["text"], "newline": newline}
    evaluated = settings.get("recipe", {}).get("evaluate", {})
    choice = {
        "max_sentences": max_sentences,
        "sentences": sentences,
        "selection": selection or evaluated.get("selection", "score"),
        "block_trigrams": bool(evaluated.get("block_trigrams", True))
        if block_trigrams is None
        else block_trigrams,
    }
    module = build(source, settings, ops, choice, storage)
    text = {**TEXT_SETTINGS, **settings["text"], "window_length": module.window_length}
    return write_export(
        task("extractive"),
        module,
        source,
        destination,
        settings,
        {"ops": ops, "storage": storage, "text": text, **choice},
    )


def build(
    source: pathlib.Path, settings: dict, ops: str, choice: dict, storage: str
) -> ExtractiveSummarizer:
    """Makes the module of a model folder; `choice` holds the arguments of the selection.

    Args:
        source: the model folder.
        settings: from `read_settings`.
        ops, storage: see `export_model`.
        choice: further arguments of `ExtractiveSummarizer`.

    Raises:
        ExportError: the vocabulary or the window length does not fit the model.

    Example:
        >>> source = pathlib.Path("runs/news/best")
        >>> module = build(
        ...     source, read_settings(source), "core", {"sentences": 3}, "float32"
        ... )  # doctest: +SKIP
    """
    text = {**TEXT_SETTINGS, **settings["text"]}
    model = BertSumExt.from_pretrained(str(source))
    word_piece = WordPiece.from_file(
        str(source / "vocab.txt"),
        lowercase=text["lowercase"],
        strip_accents=text["strip_accents"],
        ops=ops,
    )
    rows = model.bert.config["vocab_size"]
    if len(word_piece.vocabulary) > rows:
        raise ExportError(
            f"{source}/vocab.txt: {len(word_piece.vocabulary)} word pieces, and the model has "
            f"{rows} rows for them; take the vocabulary that it was trained with"
        )
    window = int(text.get("window_length") or model.window_length)
    if window > model.window_length:
        raise ExportError(
            f"{source}/tfsum.json: window_length is {window}; the model reads {model.window_length}"
        )
    return ExtractiveSummarizer(
        model,
        word_piece,
        SentenceSplitter(text["newline"]),
        window,
        storage=storage,
        frequent=settings.get("frequent", {}).get("words"),
        **choice,
    )
