"""A config.json of a few bytes asks for gigabytes: the tensors of the file are asked first."""

import json

import pytest

from tfsum.errors import CheckpointError
from tfsum.formats.weight_names import bert_shapes, variables_by_path
from tfsum.models import (
    Bert,
    BertClassifier,
    BertForPretraining,
    BertSumAbs,
    BertSumExt,
    Transformer,
)

BERT = {
    "vocab_size": 30,
    "hidden_size": 8,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 16,
    "max_position_embeddings": 12,
}
HUGE = 40_000_000
BERTS = (
    {"vocab_size": HUGE},
    {"max_position_embeddings": HUGE},
    {"type_vocab_size": HUGE},
    {"hidden_size": HUGE},
    {"intermediate_size": HUGE},
    {"num_hidden_layers": HUGE},
)
DECODER = {"num_heads": 2, "feed_forward_width": 12}
WIDTHS = {"num_encoder_layers": 1, "num_decoder_layers": 1, "d_model": 8, **DECODER}

# (model, its section of config.json, sizes that its file has not)
CASES = {
    "Bert": (lambda: Bert(**BERT), None, BERTS),
    "BertClassifier": (lambda: BertClassifier(BERT, ["no", "yes"]), None, BERTS),
    "BertForPretraining": (lambda: BertForPretraining(BERT), None, BERTS),
    "BertSumExt's encoder": (lambda: BertSumExt(BERT, head_num_heads=2), None, BERTS),
    "BertSumExt": (
        lambda: BertSumExt(BERT, head_num_heads=2, head_feed_forward_width=12),
        "bert_sum_ext",
        ({"head_layers": HUGE}, {"head_feed_forward_width": HUGE}),
    ),
    "BertSumAbs": (
        lambda: BertSumAbs(BERT, 1, **DECODER),
        "bert_sum_abs",
        ({"num_decoder_layers": HUGE}, {"feed_forward_width": HUGE}),
    ),
    "Transformer": (
        lambda: Transformer(20, **WIDTHS),
        None,
        (
            {"source_vocabulary_size": HUGE, "target_vocabulary_size": HUGE},
            {"num_encoder_layers": HUGE},
            {"num_decoder_layers": HUGE},
            {"d_model": HUGE},
            {"feed_forward_width": HUGE},
        ),
    ),
    "Transformer of two vocabularies": (
        lambda: Transformer(20, 21, **WIDTHS, shared_embeddings=False, tied_output=False),
        None,
        ({"source_vocabulary_size": HUGE}, {"target_vocabulary_size": HUGE}),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_sizes_that_a_file_has_not_are_found_before_a_model_is_built(tmp_path, monkeypatch, case):
    make, section, wrong = CASES[case]
    model = make()
    model.save_pretrained(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    assert type(model).from_pretrained(tmp_path).count_params() == model.count_params()

    for module in ("bert", "transformer"):
        made = lambda *_, **__: pytest.fail("a model was made")  # noqa: E731
        monkeypatch.setattr(f"tfsum.models.{module}.Encoder", made)
    for fields in wrong:
        changed = {**config, section: config[section] | fields} if section else config | fields
        (tmp_path / "config.json").write_text(json.dumps(changed))
        layers = any("layers" in name for name in fields)
        says = "missing: " if layers else rf"shape: .* is \[.*, the config says .*\b{HUGE}\b"
        with pytest.raises(CheckpointError, match=f"(?s)^{tmp_path}: .*fix config.json.*{says}"):
            type(model).from_pretrained(tmp_path)


def test_the_error_names_the_tensor_and_both_shapes(tmp_path):
    Bert(**BERT).save_pretrained(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(config | {"vocab_size": HUGE}))
    with pytest.raises(CheckpointError) as caught:
        Bert.from_pretrained(tmp_path)
    assert str(caught.value) == (
        f"{tmp_path}: 1 tensors do not fit the model; fix config.json or use the file that belongs"
        " to it:\n  shape: embeddings.word_embeddings.weight is [30, 8], the config says"
        " [40000000, 8]"
    )


def test_the_shapes_of_a_bert_are_those_that_it_is_built_with():
    bert = Bert(**BERT)
    bert.build()
    built = {path: tuple(v.shape) for path, v in variables_by_path(bert).items()}
    assert bert_shapes(bert.config, bert.config["num_hidden_layers"]) == built


def test_a_section_that_is_no_object(tmp_path):
    BertSumExt(BERT, head_num_heads=2).save_pretrained(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps({**config, "bert_sum_ext": []}))
    with pytest.raises(CheckpointError, match="bert_sum_ext is a list; it must be an object"):
        BertSumExt.from_pretrained(tmp_path)
