"""Pictures of the masks against literal ones."""

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="pip install 'tfsum[plots]'")

from tfsum.visualization import plot_look_ahead_mask, plot_padding_mask


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
