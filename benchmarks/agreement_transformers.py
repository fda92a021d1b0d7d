"""Outputs of transformers on torch and of tfsum: pairs of arrays to compare.

The values of transformers are stored in tests/fixtures, or recomputed by the scripts in that
folder.
"""

import importlib
import pathlib
import sys

import numpy as np
from agreement_arrays import FLOAT32, Comparisons, gradients_by_name

from tfsum.formats.weight_names import full_name
from tfsum.models import Bert, BertForPretraining

DATA = pathlib.Path(__file__).resolve().parents[1] / "tests" / "fixtures"


def script(name: str):
    """A script of tests/fixtures as a module; it needs torch and transformers."""
    sys.path.insert(0, str(DATA))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(str(DATA))


def silence_transformers() -> None:
    """Disables progress bars, which would interrupt the table."""
    import transformers

    transformers.utils.logging.disable_progress_bar()


def compare_encoder(model: Bert, expected: dict, every: tuple[int, int] = (1, 1)) -> Comparisons:
    """Hidden states and attentions at real tokens (not at padding), and the pooled output.

    Args:
        model: reads the inputs stored in `expected`.
        expected: see tests/fixtures/make_bert_tiny.py; without attentions in some files.
        every: of how many tokens and of how many columns one is stored.
    """
    found = model(expected["token_ids"], expected["segment_ids"], return_all=True)
    states = np.stack(found["hidden_states"])[:, :, :: every[0], :: every[1]]
    real = expected["token_ids"][:, :: every[0]] != 0
    yield "hidden states", states[:, real], expected["hidden_states"][:, real], FLOAT32
    last = np.asarray(found["sequence_output"])[:, :: every[0], :: every[1]]
    yield "sequence output", last[real], expected["hidden_states"][-1][real], FLOAT32
    yield "pooled output", np.asarray(found["pooled_output"]), expected["pooled_output"], FLOAT32
    if "attentions" in expected:
        ours, theirs = (
            np.moveaxis(np.stack(a), 2, 3)[:, expected["token_ids"] != 0]
            for a in (found["attentions"], expected["attentions"])
        )
        yield "attentions", ours, theirs, FLOAT32 / 2  # shares of 1


def compare_pretraining(model: BertForPretraining, expected: dict) -> Comparisons:
    """Logits at real tokens, logits of the pairs, and the loss; see
    tests/fixtures/make_bert_pretraining.py."""
    found = model({name: expected[name] for name in ("token_ids", "segment_ids")})
    real = expected["token_ids"] != 0
    words = np.asarray(found["masked_lm_logits"])
    yield "masked-word logits", words[real], expected["prediction_logits"][real], FLOAT32
    yield (
        "next-sentence logits",
        np.asarray(found["next_sentence_logits"]),
        expected["seq_relationship_logits"],
        FLOAT32,
    )
    # transformers divides by the number of masks alone, the original by 1e-5 more
    yield (
        "loss",
        np.asarray(model.compute_loss(expected, training=False)),
        expected["loss"],
        FLOAT32,
    )


def compare_gradients(model: BertForPretraining, expected: dict) -> Comparisons:
    """Gradients of the loss with respect to the weights that have stored gradients."""
    found = gradients_by_name(model, expected, full_name)
    for name, value in expected.items():
        if name.startswith("gradient/"):
            yield name, found[name.removeprefix("gradient/")], value, FLOAT32


def read_by_transformers(folder: pathlib.Path, kind: str) -> tuple[object, list[str]]:
    """A folder written by tfsum as transformers' model of that class, and the keys that do not
    match."""
    import transformers

    theirs, report = getattr(transformers, kind).from_pretrained(folder, output_loading_info=True)
    wrong = [
        f"{what}: {key}"
        for what in ("missing_keys", "unexpected_keys", "mismatched_keys")
        for key in report[what]
    ]
    return theirs.eval(), wrong
