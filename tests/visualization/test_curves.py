"""The plot of two runs' scores: their points, and a run that has no such score."""

import pytest

pytest.importorskip("matplotlib", reason="pip install 'tfsum[plots]'")

from tfsum.visualization import plot_curves


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
