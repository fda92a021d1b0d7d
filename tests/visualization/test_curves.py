"""Pictures of formulas: positions, masks and learning rates, their data against the formulas themselves."""

import math

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="pip install 'tfsum[plots]'")

from tfsum.errors import Error
from tfsum.training.optimizer import WarmUp
from tfsum.visualization import (
    plot_learning_rate,
    plot_look_ahead_mask,
    plot_padding_mask,
    plot_positional_encoding,
    plot_positional_encoding_heat_map,
)


def sinusoid(position, column, width):
    angle = position / 10000 ** (2 * (column // 2) / width)
    return math.cos(angle) if column % 2 else math.sin(angle)


def labels(figure):
    return [text.get_text() for text in figure.legends[0].get_texts()]


def test_curves_of_positions_are_the_plot_of_the_annotated_transformer():
    figure = plot_positional_encoding()
    (ax,) = figure.axes
    assert [line.get_label() for line in ax.get_lines()] == labels(figure)
    assert labels(figure) == ["column 4 (sine)", "column 5 (cosine)", "column 6 (sine)", "column 7 (cosine)"]
    for column, line in zip((4, 5, 6, 7), ax.get_lines()):
        assert line.get_xdata().tolist() == list(range(100))
        np.testing.assert_allclose(line.get_ydata(), [sinusoid(p, column, 20) for p in range(100)], atol=1e-5)
    assert ax.get_xlabel() == "position (tokens)" and ax.get_ylabel() == "value"
    assert len({(line.get_color(), line.get_linestyle()) for line in ax.get_lines()}) == 4


def test_a_column_that_is_not_there():
    with pytest.raises(Error, match="column 8; with d_model=8 they go from 0 to 7"):
        plot_positional_encoding(10, 8, [3, 8])


def test_heat_map_of_positions():
    ax, bar = plot_positional_encoding_heat_map(30, 12).axes
    (image,) = ax.get_images()
    expected = [[sinusoid(p, i, 12) for i in range(12)] for p in range(30)]
    np.testing.assert_allclose(image.get_array(), expected, atol=1e-5)
    assert image.get_clim() == (-1, 1) and bar.get_ylabel() == "value"


def test_masks():
    figure = plot_look_ahead_mask(4)
    (image,) = figure.axes[0].get_images()
    assert image.get_array().tolist() == np.tri(4, dtype=bool).tolist()
    assert labels(figure) == ["True: visible", "False: hidden"]
    visible, hidden = (patch.get_facecolor() for patch in figure.legends[0].get_patches())
    assert image.to_rgba(np.array([1, 0])).tolist() == [list(visible), list(hidden)]
    (image,) = plot_padding_mask([[7, 0, 0], [1, 2, 3]]).axes[0].get_images()
    assert image.get_array().tolist() == [[True, False, False], [True, True, True]]


def test_learning_rates():
    figure = plot_learning_rate({"paper": WarmUp(1e-3, 40), "flat": lambda step: 5e-4}, 200)
    paper, flat = figure.axes[0].get_lines()
    steps = np.arange(200)
    assert paper.get_xdata().tolist() == steps.tolist()
    expected = 1e-3 * np.minimum((steps + 1) / 40, np.sqrt(40 / (steps + 1)))
    np.testing.assert_allclose(paper.get_ydata(), expected, rtol=1e-5)
    assert set(flat.get_ydata()) == {5e-4} and figure.axes[0].get_xlabel() == "optimizer steps done"
    assert [text.get_text() for text in figure.axes[0].get_legend().get_texts()] == ["paper", "flat"]


def test_a_long_training_is_drawn_from_its_first_step_to_its_last():
    (line,) = plot_learning_rate({"constant": lambda step: 1.0}, 10**6).axes[0].get_lines()
    assert line.get_xdata()[[0, -1]].tolist() == [0, 10**6 - 1] and len(line.get_xdata()) == 1000


@pytest.mark.parametrize(("schedules", "steps"), [({}, 10), ({"x": float}, 0)])
def test_nothing_to_draw(schedules, steps):
    with pytest.raises(Error, match="expected one or more of both"):
        plot_learning_rate(schedules, steps)
