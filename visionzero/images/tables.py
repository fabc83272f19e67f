"""The table behind a chart."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np

ChartType = Literal["line", "bar", "pie"]
"""How a table is drawn."""

CHART_TYPES: tuple[str, ...] = get_args(ChartType)

MAX_LABELS, MAX_SLICES, MAX_SERIES = 120, 24, 12
"""More labels, slices of a pie or series than these do not make a chart that anybody could read."""

MAX_VALUE = 1e15
VISIBLE_SHARE = 0.04
"""Two values can be swapped when they differ by at least this share of the axis (of the whole, in a pie)."""


class TableError(ValueError):
    """A table that cannot be drawn or read; the message says where it is wrong."""


@dataclass(frozen=True)
class ChartTable:
    """What a chart shows.

    Attributes:
        title: Heading; may be empty.
        labels: Names of the points on the axis, or of the slices.
        values: One tuple a series, each with one number a label. A flat sequence of numbers is taken as one series.
        type: How to draw it.
        series: Names of the series; a single series needs none.
        unit: What the numbers count, such as `"%"` or `"million euros"`; may be empty.

    Raises:
        TableError: Numbers that are missing, not finite, beyond 1e15 or, in a pie, negative or all zero; lengths that do
            not agree; more than a chart can show; another type.
    """

    title: str
    labels: tuple[str, ...]
    values: tuple[tuple[float, ...], ...]
    type: ChartType = "bar"
    series: tuple[str, ...] = ("",)
    unit: str = ""

    def __post_init__(self) -> None:
        values: Sequence[Any] = self.values
        if len(values) and not isinstance(values[0], Sequence | np.ndarray):
            values = (values,)
        object.__setattr__(self, "labels", tuple(self.labels))
        object.__setattr__(self, "series", tuple(self.series))
        for name in (self.title, self.unit, *self.labels, *self.series):
            if not isinstance(name, str):
                raise TableError(f"title, unit, labels and series must be strings, got {name!r}")
        if self.type not in CHART_TYPES:
            raise TableError(f"type must be one of {', '.join(CHART_TYPES)}, got {self.type!r}")
        self._check_lengths(values)
        numbers = tuple(
            tuple(_number(value, label) for value, label in zip(column, self.labels, strict=True)) for column in values
        )
        object.__setattr__(self, "values", numbers)
        if self.type == "pie":
            negative = [(label, value) for label, value in zip(self.labels, numbers[0], strict=True) if value < 0]
            if negative:
                raise TableError(f"a pie cannot show the negative value {negative[0][1]:g} of {negative[0][0]!r}")
            if sum(numbers[0]) <= 0:
                raise TableError("a pie needs a value above 0")

    def _check_lengths(self, values: Sequence[Any]) -> None:
        most = MAX_SLICES if self.type == "pie" else MAX_LABELS
        if not 1 <= len(self.labels) <= most:
            raise TableError(f"a {self.type} chart needs 1 to {most} labels, got {len(self.labels)}")
        if not 1 <= len(values) <= (1 if self.type == "pie" else MAX_SERIES):
            allowed = "exactly one series" if self.type == "pie" else f"1 to {MAX_SERIES} series"
            raise TableError(f"a {self.type} chart needs {allowed}, got {len(values)}")
        if len(self.series) != len(values):
            raise TableError(f"{len(values)} series of values but {len(self.series)} names of series")
        for name, column in zip(self.series, values, strict=True):
            if len(column) != len(self.labels):
                raise TableError(f"series {name!r} has {len(column)} values for {len(self.labels)} labels")

    @property
    def scene(self) -> dict[str, Any]:
        """The table as plain data, in the JSON layout of `table_files`.

        `values` are those of the first series, one a label; a table whose series have names also has `series`, a list
        of `{"name", "values"}`.
        """
        scene: dict[str, Any] = {
            "type": self.type,
            "title": self.title,
            "labels": list(self.labels),
            "values": list(self.values[0]),
        }
        if len(self.values) > 1 or self.series[0]:
            scene["series"] = [
                {"name": name, "values": list(column)} for name, column in zip(self.series, self.values, strict=True)
            ]
        if self.unit:
            scene["unit"] = self.unit
        return scene

    @property
    def span(self) -> tuple[float, float]:
        """Smallest and largest number that the chart must show: bars start at 0, lines anywhere, pies have a whole."""
        numbers = [value for column in self.values for value in column]
        if self.type == "pie":
            return 0.0, math.fsum(numbers)
        low, high = min(numbers), max(numbers)
        return (low, high) if self.type == "line" else (min(low, 0.0), max(high, 0.0))

    def swapped(self, rng: np.random.Generator) -> ChartTable:
        """The table with the values of two labels exchanged, in every series.

        Args:
            rng: Chooses the two among all pairs whose difference can be seen well.

        Raises:
            TableError: No two labels differ enough to be told apart.
        """
        low, high = self.span
        columns = np.array(self.values)
        # A span of nothing makes every gap nothing, too.
        gaps = np.abs(columns[:, :, None] - columns[:, None, :]).max(0) / max(high - low, 1e-300)
        largest = float(gaps.max())
        if largest < VISIBLE_SHARE:
            raise TableError("no two values differ enough for a swap to be seen")
        pairs = np.argwhere(np.triu(gaps >= max(VISIBLE_SHARE, largest / 2)))
        first, second = (int(position) for position in pairs[rng.integers(len(pairs))])
        order = list(range(len(self.labels)))
        order[first], order[second] = second, first
        return replace(self, values=tuple(tuple(column[position] for position in order) for column in self.values))


def _number(value: Any, label: str) -> float:
    if isinstance(value, bool | str | bytes) or value is None:
        raise TableError(f"the value of {label!r} must be a number, got {value!r}")
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise TableError(f"the value of {label!r} must be a number, got {value!r}") from error
    if not math.isfinite(number) or abs(number) > MAX_VALUE:
        raise TableError(f"the value of {label!r} must lie within -1e15 and 1e15, got {number}")
    # Minus zero would be drawn as -0.
    return number + 0.0


def guess_type(labels: Sequence[str], values: Sequence[Sequence[float]]) -> ChartType:
    """How to draw a table that does not say it.

    Shares that add up to 100 (or 1) make a pie, numbers or months along the labels a line, anything else bars.
    """
    column = values[0]
    if len(values) == 1 and 2 <= len(labels) <= 8 and min(column) >= 0:
        total = math.fsum(column)
        if abs(total - 100) <= 0.5 or abs(total - 1) <= 0.005:
            return "pie"
    if len(labels) >= 3 and all(_is_ordered(label) for label in labels):
        return "line"
    return "bar"


_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")


def _is_ordered(label: str) -> bool:
    text = label.strip().strip("*").lower()
    return text.replace("/", "").replace(".", "").isdigit() or text[:3] in _MONTHS
