"""Models with BertSum's LSTM head are loaded in a new process, which has not imported `papers`."""

import pytest

import tfsum
from tfsum.errors import Error
from tfsum.papers import LSTMHead

BERT = {
    "vocab_size": 9,
    "hidden_size": 8,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 8,
}
LOADED = """
import os, sys, keras, tfsum
os.chdir(sys.argv[1])
print(keras.models.load_model("model.keras").head.legacy)
print(type(tfsum.BertSumExt.from_pretrained("folder").head).__name__)
"""
UNKNOWN = """
import os, sys
from tfsum.models import BertSumExt
os.chdir(sys.argv[1])
try:
    BertSumExt.from_pretrained("folder")
except Exception as error:
    print(error)
"""


@pytest.mark.slow
def test_models_with_the_head_load_in_a_new_process(tmp_path, fresh_python):
    model = tfsum.BertSumExt(BERT, head="lstm", legacy=True)
    model.build()
    model.save(tmp_path / "model.keras")
    model.save_pretrained(tmp_path / "folder")

    assert fresh_python(LOADED, tmp_path).split() == ["True", "LSTMHead"]
    known = fresh_python(UNKNOWN, tmp_path)
    assert "one of classifier, transformer (`import tfsum.papers` adds" in known


def test_an_odd_width_is_refused():
    with pytest.raises(Error, match="d_model is 7; it must be even"):
        LSTMHead(7)
