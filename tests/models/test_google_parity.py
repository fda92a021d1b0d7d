"""google-research/bert: every output, loss and gradient of its tiny model, and five steps of its
optimizer.

What is compared, and how far it may differ, is in tests/fixtures/agreement_google.py.
"""

import json

import numpy as np
import pytest

pytest.importorskip("tensorflow")
from agreement_google import BATCHES, GoogleFixture
from cases import first_by_default

from tfsum.training.optimizer import BertWarmUp


@pytest.fixture(scope="module")
def google(shared):
    return GoogleFixture(shared / "parity" / "google_bert_tiny")


def check(comparisons, count):
    compared = 0
    for name, found, expected, tolerance in comparisons:
        np.testing.assert_allclose(found, expected, atol=tolerance, rtol=0, err_msg=name)
        compared += 1
    assert compared == count


@pytest.mark.parametrize("i", BATCHES)
def test_the_encoder(google, i):
    check(google.encoder(i), 1 + 3 + 2)


@pytest.mark.parametrize("i", BATCHES)
def test_the_heads(google, i):
    check(google.heads(i), 2 + 2)


@pytest.mark.parametrize("i", BATCHES)
def test_the_losses(google, i):
    check(google.losses(i), 3)


def test_a_hole_in_the_mask_and_a_row_with_nothing_to_see(google):
    check(google.hole_in_the_mask(), 2 * (1 + 3 + 4))


def test_the_classifier(google):
    check(google.classifier(), 8 * 4 + 4 + 1)


def test_the_gradients(google):
    check(google.gradients(), 1 + 62)


def test_the_learning_rates(google):
    for setting, rates in json.loads((google.folder / "learning_rates.json").read_text()).items():
        peak, total, warmup = (float(part.split("=")[1]) for part in setting.split())
        schedule = BertWarmUp(peak, int(warmup), int(total))
        found = np.array([schedule(step) for step in range(len(rates))])
        np.testing.assert_allclose(found, rates, atol=peak * 3e-6, rtol=0, err_msg=setting)


@pytest.mark.parametrize("micro_batches", first_by_default([3, 1]))
def test_five_steps_of_the_optimizer(google, micro_batches):
    check(google.five_steps(micro_batches), 1 + 1 + 3 * 62)


def test_the_checkpoint_that_we_write(google, tmp_path):
    """Google's names, shapes, types and bits, and its config."""
    check(google.written_again(tmp_path / "again"), 1 + 62 + 1)
    ours, theirs = (
        (folder / "bert_config.json").read_bytes() for folder in (tmp_path / "again", google.folder)
    )
    assert ours.strip() == theirs.strip()
    assert sorted(p.name for p in (tmp_path / "again").iterdir()) == [
        "bert_config.json",
        "bert_model.ckpt.data-00000-of-00001",
        "bert_model.ckpt.index",
    ]
