"""A BertSumExt's model folder to a SavedModel: strings in, sentences with scores and offsets out.

The signatures are in `graph.py`; `reading.py` splits, tokenizes and scores texts, and `choosing.py`
chooses among their sentences and words. See `stored_weights` for how the weights are stored.

Some options of an export lead to other files: `ops="core"` to `text/core_word_piece.py`,
`newline="auto"` to `text/hard_wraps.py`, `selection="expected_rouge"` to `text/expected_rouge.py`.
"""

import pathlib
from typing import Literal

import tfsum.papers  # noqa: F401  (adds its head to those of BertSumExt)
from tfsum.export.model_card import Card
from tfsum.export.saved_model import (
    read_settings,
    read_word_piece,
    version_folder,
    window_of,
    write_export,
)
from tfsum.models import BertSumExt
from tfsum.tasks.bert_sum_ext import golden
from tfsum.tasks.bert_sum_ext.graph import ExtractiveSummarizer
from tfsum.text.sentence_splitter import SentenceSplitter

# For a model folder without settings: BERT's own.
TEXT_SETTINGS = {"newline": "sentence"}


def export_model(
    folder: str | pathlib.Path,
    destination: str | pathlib.Path,
    ops: str = "core",
    max_sentences: int = 10,
    sentences: int | Literal["auto"] = 3,
    selection: str | None = None,
    block_trigrams: bool | None = None,
    storage: str = "float32",
    newline: str | None = None,
) -> pathlib.Path:
    """Writes and verifies a BertSumExt as a SavedModel that takes raw strings.

    Args:
        folder: A model folder (`BertSumExt.save_pretrained`) with vocab.txt and tfsum.json.
        destination: `.../NAME/VERSION`, VERSION a new integer; or `.../NAME`, for the next version.
        ops: "core" for any host of TensorFlow, "text" for hosts with TF Text's ops (faster).
        max_sentences: N, the most sentences of a summary.
        sentences: The number that `serving_default` returns; "auto" for two to four, as many as are
            expected to score best.
        selection: "score" or "expected_rouge": how sentences are selected, see
            `ExtractiveSummarizer`; by default as the model's recipe was evaluated, else by score
            (the papers').
        block_trigrams: Whether `serving_default` skips a sentence that repeats a word trigram of
            the summary; by default as the model's recipe was evaluated, else True (the papers').
        storage: "float32", "float16", or "small" (float16, and int8 rows of the word embedding with
            a scale each).
        newline: Meaning of a new line, as in `SentenceSplitter`; "auto" decides for each text and
            returns its decision. By default as the model was trained.

    Returns:
        The folder written.

    Raises:
        ExportError: Folder is incomplete, an option is invalid, the destination exists or
            cannot be written.
        CheckpointError: Model folder cannot be read.
    """
    source, destination = pathlib.Path(folder), version_folder(destination)
    settings = read_settings(source)
    if newline is not None:
        settings["text"] = {**settings["text"], "newline": newline}

    evaluated = settings.get("recipe", {}).get("evaluate", {})
    if block_trigrams is None:
        block_trigrams = bool(evaluated.get("block_trigrams", True))
    choice = {
        "max_sentences": max_sentences,
        "sentences": sentences,
        "selection": selection or evaluated.get("selection", "score"),
        "block_trigrams": block_trigrams,
        "lead_bias": evaluated.get("lead_bias", 0.0),
    }

    module = build(source, settings, ops, choice, storage)
    text = {**TEXT_SETTINGS, **settings["text"], "window_length": module.window_length}

    return write_export(
        module,
        golden,
        card,
        source,
        destination,
        settings,
        {
            "kind": "extractive",
            "ops": ops,
            "storage": storage,
            "text": text,
            **choice,
            **module.automatic(),
            # have these signatures, which older exports lack
            "relevance": True,
            "windows": True,
            "reading": {
                name: golden.NAMES.get(spec.dtype.name, spec.dtype.name)
                for name, spec in module.reading().items()
            },
        },
    )


def card(description: dict) -> Card:
    """The part of an extractive summarizer's model card.

    Args:
        description: Content of assets.extra/tfsum.json.
    """
    config = description["config"]
    model, most = config["bert_sum_ext"], description["sentences"]
    blocking = {True: "on", False: "off"}[description["block_trigrams"]]
    return Card(
        "An extractive summarizer for TensorFlow",
        "sentences with scores and byte offsets",
        {
            "kind": f'extractive (BertSumExt, head "{model["head"]}",'
            f' pooling "{model["pooling"]}")',
            "encoder": f"{config['num_hidden_layers']} layers, width {config['hidden_size']},"
            f" {config['vocab_size']} word pieces, windows of"
            f" {description['text']['window_length']} tokens",
            "signatures": ", ".join(golden.signatures(description)),
            "summary": f"{'two to four' if most == 'auto' else most} sentences by default, at most"
            f" {description['max_sentences']}; trigram blocking {blocking}",
            "chosen by": description["selection"],
        },
    )


def build(
    source: pathlib.Path, settings: dict, ops: str, choice: dict, storage: str
) -> ExtractiveSummarizer:
    """Makes the module of a model folder; `choice` holds the arguments of the selection.

    Args:
        source: The model folder.
        settings: Settings from `read_settings`.
        ops: Operations of the text work, as in `export_model`.
        storage: Storage of the weights, as in `export_model`.
        choice: Further arguments of `ExtractiveSummarizer`.

    Raises:
        ExportError: Vocabulary or the window length does not fit the model.

    Example:
        >>> source = pathlib.Path("runs/news/best")
        >>> module = build(
        ...     source, read_settings(source), "core", {"sentences": 3}, "float32"
        ... )  # doctest: +SKIP
    """
    text = {**TEXT_SETTINGS, **settings["text"]}
    model = BertSumExt.from_pretrained(str(source))
    return ExtractiveSummarizer(
        model,
        read_word_piece(source, text, ops, model.bert.config["vocab_size"]),
        SentenceSplitter(text["newline"]),
        window_of(source, text, model.window_length),
        storage=storage,
        frequent=settings.get("frequent", {}).get("words"),
        **choice,
    )
