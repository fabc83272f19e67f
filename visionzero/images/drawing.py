"""Draws chart tables with Matplotlib's Agg renderer.

Everything is placed here, in pixels, and every colour, width and font is given: nothing is left to Matplotlib's global
settings (except how glyphs are hinted, `text.hinting`), pyplot is never imported, and each call has a figure of its own,
so charts can be drawn from many threads.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from PIL import Image

from visionzero.images.chart_page import Horizontal, Page, Vertical
from visionzero.images.chart_style import MAX_SIDE, MIN_SIDE, ChartStyle
from visionzero.images.chart_text import exact, number, ticks
from visionzero.images.tables import ChartTable


def draw_chart(table: ChartTable, style: ChartStyle | None = None, size: tuple[int, int] = (448, 336)) -> Image.Image:
    """Draw a table.

    Args:
        table: What to show.
        style: How; the default style of `ChartStyle` if None.
        size: Width and height in pixels.

    Returns:
        An RGB image of that size; the same pixels whenever table, style and size are the same.

    Raises:
        ValueError: A side is not between 112 and 4096 pixels.
    """
    if not all(MIN_SIDE <= side <= MAX_SIDE for side in size):
        raise ValueError(f"a chart must be {MIN_SIDE} to {MAX_SIDE} pixels wide and high, got {size[0]} x {size[1]}")
    page = Page(size, style or ChartStyle())
    top = _draw_title(page, table)
    if table.type == "pie":
        _draw_pie(page, table, top)
    else:
        _draw_axes_chart(page, table, top)
    return page.image()


def _draw_title(page: Page, table: ChartTable) -> float:
    """Heading and unit; returns the height below them."""
    style, top = page.style, page.height - page.margin
    lines = page.wrapped(table.title, page.title_size, page.width - 2 * page.margin, most=2)
    for line in lines:
        if style.title_left:
            page.text(page.margin, top, line, page.title_size, ha="left", va="top", heavy=True)
        else:
            page.text(page.width / 2, top, line, page.title_size, ha="center", va="top", heavy=True)
        top -= page.title_size * 1.3
    # Percent signs stand at the numbers themselves.
    if table.unit not in ("", "%"):
        unit = page.fitted(table.unit, page.text_size, page.width - 2 * page.margin)
        page.text(page.margin, top - page.text_size * 0.2, unit, page.text_size, ha="left", va="top")
        top -= page.text_size * 1.4
    return top - page.text_size * 0.4


def _draw_legend(page: Page, names: tuple[str, ...], top: float) -> float:
    """Names of series in rows from the left; returns the height below them."""
    swatch, gap = page.text_size * 0.9, page.text_size
    widest = (page.width - 2 * page.margin) / min(len(names), 2) - swatch - gap
    x, row = page.margin, page.text_size * 1.5
    for place, name in enumerate(names):
        label = page.fitted(name, page.text_size, widest)
        width = swatch * 1.4 + page.width_of(label, page.text_size) + gap
        if x > page.margin and x + width > page.width - page.margin:
            x, top = page.margin, top - row
        page.box(x, top - swatch, swatch, swatch, page.style.palette[place % len(page.style.palette)])
        page.text(x + swatch * 1.4, top - swatch / 2, label, page.text_size, ha="left", va="center")
        x += width
    return top - row


def _draw_axes_chart(page: Page, table: ChartTable, top: float) -> None:
    if len(table.values) > 1:
        top = _draw_legend(page, table.series, top)
    # A page that the heading fills keeps some room for the chart.
    top = max(top, page.height * 0.4)
    if table.type == "bar" and page.style.horizontal:
        _draw_lying_bars(page, table, top)
        return
    bottom_space, label_step, angle, labels = _bottom_labels(page, table)
    bottom = page.margin + bottom_space
    marks = ticks(*table.span, most=max(3, min(8, int((top - bottom) / (page.text_size * 2.2)))))
    step = marks[1] - marks[0]
    percent = "%" if table.unit == "%" else ""
    texts = [number(mark, step) + percent for mark in marks]
    left = page.margin + max(page.width_of(text, page.text_size) for text in texts) + page.text_size * 0.6
    right = page.width - page.margin
    if angle:
        # Slanted labels reach to the left of their place; the first one must not leave the page.
        reach = page.width_of(labels[0], page.text_size) * math.cos(math.radians(angle))
        left = max(left, min(page.margin + reach - (right - left) / len(labels) / 2, page.width * 0.3))

    def height_of(value: float) -> float:
        return bottom + (value - marks[0]) / (marks[-1] - marks[0]) * (top - page.text_size - bottom)

    for mark, text in zip(marks, texts, strict=True):
        if page.style.grid:
            page.rule((left, height_of(mark)), (right, height_of(mark)), page.style.faint)
        page.text(left - page.text_size * 0.5, height_of(mark), text, page.text_size, ha="right", va="center")
    slot = (right - left) / len(table.labels)
    centres = [left + slot * (place + 0.5) for place in range(len(table.labels))]
    for place in range(0, len(labels), label_step):
        x = centres[place] + (page.text_size * 0.4 if angle else 0)
        side: Horizontal = "right" if angle else "center"
        page.text(x, bottom - page.text_size * 0.45, labels[place], page.text_size, side, "top", angle=angle)
    if table.type == "line":
        _draw_lines(page, table, centres, [[height_of(value) for value in column] for column in table.values], bottom)
    else:
        _draw_standing_bars(page, table, centres, slot, height_of)
    base = height_of(0.0) if table.type == "bar" else bottom
    page.rule((left, base), (right, base), page.style.ink)
    if page.style.frame:
        page.rule((left, bottom), (left, top - page.text_size), page.style.ink)


def _bottom_labels(page: Page, table: ChartTable) -> tuple[float, int, float, list[str]]:
    """Height of the labels below the axis, which of them to show (every n-th), their angle, and what they say."""
    slot = (page.width - 2 * page.margin - page.text_size * 4) / len(table.labels)
    step = max(1, math.ceil(page.text_size * 1.25 / slot))
    widest = max(page.width_of(label, page.text_size) for label in table.labels)
    ordered = table.type == "line" and widest < page.text_size * 5
    if ordered:
        # Years and months can be left out without a loss: fewer, but level.
        step = max(1, math.ceil((widest + page.text_size * 0.6) / slot))
    if widest + page.text_size * 0.4 <= slot * step:
        return page.text_size * 1.6, step, 0.0, list(table.labels)
    longest = min(page.height * 0.34, page.width * 0.3)
    labels = [page.fitted(label, page.text_size, longest) for label in table.labels]
    widest = max(page.width_of(label, page.text_size) for label in labels)
    return widest * math.sin(math.radians(40)) + page.text_size * 1.6, step, 40.0, labels


def _draw_lines(page: Page, table: ChartTable, xs: list[float], heights: list[list[float]], bottom: float) -> None:
    for place, (column, ys) in enumerate(zip(table.values, heights, strict=True)):
        colour = page.style.palette[place % len(page.style.palette)]
        if page.style.fill and len(heights) == 1 and len(xs) > 1:
            page.polygon([xs[0], *xs, xs[-1]], [bottom, *ys, bottom], colour, alpha=0.2)
        marked = page.style.markers or len(xs) == 1
        page.line(xs, ys, colour, marker=page.text_size * 0.5 if marked else 0)
        if page.style.show_values and len(heights) == 1 and len(xs) <= 8:
            for x, y, value in zip(xs, ys, column, strict=True):
                page.text(x, y + page.text_size * 0.5, exact(value), page.text_size * 0.9, ha="center", va="bottom")


def _colour(page: Page, table: ChartTable, label: int, series: int) -> str:
    turn = label if page.style.many_colours and len(table.values) == 1 else series
    return page.style.palette[turn % len(page.style.palette)]


def _draw_standing_bars(
    page: Page, table: ChartTable, centres: list[float], slot: float, height_of: Callable[[float], float]
) -> None:
    width = slot * page.style.bar_width / len(table.values)
    base = height_of(0.0)
    for series, column in enumerate(table.values):
        for place, value in enumerate(column):
            x = centres[place] + width * (series - len(table.values) / 2)
            end = height_of(value)
            page.box(x, min(base, end), width, abs(end - base), _colour(page, table, place, series))
            text, size = exact(value), page.text_size * 0.9
            if page.style.show_values and page.width_of(text, size) <= width * 1.25:
                up = value >= 0
                page.text(
                    x + width / 2,
                    end + size * (0.2 if up else -0.2),
                    text,
                    size,
                    ha="center",
                    va="bottom" if up else "top",
                )


def _draw_lying_bars(page: Page, table: ChartTable, top: float) -> None:
    labels = [page.fitted(label, page.text_size, page.width * 0.34) for label in table.labels]
    left = page.margin + max(page.width_of(label, page.text_size) for label in labels) + page.text_size * 0.6
    bottom, right = page.margin + page.text_size * 1.7, page.width - page.margin - page.text_size * 2
    marks = ticks(*table.span, most=max(3, min(7, int((right - left) / (page.text_size * 5)))))
    percent = "%" if table.unit == "%" else ""

    def place_of(value: float) -> float:
        return left + (value - marks[0]) / (marks[-1] - marks[0]) * (right - left)

    for mark in marks:
        if page.style.grid:
            page.rule((place_of(mark), bottom), (place_of(mark), top), page.style.faint)
        text = number(mark, marks[1] - marks[0]) + percent
        page.text(place_of(mark), bottom - page.text_size * 0.45, text, page.text_size, ha="center", va="top")
    slot = (top - bottom) / len(labels)
    height = slot * page.style.bar_width / len(table.values)
    base = place_of(0.0)
    step = max(1, math.ceil(page.text_size * 1.1 / slot))
    for place, label in enumerate(labels):
        middle = top - slot * (place + 0.5)
        if place % step == 0:
            page.text(left - page.text_size * 0.4, middle, label, page.text_size, ha="right", va="center")
        for series, column in enumerate(table.values):
            y = middle + height * (len(table.values) / 2 - series - 1)
            end, size = place_of(column[place]), page.text_size * 0.9
            page.box(min(base, end), y, abs(end - base), height, _colour(page, table, place, series))
            if page.style.show_values and height >= size:
                side: Horizontal = "left" if column[place] >= 0 else "right"
                gap = size * (0.3 if side == "left" else -0.3)
                page.text(end + gap, y + height / 2, exact(column[place]), size, ha=side, va="center")
    page.rule((base, bottom), (base, top), page.style.ink)
    if page.style.frame:
        page.rule((left, bottom), (right, bottom), page.style.ink)


def _draw_pie(page: Page, table: ChartTable, top: float) -> None:
    values, total = table.values[0], math.fsum(table.values[0])
    top = max(top, page.height * 0.4)
    bottom, right = page.margin, page.width - page.margin
    # Names around many slices would lie on each other.
    legend = page.style.legend or len(values) > 9
    if legend:
        right = _draw_side_legend(page, table, top)
        reach = 0.0
    else:
        names = [page.fitted(label, page.text_size, page.width * 0.28) for label in table.labels]
        reach = max(page.width_of(name, page.text_size) for name in names) + page.text_size
    radius = max(
        min((top - bottom) / 2 - (0 if legend else page.text_size * 1.6), (right - page.margin) / 2 - reach), 8.0
    )
    x, y = (page.margin + right) / 2, (top + bottom) / 2
    angle = 90.0
    for place, value in enumerate(values):
        sweep = 360.0 * value / total
        colour = page.style.palette[place % len(page.style.palette)]
        page.wedge(x, y, radius, angle - sweep, angle, colour, hole=0.5 if page.style.donut else 0.0)
        middle = math.radians(angle - sweep / 2)
        cos, sin = math.cos(middle), math.sin(middle)
        if page.style.show_values and sweep >= 16:
            share = f"{100 * value / total:.3g}%" if table.unit == "%" else exact(value)
            away = radius * (0.75 if page.style.donut else 0.65)
            page.text(x + away * cos, y + away * sin, share, page.text_size * 0.95, "center", "center", on=colour)
        if not legend and value > 0:
            away = radius + page.text_size * 0.6
            side: Horizontal = "center" if abs(cos) < 0.15 else ("left" if cos > 0 else "right")
            level: Vertical = "center" if abs(sin) < 0.85 else ("bottom" if sin > 0 else "top")
            page.text(x + away * cos, y + away * sin, names[place], page.text_size, ha=side, va=level)
        angle -= sweep


def _draw_side_legend(page: Page, table: ChartTable, top: float) -> float:
    """Names of slices on the right; returns where they start."""
    row = min(page.text_size * 1.6, (top - page.margin) / len(table.labels))
    size = min(page.text_size, row * 0.9)
    labels = [page.fitted(label, size, page.width * 0.34) for label in table.labels]
    left = page.width - page.margin - max(page.width_of(label, size) for label in labels) - size * 1.4
    y = (top + page.margin) / 2 + row * (len(labels) - 1) / 2
    for place, label in enumerate(labels):
        page.box(left, y - size * 0.45, size * 0.9, size * 0.9, page.style.palette[place % len(page.style.palette)])
        page.text(left + size * 1.4, y, label, size, ha="left", va="center")
        y -= row
    return left - page.text_size
