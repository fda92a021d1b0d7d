"""What extractive training begins with: every head from a recipe to its export, a random encoder,
another model."""

import json
import pathlib

import numpy as np
import pytest

import tfsum
from tfsum.errors import RecipeError
from tfsum.models import Bert, BertSumExt
from tfsum.papers.checkpoint_writer import write_bertsum

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", ".", *(f"w{chr(97 + i)}" for i in range(20))]
RECIPE = """
[data]
train = "corpus.jsonl"
validation = "corpus.jsonl"
records = "records"
shards = 1

[model]
encoder = "encoder"
head = "lstm"

[train]
folder = "run"
steps = 2
validate_every = 2
tokens_per_batch = 256
warmup_steps = 1
average_decay = 0.0
"""
# Normalized over a few units, an LSTM is chaotic: the last digits of a sum decide after 50
# sentences.
SIZES = {
    "vocab_size": len(WORDS),
    "hidden_size": 32,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 12,
    "max_position_embeddings": 32,
}


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with a tiny encoder, a corpus and a recipe, in which the test runs."""
    monkeypatch.chdir(tmp_path)
    Bert(**SIZES).save_pretrained("encoder")
    pathlib.Path("encoder/vocab.txt").write_text("\n".join(WORDS) + "\n")
    random = np.random.default_rng(0)
    with open("corpus.jsonl", "w") as file:
        for _ in range(12):
            text = [" ".join(random.choice(WORDS[6:], 4)) + "." for _ in range(4)]
            file.write(json.dumps({"text": " ".join(text), "summary": text[1]}) + "\n")
    pathlib.Path("recipe.toml").write_text(RECIPE)
    return tmp_path


@pytest.mark.parametrize(
    "changes",
    [
        ["model.head=classifier", "model.pretrained=false"],
        ["model.head=lstm"],
        ["model.head=lstm", "model.legacy=true"],
    ],
)
@pytest.mark.slow  # a whole run; .ci/run runs it
@pytest.mark.usefixtures("opened_once")
def test_from_a_recipe_to_a_summary(place, changes):
    best = tfsum.train("recipe.toml", changes)
    exported = tfsum.export_model(best, place / "served", storage="small")
    text = json.loads(pathlib.Path("corpus.jsonl").read_text().splitlines()[0])["text"]
    (answer,) = tfsum.load(exported)([text], sentences=2)
    assert len(answer.sentences) == 2 and all(sentence in text for sentence in answer.sentences)
    assert json.loads(tfsum.evaluate(exported, "corpus.jsonl").to_json())["documents"] == 12


@pytest.mark.slow
def test_a_random_encoder_needs_no_weights(place, first_model):
    """The original's `baseline`: a BERT of given sizes that was never trained."""
    pathlib.Path("encoder/model.safetensors").unlink()
    model = first_model("recipe.toml", ["model.pretrained=false", "model.head=classifier"])
    words = np.asarray(model.bert.word_embeddings.embeddings)
    assert model.bert.config["intermediate_size"] == 12 and 0.01 < words.std() < 0.03


@pytest.mark.slow
@pytest.mark.parametrize("head", ["lstm", "transformer"])
def test_it_starts_from_a_converted_checkpoint(place, first_model, head):
    layers = {"head_layers": 1, "head_num_heads": 2, "head_feed_forward_width": 12}
    model = BertSumExt(SIZES, head, **(layers if head == "transformer" else {}))
    model.build()
    write_bertsum(model, "model_step_1.pt", "bertsum")
    tfsum.convert(
        "model_step_1.pt",
        "converted",
        "tfsum",
        vocabulary="encoder",
        bert={"num_attention_heads": 2},
    )
    changes = ["model.encoder=", "model.start=converted", f"model.head={head}"]
    if head == "transformer":
        with pytest.raises(
            RecipeError, match="another shape.* head_layers = 1, head_num_heads = 2, .*width = 12"
        ):
            tfsum.train("recipe.toml", changes)
        changes += [f"model.{name}={value}" for name, value in layers.items()]
    started = first_model("recipe.toml", changes)
    for name, value in started.tensors().items():
        np.testing.assert_array_equal(value, model.tensors()[name], err_msg=name)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (["model.encoder="], "give either encoder or start"),
        (["model.start=encoder"], "give either encoder or start"),
        (
            ["model.encoder=", "model.start=encoder"],
            "encoder is no BertSumExt; name a BERT as encoder",
        ),
        (
            ["model.encoder=", "model.start=encoder", "model.pretrained=false"],
            "pretrained is false and start is given",
        ),
    ],
)
def test_what_a_recipe_may_not_say(place, changes, message):
    with pytest.raises(RecipeError, match=message):
        tfsum.train("recipe.toml", changes)
