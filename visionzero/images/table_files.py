"""Reads chart tables from CSV and JSON files, ChartQA's layout included."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from visionzero.images.tables import MAX_LABELS, ChartTable, ChartType, TableError, guess_type

_DELIMITERS = (",", ";", "\t")
_THOUSANDS = re.compile(r"\d{1,3}(,\d{3})+(\.\d+)?")
_DECIMAL_COMMA = re.compile(r"\d+,\d+")
_DECORATION = re.compile(r"[\s\u00a0\u202f$\u20ac\u00a3\u00a5]")
_KEYS = {"type", "title", "labels", "values", "series", "unit"}


def read_tables(path: str | Path) -> list[ChartTable]:
    """Read the chart tables in a file.

    `.csv`: a header, then a row a label: the label first, then a number for each series. Comma, semicolon or tab
    separated; numbers may have thousands separators, a percent or a currency sign. In ChartQA's layout (`tables/ID.csv`
    beside `annotations/ID.json`) type and title come from the annotation, where it has them; otherwise the type is guessed
    from the numbers and the title is the file's name, unless that is a number.

    `.json`: one object, or a list of them, `{"labels": [...], "values": [...]}` with, optionally, `type` (`line`, `bar`,
    `pie`), `title`, `unit`, and, instead of `values`, `series`: `[{"name": ..., "values": [...]}, ...]`.

    Args:
        path: The file.

    Returns:
        Its tables, in order.

    Raises:
        TableError: The file is no such table; the message names file, row and cell.
        OSError: The file cannot be opened.
    """
    path = Path(path)
    reader = {".csv": _from_csv, ".json": _from_json}.get(path.suffix.lower())
    if reader is None:
        raise TableError(f"{path}: a table must be a .csv or .json file")
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise TableError(f"{path} is not UTF-8 text: {error}") from error
    try:
        return reader(text, path)
    except TableError as error:
        raise TableError(f"{path}: {error}") from error


def parse_number(text: str, *, decimal_comma: bool = False) -> float:
    """The number that a cell shows.

    Args:
        text: Such as `"1,234.5"`, `"56 %"`, `"$12"` or a minus sign of any kind.
        decimal_comma: Read `"3,5"` as three and a half.

    Raises:
        TableError: It is not a finite number.
    """
    plain = _DECORATION.sub("", text).replace("\u2212", "-").removesuffix("%")
    sign = -1.0 if plain.startswith("-") else 1.0
    digits = plain.removeprefix("-").removeprefix("+")
    if decimal_comma and _DECIMAL_COMMA.fullmatch(digits):
        digits = digits.replace(",", ".")
    elif _THOUSANDS.fullmatch(digits):
        digits = digits.replace(",", "")
    # float() would also take "nan", "inf", "1_000" and digits of any script.
    if not re.fullmatch(r"(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", digits, re.ASCII):
        raise TableError(f"{text!r} is not a number")
    return sign * float(digits)


def _from_csv(text: str, path: Path) -> list[ChartTable]:
    header = text.partition("\n")[0]
    delimiter = max(_DELIMITERS, key=header.count)
    try:
        rows = [
            row for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter) if any(map(str.strip, row))
        ]
    except csv.Error as error:
        raise TableError(f"not a CSV file: {error}") from error
    if len(rows) < 2:
        raise TableError("needs a header and at least one row" if rows else "is empty")
    names = [name.strip() for name in rows[0][1:]]
    if not names:
        raise TableError(f"needs a column of labels and at least one of numbers, its header is {rows[0]}")
    if len(rows) - 1 > MAX_LABELS:
        raise TableError(f"has {len(rows) - 1} rows, a chart can show {MAX_LABELS}")
    numbers = []
    for line, row in enumerate(rows[1:], 2):
        if len(row) != len(rows[0]):
            raise TableError(f"row {line} has {len(row)} cells, the header has {len(rows[0])}")
        numbers.append([_cell(cell, line, name, delimiter) for cell, name in zip(row[1:], names, strict=True)])
    values = list(zip(*numbers, strict=True))
    labels = [row[0].strip() for row in rows[1:]]
    title = "" if path.stem.isdigit() else re.sub(r"[_\-\s]+", " ", path.stem).strip()
    kind, noted_title = _annotation(path)
    percent = all(cell.strip().endswith("%") for row in rows[1:] for cell in row[1:])
    if kind == "pie" and len(values) > 1:
        kind = None
    return [
        ChartTable(
            title=noted_title or title,
            labels=tuple(labels),
            values=tuple(values),
            type=kind or guess_type(labels, values),
            series=tuple(names) if len(names) > 1 else ("",),
            unit="%" if percent else "",
        )
    ]


def _cell(cell: str, line: int, name: str, delimiter: str) -> float:
    try:
        return parse_number(cell, decimal_comma=delimiter != ",")
    except TableError as error:
        raise TableError(
            f"row {line}, column {name!r}: {error}" if cell.strip() else f"row {line}, column {name!r} is empty"
        ) from error


def _annotation(path: Path) -> tuple[ChartType | None, str]:
    """Type and title that ChartQA notes for `tables/ID.csv`; every part of the annotation may be missing."""
    try:
        note = json.loads((path.parent.parent / "annotations" / f"{path.stem}.json").read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, RecursionError):
        return None, ""
    if not isinstance(note, Mapping):
        return None, ""
    words = str(note.get("type", "")).lower()
    kinds: tuple[ChartType, ...] = ("line", "bar", "pie")
    title: Any = note
    for key in ("general_figure_info", "title", "text"):
        title = title.get(key) if isinstance(title, Mapping) else None
    return next((kind for kind in kinds if kind in words), None), title if isinstance(title, str) else ""


def _from_json(text: str, path: Path) -> list[ChartTable]:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise TableError(f"not JSON: {error}") from error
    items = data if isinstance(data, list) else [data]
    if not items:
        raise TableError("holds no table")
    tables = []
    for index, item in enumerate(items):
        try:
            tables.append(table_from_scene(item))
        except TableError as error:
            raise TableError(f"table {index}: {error}" if isinstance(data, list) else str(error)) from error
    return tables


def table_from_scene(scene: Any) -> ChartTable:
    """The table that plain data in the JSON layout of `read_tables` describes; the way back from `ChartTable.scene`.

    Raises:
        TableError: It does not.
    """
    if not isinstance(scene, Mapping):
        raise TableError(f"a table must be an object with labels and values, got {type(scene).__name__}")
    if unknown := sorted(map(str, scene.keys() - _KEYS)):
        raise TableError(f"unknown keys {', '.join(unknown)}; known ones are {', '.join(sorted(_KEYS))}")
    labels = scene.get("labels")
    if not isinstance(labels, Sequence) or isinstance(labels, str):
        raise TableError(f"labels must be a list, got {labels!r}")
    # Years are often written as numbers.
    labels = [str(label) if isinstance(label, int) and not isinstance(label, bool) else label for label in labels]
    names, values = _columns(scene)
    if scene.get("type") is None:
        checked = ChartTable(title="", labels=tuple(labels), values=values, series=names)
        kind: Any = guess_type(checked.labels, checked.values)
    else:
        kind = scene["type"]
    return ChartTable(
        title=scene.get("title", ""),
        labels=tuple(labels),
        values=values,
        type=kind,
        series=names,
        unit=scene.get("unit", ""),
    )


def _columns(scene: Mapping[str, Any]) -> tuple[tuple[str, ...], tuple[tuple[Any, ...], ...]]:
    flat, series = scene.get("values"), scene.get("series")
    if series is None:
        if not isinstance(flat, Sequence) or isinstance(flat, str):
            raise TableError(f"values must be a list of numbers, got {flat!r}")
        return ("",), (tuple(flat),)
    if not isinstance(series, Sequence) or not all(
        isinstance(column, Mapping)
        and column.keys() == {"name", "values"}
        and isinstance(column["values"], Sequence)
        and not isinstance(column["values"], str)
        for column in series
    ):
        raise TableError('series must be a list of {"name": ..., "values": [...]}')
    columns = tuple(tuple(column["values"]) for column in series)
    if flat is not None and columns and list(flat) != list(columns[0]):
        raise TableError("values and the first of the series differ; leave values out")
    return tuple(column["name"] for column in series), columns
