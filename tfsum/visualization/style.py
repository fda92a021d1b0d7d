"""The style of all figures: colours for colour-blind readers, and fonts that have the letters.

Figures are objects of their own: no pyplot, no window, no settings changed. `figure.savefig("x.png")` writes one; a
notebook shows it after `%matplotlib inline`.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Iterable
from typing import TYPE_CHECKING

from tfsum.errors import Error

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

# Okabe and Ito 2008, "Color Universal Design", without the yellow, invisible on white paper.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
LINES = ("-", "--", "-.", ":")  # lines differ in more than their colour
HIDDEN_COLOR, VISIBLE_COLOR = "#F0F0F0", COLORS[0]
AMOUNT_MAP = "cividis"  # from 0 up, darker is less; readable with colour blindness
SIGNED_MAP = "PuOr"  # from -1 to 1: brown, white, violet

FONT = "DejaVu Sans"  # comes with matplotlib; European scripts, no Korean, no Chinese, no Japanese
_LIKELY = ("CJK", "Nanum", "Malgun", "Gothic", "PingFang", "YaHei", "Noto Sans", "Sans")
_NO_TEXT = (
    "Last Resort",
    "STIXNonUnicode",
    "STIXSize",
    "cm",
)  # boxes, and fonts whose code points mean other things


def new_figure(
    width: float, height: float, rows: int = 1, columns: int = 1
) -> tuple[Figure, list[Axes]]:
    """Makes a figure of the common style.

    Args:
        width: inches.
        height: inches.
        rows: of axes.
        columns: of axes.

    Returns:
        The `matplotlib.figure.Figure` and the list of its axes, row by row.

    Raises:
        Error: matplotlib is not installed.

    Example:
        >>> figure, axes = new_figure(4, 3, columns=2)
        >>> len(axes)
        2
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise Error(
            f"a figure needs matplotlib ({error}); run pip install 'tfsum[plots]'"
        ) from error
    figure = Figure(figsize=(width, height), dpi=120, layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False).ravel().tolist()
    for ax in axes:
        ax.spines[["top", "right"]].set_visible(False)
        ax.tick_params(labelsize=8)
        ax.set_axisbelow(True)
    return figure, axes


def show_tokens(axis: Axis, tokens: list[str], rotation: float = 0) -> None:
    """Writes a token at each of the places 0, 1, 2, ... of a matplotlib axis.

    Args:
        axis: a matplotlib axis.
        tokens: the labels.
        rotation: degrees.

    Example:
        >>> figure, (ax,) = new_figure(4, 3)
        >>> show_tokens(ax.xaxis, ["the", "cat"], rotation=90)
    """
    size = 8 if len(tokens) <= 40 else 5
    axis.set_ticks(
        range(len(tokens)),
        plain(tokens),
        fontfamily=fonts_for(tokens),
        fontsize=size,
        rotation=rotation,
    )


def plain(texts: Iterable[str]) -> list[str]:
    """Escapes texts for matplotlib, where a pair of dollars would begin a formula.

    Args:
        texts: the texts.

    Example:
        >>> len(plain(["$5"])[0])
        3
    """
    return [text.replace("$", r"\$") for text in texts]


def fonts_for(texts: Iterable[str]) -> list[str]:
    """The fonts that texts need, in matplotlib's search order.

    Args:
        texts: what will be written.

    Returns:
        Families for `fontfamily`. A `UserWarning` reports characters that no installed font can draw, with a fix.

    Example:
        >>> fonts_for(["the", "cat"])
        ['DejaVu Sans']
    """
    letters = {
        letter for text in texts for letter in text if letter.isprintable() and not letter.isspace()
    }
    families, missing = _cover(frozenset(letters - _letters_of(FONT)))
    if missing:
        warnings.warn(
            f"no font here has {len(missing)} of the letters, such as {', '.join(sorted(missing)[:3])}: the figure "
            "shows boxes in their place. Install one (Korean, Chinese, Japanese: apt install fonts-noto-cjk), "
            "remove matplotlib's font cache (matplotlib.get_cachedir()) and start Python again",
            stacklevel=3,
        )
    return [FONT, *families]


@functools.lru_cache(maxsize=256)
def _cover(letters: frozenset[str]) -> tuple[tuple[str, ...], frozenset[str]]:
    """Families that have the letters, as few as a look from likely to unlikely finds; the letters left over."""
    families = []
    for family in _families() if letters else ():
        if not letters:
            break
        if letters & _letters_of(family):
            families.append(family)
            letters -= _letters_of(family)
    return tuple(families), letters


def _families() -> list[str]:
    """The families installed, those first that are likely to have what the first font lacks."""
    from matplotlib.font_manager import fontManager

    def unlikely(name: str) -> tuple[int, str]:
        return next((i for i, word in enumerate(_LIKELY) if word in name), len(_LIKELY)), name

    return sorted(
        {f.name for f in fontManager.ttflist if not f.name.startswith(_NO_TEXT)} - {FONT},
        key=unlikely,
    )


@functools.cache
def _letters_of(family: str) -> frozenset[str]:
    from matplotlib.font_manager import findfont, get_font

    return frozenset(map(chr, get_font(findfont(family)).get_charmap()))
