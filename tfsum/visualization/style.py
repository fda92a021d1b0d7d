"""The style of all figures: colours for colour-blind readers, and fonts for all scripts.

Figures are made without pyplot: no window opens, and no setting of matplotlib changes.
`figure.savefig("x.png")` writes one; a notebook shows it after `%matplotlib inline`.
"""

import functools
import warnings
from collections.abc import Iterable

from matplotlib import font_manager
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure

# Okabe and Ito 2008, "Color Universal Design", without the yellow, invisible on white paper.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
LINES = ("-", "--", "-.", ":")  # for readers who cannot tell the colours apart
HIDDEN_COLOR, VISIBLE_COLOR = "#F0F0F0", COLORS[0]
AMOUNT_MAP = "cividis"  # from 0 up, darker is less; readable with colour blindness
SIGNED_MAP = "PuOr"  # from -1 to 1: brown, white, violet

FONT = "DejaVu Sans"  # comes with matplotlib; European scripts, no Korean, no Chinese, no Japanese
_LIKELY = ("CJK", "Nanum", "Malgun", "Gothic", "PingFang", "YaHei", "Noto Sans", "Sans")
# Fonts with boxes in the place of letters, and fonts of symbols.
_NO_TEXT = ("Last Resort", "STIXNonUnicode", "STIXSize", "cm")


def new_figure(
    width: float, height: float, rows: int = 1, columns: int = 1
) -> tuple[Figure, list[Axes]]:
    """Makes a figure of the common style.

    Args:
        width: Width in inches.
        height: Height in inches.
        rows: Number of rows of axes.
        columns: Number of columns of axes.

    Returns:
        The figure and the list of its axes, row by row.

    Example:
        >>> figure, axes = new_figure(4, 3, columns=2)
        >>> len(axes)
        2
    """
    figure = Figure(figsize=(width, height), dpi=120, layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False).ravel().tolist()
    for ax in axes:
        ax.spines[["top", "right"]].set_visible(False)
        ax.tick_params(labelsize=8)
        ax.set_axisbelow(True)
    return figure, axes


def show_tokens(axis: Axis, tokens: list[str], rotation: float = 0) -> None:
    """Labels the positions 0, 1, 2, ... of an axis with tokens.

    Args:
        axis: Axis of matplotlib.
        tokens: Labels.
        rotation: Angle in degrees.

    Example:
        >>> figure, (ax,) = new_figure(4, 3)
        >>> show_tokens(ax.xaxis, ["the", "cat"], rotation=90)
    """
    axis.set_ticks(
        range(len(tokens)),
        plain(tokens),
        fontfamily=fonts_for(tokens),
        fontsize=8 if len(tokens) <= 40 else 5,
        rotation=rotation,
    )


def plain(texts: Iterable[str]) -> list[str]:
    """Escapes texts for matplotlib, which reads text between two dollars as a formula.

    Args:
        texts: Plain texts.

    Returns:
        The texts with escaped dollars.

    Example:
        >>> len(plain(["$5"])[0])
        3
    """
    return [text.replace("$", r"\$") for text in texts]


def fonts_for(texts: Iterable[str]) -> list[str]:
    """Selects fonts that have the letters of texts.

    A `UserWarning` reports letters that no installed font has, and how to install one.

    Args:
        texts: Texts to draw.

    Returns:
        Families for `fontfamily`, in matplotlib's search order.

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
            f"no font here has {len(missing)} of the letters, such as"
            f" {', '.join(sorted(missing)[:3])}: the figure shows boxes in their place. Install one"
            " (Korean, Chinese, Japanese: apt install fonts-noto-cjk), remove matplotlib's font"
            " cache (matplotlib.get_cachedir()) and start Python again",
            stacklevel=3,
        )
    return [FONT, *families]


@functools.lru_cache(maxsize=256)
def _cover(letters: frozenset[str]) -> tuple[tuple[str, ...], frozenset[str]]:
    """Families that have the letters, likely ones first, and the letters that none has."""
    families = []
    for family in _families() if letters else ():
        if letters and letters & _letters_of(family):
            families.append(family)
            letters -= _letters_of(family)
    return tuple(families), letters


def _families() -> list[str]:
    """The installed families, those first that are likely to have other scripts than `FONT`."""
    names = {font.name for font in font_manager.fontManager.ttflist} - {FONT}
    with_text = sorted(name for name in names if not name.startswith(_NO_TEXT))
    return sorted(
        with_text,
        key=lambda name: next((i for i, word in enumerate(_LIKELY) if word in name), len(_LIKELY)),
    )


@functools.cache
def _letters_of(family: str) -> frozenset[str]:
    return frozenset(map(chr, font_manager.get_font(font_manager.findfont(family)).get_charmap()))
