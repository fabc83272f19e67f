"""The CLEVR scene JSON layout: its words, its checks, its files."""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from visionzero.images.source import SkippedImage

Scene = dict[str, Any]
"""One scene of a CLEVR scene JSON file."""

SHAPES = ("cube", "sphere", "cylinder")
SIZES = ("large", "small")
MATERIALS = ("rubber", "metal")
COLORS: Mapping[str, tuple[int, int, int]] = {
    "gray": (87, 87, 87),
    "red": (173, 35, 35),
    "blue": (42, 75, 215),
    "green": (29, 105, 20),
    "brown": (129, 74, 25),
    "purple": (129, 38, 192),
    "cyan": (41, 208, 208),
    "yellow": (255, 238, 51),
}
"""CLEVR's eight colours: reflectances in 255ths of linear RGB."""

LIGHTS = ("key", "fill", "back")

_CHOICES: Mapping[str, Sequence[str]] = {
    "shape": SHAPES,
    "color": tuple(COLORS),
    "material": MATERIALS,
    "size": SIZES,
}


class SceneError(ValueError):
    """A scene that is not what the CLEVR layout says; the message names the key and what would be right."""


class ScenesRead(NamedTuple):
    """What `read_scenes` found.

    Attributes:
        scenes: The usable scenes, in the order of the files' names and of each file.
        skipped: The others, with reasons.
    """

    scenes: list[Scene]
    skipped: list[SkippedImage]


def check_scene(scene: Any, *, placed: bool = True) -> None:
    """Check the keys that this package reads; others are kept as they are.

    Args:
        scene: What should be a scene.
        placed: Whether `3d_coords` and `rotation` are needed, as for rendering; without them `pixel_coords` are.

    Raises:
        SceneError: A key is missing or malformed.
    """
    if not isinstance(scene, Mapping):
        raise SceneError(f"a scene must be a JSON object, got {_shown(scene)}")
    objects = scene.get("objects")
    if not isinstance(objects, list) or not objects:
        raise SceneError(f"objects must be a list of at least one object, got {_shown(objects)}")
    for index, thing in enumerate(objects):
        where = f"objects[{index}]"
        if not isinstance(thing, Mapping):
            raise SceneError(f"{where} must be a JSON object, got {_shown(thing)}")
        for key, options in _CHOICES.items():
            if thing.get(key) not in options:
                raise SceneError(f"{where}.{key} must be one of {', '.join(options)}, got {_shown(thing.get(key))}")
        if placed:
            _check_numbers(f"{where}.3d_coords", thing.get("3d_coords"), 3)
            _check_number(f"{where}.rotation", thing.get("rotation"))
        if not placed or "pixel_coords" in thing:
            _check_numbers(f"{where}.pixel_coords", thing.get("pixel_coords"), 3)
    _check_camera(scene.get("camera"))
    _check_lights(scene.get("lights"))


def _check_camera(camera: Any) -> None:
    if camera is None:
        return
    if not isinstance(camera, Mapping):
        raise SceneError(f"camera must be a JSON object with location and target, got {_shown(camera)}")
    for key in ("location", "target"):
        _check_numbers(f"camera.{key}", camera.get(key), 3)
    if list(camera["location"])[:2] == list(camera["target"])[:2]:
        raise SceneError("camera.location must not lie straight above or below camera.target")


def _check_lights(lights: Any) -> None:
    if lights is None:
        return
    if not isinstance(lights, Mapping) or lights.keys() != set(LIGHTS):
        raise SceneError(f"lights must have exactly the keys {', '.join(LIGHTS)}, got {_shown(lights)}")
    for name in LIGHTS:
        _check_numbers(f"lights.{name}", lights[name], 3)


def _check_numbers(where: str, values: Any, count: int) -> None:
    if not isinstance(values, list | tuple) or len(values) != count:
        raise SceneError(f"{where} must be {count} numbers, got {_shown(values)}")
    for index, value in enumerate(values):
        _check_number(f"{where}[{index}]", value)


def _check_number(where: str, value: Any) -> None:
    # The comparison is written so that NaN fails it; the bound also keeps whole numbers within floats.
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 1e6:
        raise SceneError(f"{where} must be a number between -1e6 and 1e6, got {_shown(value)}")


def _shown(value: Any) -> str:
    text = "nothing" if value is None else repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


def write_scenes(
    scenes: Iterable[Mapping[str, Any]], path: str | Path, *, info: Mapping[str, Any] | None = None
) -> None:
    """Write one CLEVR scene file, `{"info": ..., "scenes": [...]}`. An existing file is replaced in one step.

    Args:
        scenes: The scenes.
        path: File to write.
        info: What to put under `info`; nothing by default.

    Raises:
        SceneError: A scene is malformed; nothing is written.
        OSError: The file cannot be written.
    """
    kept = list(scenes)
    for index, scene in enumerate(kept):
        try:
            check_scene(scene)
        except SceneError as error:
            raise SceneError(f"scene {index}: {error}") from None
    write_json({"info": dict(info or {}), "scenes": kept}, Path(path))


def read_scenes(path: str | Path) -> ScenesRead:
    """Read scenes from a CLEVR scene file, from a file of one scene, or from all `.json` files of a folder.

    Args:
        path: A file `{"info", "scenes": [...]}`, a file that is one scene, or a folder of such files (not deeper).

    Returns:
        The scenes, and by name everything that was left out: malformed scenes, and in a folder also files without any.

    Raises:
        SceneError: A file is no JSON or holds no scenes, or not one scene is usable.
        OSError: The path cannot be read.
    """
    path = Path(path)
    scenes: list[Scene] = []
    skipped: list[SkippedImage] = []
    if path.is_dir():
        files = sorted(path.glob("*.json"))
        if not files:
            raise SceneError(f"no .json files in {path}")
    else:
        files = [path]
    for file in files:
        try:
            entries = _entries(read_json(file))
        except SceneError as error:
            if path != file:
                skipped.append(SkippedImage(str(file), str(error)))
                continue
            raise SceneError(f"{file}: {error}") from None
        for index, scene in enumerate(entries):
            try:
                check_scene(scene)
            except SceneError as error:
                skipped.append(SkippedImage(f"{file}: scene {index}", str(error)))
            else:
                scenes.append(scene)
    if not scenes:
        reason = f"; the first: {skipped[0].name}: {skipped[0].reason}" if skipped else ""
        raise SceneError(f"no usable scene in {path}, {len(skipped)} skipped{reason}")
    return ScenesRead(scenes, skipped)


def _entries(content: Any) -> list[Any]:
    if isinstance(content, Mapping):
        if "scenes" in content:
            content = content["scenes"]
        elif "objects" in content:
            content = [content]
    if not isinstance(content, list):
        raise SceneError('neither {"scenes": [...]} nor one scene with "objects"')
    return content


def read_json(path: Path) -> Any:
    """Read a JSON file.

    Raises:
        SceneError: It is no JSON.
        OSError: It cannot be read.
    """
    try:
        return json.loads(path.read_text(encoding="utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise SceneError(f"not a JSON file: {error}") from None


def write_json(content: Any, path: Path) -> None:
    """Write a JSON file in one step; see `write_whole`."""
    write_whole(json.dumps(content, allow_nan=False).encode(), path)


def write_whole(content: bytes, path: Path) -> None:
    """Write a file in one step: readers and other writers see the old file or the new one, never a part.

    Raises:
        OSError: The file cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        with temporary.open("xb") as stream:
            stream.write(content)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
