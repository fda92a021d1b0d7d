"""The model card: what is told of data and scores."""

import json

import pytest

from tfsum.export import model_card
from tfsum.inference.saved_model import shipped_model
from tfsum.tasks.bert_sum_ext.export import card

SCORES = {
    "step": 1200,
    "accuracy": {"value": 81.254, "low": 80.0, "high": 82.0},
    "texts": 200,
    "labels": {"bad": {"f1": 80.0, "texts": 3}},
}


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        (
            {
                "validation": {"step": 1800, "rouge1": 35.263, "rouge2": 12.0},
                "lead": {"rouge1": 31.738},
                "recipe": {
                    "data": {"train": "/home/me/news/train.jsonl", "validation": "my.jsonl"}
                },
            },
            [
                "- train: news/train.jsonl\n- validation: my.jsonl\n",
                (
                    "weights of step 1800 were chosen: rouge1 35.26, rouge2 12.00; the first"
                    " sentences (lead): rouge1 31.74.\n"
                ),
            ],
        ),
        (
            {
                "validation": SCORES,
                "recipe": {
                    "data": {"train": "a/b.tsv", "validation": None, "validation_share": 0.1}
                },
            },
            [
                "- train: a/b.tsv\n- validation: a share of 0.1 of it, held out\n",
                "step 1200 were chosen: accuracy 81.25.\n",
            ],
        ),
        (
            {
                "validation": {"step": 9, "bleu": 40.5},
                "recipe": {
                    "data": {
                        "train": "a.en",
                        "train_target": "a.de",
                        "validation": "b.tsv",
                        "validation_target": None,
                    }
                },
            },
            ["- train: a.en, a.de\n- validation: b.tsv\n", "bleu 40.50.\n"],
        ),
        (
            {
                "data": "mine",
                "scores": "good",
                "validation": SCORES,
                "recipe": {"data": {"train": "a.tsv"}},
            },
            ["## Training data\n\nmine\n", "## Scores\n\ngood\n"],
        ),
        (
            {"validation": "none", "recipe": 3},
            ["## Training data\n\nNot stated in the model folder.\n"],
        ),
    ],
)
def test_the_model_card_tells_what_the_training_run_wrote(settings, says):
    description = json.loads((shipped_model() / "assets.extra" / "tfsum.json").read_text())
    bare = {
        name: value
        for name, value in description.items()
        if name not in ("validation", "lead", "recipe")
    }
    written = model_card.text("news", {**bare, **settings}, card)
    assert all(part in written for part in says), written
