"""Line charts as inline SVG that needs no script and follows the page's colours."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

WIDTH, HEIGHT = 560, 240
_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 12, 12, 30
# Beyond this many, lines get the colours of the first ones again, dashed.
_COLORS = 6
_LARGEST, _LEAST = 1e100, 1e-100


@dataclass(frozen=True)
class Line:
    """A figure along training.

    Attributes:
        name: For the legend.
        points: Updates and values; a value that is not `drawable` leaves a gap.
        low: Lower ends of an interval at the same updates, or None.
        high: Upper ends.
    """

    name: str
    points: tuple[tuple[float, float], ...]
    low: tuple[float, ...] | None = None
    high: tuple[float, ...] | None = None


@dataclass(frozen=True)
class Chart:
    """Lines over the same updates.

    Attributes:
        title: What is shown.
        lines: The figures.
        note: How to read them, one sentence, or empty.
        share: Values are shares: shown in percent, on an axis from 0 to 1.
        thresholds: Names and heights of level lines.
    """

    title: str
    lines: tuple[Line, ...]
    note: str = ""
    share: bool = False
    thresholds: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True)
class Span:
    """Updates of one phase.

    Attributes:
        name: The phase.
        start: Where it begins, in updates.
        end: Where it ends.
    """

    name: str
    start: float
    end: float


def drawable(value: float) -> bool:
    """Whether a value has a place in a chart: it is finite, and no larger than 1e100."""
    return abs(value) <= _LARGEST


def draw(chart: Chart, *, end: float, spans: Sequence[Span] = (), restarts: Sequence[int] = ()) -> Markup:
    """The chart as an SVG element.

    Args:
        chart: What to draw; at least one of its values is `drawable`.
        end: Last update of the axis, >= 0.
        spans: Phases, shaded behind the lines.
        restarts: Updates at which training was resumed, marked by vertical lines.

    Returns:
        Markup of an `<svg>` that is `WIDTH` x `HEIGHT` units large and takes its colours from the page's CSS.

    Raises:
        ValueError: No value is `drawable`.
    """
    levels = [value for line in chart.lines for _, value in line.points]
    levels += [value for line in chart.lines for value in (*(line.low or ()), *(line.high or ()))]
    levels += [level for _, level in chart.thresholds]
    ticks = _ticks(levels, share=chart.share)
    low, high = ticks[0], ticks[-1]
    end = max(end, 1.0)

    def x(step: float) -> float:
        return _LEFT + (WIDTH - _LEFT - _RIGHT) * min(max(step / end, 0.0), 1.0)

    def y(value: float) -> float:
        return _TOP + (HEIGHT - _TOP - _BOTTOM) * (high - value) / (high - low)

    parts = [
        Markup('<svg viewBox="0 0 {} {}" role="img" aria-label="{}">').format(WIDTH, HEIGHT, _description(chart)),
    ]
    bottom = HEIGHT - _BOTTOM
    for span in spans:
        parts.append(
            Markup('<rect class="phase {}" x="{:.1f}" y="{}" width="{:.1f}" height="{}"/>').format(
                span.name, x(span.start), _TOP, max(x(span.end) - x(span.start), 0.0), bottom - _TOP
            )
        )
    for tick in ticks:
        parts.append(
            Markup('<line class="grid" x1="{}" x2="{}" y1="{:.1f}" y2="{:.1f}"/>').format(
                _LEFT, WIDTH - _RIGHT, y(tick), y(tick)
            )
        )
        parts.append(
            Markup('<text class="tick" x="{}" y="{:.1f}" text-anchor="end">{}</text>').format(
                _LEFT - 7, y(tick) + 4, number(tick, share=chart.share)
            )
        )
    for tick in _whole_ticks(end):
        parts.append(
            Markup('<text class="tick" x="{:.1f}" y="{}" text-anchor="middle">{:.0f}</text>').format(
                x(tick), bottom + 17, tick
            )
        )
    for restart in restarts:
        parts.append(
            Markup(
                '<line class="restart" x1="{0:.1f}" x2="{0:.1f}" y1="{1}" y2="{2}"><title>{3}</title></line>'
            ).format(x(restart), _TOP, bottom, f"resumed at update {restart}")
        )
    for name, level in chart.thresholds:
        parts.append(
            Markup('<line class="threshold" x1="{}" x2="{}" y1="{:.1f}" y2="{:.1f}"><title>{}</title></line>').format(
                _LEFT, WIDTH - _RIGHT, y(level), y(level), name
            )
        )
    for index, line in enumerate(chart.lines):
        parts += _draw_line(line, index, x, y)
    return Markup("").join([*parts, Markup("</svg>")])


def color_of(index: int) -> str:
    """CSS classes of a chart's line, by its place."""
    return f"color-{index % _COLORS + 1}" + (" again" if index >= _COLORS else "")


def _draw_line(line: Line, index: int, x: Callable[[float], float], y: Callable[[float], float]) -> list[Markup]:
    parts: list[Markup] = []
    color = color_of(index)
    if line.low is not None and line.high is not None:
        for (step, _), low, high in zip(line.points, line.low, line.high, strict=True):
            if drawable(low) and drawable(high):
                parts.append(
                    Markup('<line class="interval {}" x1="{:.1f}" x2="{:.1f}" y1="{:.1f}" y2="{:.1f}"/>').format(
                        color, x(step), x(step), y(low), y(high)
                    )
                )
    for run in _runs(line.points):
        if len(run) > 1:
            path = " ".join(f"{x(at):.1f},{y(value):.1f}" for at, value in run)
            parts.append(Markup('<polyline class="line {}" points="{}"/>').format(color, path))
        if len(run) == 1 or line.low is not None:
            for at, value in run:
                parts.append(
                    Markup('<circle class="dot {}" cx="{:.1f}" cy="{:.1f}" r="3.5"/>').format(color, x(at), y(value))
                )
    return parts


def _runs(points: Sequence[tuple[float, float]]) -> list[list[tuple[float, float]]]:
    """Stretches of finite values."""
    runs: list[list[tuple[float, float]]] = [[]]
    for step, value in points:
        if drawable(value):
            runs[-1].append((step, value))
        elif runs[-1]:
            runs.append([])
    return [run for run in runs if run]


def _ticks(values: Sequence[float], *, share: bool) -> list[float]:
    """Heights of the grid: round numbers from below the lowest value to above the highest, or quarters of 1."""
    finite = [value for value in values if drawable(value)]
    if not finite:
        raise ValueError("a chart needs a value that is finite and no larger than 1e100")
    low, high = min(finite), max(finite)
    if share and low >= 0 and high <= 1:
        return [0.0, 0.25, 0.5, 0.75, 1.0]
    if low >= 0 and low < 0.5 * high:
        low = 0.0
    # A flat line, and one whose rise is lost in its height, gets room above and below.
    largest = max(abs(low), abs(high))
    if high - low <= max(1e-9 * largest, _LEAST):
        room = largest / 2 if largest > _LEAST else 1.0
        low, high = low - room, high + room
    step = _round_step((high - low) / 4)
    first, last = math.floor(low / step), math.ceil(high / step)
    return [index * step for index in range(first, last + 1)]


def _whole_ticks(end: float) -> list[int]:
    step = max(1, round(_round_step(end / 6)))
    return list(range(0, int(end) + 1, step))


def _round_step(rough: float) -> float:
    """The least of 1, 2, 2.5, 5 and 10 times a power of ten that is not below `rough`."""
    power = 10.0 ** math.floor(math.log10(rough))
    return next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= rough * (1 - 1e-9))


def number(value: float, *, share: bool = False) -> str:
    """A figure for people: three significant digits, or percent; a real minus."""
    if not math.isfinite(value):
        return "none"
    if share:
        text = f"{100 * value:.1f}".removesuffix(".0") + "\u2009%"
    elif value == 0:
        text = "0"
    elif abs(value) >= 1e6 or abs(value) < 1e-3:
        mantissa, power = f"{value:.2e}".split("e")
        text = f"{mantissa.rstrip('0').rstrip('.')}e{int(power)}"
    else:
        text = f"{value:.{max(0, 2 - math.floor(math.log10(abs(value))))}f}"
        text = text.rstrip("0").rstrip(".") if "." in text else text
    return text.replace("-", "\u2212")


def _description(chart: Chart) -> str:
    """What a screen reader says for the picture."""
    said = []
    for line in chart.lines:
        finite = [value for _, value in line.points if drawable(value)]
        if finite:
            first, last = (number(value, share=chart.share) for value in (finite[0], finite[-1]))
            said.append(f"{line.name} from {first} to {last}")
    return f"{chart.title}: {'; '.join(said)}"
