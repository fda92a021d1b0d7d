"""The batches of an epoch, and their rows shared among replicas: each once, an empty part where
there are too few."""

from typing import ClassVar

import numpy as np
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st

from tfsum.data.batcher import TokenBudgetBatcher


class Numbers(TokenBudgetBatcher):
    row, lower, bucket_width = "number", "the numbers", 2
    signature: ClassVar = {
        "ids": tf.TensorSpec((None, None), tf.int32),
        "label": tf.TensorSpec((None,), tf.int32),
    }

    def assemble(self, rows, epoch=0):
        return {
            "ids": np.zeros((len(rows), self.length[rows].max()), np.int32),
            "label": rows.astype(np.int32),
        }


def batches(numbers, workers, devices, skip=0):
    """The labels of each step: those of all replicas, as each worker's data set gives them to its
    devices in turn."""
    of = workers * devices
    found = [
        list(
            numbers.dataset(
                training=True,
                seed=3,
                epochs=2,
                skip_batches=skip,
                of=of,
                replicas=range(w * devices, (w + 1) * devices),
            ).as_numpy_iterator()
        )
        for w in range(workers)
    ]
    steps = len(found[0]) // devices
    return [
        [
            found[w][step * devices + d]["label"].tolist()
            for w in range(workers)
            for d in range(devices)
        ]
        for step in range(steps)
    ]


@given(
    st.lists(st.integers(1, 9), min_size=1, max_size=20),
    st.integers(1, 3),
    st.integers(1, 3),
    st.integers(0, 3),
)
def test_a_step_has_the_same_rows_on_any_number_of_workers_and_devices(
    lengths, workers, devices, skip
):
    numbers = Numbers(np.array(lengths), tokens_per_batch=18)
    one, many = batches(numbers, 1, 1, skip), batches(numbers, workers, devices, skip)
    assert len(one) == len(many)
    for (whole,), parts in zip(one, many):
        assert parts == [
            whole[replica :: workers * devices] for replica in range(workers * devices)
        ]


def test_a_replica_without_rows_gets_arrays_without_rows():
    numbers = Numbers(np.array([4]), tokens_per_batch=8)
    first, second = numbers.dataset(training=False, replicas=range(2), of=2).as_numpy_iterator()
    assert (
        first["ids"].shape == (1, 4)
        and second["ids"].shape == (0, 1)
        and second["label"].shape == (0,)
    )


@given(st.lists(st.integers(1, 9), min_size=1, max_size=60), st.integers(9, 30))
def test_each_epoch_has_each_row_once_within_the_budget_in_batches_of_the_same_sizes(
    lengths, budget
):
    numbers = Numbers(np.array(lengths), tokens_per_batch=budget)
    plans = [numbers.plan((0, epoch)) for epoch in range(3)]
    for plan in plans:
        assert sorted(np.concatenate(plan)) == list(range(len(lengths)))
        assert all(len(rows) * numbers.length[rows].max() <= budget for rows in plan)
    assert len({tuple(sorted(map(len, plan))) for plan in plans}) == 1
