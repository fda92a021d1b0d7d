"""Attention as heat maps, the right weights under the right tokens, and as lines: who is joined to
whom, and how strongly."""

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="pip install '.[plots]'")

from tfsum.errors import Error
from tfsum.visualization import plot_attention, plot_attention_lines


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


def test_lines_join_the_tokens_as_strongly_as_they_look(attention):
    figure = plot_attention_lines(attention, 1, [0, 4])
    (ax,) = figure.axes
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["head 0", "head 4"]
    for head, lines in zip((0, 4), ax.collections):
        for segment, color, width in zip(
            lines.get_segments(), lines.get_colors(), lines.get_linewidths()
        ):
            (left, query), (right, key) = segment
            assert (left, right) == (0, 1)
            weight = attention.weights[1, head, int(query), int(key)]
            assert color[3] == pytest.approx(weight, rel=1e-6) and width == pytest.approx(
                2 * weight, rel=1e-6
            )
        assert len(lines.get_segments()) == 12
    places = {(text.get_text(), text.get_position()[1]) for text in ax.texts}
    assert {("a", 0), (r"\$b\$", 1), ("w", 0), ("z", 3)} <= places


def test_a_head_that_is_not_there(attention):
    with pytest.raises(Error, match="head is 5; expected a whole number from 0 to 4"):
        plot_attention_lines(attention, 1, [0, 5])


def test_an_array_of_weights_is_a_figure_too(attention):
    weights = attention.weights[0]
    for given in (weights, weights[None], weights.tolist()):
        (image,) = plot_attention(given, head=3).axes[0].get_images()
        np.testing.assert_array_equal(image.get_array(), weights[3])
    (image,) = plot_attention(weights[3]).axes[0].get_images()
    np.testing.assert_array_equal(image.get_array(), weights[3])
    labels = plot_attention_lines(weights[3]).axes[0].texts
    assert {"0", "1", "2"} <= {label.get_text() for label in labels}
    with pytest.raises(Error, match=r"shape \(4,\); expected weights \(queries, keys\), \(heads"):
        plot_attention(weights[0, 0])
