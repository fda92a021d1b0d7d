"""A BertSumAbs that copies: what it writes token by token against the probabilities of whole
targets."""

import numpy as np
import pytest

import tfsum
from tfsum.decoding import BeamSearch, Greedy

V, START, END = 30, 1, 2


@pytest.fixture(scope="module")
def model():
    bert = {
        "vocab_size": V,
        "hidden_size": 8,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "intermediate_size": 16,
        "max_position_embeddings": 12,
    }
    model = tfsum.BertSumAbs(
        bert,
        num_decoder_layers=1,
        num_heads=2,
        feed_forward_width=8,
        label_smoothing=0.0,
        start_id=START,
        end_id=END,
        max_length=9,
        copy=True,
    )
    model.build()
    random = np.random.default_rng(5)
    for variable in model.weights:
        if "layer_normalization" not in variable.path and "following" not in variable.path:
            variable.assign(random.normal(0, 0.5, variable.shape))
    return model


@pytest.mark.parametrize("strategy", [Greedy(), BeamSearch(3, n_best=3)])
def test_log_probabilities_of_what_is_written(model, strategy):
    random = np.random.default_rng(0)
    source = {"source_ids": random.integers(3, 12, (6, 12)), "segment_ids": np.zeros((6, 12), int)}
    source["source_ids"][4, 5:] = 0
    written, log_probability, lengths = model.generate(source, strategy)
    copied = 0
    for place in range(written.shape[1]):
        ids, length = written[:, place], lengths[:, place]
        before = np.concatenate([np.full((6, 1), START), ids[:, :-1]], axis=1)
        logits = np.asarray(model({**source, "target_ids": np.where(before == END, 0, before)}))
        np.testing.assert_allclose(np.exp(logits).sum(-1), 1, atol=1e-5)
        of_labels = np.take_along_axis(logits, ids[..., None], -1)[..., 0]
        inside = np.arange(ids.shape[1]) < length[:, None]
        np.testing.assert_allclose(
            (of_labels * inside).sum(1), log_probability[:, place], rtol=1e-4, atol=1e-4
        )
        pairs = [set(zip(row, row[1:])) for row in source["source_ids"].tolist()]
        copied += sum(
            pair in known for row, known in zip(ids.tolist(), pairs) for pair in zip(row, row[1:])
        )
    assert copied > 6  # so that the places after those of the last two tokens were looked for
