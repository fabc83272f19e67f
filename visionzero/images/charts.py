"""Boards from charts: drawn from made-up tables or from table files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from visionzero.images.cache import BoardCache
from visionzero.images.chart_style import MAX_SIDE, MIN_SIDE, sample_style
from visionzero.images.folders import walk
from visionzero.images.sample_tables import sample_table
from visionzero.images.source import EditedView, EmptySource, ImagePair, ImageSource, SkippedImage, emptiness
from visionzero.images.table_files import read_tables
from visionzero.images.tables import CHART_TYPES, ChartTable, ChartType, TableError

DEFAULT_SIZE = (448, 336)
"""Width and height of charts, in pixels."""


class ChartSource(ImageSource):
    """Line, bar and pie charts. The edited view is the same chart, in the same style, with two values swapped.

    `ChartSource(...)` makes tables up, `ChartSource.from_tables(...)` reads them. Charts are drawn when they are asked
    for, and are the same pixels in every process.

    Args:
        num_charts: How many.
        seed: What tables and styles are drawn from.
        size: Width and height in pixels, 112 to 4096 each.
        types: Which of `line`, `bar` and `pie` there are.
        cache_size: How many drawn charts to keep in memory (3 bytes a pixel each: 0.45 MB at the default size, as much
            again for an edited view once it was asked for).

    Raises:
        ValueError: One of them is out of range.
    """

    kind = "charts"

    def __init__(
        self,
        num_charts: int = 200,
        seed: int = 0,
        size: tuple[int, int] = DEFAULT_SIZE,
        *,
        types: Sequence[ChartType] = ("line", "bar", "pie"),
        cache_size: int = 256,
    ) -> None:
        if num_charts < 1:
            raise ValueError(f"num_charts must be at least 1, got {num_charts}")
        if not types or not set(types) <= set(CHART_TYPES):
            raise ValueError(f"types must be some of {', '.join(CHART_TYPES)}, got {types!r}")
        self._prepare("charts", num_charts, seed, size, cache_size)
        self._table: Callable[[int], ChartTable] = partial(_made_up, seed, tuple(types))
        self._names: Sequence[str] | None = None

    @classmethod
    def from_tables(
        cls,
        tables: str | Path | ChartTable | Iterable[str | Path | ChartTable],
        *,
        seed: int = 0,
        size: tuple[int, int] = DEFAULT_SIZE,
        cache_size: int = 256,
    ) -> ChartSource:
        """Charts of tables that are there already.

        Args:
            tables: A folder (every `.csv` and `.json` file in it, at any depth; of a ChartQA folder those in `tables/`),
                a file, a `ChartTable`, or several files and tables. `table_files.read_tables` says what files hold.
            seed: What styles are drawn from.
            size: Width and height in pixels.
            cache_size: How many drawn charts to keep in memory.

        Returns:
            One board a table; files that are no tables, and tables in which no two values differ visibly, are skipped.

        Raises:
            EmptySource: No table can be drawn; the message names those that were skipped.
            FileNotFoundError: There is no such file or folder.
        """
        source = cls.__new__(cls)
        items: list[str | Path | ChartTable]
        items = [tables] if isinstance(tables, str | Path | ChartTable) else list(tables)
        name = str(items[0]) if len(items) == 1 and not isinstance(items[0], ChartTable) else "tables"
        found, skipped = _collected(items)
        if not found:
            raise EmptySource(emptiness(name, "table", skipped))
        source._prepare(name, len(found), seed, size, cache_size)
        source._names = [table_name for table_name, _ in found]
        source._table = [table for _, table in found].__getitem__
        for skip in skipped:
            source.skip(skip.name, skip.reason)
        return source

    def _prepare(self, name: str, length: int, seed: int, size: tuple[int, int], cache_size: int) -> None:
        if seed < 0:
            raise ValueError(f"seed must be 0 or more, got {seed}")
        if not all(MIN_SIDE <= side <= MAX_SIDE for side in size):
            raise ValueError(f"size must be {MIN_SIDE} to {MAX_SIDE} pixels each way, got {size[0]} x {size[1]}")
        self.name = name
        self.skipped: list[SkippedImage] = []
        self._length, self._seed, self._size = length, seed, size
        self._cache = BoardCache(cache_size)

    def __len__(self) -> int:
        return self._length

    def table(self, index: int) -> ChartTable:
        """The table behind the chart at `index`, 0 <= index < len(self)."""
        return self._table(index)

    def pair(self, index: int) -> ImagePair:
        """The chart at `index`, with its table as `scene`."""
        board = self._cache.get(index)
        return board if board is not None else self._cache.keep(index, self._draw(index))

    def _draw(self, index: int) -> ImagePair:
        from visionzero.images.drawing import draw_chart

        table = self.table(index)
        style = sample_style(np.random.default_rng([self._seed, index, 1]))
        return ImagePair(
            draw_chart(table, style, self._size),
            kind="charts",
            name=f"chart {index} of seed {self._seed}" if self._names is None else self._names[index],
            scene=table.scene,
            edit=partial(_swapped_view, table, self._seed, index, self._size),
        )


def _made_up(seed: int, types: tuple[ChartType, ...], index: int) -> ChartTable:
    rng = np.random.default_rng([seed, index, 0])
    return sample_table(rng, types[rng.integers(len(types))])


def _swapped_view(table: ChartTable, seed: int, index: int, size: tuple[int, int]) -> EditedView:
    from visionzero.images.drawing import draw_chart

    swapped = table.swapped(np.random.default_rng([seed, index, 2]))
    style = sample_style(np.random.default_rng([seed, index, 1]))
    return EditedView(draw_chart(swapped, style, size), swapped.scene)


def _collected(items: list[str | Path | ChartTable]) -> tuple[list[tuple[str, ChartTable]], list[SkippedImage]]:
    """Names and tables that have an edited view, and what is left out."""
    found: list[tuple[str, ChartTable]] = []
    skipped: list[SkippedImage] = []
    read: list[tuple[str, ChartTable]] = []
    for place, item in enumerate(items):
        if isinstance(item, ChartTable):
            read.append((f"table {place}", item))
            continue
        path = Path(item).expanduser()
        if not path.exists():
            raise FileNotFoundError(f"no such file or folder: {item}")
        for name, file in _table_files(path, skipped):
            try:
                tables = read_tables(file)
            except (TableError, OSError) as error:
                skipped.append(SkippedImage(name, str(error).removeprefix(f"{file}: ")))
                continue
            read += [
                (name if len(tables) == 1 else f"{name}, table {number}", table) for number, table in enumerate(tables)
            ]
    for name, table in read:
        try:
            table.swapped(np.random.default_rng(0))
        except TableError as error:
            skipped.append(SkippedImage(name, str(error)))
        else:
            found.append((name, table))
    return found, skipped


def _table_files(path: Path, skipped: list[SkippedImage]) -> list[tuple[str, Path]]:
    if path.is_file():
        return [(str(path), path)]
    if is_chartqa(path):
        path = path / "tables"
    return [(name, path / name) for name in walk(path, skipped) if name.lower().endswith((".csv", ".json"))]


def is_chartqa(folder: Path) -> bool:
    """Whether a folder is laid out like ChartQA: `tables/` beside `png/` or `annotations/`."""
    return (folder / "tables").is_dir() and ((folder / "png").is_dir() or (folder / "annotations").is_dir())
