"""Batches of pairs shared among replicas, some of which have none: with the masks that one device's
batches have."""

import numpy as np
import pytest

from tfsum.tasks.bert_pretraining.batches import SentencePairBatcher, SentencePairs
from tfsum.tasks.bert_pretraining.masking import Masking

VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *(f"w{i}" for i in range(40))]


def batcher() -> SentencePairBatcher:
    """Pairs of 6 to 14 pieces; three or fewer share a batch."""
    random = np.random.default_rng(0)
    counts = random.integers(6, 15, 9)
    pairs = SentencePairs(
        random.integers(5, 45, counts.sum()), counts, counts // 2, random.integers(0, 2, 9)
    )
    return SentencePairBatcher(pairs, 48, masking=Masking(VOCABULARY), cls_id=2, sep_id=3)


@pytest.mark.parametrize("replicas", [4, 7])
def test_the_parts_of_a_batch_are_the_rows_of_one_device(replicas):
    whole = list(batcher().dataset(training=True, epochs=2).as_numpy_iterator())
    parts = list(
        batcher()
        .dataset(training=True, epochs=2, replicas=range(replicas), of=replicas)
        .as_numpy_iterator()
    )
    assert len(parts) == replicas * len(whole) and any(not len(part["token_ids"]) for part in parts)
    for number, batch in enumerate(whole):
        for replica, part in enumerate(parts[number * replicas :][:replicas]):
            assert part.keys() == batch.keys()
            for name, rows in batch.items():
                own = rows[replica::replicas]
                assert part[name].dtype == own.dtype and len(part[name]) == len(own)
                if own.ndim == 2:  # a part is padded to its own longest row
                    width = part[name].shape[1]
                    assert not own[:, width:].any()
                    own = own[:, :width]
                if len(own):
                    np.testing.assert_array_equal(part[name], own, err_msg=name)
