"""Attention as lines: who is joined to whom, and how strongly."""

import pytest

pytest.importorskip("matplotlib", reason="pip install 'tfsum[plots]'")

from tfsum.errors import Error
from tfsum.visualization import plot_attention_lines


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
    with pytest.raises(Error, match="head 5; there are 5, counted from 0"):
        plot_attention_lines(attention, 1, [0, 5])
