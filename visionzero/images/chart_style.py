"""How a chart looks, apart from what it says."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

MIN_SIDE, MAX_SIDE = 112, 4096
"""Charts are at least and at most this many pixels wide and high."""

PALETTES = (
    ("#1f77b4", "#ff7f0e", "#2ca02c", "#d62728", "#9467bd", "#8c564b", "#e377c2", "#7f7f7f", "#bcbd22", "#17becf"),
    ("#4c72b0", "#dd8452", "#55a868", "#c44e52", "#8172b3", "#937860", "#da8bc3", "#8c8c8c", "#ccb974", "#64b5cd"),
    ("#264653", "#2a9d8f", "#e9c46a", "#f4a261", "#e76f51", "#8ab17d", "#6d597a", "#b56576", "#355070", "#eaac8b"),
    ("#003f5c", "#58508d", "#bc5090", "#ff6361", "#ffa600", "#2f9e8f", "#7a9e3f", "#a05195", "#665191", "#f95d6a"),
    ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#6b6b6b", "#b8a000", "#4b0082", "#8b4513"),
    ("#5b8ff9", "#5ad8a6", "#5d7092", "#f6bd16", "#e8684a", "#6dc8ec", "#9270ca", "#ff9d4d", "#269a99", "#ff99c3"),
)
BACKGROUNDS = (("#ffffff", "#262626", "#d9d9d9"), ("#ffffff", "#333333", "#e6e6e6"), ("#fbf7ef", "#3b3228", "#e2d9c8"),
               ("#f2f5f8", "#22303c", "#d3dce4"), ("#22272e", "#e6e6e6", "#444c56"))  # fmt: skip


@dataclass(frozen=True)
class ChartStyle:
    """The look of a chart.

    Attributes:
        palette: Colours of series, slices or bars, as `#rrggbb`.
        background: Colour behind everything.
        ink: Colour of text and axes.
        faint: Colour of grid lines.
        grid: Whether there are grid lines.
        frame: Whether the axes have lines.
        many_colours: Whether the bars of a single series have a colour each.
        horizontal: Whether bars lie.
        bar_width: Share of a bar's place that it fills.
        markers: Whether the points of a line are marked.
        fill: Whether the area below a single line is tinted.
        show_values: Whether each bar or slice has its number.
        donut: Whether a pie has a hole.
        legend: Whether a pie has a legend instead of names around it.
        title_left: Whether the title stands on the left.
    """

    palette: tuple[str, ...] = PALETTES[0]
    background: str = "#ffffff"
    ink: str = "#262626"
    faint: str = "#d9d9d9"
    grid: bool = True
    frame: bool = True
    many_colours: bool = False
    horizontal: bool = False
    bar_width: float = 0.7
    markers: bool = True
    fill: bool = False
    show_values: bool = True
    donut: bool = False
    legend: bool = False
    title_left: bool = False


def sample_style(rng: np.random.Generator) -> ChartStyle:
    """One of many looks, most of them on white."""
    palette = PALETTES[rng.integers(len(PALETTES))]
    turn = int(rng.integers(len(palette)))
    background, ink, faint = BACKGROUNDS[rng.choice(len(BACKGROUNDS), p=[0.35, 0.25, 0.15, 0.15, 0.1])]
    # Each flag has a probability; the order of the draws is part of what a seed means.
    chances = rng.random(10)
    return ChartStyle(
        palette=palette[turn:] + palette[:turn],
        background=background,
        ink=ink,
        faint=faint,
        grid=bool(chances[0] < 0.65),
        frame=bool(chances[1] < 0.7),
        many_colours=bool(chances[2] < 0.3),
        horizontal=bool(chances[3] < 0.3),
        bar_width=float(rng.uniform(0.55, 0.85)),
        markers=bool(chances[4] < 0.6),
        fill=bool(chances[5] < 0.25),
        show_values=bool(chances[6] < 0.6),
        donut=bool(chances[7] < 0.35),
        legend=bool(chances[8] < 0.4),
        title_left=bool(chances[9] < 0.4),
    )
