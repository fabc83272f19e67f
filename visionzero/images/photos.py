"""Boards from any images: folders, pairs, manifests, lists, data sets."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from visionzero.images.cache import BoardCache
from visionzero.images.folders import Entry, is_manifest, list_folder, read_manifest
from visionzero.images.reading import (
    DEFAULT_MAX_PIXELS,
    UnreadableImage,
    image_name,
    is_image_like,
    probe_image,
    read_image,
)
from visionzero.images.rows import (
    holds_shards,
    is_dataset,
    is_hub_id,
    is_saved_dataset,
    list_dataset,
    one_split,
    open_dataset,
)
from visionzero.images.source import EditedView, ImageKind, ImagePair, ImageSource, SkippedImage


class PhotoSource(ImageSource):
    """Boards from any images. Files are listed at construction and decoded when they are asked for.

    Where `images` holds pairs, the partner of an image is its edited view; elsewhere `edits.edit_photo` makes one. A file
    that turns out to be broken when it is decoded is recorded in `skipped`, once, and its index gives the next readable
    board (the first one after the last), whatever was asked for before.

    Args:
        images: One of
            a folder (`folders.list_folder` says what counts and what makes a pair), also one saved by `datasets` or
            holding Parquet or tar shards;
            a manifest, JSONL or CSV, with the columns `civilian` and, optionally, `spy`;
            a single image, or a sequence of images: paths or anything else that `read_image` takes, pairs
            `(civilian, spy)` of those, or `ImagePair`s;
            a `datasets.Dataset`, `IterableDataset` or `DatasetDict`;
            the hub id `owner/name` of a data set.
        kind: What the images show.
        name: Name of the source; by default where the images come from.
        column: Image column of a data set; by default the only one there is.
        edited_column: Column of a data set that holds the edited views.
        split: Part of a `DatasetDict`, of a hub data set (`"train"` by default) or of one on disk.
        pairs: For folders: None finds pairs, True takes nothing but pairs, False takes every image as a board.
        limit: Take only the first `limit` boards; of an `IterableDataset` 1000 rows by default, of everything else all.
        cache_size: How many decoded images to keep in memory (3 bytes a pixel each, as much again for an edited view
            once it was asked for).
        max_side: Shrink larger images so that their longer side has this many pixels.
        max_pixels: Skip images of more pixels.

    Attributes:
        ignored: How many files of the folder are no images.

    Raises:
        EmptySource: No image can be read; the message names those that were skipped.
        FileNotFoundError: There is no such file or folder.
        ValueError: An option does not fit `images`, or the data set has no such column or split.
        TypeError: `images`, or an item of it, is nothing of the above.
    """

    def __init__(
        self,
        images: Any,
        *,
        kind: ImageKind = "photos",
        name: str | None = None,
        column: str | None = None,
        edited_column: str | None = None,
        split: str | None = None,
        pairs: bool | None = None,
        limit: int | None = None,
        cache_size: int = 64,
        max_side: int | None = None,
        max_pixels: int = DEFAULT_MAX_PIXELS,
    ) -> None:
        for option, value in {"limit": limit, "max_side": max_side, "max_pixels": max_pixels}.items():
            if value is not None and value < 1:
                raise ValueError(f"{option} must be at least 1, got {value}")
        options = _Options(column, edited_column, split, pairs, limit, max_pixels)
        found = _find(images, options)
        self.name = found.name if name is None else name
        self.kind = kind
        self.skipped = []
        self.ignored = found.ignored
        for skip in found.skipped:
            self.skip(skip.name, skip.reason)
        self._entries = found.entries if limit is None else found.entries[:limit]
        self._max_side = max_side
        self._max_pixels = max_pixels
        self._cache = BoardCache(cache_size)
        self._broken: dict[int, SkippedImage] = {}
        self.pair(0)  # a source without a readable board is an error here, not in the middle of a run

    def __len__(self) -> int:
        return len(self._entries)

    def pair(self, index: int) -> ImagePair:
        """The board at `index`, or the next one that can be read.

        Raises:
            EmptySource: Every file has become unreadable since the source was made.
        """
        return self.first_readable(index, self._board, "image", self.ignored)

    def _board(self, index: int) -> ImagePair | None:
        board = self._cache.get(index)
        if board is None and index not in self._broken:
            entry = self._entries[index]
            if isinstance(entry.civilian, ImagePair):
                return entry.civilian
            try:
                civilian = self._read(entry.civilian, entry.name)
                # The partner is read here too: a pair with a broken half is no board, whatever is asked of it.
                edit = None if entry.spy is None else partial(EditedView, self._read(entry.spy, entry.spy_name))
            except UnreadableImage as error:
                skip = SkippedImage(error.name, error.reason)
                # Threads may find out at the same time; only one of them reports.
                if self._broken.setdefault(index, skip) is skip:
                    self.skip(error.name, error.reason)
                return None
            board = ImagePair(civilian, kind=self.kind, name=entry.name, edit=edit)
            return self._cache.keep(index, board, images=1 if edit is None else 2)
        return board

    def _read(self, image: Any, name: str) -> Image.Image:
        try:
            source = image() if callable(image) else image
            if source is None:
                raise UnreadableImage(name, "the row holds no image")
            picture = read_image(source, name=name, max_pixels=self._max_pixels)
        except UnreadableImage as error:
            raise UnreadableImage(name, error.reason) from error
        except TypeError as error:
            raise UnreadableImage(name, str(error)) from error
        if self._max_side is not None:
            picture.thumbnail((self._max_side, self._max_side), Image.Resampling.LANCZOS)
        return picture


@dataclass(frozen=True)
class _Options:
    """How to look for images."""

    column: str | None
    edited_column: str | None
    split: str | None
    pairs: bool | None
    limit: int | None
    max_pixels: int

    def refuse(self, where: str, *names: str) -> None:
        """Say that options are set that mean nothing for `where`."""
        for name in names:
            if (value := getattr(self, name)) is not None:
                raise ValueError(f"{name}={value!r} has no effect on {where}; leave it out")


@dataclass(frozen=True)
class _Found:
    """What `images` holds."""

    name: str
    entries: Sequence[Entry]
    skipped: Sequence[SkippedImage] = ()
    ignored: int = 0


def _find(images: Any, options: _Options) -> _Found:
    if isinstance(images, str | os.PathLike):
        path = Path(images).expanduser()
        if path.exists():
            return _find_on_disk(path, options)
        if not (isinstance(images, str) and is_hub_id(images)):
            raise FileNotFoundError(f"no such file or folder: {images}")
        options.refuse("a hub data set", "pairs")
        return _find_in_dataset(images, open_dataset(images, options.split), options)
    if is_dataset(images):
        options.refuse("a data set", "pairs")
        if isinstance(images, Mapping):
            images = one_split(images, options.split)
        else:
            options.refuse("a data set without splits", "split")
        return _find_in_dataset(
            getattr(getattr(images, "info", None), "dataset_name", None) or "dataset", images, options
        )
    options.refuse("images that are given directly", "column", "edited_column", "split", "pairs")
    if is_image_like(images) and not (isinstance(images, np.ndarray) and images.ndim == 4):
        images = [images]
    if not isinstance(images, Sequence | np.ndarray):
        raise TypeError(f"images must be a folder, a sequence of images or a data set, got {type(images).__name__}")
    return _find_in_sequence(images, options)


def _find_on_disk(path: Path, options: _Options) -> _Found:
    if path.is_file():
        options.refuse("a single file", "column", "edited_column", "split", "pairs")
        if is_manifest(path):
            listing = read_manifest(path, max_pixels=options.max_pixels)
            return _Found(str(path), listing.entries, listing.skipped)
        return replace(_find_in_sequence([path], options), name=str(path))
    if not is_saved_dataset(path):
        listing = list_folder(path, pairs=options.pairs, max_pixels=options.max_pixels)
        if listing.entries or not holds_shards(path):
            options.refuse("a folder of images", "column", "edited_column", "split")
            return _Found(str(path), listing.entries, listing.skipped, listing.ignored)
    options.refuse("a data set on disk", "pairs")
    return _find_in_dataset(str(path), open_dataset(path, options.split), options)


def _find_in_dataset(name: str, dataset: Any, options: _Options) -> _Found:
    entries, skipped = list_dataset(
        dataset,
        column=options.column,
        edited_column=options.edited_column,
        limit=options.limit,
        max_pixels=options.max_pixels,
    )
    return _Found(name, entries, skipped)


def _find_in_sequence(images: Iterable[Any], options: _Options) -> _Found:
    entries, skipped = [], []
    for index, item in enumerate(images):
        name = f"image {index}"
        if isinstance(item, ImagePair):
            entries.append(Entry(item.name, item))
            continue
        sides = item if isinstance(item, tuple) else (item,)
        if not 1 <= len(sides) <= 2 or not all(is_image_like(side) for side in sides):
            kinds = " and ".join(type(side).__name__ for side in sides)
            raise TypeError(f"{name} must be an image that read_image takes, or a pair of two; got {kinds}")
        named = [image_name(side, name if place == 0 else f"{name}, edited view") for place, side in enumerate(sides)]
        # A file object can be read only once, a board many times.
        contents = [side.read() if hasattr(side, "read") else side for side in sides]
        try:
            for content, content_name in zip(contents, named, strict=True):
                # What is not a file costs more to check than to read later.
                if isinstance(content, str | os.PathLike | bytes):
                    probe_image(content, name=content_name, max_pixels=options.max_pixels)
        except UnreadableImage as error:
            skipped.append(SkippedImage(error.name, error.reason))
        else:
            entries.append(Entry(named[0], contents[0], *(contents[1:] + named[1:])))
    return _Found("images", entries, skipped)
