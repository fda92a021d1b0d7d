"""Golden answers: what was measured may differ a little, what was chosen may not, whatever a task
calls them."""

import pytest

from tfsum.errors import ExportError
from tfsum.export.golden import SCORE_TOLERANCE, check_weights, record, replay

REQUEST = {"source": "It rained.", "width": 3}  # no "text" among the names
ANSWER = {
    "heat": 0.5,
    "heats": [0.25, 0.75],
    "words": ["rain"],
    "places": [3, 4],
    "count": 2,
    "ended": True,
    "none": [],
}


def replayed(**changes):
    recorded = record(None, [REQUEST], lambda model, requests: [ANSWER])
    return replay(None, recorded, lambda model, requests: [ANSWER | changes], "model")


def test_a_little_of_another_float_is_measured():
    assert replayed() == 0.0
    assert replayed(heat=0.5 + SCORE_TOLERANCE / 2) == pytest.approx(SCORE_TOLERANCE / 2)
    assert replayed(heats=[0.25, 0.75 - SCORE_TOLERANCE / 4]) == pytest.approx(SCORE_TOLERANCE / 4)


@pytest.mark.parametrize(
    "changes",
    [
        {"heat": 0.6},
        {"heat": float("nan")},
        {"heats": [0.25]},
        {"heats": [0.25, float("nan")]},
        {"words": ["snow"]},
        {"places": [3, 5]},
        {"count": 3},
        {"ended": False},
        {"none": [0.0]},
    ],
)
def test_what_differs_is_told(changes):
    ((name, _),) = changes.items()
    with pytest.raises(
        ExportError, match=rf"model: request 0 \('It rained.'\): {name} is .* day of export"
    ):
        replayed(**changes)


def test_what_an_answer_leaves_out_is_compared_unless_it_need_not_be_whole():
    recorded = record(None, [REQUEST], lambda model, requests: [ANSWER])
    part = {"heat": 0.5, "heats": [0.25, 0.75]}
    assert replay(None, recorded, lambda model, requests: [part], "model", whole=False) == 0.0
    with pytest.raises(KeyError):
        replay(None, recorded, lambda model, requests: [part], "model")
    wrong = part | {"heats": [0.75]}
    with pytest.raises(ExportError, match="heats is"):
        replay(None, recorded, lambda model, requests: [wrong], "model", whole=False)


def test_large_scores_are_compared_relative_to_their_size():
    recorded = record(None, [REQUEST], lambda model, requests: [{"sum": -1500.0}])
    assert replay(
        None, recorded, lambda model, requests: [{"sum": -1500.3}], "model"
    ) == pytest.approx(2e-4)
    with pytest.raises(ExportError, match="sum is -1505.0"):
        replay(None, recorded, lambda model, requests: [{"sum": -1505.0}], "model")


def test_what_a_search_finds_otherwise_alone_is_not_recorded():
    """Hypotheses that are equal but for rounding: the batch's and the single request's go on
    differently."""

    def ask(model, requests):
        alone = len(requests) == 1
        return [
            {
                "text": "a tie" if alone else request["source"],
                "sum": -float(len(requests)),
                "read": 1.0,
            }
            for request in requests
        ]

    same = record(None, [REQUEST], ask, ("text", "sum"))
    assert same["answers"] == [{"text": "a tie", "sum": -1.0, "read": 1.0}]
    with pytest.warns(
        UserWarning, match="golden answer 0: the search ends otherwise in a batch than alone"
    ):
        recorded = record(None, [REQUEST, {"source": "a tie"}], ask, ("text", "sum"))
    assert recorded["answers"] == [{"read": 1.0}, {"text": "a tie", "sum": -2.0, "read": 1.0}]
    assert (
        replay(
            None,
            {**recorded, "answers": recorded["answers"][:1], "requests": [REQUEST]},
            ask,
            "model",
        )
        == 0.0
    )


@pytest.mark.parametrize("index", [None, b"", b"damaged"])
def test_weights_that_cannot_be_read_are_one_error(tmp_path, index):
    (tmp_path / "variables").mkdir()
    if index is not None:
        (tmp_path / "variables" / "variables.index").write_bytes(index)
    with pytest.raises(ExportError, match="variables: cannot be read .*fetch or export the model"):
        check_weights(tmp_path, {})
