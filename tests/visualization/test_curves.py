"""The plot of two runs' scores: their points, and a run that has no such score; pictures of
learning rates against the paper's formula."""

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="pip install '.[plots]'")

from tfsum.errors import Error
from tfsum.training.optimizer import WarmUp
from tfsum.visualization import plot_curves, plot_learning_rate


def test_a_line_for_each_run_and_axes_for_each_score():
    figure = plot_curves(
        {
            "one": [
                {"step": 10, "loss": 3.0, "bleu": 20.0},
                {"step": 20, "loss": 2.5, "bleu": 22.0},
            ],
            "two": [{"step": 10, "loss": 2.0}],
            "three": [{"step": 20, "bleu": 9.0}],
        }
    )
    loss, bleu = figure.axes
    assert [ax.get_title() for ax in figure.axes] == ["loss", "bleu"]
    assert [line.get_xydata().tolist() for line in loss.get_lines()] == [
        [[10, 3.0], [20, 2.5]],
        [[10, 2.0]],
    ]
    assert [line.get_ydata().tolist() for line in bleu.get_lines()] == [[20.0, 22.0], [9.0]]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["one", "two", "three"]
    colors = {line.get_label(): line.get_color() for ax in figure.axes for line in ax.get_lines()}
    assert len({*colors.values()}) == 3


def test_runs_without_a_validation():
    figure = plot_curves({"one": [], "two": []})
    assert not figure.axes[0].get_lines()


def test_learning_rates():
    figure = plot_learning_rate({"paper": WarmUp(1e-3, 40), "flat": lambda step: 5e-4}, 200)
    paper, flat = figure.axes[0].get_lines()
    steps = np.arange(200)
    assert paper.get_xdata().tolist() == steps.tolist()
    expected = 1e-3 * np.minimum((steps + 1) / 40, np.sqrt(40 / (steps + 1)))
    np.testing.assert_allclose(paper.get_ydata(), expected, rtol=1e-5)
    assert set(flat.get_ydata()) == {5e-4} and figure.axes[0].get_xlabel() == "optimizer steps done"
    assert [text.get_text() for text in figure.axes[0].get_legend().get_texts()] == [
        "paper",
        "flat",
    ]


def test_a_long_training_is_drawn_from_its_first_step_to_its_last():
    (line,) = plot_learning_rate({"constant": lambda step: 1.0}, 10**6).axes[0].get_lines()
    assert line.get_xdata()[[0, -1]].tolist() == [0, 10**6 - 1] and len(line.get_xdata()) == 1000


@pytest.mark.parametrize(("schedules", "steps"), [({}, 10), ({"x": float}, 0)])
def test_nothing_to_draw(schedules, steps):
    with pytest.raises(Error, match="expected one or more of both"):
        plot_learning_rate(schedules, steps)
