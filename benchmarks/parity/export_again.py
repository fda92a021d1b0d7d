"""Exports a model again from an export of it: the same weights, the graph and the text rules of
this checkout.

    python -m benchmarks export_again saved_models/bert_sum_ext_news_en/3 served/news/4 \\
        --newline auto
    python -m benchmarks export_again saved_models/transformer_tatoeba_en_fr/1 served/en_fr/2

Prints whether the stored weights are the same, bit by bit.
"""

import argparse
import pathlib
import tempfile

import keras
import numpy as np
import tensorflow as tf

import tfsum
import tfsum.decoding
from tfsum.errors import ExportError
from tfsum.export.stored_weights import WORD_EMBEDDING
from tfsum.formats.config_json import read_json
from tfsum.formats.weight_names import variables_by_path

KEPT = ("text", "recipe", "validation", "lead", "seconds", "frequent")  # of assets.extra/tfsum.json
EXPORTED = {  # options of the export, by the kind of model
    "extractive": ("ops", "storage", "max_sentences", "sentences", "selection", "block_trigrams"),
    "abstractive": ("ops", "storage", "max_length"),
}
VALUE = "/.ATTRIBUTES/VARIABLE_VALUE"  # what TensorFlow appends to the name of a variable


def weights(folder: pathlib.Path) -> dict[str, np.ndarray]:
    """The weights of an export by name, as they are stored."""
    reader = tf.train.load_checkpoint(str(folder / "variables" / "variables"))
    return {
        name.removesuffix(VALUE).removeprefix("weights/"): reader.get_tensor(name)
        for name in reader.get_variable_to_shape_map()
        if name.startswith("weights/")
    }


def assign(model: keras.Model, stored: dict[str, np.ndarray]) -> None:
    """Assigns stored weights to a built model; weights that the export lacks stay."""
    assigned = 0
    for path, variable in variables_by_path(model).items():
        rows, scales = "word_rows", "word_scales"
        if path != WORD_EMBEDDING:
            escaped = path.replace("/", ".S")
            rows, scales = f"stored/{escaped}", f"scales/{escaped}"
        if rows in stored:
            value = stored[rows].astype(np.float32)
            variable.assign(value * stored[scales][:, None] if scales in stored else value)
            assigned += 1
    if not assigned:
        raise ExportError("the export holds no weights as tfsum stores them; expected one of tfsum")


def model_of(description: dict) -> keras.Model:
    """The model of an export, built, without its weights."""
    config = {key: value for key, value in description["config"].items() if key != "model_type"}
    if description["kind"] == "extractive":
        head = config.pop("bert_sum_ext")
        model = tfsum.BertSumExt(tfsum.Bert(**config), **head)
    else:
        model = tfsum.Transformer(**config)
    model.build()
    return model


OPTIONS = {
    "export": {"type": pathlib.Path},
    "destination": {"type": pathlib.Path},
    "--newline": {"help": "of an extractive model; see `tfsum export`"},
}


def run(options: argparse.Namespace) -> int:
    description = read_json(options.export / "assets.extra" / "tfsum.json")
    before = weights(options.export)
    model = model_of(description)
    assign(model, before)

    names = EXPORTED[description["kind"]]
    given = {name: description[name] for name in names if name in description}
    if options.newline:
        given["newline"] = options.newline
    if search := dict(description.get("search", {})):
        given["strategy"] = getattr(tfsum.decoding, search.pop("strategy"))(**search)
    vocabulary = (options.export / "assets" / "vocab.txt").read_text(encoding="utf-8").split("\n")
    settings = {key: description[key] for key in KEPT if key in description}
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder, [word for word in vocabulary if word], settings=settings)
        written = tfsum.export_model(folder, options.destination, **given)

    after = weights(written)
    same = before.keys() == after.keys() and all(
        np.array_equal(before[name], after[name]) for name in before
    )
    print(f"{written}: {len(after)} weights, {'equal bit by bit' if same else 'NOT EQUAL'}")
    return int(not same)
