"""The documents of a recipe, with their summaries, as records for a model around an encoder."""

import dataclasses
import pathlib
from typing import Any

from tfsum.data.documents.prepare import prepare
from tfsum.formats.config_json import read_json
from tfsum.formats.hugging_face import local_folder
from tfsum.formats.open_folder import open_folder
from tfsum.training.encoder import check_segments, text_settings
from tfsum.training.log import format_counts, log
from tfsum.training.settings import DocumentSettings, SummarizerSettings, TextSettings


@dataclasses.dataclass
class PreparedDocuments:
    """The records of a recipe.

    Attributes:
        folder: Folder of the encoder, or of the model that training starts from.
        text: Text settings that the model folder will hold.
        records: Split -> folder of its records.
    """

    folder: pathlib.Path
    text: dict[str, Any]
    records: dict[str, pathlib.Path]


def prepare_documents(
    data: DocumentSettings,
    text: TextSettings,
    model: SummarizerSettings,
    labels: str = "greedy",
    **options: Any,
) -> PreparedDocuments:
    """Prepares the records of a recipe, unless that is done.

    Args:
        data, text, model: Sections of the recipe.
        labels: Oracle labels of the training documents. Validation needs no soft labels, and its
            oracle is the report's.
        **options: Further arguments of `tfsum.data.documents.prepare.prepare`.

    Raises:
        RecipeError: The encoder has one segment.
    """
    folder = local_folder(model.encoder or model.start or "")
    if model.has_stored_encoder:
        config = open_folder(folder).config
    else:
        config = read_json(folder / "config.json")
    check_segments(config, "a document, whose sentences take turns,")
    case = text_settings(folder, text.lowercase, text.strip_accents)
    window_length = model.window_length or config["max_position_embeddings"]

    records = {}
    splits = {"train": (data.train, labels), "validation": (data.validation, "greedy")}
    for split, (corpus, oracle) in splits.items():
        records[split] = pathlib.Path(data.records) / split
        counts = prepare(
            corpus,
            records[split],
            folder,
            labels=oracle,
            columns=data.columns,
            max_sentences=data.max_sentences,
            window_length=window_length,
            lowercase=bool(case["lowercase"]),
            strip_accents=case["strip_accents"],
            newline=text.newline,
            shards=data.shards,
            processes=data.processes,
            **options,
        )
        log(f"{split}: {format_counts(counts)}")

    settings = {**case, "newline": text.newline, "window_length": window_length}
    return PreparedDocuments(folder, settings, records)
