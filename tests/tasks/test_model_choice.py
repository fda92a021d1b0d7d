"""Which shipped model a text is for."""

import gzip
import itertools
import json

import pytest

import tfsum
from tfsum.tasks.model_choice import (
    MULTILINGUAL,
    NEWS,
    SUMMARIZERS,
    choose_model,
    divide_texts,
    named_model,
)

ENGLISH = "The bridge was closed on Monday, the mayor of the town said. It will be open in a week."
KOREAN = "정부는 목요일 새 법안을 발표했다. 야당은 비판했다."
MANUAL = "Turn the key to the left. The light of the pump is on as long as there is water in it."


@pytest.mark.parametrize(
    ("text", "model"), [(ENGLISH, NEWS), (KOREAN, MULTILINGUAL), (MANUAL, MULTILINGUAL)]
)
def test_a_text_chooses_its_model(text, model):
    assert choose_model([text], SUMMARIZERS) == model
    assert choose_model([text], ["another", *SUMMARIZERS]) == model


@pytest.mark.parametrize("models", [[NEWS], [MULTILINGUAL], ["mine"], ["mine", NEWS]])
def test_one_model_has_all_texts(models):
    assert choose_model([KOREAN], models) == choose_model([ENGLISH], models) == models[-1]


def test_texts_together_have_the_model_of_most():
    parts = divide_texts([ENGLISH, KOREAN, ENGLISH], SUMMARIZERS, True)
    assert parts == {NEWS: [0, 1, 2]}
    parts = divide_texts([ENGLISH, KOREAN, ENGLISH], SUMMARIZERS, False)
    assert parts == {NEWS: [0, 2], MULTILINGUAL: [1]}


@pytest.mark.parametrize("name", [NEWS, f"saved_models/{NEWS}/3", f"/opt/{NEWS}"])
def test_a_research_model_is_not_for_production(name):
    assert named_model(name) == name
    with pytest.raises(tfsum.Error, match="licences allow research alone; leave out the model"):
        named_model(name, "production")


def test_production_without_a_name():
    assert named_model(None, "production") == named_model("auto", "production") == MULTILINGUAL
    assert named_model("served/mine", "production") == "served/mine"
    with pytest.raises(tfsum.Error, match="model_licence='free': expected 'any' or 'production'"):
        named_model(None, "free")


@pytest.mark.reference
@pytest.mark.parametrize(
    ("file", "least", "most"),
    [
        ("cnndm/validation", 0.8, 1.0),
        ("news/validation", 0.8, 1.0),
        ("free_docs/validation", 0.0, 0.05),
        ("openstax/validation", 0.0, 0.1),
        ("openstax/train_es", 0.0, 0.0),
        ("orangesum_fr/valid", 0.0, 0.0),
        ("ko_press/all", 0.0, 0.0),
    ],
)
def test_the_share_of_news_in_corpora(shared, file, least, most):
    with gzip.open(shared / f"data/{file}.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = [json.loads(line)["text"] for line in itertools.islice(lines, 200)]
    texts = [row if isinstance(row, str) else " ".join(row) for row in rows]
    assert least <= sum(choose_model([text], SUMMARIZERS) == NEWS for text in texts) / 200 <= most
