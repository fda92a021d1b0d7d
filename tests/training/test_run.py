"""A run of any model: what the seam promises its subclasses, early stopping above all."""

import concurrent.futures
import dataclasses
import json
import signal
import threading
import time

import keras
import numpy as np
import pytest
import tensorflow as tf

from tfsum.data.batcher import SharedBatches, TokenBudgetBatcher
from tfsum.errors import Error
from tfsum.models.model import Model
from tfsum.training.run import Run
from tfsum.training.run_folder import steps_in
from tfsum.training.settings import RunSettings


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


@dataclasses.dataclass
class FixedBatches:
    """The part of `SharedBatches` that a run uses, of any data set."""

    rows: tf.data.Dataset
    until: int

    def dataset(self, strategy, seed):
        return self.rows


class PointRun(Run):
    """Scores come from a list, one a validation; a batch has as many rows as `names`."""

    def __init__(self, folder, scores, validate_every=2, **arguments):
        settings = RunSettings(
            folder=str(folder), validate_every=validate_every, average_decay=0.0, **arguments
        )
        super().__init__(Point(), keras.optimizers.SGD(1.0, name="sgd"), settings)
        self.model.run_eagerly = True  # a graph for each run takes longer than its steps
        self.scores, self.kept, self.names = scores, [], 0

    def batches(self, done):
        ones = tf.data.Dataset.from_tensors({"token_ids": np.ones((1, 1), np.float32)})
        return FixedBatches(ones.repeat(), self.settings.steps)

    def rows(self, step):
        return [f"document {step}.{i}" for i in range(self.names)]

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


def test_a_run_in_another_thread_trains_without_handlers_of_signals(tmp_path):
    run = PointRun(tmp_path, [1.0], steps=2)
    before = signal.getsignal(signal.SIGINT)
    with concurrent.futures.ThreadPoolExecutor(1) as threads:
        assert threads.submit(run.fit).result() == tmp_path / "best"
    assert run.steps_done == 2 and signal.getsignal(signal.SIGINT) is before


@pytest.mark.parametrize(
    ("patience", "steps"),
    [
        (0, [2, 4, 6, 8, 10]),
        (1, [2, 4]),
        (2, [2, 4, 6]),
        (4, [2, 4, 6, 8, 10]),
    ],
)
def test_patience(tmp_path, patience, steps, capsys):
    run = PointRun(tmp_path, [1.0, 2.0, 1.5, 0.5, 0.6], steps=10, patience=patience)
    assert run.fit() == tmp_path / "best"
    found = history(run)
    assert [h["step"] for h in found["history"]] == steps
    assert (
        found["ended_early"]
        == (patience in (1, 2))
        == ("ended early, at step" in capsys.readouterr().err)
    )


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


def test_a_loss_that_is_no_number_stops_the_run_before_anything_is_saved(tmp_path):
    """At once, with the examples of the batch; the checkpoint before it and the best model stay as
    they were."""
    run = PointRun(tmp_path, [1.0, 0.5, 0.2], steps=9)
    rows = [1.0] * 6 + [np.inf, 1.0, 1.0]
    run.batches = lambda done: FixedBatches(
        tf.data.Dataset.from_generator(
            lambda: ({"token_ids": np.full((1, 1), row, np.float32)} for row in rows[done:]),
            output_signature={"token_ids": tf.TensorSpec((None, None), tf.float32)},
        ),
        9,
    )
    run.names = 30
    with pytest.raises(
        Error,
        match=r"the loss of step 7 is (nan|-?inf); training stopped. Its batch: document 7.0, .*"
        r"document 7.19, \.\.\.\. The checkpoint before it",
    ):
        run.fit()
    assert [row["step"] for row in history(run)["history"]] == [2, 4, 6] and run.kept == [2, 4, 6]
    again = PointRun(tmp_path, [1.0, 0.5, 0.2, 0.1, 0.1], steps=9)
    again.fit()
    assert (
        np.isfinite(again.model.place.numpy())
        and [row["step"] for row in history(again)["history"]][-1] == 9
    )


def test_weights_that_are_no_numbers_are_neither_validated_nor_saved(tmp_path):
    run = PointRun(tmp_path, [1.0], steps=4)

    # in the last step before the validation, as a gradient that overflows does
    def spoil(batch, logs=None):
        if run.steps_done == 2:
            run.model.place.assign(np.nan)

    run.average.on_train_batch_end = spoil
    with pytest.raises(
        Error, match=r"place holds numbers that are not finite after step 2; training stopped\. The"
    ):
        run.fit()
    assert (
        not run.kept
        and not (tmp_path / "history.json").exists()
        and not list(tmp_path.glob("checkpoints/*"))
    )


def test_broken_weights_are_found_beside_training_and_replace_no_checkpoint(
    tmp_path, monkeypatch, capsys
):
    """A checkpoint by time is checked by the thread that writes it, so that training waits for the
    copies alone."""
    run = PointRun(tmp_path, [1.0], 9, steps=9, checkpoint_minutes=1e-9, keep=9)
    move, checked, check = run.average.on_train_batch_end, [], run.guard.check_weights

    def spoil(batch, logs=None):
        move(batch, logs)
        while run._checkpoints.writing:
            time.sleep(0.01)
        if run.steps_done == 3:
            run.model.place.assign(np.inf)

    monkeypatch.setattr(
        run.guard,
        "check_weights",
        lambda step, weights: (
            checked.append((step, threading.current_thread().name)),
            check(step, weights),
        )[-1],
    )
    run.average.on_train_batch_end = spoil
    run.names = 1
    with pytest.raises(
        Error,
        match=r"(the loss of step 4 is -?inf|place holds numbers that are not finite after step "
        r"\d); training stopped\. Its batch: document \d\.0\. The checkpoint before it",
    ):
        run.fit()
    # the thread may find the weights of step 3 before that step ends, which then ends the interval
    by_writer = [step for step, thread in checked if thread.startswith("checkpoint")]
    others = [step for step, thread in checked if not thread.startswith("checkpoint")]
    assert by_writer == [1, 2, 3] and all(step >= 3 for step in others)
    assert (
        sorted(steps_in(tmp_path / "checkpoints")) == [1, 2]
        and "not finite" not in capsys.readouterr().err
    )


def test_a_loss_that_explodes_is_a_warning(tmp_path, capsys):
    class Worse(PointRun):
        def batches(self, done):
            growing = tf.data.Dataset.range(1, 9).map(
                lambda n: {"token_ids": tf.ones((1, 1)) * 10.0 ** (2 * tf.cast(n, tf.float32))}
            )
            return FixedBatches(growing, self.settings.steps)

    run = Worse(tmp_path, [1.0], 6, steps=6)
    run.model.loss_weight = lambda x, y: tf.constant(1.0)
    run.model.place.assign(1.0)
    run.fit()
    assert capsys.readouterr().err.count("warning: the loss of step") == 1


def test_a_loss_that_explodes_after_a_resume_is_compared_with_the_first_of_the_run(
    tmp_path, capsys
):
    def run(steps, factor):
        made = PointRun(tmp_path, [1.0, 1.0], steps=steps)
        made.model.loss_weight = lambda x, y: tf.constant(1.0)
        rows = tf.data.Dataset.from_tensors({"token_ids": tf.fill((1, 1), factor)}).repeat()
        made.batches = lambda done: FixedBatches(rows, steps)
        if steps == 2:
            made.model.place.assign(1.0)
        return made

    run(2, 1.0).fit()
    run(4, 1e7).fit()
    assert "warning: the loss of step 3 is -3e+07, and the first was 1;" in capsys.readouterr().err


def test_checkpoints_by_time_come_without_a_validation(tmp_path):
    """A run that ends between two validations resumes from the last of them, with no further
    validation."""

    class Killed(Exception):
        pass

    run = PointRun(tmp_path, [1.0, 1.0], 4, steps=8, checkpoint_minutes=1e-9, keep=9)
    move = run.average.on_train_batch_end

    def kill(batch, logs=None):
        move(batch, logs)
        # a checkpoint that is due while one is being written comes a step later
        while run._checkpoints.writing:
            time.sleep(0.01)
        if run.steps_done == 7:
            raise Killed

    run.average.on_train_batch_end = kill
    with pytest.raises(Killed):
        run.fit()
    assert sorted(steps_in(tmp_path / "checkpoints")) == [1, 2, 3, 4, 5, 6]
    again = PointRun(tmp_path, [1.0, 1.0], 4, steps=8, checkpoint_minutes=0)
    again.fit()
    assert float(again.model.place) == 8.0 and [
        row["step"] for row in history(again)["history"]
    ] == [4, 8]
    assert sorted(steps_in(tmp_path / "checkpoints")) == [6, 8]


def test_a_checkpoint_that_cannot_be_written_stops_the_run(tmp_path, monkeypatch):
    run = PointRun(tmp_path, [1.0] * 4, 100, steps=8, checkpoint_minutes=1e-9)

    def full(self, prefix):
        raise tf.errors.ResourceExhaustedError(None, None, "No space left on device\nmore")

    move = run.average.on_train_batch_end

    def wait(batch, logs=None):
        move(batch, logs)
        while run._checkpoints.writing:
            time.sleep(0.01)

    monkeypatch.setattr(tf.train.Checkpoint, "write", full)
    run.average.on_train_batch_end = wait
    with pytest.raises(
        Error, match="the checkpoint of step 1 cannot be written .No space left on device."
    ):
        run.fit()
    assert run.steps_done <= 2 and not steps_in(tmp_path / "checkpoints")


def test_the_rows_of_a_step_are_named_by_their_numbers(tmp_path):
    class Numbers(TokenBudgetBatcher):
        row, signature = "number", {"token_ids": tf.TensorSpec((None,), tf.int32)}

        def assemble(self, rows, epoch=0):
            return {"token_ids": rows}

    run = PointRun(tmp_path, [1.0], steps=9, seed=5)
    run.batches = lambda done: SharedBatches(Numbers(np.array([2, 2, 2, 2, 2]), 4), done, 9)
    seen = run.batches(0).dataset(run.model.distribute_strategy, seed=5).as_numpy_iterator()
    for step in range(1, 8):  # three batches an epoch
        rows = next(seen)["token_ids"]
        assert Run.rows(run, step) == [f"number {row + 1}" for row in rows]
