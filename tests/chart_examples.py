"""Tables for the tests of the charts, and how much of a picture differs from another."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st
from PIL import Image

from visionzero.images.tables import ChartTable

FRUIT = ChartTable("Fruit", ("apples", "pears", "plums"), ((10, 40, 25),), unit="kg")

finite = st.floats(-1e15, 1e15)


@st.composite
def tables(draw: st.DrawFn, text: st.SearchStrategy[str] = st.text(max_size=40)) -> ChartTable:  # noqa: B008 - no call
    kind: Any = draw(st.sampled_from(["line", "bar", "pie"]))
    count = draw(st.integers(1, 12))
    series = 1 if kind == "pie" else draw(st.integers(1, 4))
    numbers = st.floats(0.001, 1e12) if kind == "pie" else finite
    column = st.lists(numbers, min_size=count, max_size=count)
    return ChartTable(
        title=draw(text),
        labels=tuple(draw(st.lists(text, min_size=count, max_size=count))),
        values=tuple(tuple(draw(column)) for _ in range(series)),
        type=kind,
        series=tuple(draw(st.lists(text, min_size=series, max_size=series))),
        unit=draw(text),
    )


def changed(before: Image.Image, after: Image.Image) -> float:
    moved = np.abs(np.asarray(before).astype(int) - np.asarray(after).astype(int)).max(-1)
    return float((moved > 24).mean())
