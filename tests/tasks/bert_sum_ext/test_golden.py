"""What a server asks to verify an export is what `tfsum verify` asks."""

import pytest

pytest.importorskip("tensorflow")

from tfsum.inference.exported_model import open_model
from tfsum.inference.saved_model import read_description
from tfsum.tasks.bert_sum_ext import golden


def test_the_signatures_that_a_server_calls_give_the_same_answers(transformer):
    description = read_description(transformer.folder)
    model = open_model(transformer.folder, description)
    requests = golden.requests(description)
    answers = golden.ask(model, requests)
    for served, expected in zip(golden.ask_served(model, requests), answers, strict=True):
        if len(expected["all_scores"]) != 1:
            del expected["embedding"]  # of a text as a whole
        assert served == {name: pytest.approx(value, abs=1e-6) for name, value in expected.items()}
