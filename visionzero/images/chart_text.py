"""Text on charts: fonts that know the letters, lengths that fit, numbers as people write them."""

from __future__ import annotations

import math
import os
from functools import lru_cache

import matplotlib
from matplotlib import font_manager
from matplotlib.font_manager import FontProperties

_UNKNOWN = "\u25a1"
_WIDE_FAMILIES = (
    "Noto Sans", "Noto Naskh", "Noto Emoji", "Source Han", "WenQuanYi", "Droid Sans Fallback", "Arial Unicode", "Microsoft",
    "PingFang", "Hiragino", "Apple SD", "Malgun", "Nirmala", "Segoe UI", "Unifont", "FreeSans", "IPA", "Takao", "Nanum",
)  # fmt: skip


def shown(text: str) -> tuple[str, FontProperties]:
    """The text as it can be drawn on one line, and the font for it (size not set).

    Matplotlib's own DejaVu Sans draws everything that it has letters for. Other scripts are drawn with a font of this
    machine that has them; letters that no font has become a box.
    """
    text = " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())
    missing = frozenset(map(ord, text)) - _letters(_own_font(False))
    if missing:
        path = _font_with(missing)
        if path is not None:
            known = _letters(path)
            return "".join(letter if ord(letter) in known else _UNKNOWN for letter in text), FontProperties(fname=path)
        text = "".join(_UNKNOWN if ord(letter) in missing else letter for letter in text)
    return text, FontProperties(fname=_own_font(False))


def bold(properties: FontProperties) -> FontProperties:
    """The bold face of the own font; other fonts stay as they are."""
    if properties.get_file() == _own_font(False):
        return FontProperties(fname=_own_font(True))
    return properties


@lru_cache(maxsize=2)
def _own_font(heavy: bool) -> str:
    return os.path.join(
        matplotlib.get_data_path(), "fonts", "ttf", "DejaVuSans-Bold.ttf" if heavy else "DejaVuSans.ttf"
    )


@lru_cache(maxsize=32)
def _letters(path: str) -> frozenset[int]:
    return frozenset(font_manager.get_font(path).get_charmap())


@lru_cache(maxsize=256)
def _font_with(letters: frozenset[int]) -> str | None:
    """A font of this machine that has all the letters, or most of them; None when none has any."""
    fonts = {font.fname for font in font_manager.fontManager.ttflist if font.name.startswith(_WIDE_FAMILIES)}
    best, most = None, 0
    for path in sorted(fonts):
        try:
            known = len(letters & _letters(path))
        # Fonts that were uninstalled since the list was made, or that FreeType cannot open.
        except (OSError, RuntimeError):
            continue
        if known > most:
            best, most = path, known
    return best


def ticks(low: float, high: float, most: int) -> list[float]:
    """At most `most` round numbers that cover low to high: multiples of 1, 2, 2.5 or 5 times a power of ten."""
    # A range that is lost in the rounding of its ends is one value.
    if not high - low > max(1e-12 * max(abs(low), abs(high)), 1e-290):
        low, high = (low - abs(low) * 0.5, high + abs(high) * 0.5) if abs(low) > 1e-200 else (0.0, 1.0)
    raw = max((high - low) / max(most - 1, 1), 1e-300)
    power = 10.0 ** math.floor(math.log10(raw))
    for factor in (1, 2, 2.5, 5, 10, 20, 25, 50):
        step = factor * power
        first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
        if last - first + 1 <= most:
            break
    return [number * step for number in range(first, last + 1)]


def number(value: float, step: float) -> str:
    """A number to the precision of `step`, with thousands separators, large ones in k, M, B or T."""
    for size, sign in ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e4, "k")):
        if step >= size / 1000 and abs(value) >= size:
            return _fixed(value / (1e3 if sign == "k" else size), step / (1e3 if sign == "k" else size)) + sign
    if 0 < step < 1e-6:
        return f"{value:.3g}"
    return _fixed(value, step)


def _fixed(value: float, step: float) -> str:
    decimals = 0
    while decimals < 7 and abs(round(step, decimals) - step) > 1e-9 * max(step, 1.0) and step > 0:
        decimals += 1
    text = f"{value:,.{decimals}f}"
    # No "-0" and no "-0.00".
    return text.removeprefix("-") if not text.strip("-0.,") else text.replace("-", "\u2212")


def exact(value: float) -> str:
    """A value in at most four significant digits, as it is written beside a bar."""
    for size, sign in ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e4, "k")):
        if abs(value) >= size:
            text = f"{value / (1e3 if sign == 'k' else size):.4g}{sign}"
            break
    else:
        text = f"{value:.4g}"
    return text.replace("-", "\u2212")
