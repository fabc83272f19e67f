"""A page to draw on: shapes and text in pixels from the lower left, with nothing taken from global settings."""

from __future__ import annotations

from typing import Literal

import numpy as np
from matplotlib.artist import Artist
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Polygon, Rectangle, Wedge
from matplotlib.text import Text
from matplotlib.transforms import IdentityTransform
from PIL import Image

from visionzero.images.chart_style import ChartStyle
from visionzero.images.chart_text import bold, shown

# A power of two, so that inches times dots per inch is exactly the number of pixels.
_DPI = 64
_LONGEST = 300

Horizontal = Literal["left", "center", "right"]
Vertical = Literal["top", "center", "bottom"]


class Page:
    """An empty page.

    Args:
        size: Width and height in pixels.
        style: Colours.

    Attributes:
        margin: Free space at the edges, in pixels.
        text_size: Height of text, in pixels.
        title_size: Height of the heading, in pixels.
    """

    def __init__(self, size: tuple[int, int], style: ChartStyle) -> None:
        self.width, self.height = size
        self.style = style
        scale = min(self.width / 448, self.height / 336)
        self.margin = 10 * scale
        self.text_size = max(11.0 * scale, 6.0)
        self.title_size = max(14.0 * scale, 7.0)
        self._figure = Figure(
            figsize=(self.width / _DPI, self.height / _DPI),
            dpi=_DPI,
            facecolor=style.background,
            edgecolor="none",
            linewidth=0,
            frameon=True,
        )
        self._figure.set_layout_engine("none")
        self._canvas = FigureCanvasAgg(self._figure)
        self._renderer = self._canvas.get_renderer()
        self._artists = 0
        self._line_width = max(scale, 0.6) * 72 / _DPI

    def image(self) -> Image.Image:
        """What was drawn, as an RGB image."""
        self._canvas.draw()
        return Image.fromarray(np.asarray(self._canvas.buffer_rgba())[..., :3].copy())

    def line(self, xs: list[float], ys: list[float], colour: str, *, marker: float = 0) -> None:
        """A line through points; `marker` is the diameter of a dot at each, in pixels."""
        self._add(
            Line2D(
                xs,
                ys,
                linewidth=2 * self._line_width,
                linestyle="-",
                color=colour,
                marker="o" if marker else "None",
                markersize=marker * 72 / _DPI,
                markeredgewidth=0,
                markerfacecolor=colour,
                markeredgecolor=colour,
                fillstyle="full",
                antialiased=True,
                drawstyle="default",
                solid_capstyle="round",
                solid_joinstyle="round",
            )
        )

    def rule(self, start: tuple[float, float], end: tuple[float, float], colour: str) -> None:
        """A thin horizontal or vertical line."""
        (left, bottom), (right, top) = start, end
        width = max(1, round(self._line_width * _DPI / 72))
        self.box(left, bottom, max(right - left, width), max(top - bottom, width), colour)

    def box(self, x: float, y: float, width: float, height: float, colour: str) -> None:
        """A filled rectangle with its sides on whole pixels."""
        left, bottom, right, top = (round(side) for side in (x, y, x + width, y + height))
        self._fill(Rectangle((left, bottom), right - left, top - bottom), colour)

    def polygon(self, xs: list[float], ys: list[float], colour: str, *, alpha: float) -> None:
        """A filled polygon that lets through what is below it."""
        self._fill(Polygon(np.column_stack([xs, ys]), closed=True), colour, alpha=alpha)

    def wedge(self, x: float, y: float, radius: float, start: float, end: float, colour: str, *, hole: float) -> None:
        """A slice from `start` to `end` degrees, without the inner `hole` share of the radius."""
        if end > start:
            ring = radius * (1 - hole) if hole else None
            self._fill(Wedge((x, y), radius, start, end, width=ring), colour, edge=self.style.background)

    def text(
        self,
        x: float,
        y: float,
        text: str,
        size: float,
        ha: Horizontal = "left",
        va: Vertical = "center",
        *,
        angle: float = 0.0,
        heavy: bool = False,
        on: str | None = None,
    ) -> None:
        """One line of text, `size` pixels high, in ink or, on the colour `on`, in black or white."""
        text, font = self._font(text, size, heavy)
        if not text:
            return
        colour = self.style.ink
        if on is not None:
            red, green, blue = to_rgb(on)
            colour = "#1a1a1a" if 0.299 * red + 0.587 * green + 0.114 * blue > 0.55 else "#ffffff"
        artist = Text(
            x,
            y,
            text,
            color=colour,
            horizontalalignment=ha,
            verticalalignment=va,
            rotation=angle,
            rotation_mode="anchor" if angle else "default",
            fontproperties=font,
            usetex=False,
            parse_math=False,
            antialiased=True,
            wrap=False,
        )
        self._add(artist)

    def width_of(self, text: str, size: float, *, heavy: bool = False) -> float:
        """Width in pixels of one line of text."""
        text, font = self._font(text, size, heavy)
        return float(self._renderer.get_text_width_height_descent(text, font, False)[0]) if text else 0.0

    def fitted(self, text: str, size: float, width: float, *, heavy: bool = False) -> str:
        """The text, cut short with an ellipsis where it is wider than `width` pixels."""
        text = " ".join(text[: 4 * _LONGEST].split())
        if len(text) <= _LONGEST and self.width_of(text, size, heavy=heavy) <= width:
            return text
        fits, fails = 0, min(len(text), _LONGEST)
        while fails - fits > 1:
            middle = (fits + fails) // 2
            if self.width_of(text[:middle].rstrip() + "\u2026", size, heavy=heavy) <= width:
                fits = middle
            else:
                fails = middle
        return text[:fits].rstrip() + "\u2026"

    def wrapped(self, text: str, size: float, width: float, *, most: int) -> list[str]:
        """A heading in at most `most` lines of `width` pixels, broken between words, the last one cut short."""
        lines: list[str] = []
        words = text[: 4 * _LONGEST].split()
        while words and len(lines) < most - 1:
            count = 1
            while count < len(words) and self.width_of(" ".join(words[: count + 1]), size, heavy=True) <= width:
                count += 1
            lines.append(self.fitted(" ".join(words[:count]), size, width, heavy=True))
            words = words[count:]
        if words:
            lines.append(self.fitted(" ".join(words), size, width, heavy=True))
        return lines

    def _font(self, text: str, size: float, heavy: bool) -> tuple[str, FontProperties]:
        text, font = shown(text)
        if heavy:
            font = bold(font)
        font.set_size(size * 72 / _DPI)
        return text, font

    def _fill(self, patch: Patch, colour: str, *, alpha: float = 1.0, edge: str = "none") -> None:
        patch.set(facecolor=(colour, alpha), edgecolor=edge, linewidth=0 if edge == "none" else self._line_width)
        patch.set(linestyle="-", antialiased=True, hatch=None, joinstyle="miter", capstyle="butt", fill=True)
        self._add(patch)

    def _add(self, artist: Artist) -> None:
        self._artists += 1
        artist.set_transform(IdentityTransform())
        # The defaults of these come from global settings.
        artist.set_path_effects([])
        artist.set_sketch_params(None)
        artist.set_snap(False)
        artist.set_zorder(self._artists)
        self._figure.add_artist(artist, clip=False)
