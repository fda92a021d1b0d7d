"""The common look: fonts for every script or a word about it, and no global state."""

import subprocess
import sys
import warnings

import pytest

pytest.importorskip("matplotlib", reason="pip install '.[plots]'")

import matplotlib

from tfsum import visualization
from tfsum.errors import Error
from tfsum.visualization import style


@pytest.fixture(autouse=True)
def fresh_fonts():
    style._cover.cache_clear()
    yield
    style._cover.cache_clear()


def test_letters_of_europe_need_one_font():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert style.fonts_for(["été, Straße", "ёлка", "[CLS] ▁the"]) == ["DejaVu Sans"]
        assert style.fonts_for([]) == ["DejaVu Sans"]


def test_a_letter_of_another_font_here_is_drawn_by_that_font():
    first = style._letters_of("DejaVu Sans")
    letter = next(
        c
        for c in sorted(style._letters_of("STIXGeneral") - first)
        if c.isprintable() and not c.isspace()
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # matplotlib warns of every letter that it cannot draw
        fonts = style.fonts_for([letter])
        figure, (ax,) = style.new_figure(2, 2)
        ax.text(0.5, 0.5, letter, fontfamily=fonts)
        figure.canvas.draw()
    assert fonts[0] == "DejaVu Sans" and len(fonts) == 2


def test_korean_and_chinese_get_a_font_that_has_them(monkeypatch):
    scripts = {"DejaVu Sans": "abc", "Nanum": "안녕", "Some CJK": "漢字", "Other CJK": "漢"}
    monkeypatch.setattr(style, "_families", lambda: ["Other CJK", "Some CJK", "Nanum"])
    monkeypatch.setattr(style, "_letters_of", lambda family: frozenset(scripts[family]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert style.fonts_for(["안녕 abc"]) == ["DejaVu Sans", "Nanum"]
        assert set(style.fonts_for(["漢字"])) == {"DejaVu Sans", "Other CJK", "Some CJK"}


def test_letters_without_a_font_are_told_with_the_cure(monkeypatch):
    monkeypatch.setattr(style, "_families", list)
    with pytest.warns(
        UserWarning, match="no font here has 2 of the letters, such as 녕, 안: .*fonts-noto-cjk"
    ):
        assert style.fonts_for(["안녕", "abc 안"]) == ["DejaVu Sans"]


def test_likely_fonts_come_first_and_boxes_never():
    families = style._families()
    assert "DejaVu Sans" not in families and not any(
        name.startswith("Last Resort") for name in families
    )
    ranks = [
        next((i for i, word in enumerate(style._LIKELY) if word in name), 99) for name in families
    ]
    assert ranks == sorted(ranks)


def test_dollars_are_no_formula():
    figure, (ax,) = style.new_figure(2, 2)
    style.show_tokens(ax.xaxis, ["$x$", "a_b"])
    figure.canvas.draw()
    first, second = ax.get_xticklabels()
    assert first.get_text() == r"\$x\$" and second.get_text() == "a_b"
    assert first._preprocess_math(first.get_text()) == ("$x$", False)


def test_without_matplotlib_the_error_names_the_extra(monkeypatch):
    monkeypatch.delattr(visualization, "plot_curves", raising=False)
    monkeypatch.delitem(sys.modules, "tfsum.visualization.curves", raising=False)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(Error, match=r"pip install 'tfsum\[plots\]'"):
        visualization.plot_curves  # noqa: B018


def test_figures_change_nothing_global():
    code = (
        "import sys, matplotlib; before = dict(matplotlib.rcParams)\n"
        "from tfsum.visualization.style import new_figure\n"
        "new_figure(2, 2, 2, 2)[0].canvas.draw()\n"
        "from matplotlib._pylab_helpers import Gcf\n"
        "print(len(Gcf.figs), 'tensorflow' in sys.modules, before == dict(matplotlib.rcParams))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["0", "False", "True"]


def test_colours_differ_for_every_sight():
    rgb = [matplotlib.colors.to_rgb(color) for color in style.COLORS]
    for matrix in (PROTANOPIA, DEUTERANOPIA):
        seen = [[sum(a * b for a, b in zip(row, color)) for row in matrix] for color in rgb]
        gaps = [
            sum((a - b) ** 2 for a, b in zip(x, y)) ** 0.5
            for i, x in enumerate(seen)
            for y in seen[:i]
        ]
        assert min(gaps) > 0.1


# Machado, Oliveira and Fernandes 2009, table 1, severity 1.0.
PROTANOPIA = (
    (0.152286, 1.052583, -0.204868),
    (0.114503, 0.786281, 0.099216),
    (-0.003882, -0.048116, 1.051998),
)
DEUTERANOPIA = (
    (0.367322, 0.860646, -0.227968),
    (0.280085, 0.672501, 0.047413),
    (-0.011820, 0.042940, 0.968881),
)


def test_every_name_of_the_room_can_be_had_twice():
    import tfsum.visualization

    for name in tfsum.visualization.__all__ * 2:  # a module of the same name would take its place
        assert callable(getattr(tfsum.visualization, name)), name
    with pytest.raises(AttributeError, match="no attribute 'plot_nothing'; it offers Attention"):
        tfsum.visualization.plot_nothing  # noqa: B018
