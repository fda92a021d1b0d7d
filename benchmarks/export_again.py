"""Exports a model again from an export of it: the same weights, the graph and the text rules of
this checkout.

    python benchmarks/export_again.py saved_models/bert_sum_ext_news_en/2 served/news --newline auto
    \
        --corpus ../shared/data/news/train.jsonl.gz
    python benchmarks/export_again.py saved_models/transformer_tatoeba_en_fr/1 served/en_fr

Prints whether the stored weights are the same, bit by bit.
"""

import argparse
import itertools
import os
import pathlib
import sys
import tempfile

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import numpy as np
import tensorflow as tf

import tfsum
import tfsum.decoding
from tfsum.cli.parser import number_or_auto
from tfsum.data.readers import read_corpus
from tfsum.errors import ExportError
from tfsum.export.stored_weights import WORD_EMBEDDING, variable_path
from tfsum.formats.config_json import read_json
from tfsum.models import Bert, BertSumExt, Transformer
from tfsum.text.known_words import frequent_words
from tfsum.text.word_piece import WordPiece

KEPT = ("text", "recipe", "validation", "lead", "seconds", "frequent")  # of assets.extra/tfsum.json

VALUE = "/.ATTRIBUTES/VARIABLE_VALUE"  # what TensorFlow appends to the name of a variable


def load_stored(model: keras.Model, folder: pathlib.Path) -> None:
    """Assigns the weights of an export to a built model; weights that the export lacks stay."""
    reader = tf.train.load_checkpoint(str(folder / "variables" / "variables"))
    stored = {
        name.removesuffix(VALUE).removeprefix("weights/"): name
        for name in reader.get_variable_to_shape_map()
    }
    assigned = 0
    for variable in model.variables:
        path = variable_path(variable, model)
        rows, scales = "word_rows", "word_scales"
        if path != WORD_EMBEDDING:
            escaped = path.replace("/", ".S")
            rows, scales = f"stored/{escaped}", f"scales/{escaped}"
        if rows not in stored:
            continue
        value = reader.get_tensor(stored[rows]).astype(np.float32)
        if scales in stored:
            value *= reader.get_tensor(stored[scales])[:, None]
        variable.assign(value)
        assigned += 1
    if not assigned:
        raise ExportError(
            f"{folder}: holds no weights as tfsum stores them; expected an export of tfsum"
        )


def weights(folder: pathlib.Path) -> dict[str, np.ndarray]:
    """The weights of an export by name, as they are stored."""
    reader = tf.train.load_checkpoint(str(folder / "variables" / "variables"))
    return {
        name: reader.get_tensor(name)
        for name in reader.get_variable_to_shape_map()
        if name.startswith("weights/")
    }


def word_piece_of(folder: pathlib.Path, text: dict) -> WordPiece:
    """The tokenizer of an export."""
    return WordPiece.from_file(
        folder / "assets" / "vocab.txt",
        lowercase=text["lowercase"],
        strip_accents=text["strip_accents"],
    )


def frequent(word_piece: WordPiece, corpus: str) -> dict:
    """The frequent words of a corpus."""
    ids: list[np.ndarray] = []
    documents = (document["text"] for document in read_corpus(corpus))
    while group := list(itertools.islice(documents, 100)):
        ids.append(word_piece.tokenize(group).flat_values.numpy())
    found = frequent_words(np.concatenate(ids), word_piece.vocabulary, word_piece.unk_id)
    print(f"frequent words: {found['share']:.1%} of all, {found['words'][:8]} ...")
    return found


def extractive(description: dict) -> tuple[BertSumExt, tuple[str, ...]]:
    """The model, without its weights, and the options of its export."""
    config = dict(description["config"])
    return BertSumExt(
        Bert(**{k: v for k, v in config.items() if k not in ("model_type", "bert_sum_ext")}),
        **config["bert_sum_ext"],
    ), ("ops", "storage", "max_sentences", "sentences", "selection", "block_trigrams")


def abstractive(description: dict) -> tuple[Transformer, tuple[str, ...]]:
    """The same of a Transformer."""
    config = {key: value for key, value in description["config"].items() if key != "model_type"}
    return Transformer(**config), ("ops", "storage", "max_length")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("export", type=pathlib.Path)
    parser.add_argument("destination", type=pathlib.Path)
    parser.add_argument("--newline", help="of an extractive model; see `tfsum export`")
    parser.add_argument(
        "--sentences", type=number_or_auto, help="of an extractive model; see `tfsum export`"
    )
    parser.add_argument(
        "--corpus",
        help="the training corpus of an extractive model, whose frequent words an old "
        "export does not hold",
    )
    options = parser.parse_args()
    description = read_json(options.export / "assets.extra" / "tfsum.json")
    settings = {key: description[key] for key in KEPT if key in description}
    word_piece = word_piece_of(options.export, settings["text"])
    if options.corpus:
        settings["frequent"] = frequent(word_piece, options.corpus)
    model, names = (extractive if description["kind"] == "extractive" else abstractive)(description)
    given = {name: description[name] for name in names}
    for name in ("newline", "sentences"):
        if getattr(options, name) is not None:
            given[name] = getattr(options, name)
    if search := dict(description.get("search", {})):
        search.pop("legacy", None)  # of exports from before PreSumm's search was a class
        given["strategy"] = getattr(tfsum.decoding, search.pop("strategy"))(**search)
    model.build()
    load_stored(model, options.export)
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder, word_piece.vocabulary, settings=settings)
        written = tfsum.export_model(folder, options.destination, **given)
    before, after = (weights(folder) for folder in (options.export, written))
    same = before.keys() == after.keys() and all(
        np.array_equal(before[name], after[name]) for name in before
    )
    print(f"{written}: {len(after)} weights, {'equal bit by bit' if same else 'NOT EQUAL'}")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
