"""Which files of a folder or a manifest are boards, and which of them belong together."""

from __future__ import annotations

import csv
import json
import os
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from PIL import Image
from tqdm import tqdm

from visionzero.images.reading import DEFAULT_MAX_PIXELS, UnreadableImage, probe_image
from visionzero.images.source import SkippedImage

PAIR_SUFFIXES = (("_original", "_modified"), ("_civilian", "_spy"), ("_a", "_b"))
"""Endings of two file names that make a pair: what the civilians see, and the edited view."""

PAIR_FOLDERS = (("original", "modified"), ("civilian", "spy"))
"""Names of two sibling folders whose files of equal name make pairs."""

MANIFESTS = ("manifest.jsonl", "manifest.csv")
"""A manifest of one of these names in a folder says itself what the boards are."""

_ALONE = "has no partner, and only pairs are wanted"


@dataclass(frozen=True)
class Entry:
    """A board that has not been read yet.

    Attributes:
        name: What to call it.
        civilian: What `read_image` reads, or a function without arguments that returns that.
        spy: The same for the edited view, None if it is to be made from the civilian's.
        spy_name: What to call the edited view.
    """

    name: str
    civilian: Any
    spy: Any = None
    spy_name: str = ""


@dataclass
class Listing:
    """What was found.

    Attributes:
        entries: The boards, in an order that depends on their names only.
        skipped: What looked like an image or a row and is none, or has no partner.
        ignored: How many other files there are: no image by name or contents.
    """

    entries: list[Entry] = field(default_factory=list)
    skipped: list[SkippedImage] = field(default_factory=list)
    ignored: int = 0


def list_folder(folder: Path, *, pairs: bool | None = None, max_pixels: int = DEFAULT_MAX_PIXELS) -> Listing:
    """The boards in a folder, at any depth.

    Only headers are read. Every file counts whose contents are an image, whatever its name; a file that is named like an
    image and is none is a named skip, other files are counted. Hidden files and folders are left alone. A `manifest.jsonl`
    or `manifest.csv` with a `civilian` column in the folder decides instead.

    Args:
        folder: Where to look.
        pairs: None finds pairs by `PAIR_SUFFIXES` and `PAIR_FOLDERS` and takes every other image as a board of its own;
            a name that asks for a partner is skipped when other names of its kind have theirs and it has none. True skips
            every image that has no partner; False takes every image as a board of its own.
        max_pixels: Larger images are skipped.

    Returns:
        The boards, what was skipped and what was ignored.
    """
    manifest = find_manifest(folder)
    if manifest is not None and pairs is not False:
        listing = read_manifest(manifest, max_pixels=max_pixels)
        if pairs:
            alone = [entry for entry in listing.entries if entry.spy is None]
            listing.skipped += [SkippedImage(entry.name, _ALONE) for entry in alone]
            listing.entries = [entry for entry in listing.entries if entry.spy is not None]
        return listing
    listing = Listing()
    images = []
    files = list(walk(folder, listing.skipped))
    extensions = Image.registered_extensions()
    for name in _with_progress(files):
        try:
            probe_image(folder / name, name=name, max_pixels=max_pixels)
            images.append(name)
        except UnreadableImage as error:
            if PurePosixPath(name).suffix.lower() in extensions:
                listing.skipped.append(SkippedImage(name, error.reason))
            else:
                listing.ignored += 1
    if pairs is False:
        listing.entries = [Entry(name, folder / name) for name in images]
    else:
        _find_pairs(folder, images, listing, only_pairs=bool(pairs))
    return listing


def find_manifest(folder: Path) -> Path | None:
    """The manifest in a folder, if there is one."""
    return next((folder / name for name in MANIFESTS if is_manifest(folder / name)), None)


def is_manifest(path: Path) -> bool:
    """Whether a file is JSONL or CSV with a row that has a `civilian`."""
    if path.suffix.lower() not in (".jsonl", ".csv") or not path.is_file():
        return False
    try:
        return any(isinstance(row, dict) and "civilian" in row for _, row in _rows(path))
    except ValueError:
        return False


def read_manifest(path: Path, *, max_pixels: int = DEFAULT_MAX_PIXELS) -> Listing:
    """The boards that a manifest names.

    A manifest is a JSONL file of objects or a CSV file with a header. `civilian` is the path of an image, `spy`, if it is
    there and not empty, the path of the edited view; both count from the manifest's folder. Other columns are not read.

    Args:
        path: A `.jsonl` or `.csv` file.
        max_pixels: Larger images are skipped.

    Returns:
        The boards in the order of the rows; rows that name no readable images are skipped.

    Raises:
        ValueError: The file is no manifest: not UTF-8, no JSONL or CSV, or no `civilian` in a CSV's header.
        OSError: The file cannot be opened.
    """
    listing = Listing()
    for line, row in _with_progress(list(_rows(path))):
        name = f"{path.name} line {line}"
        if isinstance(row, str):
            listing.skipped.append(SkippedImage(name, row))
            continue
        civilian, spy = row.get("civilian"), row.get("spy") or None
        if not isinstance(civilian, str) or not civilian or not isinstance(spy, str | None):
            given = json.dumps({"civilian": civilian, "spy": spy}, ensure_ascii=False)
            listing.skipped.append(SkippedImage(name, f"civilian and spy must be paths, got {given}"))
            continue
        try:
            for image in filter(None, (civilian, spy)):
                probe_image(path.parent / image, name=image, max_pixels=max_pixels)
        except UnreadableImage as error:
            listing.skipped.append(SkippedImage(f"{name}, {error.name}", error.reason))
        else:
            listing.entries.append(
                Entry(civilian, path.parent / civilian, path.parent / spy if spy else None, spy or "")
            )
    return listing


def walk(folder: Path, skipped: list[SkippedImage]) -> Iterator[str]:
    """Every file below a folder that is not hidden, as a path from the folder with slashes.

    The order is that of the names (Unicode NFC), so it is the same on every file system. Links to folders are followed,
    unless they lead back to a folder that they are in.

    Args:
        folder: Where to start.
        skipped: Gets the folders that cannot be listed.
    """
    yield from _walk(folder, "", frozenset(), skipped)


def _walk(folder: Path, prefix: str, above: frozenset[str], skipped: list[SkippedImage]) -> Iterator[str]:
    real = os.path.realpath(folder)
    if real in above:
        return
    try:
        with os.scandir(folder) as found:
            children = sorted(found, key=lambda child: (unicodedata.normalize("NFC", child.name), child.name))
    except OSError as error:
        skipped.append(SkippedImage(prefix or str(folder), error.strerror or str(error)))
        return
    for child in children:
        if child.name.startswith(".") or child.name == "__MACOSX":
            continue
        if child.is_dir():
            yield from _walk(Path(child.path), f"{prefix}{child.name}/", above | {real}, skipped)
        else:
            yield prefix + child.name


def _with_progress(items: list[Any]) -> Iterable[Any]:
    # Nothing is shown in the first two seconds: most folders are done by then.
    return tqdm(items, desc="reading image headers", unit="file", delay=2, leave=False)


def _rows(path: Path) -> Iterator[tuple[int, dict[str, Any] | str]]:
    """Line number and row of a manifest, or line number and what is wrong with that line."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            if path.suffix.lower() == ".csv":
                reader = csv.DictReader(file)
                if "civilian" not in (reader.fieldnames or ()):
                    raise ValueError(f"{path} has no 'civilian' column, its header is {reader.fieldnames}")
                for row in reader:
                    yield reader.line_num, row
            else:
                for number, line in enumerate(file, 1):
                    if line.strip():
                        yield number, _json_object(line)
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not UTF-8 text: {error}") from error
    except csv.Error as error:
        raise ValueError(f"{path} is not a CSV file: {error}") from error


def _json_object(line: str) -> dict[str, Any] | str:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        return f"not JSON: {error}"
    return row if isinstance(row, dict) else f"a JSON object with 'civilian' is needed, got {type(row).__name__}"


@dataclass(frozen=True)
class _Place:
    """Where a file would stand in a pair: whose (the group), among which others (the family), on which side."""

    family: str
    group: str
    side: int
    partner: str


def _place(name: str) -> _Place | None:
    path = PurePosixPath(name)
    for index, part in enumerate(path.parts[:-1]):
        for sides in PAIR_FOLDERS:
            if part.lower() in sides:
                side = sides.index(part.lower())
                above, below = "/".join(path.parts[:index]), "/".join(path.parts[index + 1 : -1])
                partner = f"{sides[1 - side]}/{below}/{path.stem}".replace("//", "/")
                return _Place(f"{above}/{sides[0]}/", f"{below}/{path.stem}", side, partner)
    for sides in PAIR_SUFFIXES:
        for side, suffix in enumerate(sides):
            if path.stem.lower().endswith(suffix) and len(path.stem) > len(suffix):
                stem = path.stem[: -len(suffix)]
                return _Place(sides[0], f"{path.parent}/{stem}", side, stem + sides[1 - side])
    return None


def _find_pairs(folder: Path, images: list[str], listing: Listing, *, only_pairs: bool) -> None:
    places = {name: _place(name) for name in images}
    groups: dict[tuple[str, str], dict[int, str]] = defaultdict(dict)
    for name, place in places.items():
        if place is not None:
            groups[place.family, place.group].setdefault(place.side, name)
    # One word at the end of a name proves nothing; it means a pair where at least one pair of its kind is complete.
    families = {family for (family, _), sides in groups.items() if len(sides) == 2}
    for name, place in places.items():
        if place is None or place.family not in families:
            if only_pairs:
                listing.skipped.append(SkippedImage(name, _ALONE))
            else:
                listing.entries.append(Entry(name, folder / name))
            continue
        sides = groups[place.family, place.group]
        if len(sides) < 2:
            listing.skipped.append(SkippedImage(name, f"has no readable partner named {place.partner}"))
        elif sides[place.side] != name:
            listing.skipped.append(SkippedImage(name, f"{sides[place.side]} has the same place in the pair"))
        elif place.side == 0:
            listing.entries.append(Entry(name, folder / name, folder / sides[1], sides[1]))
