"""Pictures of the masks against literal ones, and of the positions, their data against the
formula."""

import math

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="pip install '.[plots]'")

from tfsum.errors import Error
from tfsum.visualization import (
    plot_look_ahead_mask,
    plot_padding_mask,
    plot_positional_encoding,
    plot_positional_encoding_heat_map,
)


def test_masks():
    figure = plot_look_ahead_mask(4)
    (image,) = figure.axes[0].get_images()
    assert image.get_array().tolist() == np.tri(4, dtype=bool).tolist()
    assert [text.get_text() for text in figure.legends[0].get_texts()] == [
        "True: visible",
        "False: hidden",
    ]
    visible, hidden = (patch.get_facecolor() for patch in figure.legends[0].get_patches())
    assert image.to_rgba(np.array([1, 0])).tolist() == [list(visible), list(hidden)]
    (image,) = plot_padding_mask([[7, 0, 0], [1, 2, 3]]).axes[0].get_images()
    assert image.get_array().tolist() == [[True, False, False], [True, True, True]]


def sinusoid(position, column, width):
    angle = position / 10000 ** (2 * (column // 2) / width)
    return math.cos(angle) if column % 2 else math.sin(angle)


def test_curves_of_positions_are_the_plot_of_the_annotated_transformer():
    figure = plot_positional_encoding()
    (ax,) = figure.axes
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert [line.get_label() for line in ax.get_lines()] == names
    assert names == ["column 4 (sine)", "column 5 (cosine)", "column 6 (sine)", "column 7 (cosine)"]
    for column, line in zip((4, 5, 6, 7), ax.get_lines()):
        assert line.get_xdata().tolist() == list(range(100))
        np.testing.assert_allclose(
            line.get_ydata(), [sinusoid(p, column, 20) for p in range(100)], atol=1e-5
        )
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
