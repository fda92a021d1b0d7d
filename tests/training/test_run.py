"""A run of any model: what the seam promises its subclasses, early stopping above all."""

import json

import keras
import numpy as np
import pytest
import tensorflow as tf

from tfsum.models.model import Model
from tfsum.training.run import Run, RunSettings


class Point(Model):
    """One weight that a step moves by 1: its gradient is always -1."""

    def __init__(self):
        super().__init__(name="point")
        self.place = self.add_weight((), "zeros", name="place")
        self.built = True

    def call(self, x):
        return self.place * x["token_ids"]

    def summed_loss(self, x, y, training):
        return -tf.reduce_sum(self(x))

    def loss_weight(self, x, y):
        return tf.reduce_sum(x["token_ids"])


class PointRun(Run):
    """Scores come from a list, one a validation."""

    def __init__(self, folder, scores, **arguments):
        super().__init__(Point(), keras.optimizers.SGD(1.0, name="sgd"), RunSettings(
            folder=str(folder), validate_every=2, average_decay=0.0, **arguments))
        self.scores, self.kept = scores, []

    def batches(self, done):
        return tf.data.Dataset.from_tensors({"token_ids": np.ones((1, 1), np.float32)}).repeat(), self.settings.steps

    def measure(self):
        return {"error": self.scores[len(self.state["history"])], "place": float(self.model.place)}

    def selection_score(self, scores):
        return -scores["error"]

    def save_best(self, folder):
        self.kept.append(self.state["best"]["step"])


def history(run):
    return json.loads((run.folder / "history.json").read_text())


def test_the_best_is_kept_and_a_tie_goes_to_the_first(tmp_path):
    run = PointRun(tmp_path, [3.0, 1.0, 2.0, 1.0], steps=8)
    assert run.fit() == tmp_path / "best"
    assert run.kept == [2, 4]
    found = history(run)
    assert found["best"] == {"step": 4, "error": 1.0, "place": 4.0} and not found["ended_early"]
    assert [h["place"] for h in found["history"]] == [2.0, 4.0, 6.0, 8.0]


@pytest.mark.parametrize(("patience", "steps"), [
    (0, [2, 4, 6, 8, 10]), (1, [2, 4]), (2, [2, 4, 6]), (4, [2, 4, 6, 8, 10]),
])
def test_patience(tmp_path, patience, steps, capsys):
    run = PointRun(tmp_path, [1.0, 2.0, 1.5, 0.5, 0.6], steps=10, patience=patience)
    assert run.fit() == tmp_path / "best"
    found = history(run)
    assert [h["step"] for h in found["history"]] == steps
    assert found["ended_early"] == (patience in (1, 2)) == ("ended early, at step" in capsys.readouterr().err)


def test_a_run_out_of_patience_stays_ended_and_goes_on_with_more(tmp_path):
    scores = [1.0, 2.0, 1.5, 0.5, 0.6]
    PointRun(tmp_path, scores, steps=10, patience=2).fit()
    again = PointRun(tmp_path, scores, steps=10, patience=2)
    again.fit()
    assert float(again.model.place) == 6.0 and not again.kept
    more = PointRun(tmp_path, scores, steps=10, patience=3)
    more.fit()
    assert float(more.model.place) == 10.0 and more.kept == [8]
    assert [h["step"] for h in history(more)["history"]] == [2, 4, 6, 8, 10]
