"""The letters of a picture: names in any script, drawn with the fonts at hand, and never taken for a formula."""

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gamewarden.core.outside import code_point, visible
from gamewarden.core.text import counted
from gamewarden.errors import Remark

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from matplotlib.ft2font import FT2Font

_OWN = "DejaVu Sans"  # comes with matplotlib
# Fonts that hold Chinese, Japanese or Korean, as Debian, Windows and macOS call them; the fullest first.
_FURTHER = (
    "Noto Sans CJK KR", "Noto Sans CJK JP", "Noto Sans CJK SC", "Noto Sans CJK TC", "Source Han Sans",
    "Malgun Gothic", "Microsoft YaHei", "Yu Gothic", "Meiryo",
    "Apple SD Gothic Neo", "PingFang SC", "Hiragino Sans", "Arial Unicode MS",
    "WenQuanYi Micro Hei", "WenQuanYi Zen Hei", "Droid Sans Fallback",
    "NanumGothic", "NanumBarunGothic", "UnDotum", "IPAGothic", "IPAPGothic", "VL Gothic", "TakaoGothic",
    "Noto Sans Thai", "Noto Sans Devanagari", "Unifont",
)  # fmt: skip


def lettering() -> dict[str, object]:
    """Settings of matplotlib: every family at hand, so that a letter one lacks is drawn by another."""
    return {"font.family": list(_families())}


@contextmanager
def spelled_out(figure: "Figure", path: Path) -> Iterator[None]:
    """While it is saved, each text of a picture is one that its fonts can draw: what they lack is written as numbers.

    Letters that no font has are said in a Remark, with what would help.
    """
    lacking: set[str] = set()
    _rewrite(figure, lambda text: _drawable(text, lacking))
    yield
    if lacking:
        some = min(lacking)
        warnings.warn(
            f"{path}: no font here draws {some!r} (U+{ord(some):04X}){_others(lacking)}: such letters are written as "
            "numbers; install a font that has them (Debian: fonts-noto-cjk for Chinese, Japanese and Korean)",
            Remark,
            stacklevel=2,
        )


def _others(lacking: set[str]) -> str:
    return f" nor {counted(len(lacking) - 1, 'other letter')} of it" if len(lacking) > 1 else ""


def _rewrite(figure: "Figure", rule: Callable[[str], str]) -> None:
    """Texts stand in a picture by themselves; the names of ticks are made while it is drawn."""
    from matplotlib.text import Text
    from matplotlib.ticker import LogFormatter

    for text in figure.findobj(Text):
        text.set_text(rule(text.get_text()))
    for axis in (axis for axes in figure.axes for axis in (axes.xaxis, axes.yaxis)):
        formatter: Any = axis.get_major_formatter()
        if not isinstance(formatter, LogFormatter):  # which writes powers as formulas, and no names
            formatter.format_ticks = _ruled(formatter.format_ticks, rule)


def _ruled(format_ticks: Callable[[Any], list[str]], rule: Callable[[str], str]) -> Callable[[Any], list[str]]:
    return lambda values: [rule(text) for text in format_ticks(values)]


def _drawable(text: str, lacking: set[str]) -> str:
    shown = "\n".join(visible(line) for line in text.split("\n"))
    holes = {sign for sign in shown if not (sign.isascii() or has_glyph(sign))}
    lacking |= holes
    signs = {sign: code_point(sign) for sign in holes} | {"$": r"\$"}  # a name is no formula
    return "".join(signs.get(sign, sign) for sign in shown)


@lru_cache(maxsize=4096)
def has_glyph(sign: str) -> bool:
    """Whether a font at hand can draw it."""
    return any(font.get_char_index(ord(sign)) for font in _fonts())


@lru_cache
def _fonts() -> tuple["FT2Font", ...]:
    from matplotlib.font_manager import FontProperties, findfont, get_font

    return tuple(get_font(findfont(FontProperties(family=[name]))) for name in _families())


@lru_cache
def _families() -> tuple[str, ...]:
    from matplotlib.font_manager import findSystemFonts, fontManager

    known = {font.fname for font in fontManager.ttflist}
    for path in findSystemFonts():
        if path not in known:  # installed since matplotlib last looked, which it does once
            with suppress(OSError, RuntimeError):
                fontManager.addfont(path)
    installed = {font.name for font in fontManager.ttflist}
    return (_OWN, *(name for name in _FURTHER if name in installed))
