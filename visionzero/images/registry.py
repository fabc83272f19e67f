"""Finds image sources: by name, by path, or by what is given."""

from __future__ import annotations

import difflib
import importlib.resources
import inspect
import logging
import os
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, TypeVar

from visionzero.images.source import ImageSource

logger = logging.getLogger(__name__)

ENTRY_POINTS = "visionzero.images"
"""Packages register sources under this entry-point group; the name of the entry point is the name of the source."""

Builder = Callable[..., Any]
BuilderT = TypeVar("BuilderT", bound=Builder)

_registered: dict[str, Builder] = {}


def register_images(name: str) -> Callable[[BuilderT], BuilderT]:
    """Give a function that makes images a name that `load_images` knows.

        @register_images("my-maps")
        def my_maps(region="north", seed=0):
            return [Image.open(path) for path in maps_of(region)]      # or an ImageSource, or a Dataset

        load_images("my-maps", region="south")

    Packages do the same with an entry point in the group `visionzero.images`.

    Args:
        name: The new name.

    Returns:
        A decorator that returns the function unchanged. The function takes its options as keywords and returns an
        `ImageSource` or anything that `PhotoSource` takes.

    Raises:
        ValueError: The name is taken, or looks like a path.
    """
    if not name or name != name.strip() or "/" in name or os.sep in name:
        raise ValueError(f"a name for images must be a word without slashes, got {name!r}")
    if name in _BUILT_IN:
        raise ValueError(f"the name {name!r} is one of the package's own: {', '.join(_BUILT_IN)}")

    def register(builder: BuilderT) -> BuilderT:
        known = _registered.get(name)
        # Running a cell or reloading a module again defines the same function anew.
        if known is not None and _identity(known) != _identity(builder):
            raise ValueError(f"the name {name!r} is taken by {'.'.join(_identity(known))}")
        _registered[name] = builder
        return builder

    return register


def image_names() -> list[str]:
    """Every name that `load_images` knows: the package's own, registered ones, and entry points."""
    return sorted({*_BUILT_IN, *_registered, *(point.name for point in entry_points(group=ENTRY_POINTS))})


def load_images(spec: Any, **options: Any) -> ImageSource:
    """Turn anything that means images into a source of boards.

    Args:
        spec: One of
            an `ImageSource`, which is returned as it is;
            `"photos"` (sample photos of this package; options `limit`, `max_side`, `cache_size`),
            `"clevr"` (rendered scenes; options of `ClevrSource`),
            `"charts"` (options of `ChartSource`, or `tables=` and the options of `ChartSource.from_tables`);
            a name that `register_images` or an entry point registered, with that function's options;
            a path: a folder of finished CLEVR scenes or pairs, of ChartQA, or of images, a manifest, a table file, an image;
            a hub id `owner/name`, a data set, a sequence of images, a single image: see `PhotoSource`, also for the options.
        **options: Options of the source.

    Returns:
        The source; never an empty one.

    Raises:
        ValueError: The name is unknown, the source does not take an option, or it is empty (`EmptySource`).
        FileNotFoundError: There is no such file or folder.
        TypeError: `spec` is nothing of the above.
    """
    if isinstance(spec, ImageSource):
        if options:
            raise ValueError(f"{spec!r} is a finished source and takes no options, got {', '.join(options)}")
        return spec
    if isinstance(spec, str):
        builder = _named(spec)
        if builder is not None:
            if Path(spec).exists():
                logger.warning("%r means the source of that name; write './%s' for the file or folder", spec, spec)
            return _as_source(_call(builder, spec, options), spec)
        path = Path(spec).expanduser()
        if path.exists():
            return _from_path(path, options)
        if "/" not in spec and os.sep not in spec and not spec.startswith((".", "~")):
            raise ValueError(_unknown(spec))
    elif isinstance(spec, os.PathLike):
        return _from_path(Path(spec).expanduser(), options)
    return _photos(spec, options)


def mix_images(sources: Sequence[Any], weights: Sequence[float] | None = None) -> ImageSource:
    """Several sources as one: a fixed, even order in which each source comes at its own rate.

    Args:
        sources: Sources, or anything else that `load_images` takes without options.
        weights: How often each source comes, relative to the others; equally often by default.

    Returns:
        A `MixedSource`: see there for order and length.

    Raises:
        ValueError: A source cannot be made, or the weights do not fit.
    """
    from visionzero.images.mixing import MixedSource

    if isinstance(sources, str | os.PathLike | Mapping):
        raise TypeError(f"mix_images needs a list of sources, got {sources!r}")
    return MixedSource([load_images(source) for source in sources], weights)


def _sample_photos(limit: int | None = None, max_side: int | None = None, cache_size: int = 64) -> ImageSource:
    from visionzero.images.photos import PhotoSource

    folder = Path(str(importlib.resources.files("visionzero.assets") / "photos"))
    return PhotoSource(folder, name="photos", limit=limit, max_side=max_side, cache_size=cache_size)


def _clevr(**options: Any) -> ImageSource:
    from visionzero.images.clevr import ClevrSource

    return _call(ClevrSource, "clevr", options)


def _charts(**options: Any) -> ImageSource:
    from visionzero.images.charts import ChartSource

    if "tables" in options:
        return _call(ChartSource.from_tables, "charts from tables", options)
    return _call(ChartSource, "charts", options)


_BUILT_IN: dict[str, Builder] = {"charts": _charts, "clevr": _clevr, "photos": _sample_photos}


def _named(name: str) -> Builder | None:
    if name in _BUILT_IN:
        return _BUILT_IN[name]
    if name in _registered:
        return _registered[name]
    found: list[EntryPoint] = list(entry_points(group=ENTRY_POINTS, name=name))
    if len({point.value for point in found}) > 1:
        raise ValueError(
            f"several packages register images named {name!r}: {', '.join(point.value for point in found)}"
        )
    return found[0].load() if found else None


def _from_path(path: Path, options: dict[str, Any]) -> ImageSource:
    from visionzero.images.charts import ChartSource, is_chartqa
    from visionzero.images.folders import is_manifest

    if path.is_dir():
        if _is_clevr(path):
            from visionzero.images.clevr import ClevrSource

            return _call(ClevrSource.from_folder, f"the CLEVR folder {path}", options, path)
        if is_chartqa(path):
            return _call(ChartSource.from_tables, f"the ChartQA folder {path}", options, path)
    elif path.suffix.lower() in (".csv", ".json") and not is_manifest(path):
        return _call(ChartSource.from_tables, f"the table file {path}", options, path)
    return _photos(path, options)


def _is_clevr(folder: Path) -> bool:
    """Whether a folder holds replacement pairs (the released set's layout), or images with a scene file (CLEVR's)."""
    if any((root / "replacement_images").is_dir() for root in (folder, folder / "output")):
        return True
    if (folder / "scenes.json").is_file():
        return True
    return (folder / "images").is_dir() and next((folder / "scenes").glob("*.json"), None) is not None


def _photos(images: Any, options: dict[str, Any]) -> ImageSource:
    from visionzero.images.photos import PhotoSource

    return _call(PhotoSource, "a source of photos", options, images)


def _as_source(made: Any, name: str) -> ImageSource:
    if isinstance(made, ImageSource):
        if len(made) == 0:
            raise ValueError(f"the source {name!r} is empty")
        return made
    from visionzero.images.photos import PhotoSource

    return PhotoSource(made, name=name)


def _call(builder: Builder, what: str, options: dict[str, Any], *args: Any) -> Any:
    """Call with options, after making sure that it takes them."""
    parameters = list(inspect.signature(builder).parameters.values())[len(args) :]
    if not any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters):
        taken = [
            parameter.name
            for parameter in parameters
            if parameter.kind in (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
        ]
        unknown = [name for name in options if name not in taken]
        if unknown:
            hints = "".join(f"; did you mean {hint}?" for hint in difflib.get_close_matches(unknown[0], taken, 1))
            known = f"it takes {', '.join(taken)}" if taken else "it takes none"
            raise ValueError(f"{what} has no option {', '.join(unknown)}: {known}{hints}")
    return builder(*args, **options)


def _identity(builder: Builder) -> tuple[str, str]:
    return getattr(builder, "__module__", "") or "", getattr(builder, "__qualname__", repr(builder))


def _unknown(name: str) -> str:
    names = image_names()
    close = difflib.get_close_matches(name, names, 3)
    hint = f"did you mean {' or '.join(map(repr, close))}? " if close else ""
    return (
        f"unknown images {name!r}: {hint}There is no such file or folder, and the names are {', '.join(names)}; "
        "a data set on the hub is written owner/name"
    )
