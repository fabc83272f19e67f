"""Sampling and editing CLEVR scenes."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from visionzero.games.game import derive_seed
from visionzero.images.clevr_geometry import RADII, REFERENCE_SIZE, Camera, visibility
from visionzero.images.clevr_layout import COLORS, MATERIALS, SHAPES, SIZES, Scene, SceneError, check_scene

CAMERA_LOCATION = (7.48113, -6.50764, 5.34367)
"""CLEVR's camera before jitter; it looks at the origin."""

LIGHT_LOCATIONS: Mapping[str, tuple[float, float, float]] = {
    "key": (6.6, 1.2, 7.2),
    "fill": (-5.0, -4.5, 6.0),
    "back": (-2.5, 6.0, 8.0),
}
"""The three area lights before jitter; all of them face the origin."""

MAX_OBJECTS = 10
"""Most objects that CLEVR puts into one scene."""

MIN_VISIBLE_SHARE = 0.4
"""Smallest visible part of an object in a sampled scene."""

MIN_VISIBLE_PIXELS = 120
"""Fewest visible pixels of an object in a picture of `REFERENCE_SIZE`."""

_CAMERA_JITTER = 0.5
_LIGHT_JITTER = 1.0
_AREA = 3.0
_GAP = 0.1
_MARGIN = 0.4
_RELATION_MARGIN = 0.2
_PLACEMENTS = 50
_ARRANGEMENTS = 2000


def sample_scene(
    rng: np.random.Generator,
    *,
    num_objects: tuple[int, int] = (4, 6),
    size: tuple[int, int] = REFERENCE_SIZE,
    image_filename: str = "CLEVR_new_000000.png",
    image_index: int = 0,
    split: str = "new",
) -> Scene:
    """Sample a scene as CLEVR does: no overlaps, every object in the frame and seen well enough to be named.

    Beside CLEVR's own keys the scene holds `camera` (`location`, `target`) and `lights` (location of the lights `key`,
    `fill` and `back`), so that the JSON alone renders to the same picture. Shapes stand far enough apart for any of them
    to become a cube, which is what `edit_scene` needs.

    Args:
        rng: Source of all randomness.
        num_objects: Fewest and most objects, 1 to 10.
        size: Width and height of the picture that `pixel_coords` refer to, in pixels. The scene does not depend on it.
        image_filename: Recorded in the scene.
        image_index: Recorded in the scene.
        split: Recorded in the scene.

    Returns:
        The scene, made of JSON types only.

    Raises:
        ValueError: `num_objects` or `size` is out of range, or so many objects found no place.
    """
    fewest, most = check_num_objects(num_objects)
    camera = Camera(_jittered(rng, CAMERA_LOCATION, _CAMERA_JITTER))
    lights = {name: list(_jittered(rng, location, _LIGHT_JITTER)) for name, location in LIGHT_LOCATIONS.items()}
    directions = camera.directions()
    count = int(rng.integers(fewest, most + 1))
    for _ in range(_ARRANGEMENTS):
        objects = _arrange(rng, count, directions)
        if objects is None:
            continue
        seen = visibility(camera, objects)
        if seen.framed.all() and seen.shares.min() >= MIN_VISIBLE_SHARE and seen.visible.min() >= MIN_VISIBLE_PIXELS:
            break
    else:
        raise ValueError(f"found no arrangement of {count} objects in {_ARRANGEMENTS} attempts; ask for fewer")
    scene: Scene = {
        "split": split,
        "image_index": image_index,
        "image_filename": image_filename,
        "objects": objects,
        "directions": directions,
        "relationships": relationships(objects, directions),
        "camera": {"location": list(camera.location), "target": list(camera.target)},
        "lights": lights,
    }
    return with_pixel_coords(scene, size)


def numbered_scene(
    seed: int,
    index: int,
    *,
    num_objects: tuple[int, int],
    size: tuple[int, int],
    image_filename: str | None = None,
) -> Scene:
    """Scene `index` of the endless series that `seed` names; it does not depend on any other scene.

    Args:
        seed: Any whole number.
        index: Number of the scene, from 0.
        num_objects: See `sample_scene`.
        size: See `sample_scene`.
        image_filename: Recorded in the scene; CLEVR's usual name by default.
    """
    return sample_scene(
        np.random.default_rng(derive_seed(seed, "clevr", index)),
        num_objects=num_objects,
        size=size,
        image_filename=f"CLEVR_new_{index:06d}.png" if image_filename is None else image_filename,
        image_index=index,
    )


def numbered_edit(scene: Mapping[str, Any], seed: int, index: int) -> Scene:
    """The edited view of scene `index` of the series that `seed` names; see `edit_scene`."""
    return edit_scene(scene, np.random.default_rng(derive_seed(seed, "clevr edit", index)))


def _jittered(
    rng: np.random.Generator, location: tuple[float, float, float], amount: float
) -> tuple[float, float, float]:
    x, y, z = (np.asarray(location) + rng.uniform(-amount, amount, 3)).tolist()
    return x, y, z


def _arrange(
    rng: np.random.Generator, count: int, directions: Mapping[str, Sequence[float]]
) -> list[dict[str, Any]] | None:
    """Put `count` objects on the ground, or give up."""
    axes = np.array([directions["right"][:2], directions["behind"][:2]])
    spots = np.zeros((count, 2))
    radii = np.zeros(count)
    objects: list[dict[str, Any]] = []
    for index in range(count):
        shape, size, material, color = (
            options[int(rng.integers(len(options)))] for options in (SHAPES, SIZES, MATERIALS, tuple(COLORS))
        )
        radius = RADII[size]
        for _ in range(_PLACEMENTS):
            spot = rng.uniform(-_AREA, _AREA, 2)
            offsets = spot - spots[:index]
            # sqrt(2) is the reach of a cube's corner, whatever its rotation.
            apart = np.hypot(*offsets.T) >= 2**0.5 * (radius + radii[:index]) + _GAP
            # Along each direction, so that "left of" and "behind" can be told by eye.
            if apart.all() and (np.abs(offsets @ axes.T) >= _MARGIN).all():
                break
        else:
            return None
        spots[index], radii[index] = spot, radius
        objects.append(
            {
                "shape": shape,
                "size": size,
                "material": material,
                "color": color,
                "rotation": float(rng.uniform(0.0, 360.0)),
                "3d_coords": [*spot.tolist(), radius],
            }
        )
    return objects


def relationships(
    objects: Sequence[Mapping[str, Any]], directions: Mapping[str, Sequence[float]]
) -> dict[str, list[list[int]]]:
    """CLEVR's spatial relations.

    Args:
        objects: Objects with `3d_coords`.
        directions: Unit vectors by name.

    Returns:
        For left, right, front and behind, a list for each object: the indices of all objects that lie more than 0.2 scene
        units further in that direction.
    """
    spots = np.array([thing["3d_coords"] for thing in objects], dtype=np.float64).reshape(len(objects), 3)
    related: dict[str, list[list[int]]] = {}
    for name in ("left", "right", "front", "behind"):
        along = spots @ np.asarray(directions[name], dtype=np.float64)
        further = along[None, :] - along[:, None] > _RELATION_MARGIN
        related[name] = [np.flatnonzero(row).tolist() for row in further]
    return related


def scene_camera(scene: Mapping[str, Any]) -> Camera:
    """The camera of a scene; CLEVR's unjittered one where the scene does not record any, as CLEVR's own files do not."""
    recorded = scene.get("camera")
    if recorded is None:
        return Camera(CAMERA_LOCATION)
    return Camera(tuple(recorded["location"]), tuple(recorded["target"]))


def scene_lights(scene: Mapping[str, Any]) -> Mapping[str, Sequence[float]]:
    """The locations of a scene's lights; unjittered ones where the scene does not record any."""
    return scene.get("lights") or LIGHT_LOCATIONS


def with_pixel_coords(scene: Mapping[str, Any], size: tuple[int, int]) -> Scene:
    """A copy of the scene whose `pixel_coords` refer to a picture of `size` (width, height) in pixels.

    Raises:
        ValueError: `size` is out of range.
    """
    width, height = check_size(size)
    result = copy.deepcopy(dict(scene))
    if result["objects"]:
        seen = scene_camera(scene).project([thing["3d_coords"] for thing in result["objects"]], (width, height))
        for thing, (x, y, depth) in zip(result["objects"], seen.tolist(), strict=True):
            thing["pixel_coords"] = [round(x), round(y), depth]
    return result


def edit_scene(scene: Mapping[str, Any], rng: np.random.Generator) -> Scene:
    """Give two objects another shape and another colour; everything else stays, camera and lights included.

    The new shape and colour appear together nowhere in the original scene, and what was visible stays visible.

    Args:
        scene: A scene of at least two objects.
        rng: Source of all randomness.

    Returns:
        The edited scene. Its key `modification` records what changed, in the layout of the released Vision-Zero set:
        `{"replaced_objects": [{"index", "original", "replacement"}, ...]}`.

    Raises:
        SceneError: The scene is malformed or has fewer than two objects.
        ValueError: No edit leaves every object visible.
    """
    check_scene(scene)
    objects = scene["objects"]
    if len(objects) < 2:
        raise SceneError(f"two objects must change, but the scene has {len(objects)}")
    camera = scene_camera(scene)
    # Half of what is seen now is enough in scenes from elsewhere, which hide more of their objects.
    wanted = np.minimum(visibility(camera, objects).shares * 0.5, MIN_VISIBLE_SHARE)
    taken = {(thing["shape"], thing["color"]) for thing in objects}
    pairs = list(itertools.combinations(range(len(objects)), 2))
    for choice in rng.permutation(len(pairs)):
        edited = copy.deepcopy(dict(scene))
        looks: set[tuple[str, str]] = set()
        for index in pairs[choice]:
            thing = edited["objects"][index]
            options = [
                look
                for look in itertools.product(SHAPES, COLORS)
                if look[0] != thing["shape"] and look[1] != thing["color"] and look not in taken | looks
            ]
            if not options:
                break
            thing["shape"], thing["color"] = options[int(rng.integers(len(options)))]
            looks.add((thing["shape"], thing["color"]))
        if len(looks) == 2 and (visibility(camera, edited["objects"]).shares >= wanted).all():
            edited["modification"] = {
                "replaced_objects": [
                    {
                        "index": index,
                        "original": copy.deepcopy(objects[index]),
                        "replacement": copy.deepcopy(edited["objects"][index]),
                    }
                    for index in pairs[choice]
                ]
            }
            return edited
    raise ValueError("no edit of two objects leaves everything visible")


def check_num_objects(num_objects: tuple[int, int], least: int = 1) -> tuple[int, int]:
    """`num_objects` itself.

    Raises:
        ValueError: It is not a range within `least` to 10.
    """
    values = tuple(num_objects)
    if len(values) != 2 or not all(isinstance(value, int) for value in values):
        raise ValueError(f"num_objects must be the fewest and the most objects, such as (4, 6), got {num_objects!r}")
    if not least <= values[0] <= values[1] <= MAX_OBJECTS:
        raise ValueError(f"num_objects must be a range within {least} to {MAX_OBJECTS}, got {num_objects!r}")
    return values


def check_size(size: tuple[int, int]) -> tuple[int, int]:
    """`size` itself.

    Raises:
        ValueError: It is not two positive whole numbers, or a picture higher than wide, in which the ground would end.
    """
    values = tuple(size)
    if len(values) != 2 or not all(isinstance(value, int) and value > 0 for value in values):
        raise ValueError(f"size must be width and height in pixels, such as (320, 240), got {size!r}")
    if values[0] < values[1]:
        raise ValueError(f"size must not be higher than wide, because the ground would end, got {size!r}")
    return values
