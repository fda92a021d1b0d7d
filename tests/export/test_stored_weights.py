"""How the weights lie in the file."""

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")

from tfsum.errors import ExportError
from tfsum.export.saved_model import read_settings
from tfsum.export.stored_weights import StoredWeights
from tfsum.models import BertSumExt
from tfsum.tasks.bert_sum_ext.export import build


@pytest.mark.parametrize("storage, tolerance", [("float32", 0), ("float16", 1e-3), ("small", 2e-2)])
def test_what_is_read_back_is_what_was_stored(transformer, storage, tolerance):
    plain = BertSumExt.from_pretrained(str(transformer.source))
    stored = StoredWeights(
        BertSumExt.from_pretrained(str(transformer.source)), storage, pooler=False
    )
    ids = tf.constant([[2, 9, 14, 3, 0]])
    table = plain.bert.word_embeddings(ids)
    values = stored.read()
    assert not [
        name for name in values if "pooler" in name or "seed" in name or "word_embeddings" in name
    ]
    assert (
        len(values)
        == len([v for v in plain.weights if "pooler" not in v.path and "seed" not in v.path]) - 1
    )
    for variable in plain.weights:
        name = variable.path.partition("bert_sum_ext/")[2]
        if name in values:
            np.testing.assert_allclose(values[name], variable, atol=tolerance, rtol=tolerance)
    with stored.model(values) as model:
        np.testing.assert_allclose(model.bert.word_embeddings(ids), table, atol=tolerance)


def test_the_model_stays_as_it_is(transformer):
    model = BertSumExt.from_pretrained(str(transformer.source))
    parts = {"bert": vars(model.bert).copy(), "encoder": vars(model.bert.encoder).copy()}
    stored = StoredWeights(model, "small", pooler=False)
    with stored.model(stored.read()) as changed:
        assert changed.bert.encoder.packing is not None
    assert model.bert.word_embeddings is parts["bert"]["word_embeddings"]
    assert model.bert.encoder.packing is None
    assert vars(model.bert).keys() == parts["bert"].keys()
    assert len(model.variables) == len(
        BertSumExt.from_pretrained(str(transformer.source)).variables
    )


@pytest.mark.slow
def test_scores_of_a_half_as_large_file_are_close(transformer, article):
    settings = read_settings(transformer.source)
    module = build(transformer.source, settings, "text", {}, "float16")
    given = module.score(tf.constant([article]))["score"]
    np.testing.assert_allclose(given, transformer.ask("score", text=[article])["score"], atol=5e-3)


@pytest.mark.parametrize(
    "storage, value", [("float32", np.nan), ("float16", 1e6), ("small", np.inf)]
)
def test_weights_that_the_storage_cannot_hold(transformer, storage, value):
    model = BertSumExt.from_pretrained(str(transformer.source))
    variable = next(v for v in model.head.variables if v.path.endswith("score/kernel"))
    variable.assign(np.full(variable.shape, value, np.float32))
    with pytest.raises(
        ExportError, match="score/kernel: 32 of 32 values are infinite or not a number"
    ):
        StoredWeights(model, storage)
