"""Boards from `datasets`: map-style, streamed, saved on disk, or from the hub."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from tqdm import tqdm

from visionzero.images.folders import Entry, Listing
from visionzero.images.reading import UnreadableImage, is_image_like, probe_image, read_image
from visionzero.images.source import SkippedImage

if TYPE_CHECKING:
    import datasets

DEFAULT_STREAM_LIMIT = 1000
"""How many rows of a stream are taken when nothing else is said."""

_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")


def is_dataset(value: Any) -> bool:
    """Whether `value` comes from the `datasets` library; imports nothing."""
    return type(value).__module__.partition(".")[0] == "datasets" and not isinstance(value, type)


def is_hub_id(text: str) -> bool:
    """Whether `text` has the form `owner/name`."""
    return _HUB_ID.fullmatch(text) is not None


def is_saved_dataset(folder: Path) -> bool:
    """Whether `save_to_disk` of a `Dataset` or `DatasetDict` wrote this folder."""
    return (folder / "dataset_dict.json").is_file() or (
        (folder / "dataset_info.json").is_file() and (folder / "state.json").is_file()
    )


def holds_shards(folder: Path) -> bool:
    """Whether a folder, or one in it, has Parquet, Arrow or tar files."""
    return any(
        next(folder.glob(f"{depth}*.{ext}"), None) for depth in ("", "*/") for ext in ("parquet", "arrow", "tar")
    )


def open_dataset(where: str | Path, split: str | None) -> Any:
    """Load a data set from a folder or the hub.

    Args:
        where: A folder that was saved or holds shards, or a hub id.
        split: Which part; `"train"` by default.

    Returns:
        A `datasets.Dataset`.

    Raises:
        ValueError: It cannot be loaded, or has no such split.
        ImportError: `datasets` is not installed.
    """
    try:
        import datasets
    except ImportError as error:
        raise ImportError(f"{where} needs the datasets library: pip install 'visionzero[train]'") from error
    try:
        if isinstance(where, Path) and is_saved_dataset(where):
            loaded = datasets.load_from_disk(str(where))
        else:
            loaded = datasets.load_dataset(str(where), split=split or "train")
    # Whatever goes wrong between here and a hub, users need to know what was tried.
    except Exception as error:
        kind = "the folder" if isinstance(where, Path) else "the hub data set (there is no file or folder of that name)"
        raise ValueError(f"cannot load {kind} {str(where)!r}: {type(error).__name__}: {error}") from error
    if isinstance(loaded, Mapping):
        return one_split(loaded, split)
    if split is not None and isinstance(where, Path) and is_saved_dataset(where):
        raise ValueError(f"{where} is a single data set without splits; leave split={split!r} out")
    return loaded


def one_split(splits: Mapping[str, Any], split: str | None) -> Any:
    """The named split of a `DatasetDict`, or its only one.

    Raises:
        ValueError: There is no such split, or none is named and there are several.
    """
    if split is None and len(splits) == 1:
        return next(iter(splits.values()))
    if split is None or split not in splits:
        raise ValueError(f"split must be one of {', '.join(map(repr, splits))}, got {split!r}")
    return splits[split]


def list_dataset(
    dataset: Any, *, column: str | None, edited_column: str | None, limit: int | None, max_pixels: int
) -> tuple[Sequence[Entry], list[SkippedImage]]:
    """The boards of a data set.

    Args:
        dataset: A `Dataset` (rows are read when they are asked for) or an `IterableDataset` (its first `limit` rows are
            read now and kept as encoded bytes).
        column: The column of what civilians see; the only image column by default.
        edited_column: The column of the edited view, if there is one.
        limit: How many rows to take; all of a `Dataset`, 1000 of an `IterableDataset` by default.
        max_pixels: Larger images of a stream are skipped here, others when they are read.

    Returns:
        The boards, and the rows of a stream that hold no readable image.

    Raises:
        ValueError: There is no such column, or no image column, or several and none is named.
    """
    import datasets

    dataset = dataset.with_format(None)
    columns = _columns(dataset, column, edited_column)
    dataset = dataset.select_columns([name for name in columns if name is not None])
    for name in columns:
        if name is not None and isinstance((dataset.features or {}).get(name), datasets.Image):
            dataset = dataset.cast_column(name, datasets.Image(decode=False))
    if isinstance(dataset, datasets.IterableDataset):
        listing = _read_stream(dataset, columns, DEFAULT_STREAM_LIMIT if limit is None else limit, max_pixels)
        return listing.entries, listing.skipped
    size = len(dataset) if limit is None else min(limit, len(dataset))
    return DatasetEntries(dataset, columns, size), []


@dataclass(frozen=True)
class _Cell:
    """One image of a map-style data set; calling it reads the row."""

    dataset: datasets.Dataset
    row: int
    column: str

    def __call__(self) -> Any:
        return _encoded(self.dataset[self.row][self.column])


class DatasetEntries(Sequence[Entry]):
    """The rows of a map-style data set as boards, made when they are asked for.

    Args:
        dataset: Its image columns are not decoded.
        columns: What civilians see, and the edited view or None.
        size: How many rows count.
    """

    def __init__(self, dataset: datasets.Dataset, columns: tuple[str, str | None], size: int) -> None:
        self.dataset = dataset
        self.columns = columns
        self.size = size

    def __len__(self) -> int:
        return self.size

    @overload
    def __getitem__(self, index: int) -> Entry: ...
    @overload
    def __getitem__(self, index: slice) -> list[Entry]: ...
    def __getitem__(self, index: int | slice) -> Entry | list[Entry]:
        if isinstance(index, slice):
            return [self[position] for position in range(*index.indices(self.size))]
        if not 0 <= index < self.size:
            raise IndexError(index)
        civilian, spy = self.columns
        spy_cell = _Cell(self.dataset, index, spy) if spy is not None else None
        return Entry(f"row {index}", _Cell(self.dataset, index, civilian), spy_cell, f"row {index}, {spy}")


def _columns(dataset: Any, column: str | None, edited_column: str | None) -> tuple[str, str | None]:
    import datasets

    features = dataset.features
    if features is None:
        # A stream does not always know its columns before its first row.
        row: dict[str, Any] = next(iter(dataset), {})
        names, images = list(row), [name for name, value in row.items() if _is_image_value(value)]
    else:
        names, images = list(features), [name for name, kind in features.items() if isinstance(kind, datasets.Image)]
    for name in filter(None, (column, edited_column)):
        if name not in names:
            raise ValueError(f"the data set has no column {name!r}; it has {', '.join(map(repr, names)) or 'none'}")
    if column is None:
        rest = [name for name in images if name != edited_column]
        if len(rest) != 1:
            which = f"several image columns ({', '.join(rest)})" if rest else f"no image column among {names}"
            raise ValueError(f"the data set has {which}; name one with column=...")
        column = rest[0]
    if column == edited_column:
        raise ValueError(f"column and edited_column are both {column!r}")
    return column, edited_column


def _is_image_value(value: Any) -> bool:
    return not isinstance(value, str) and is_image_like(value)


def _encoded(value: Any) -> Any:
    """A cell as something that `read_image` takes; files that only `datasets` can open are fetched by it."""
    if isinstance(value, Mapping) and value.get("bytes") is None and isinstance(path := value.get("path"), str):
        if os.path.exists(path):
            return path
        import datasets

        try:
            return datasets.Image().decode_example({"path": path, "bytes": None})
        # Opening an archive or a URL can fail in any way.
        except Exception as error:
            raise UnreadableImage(path, str(error) or type(error).__name__) from error
    return value


def _read_stream(dataset: Any, columns: tuple[str, str | None], limit: int, max_pixels: int) -> Listing:
    listing = Listing()
    rows = tqdm(dataset.take(limit), desc="reading the stream", unit="row", total=limit, delay=2, leave=False)
    for index, row in enumerate(rows):
        name = f"row {index}"
        try:
            civilian, spy = (
                None if column is None else _as_bytes(row.get(column), name, max_pixels) for column in columns
            )
        except UnreadableImage as error:
            listing.skipped.append(SkippedImage(name, error.reason))
        else:
            listing.entries.append(Entry(name, civilian, spy, f"{name}, {columns[1]}"))
    return listing


def _as_bytes(value: Any, name: str, max_pixels: int) -> bytes:
    """The encoded image of a row; one that is not encoded becomes a PNG file."""
    if value is None:
        raise UnreadableImage(name, "the row holds no image")
    try:
        value = _encoded(value)
        content = value.get("bytes") if isinstance(value, Mapping) else value
        if isinstance(content, str):
            content = Path(content).read_bytes()
        if isinstance(content, bytes):
            probe_image(content, name=name, max_pixels=max_pixels)
            return content
        buffer = io.BytesIO()
        read_image(value, name=name, max_pixels=max_pixels).save(buffer, "PNG", compress_level=1)
        return buffer.getvalue()
    except (OSError, TypeError) as error:
        raise UnreadableImage(name, str(error)) from error
