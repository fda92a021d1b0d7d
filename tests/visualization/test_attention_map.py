"""Attention as heat maps: the right weights under the right tokens."""

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="pip install 'tfsum[plots]'")

from tfsum.visualization import plot_attention


def test_maps_of_all_heads_and_of_one(attention):
    *maps, bar = plot_attention(attention, 1).axes
    for head, ax in enumerate(maps[:5]):
        (image,) = ax.get_images()
        np.testing.assert_array_equal(image.get_array(), attention.weights[1, head])
        assert (
            image.get_clim() == (0, attention.weights[1].max()) and ax.get_title() == f"head {head}"
        )
    assert not any(ax.axison for ax in maps[5:]) and "attention weight" in bar.get_ylabel()
    figure = plot_attention(attention, 0, 3)
    np.testing.assert_array_equal(
        figure.axes[0].get_images()[0].get_array(), attention.weights[0, 3]
    )
    assert [label.get_text() for label in figure.axes[0].get_xticklabels()] == attention.keys
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == ["a", r"\$b\$", "c"]
    assert figure.get_suptitle() == "cross-attention, layer 0"
