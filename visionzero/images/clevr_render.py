"""Renders CLEVR scenes with Mitsuba: gray ground, soft shadows of area lights, reflective metal, matte rubber."""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from visionzero.images.clevr_geometry import RADII, REFERENCE_SIZE, focal_pixels
from visionzero.images.clevr_layout import COLORS, check_scene, write_whole
from visionzero.images.clevr_meshes import rounded_cube, rounded_cylinder
from visionzero.images.clevr_scene import check_size, scene_camera, scene_lights

RENDERER_VERSION = 1
"""Goes up whenever the same scene would give other pixels."""

SAMPLES = 16
"""Rays a pixel where nothing else is said; 8 take half the time and look nearly as good."""

_VARIANT = "scalar_rgb"
_GROUND = 0.42
_AMBIENT = 0.16
_LIGHT_SIDE = 1.6
_RADIANCE: Mapping[str, float] = {"key": 80.0, "fill": 12.0, "back": 26.0}
_METAL_ROUGHNESS = 0.08
_MAX_DEPTH = 4
_BLOCK = 32
_EMITTERS = 4


def check_samples(samples: int) -> int:
    """`samples` itself.

    Raises:
        ValueError: So many rays do not spread evenly over a pixel and the lights. Possible are, for example, 4, 8, 16, 24,
            32, 36, 48, 64, 100, 144 and 256.
    """
    share = samples // _grid(samples) ** 2
    # Mitsuba's sampler would add rays to a number that is not a rectangle of about equal sides.
    if samples < _EMITTERS or share % _EMITTERS or share % math.isqrt(share):
        raise ValueError(
            f"samples must be a number of rays that spreads evenly over a pixel and {_EMITTERS} lights, "
            f"such as 4, 8, 16, 24, 32, 36, 48, 64, 100, 144 or 256, got {samples!r}"
        )
    return samples


def _grid(samples: int) -> int:
    """Bundles of rays along each side of a pixel: two where each bundle can reach every light, else one."""
    return 2 if samples % (4 * _EMITTERS) == 0 else 1


def render_scene(
    scene: Mapping[str, Any], size: tuple[int, int] = REFERENCE_SIZE, samples: int = SAMPLES
) -> Image.Image:
    """Render a scene by path tracing.

    The same scene gives the same pixels in every process and on any number of cores. CLEVR's 3:2 frame always lies in the
    middle of the picture; other shapes of picture show more above and below it, or at its sides.

    Args:
        scene: A CLEVR scene. Without `camera` or `lights`, CLEVR's own are used without jitter.
        size: Width and height in pixels.
        samples: Rays a pixel; see `check_samples`. Noise halves with four times as many.

    Returns:
        An RGB image.

    Raises:
        SceneError: The scene is malformed.
        ValueError: `size` or `samples` is out of range.
    """
    check_scene(scene)
    width, height = check_size(size)
    # Several ray bundles a pixel, so that a single stray ray can be told from a highlight before they are averaged.
    grid = _grid(check_samples(samples))
    with _mitsuba() as mi:
        description = _description(mi, scene, (width * grid, height * grid), samples // grid**2)
        # Loaded in parallel or with equal parts merged, the lights come in an order that differs from run to run, and the
        # noise with it.
        loaded = mi.load_dict(description, parallel=False, optimize=False)
        linear = np.array(mi.render(loaded, seed=0))
    # Clipped first: beyond white, brightness would only make the edges of highlights jagged.
    bundles = _without_fireflies(np.minimum(linear, 1.0))
    pixels = bundles.reshape(height, grid, width, grid, 3).mean(axis=(1, 3), dtype=np.float64)
    return Image.fromarray(_encoded(pixels))


@contextmanager
def _mitsuba() -> Iterator[Any]:
    """Mitsuba in the variant needed here; one that the caller has chosen comes back afterwards."""
    # Imported late because it takes half a second, which nobody who renders nothing should wait for.
    import mitsuba

    chosen = mitsuba.variant()
    mitsuba.set_variant(_VARIANT)
    try:
        yield mitsuba
    finally:
        if chosen is not None:
            mitsuba.set_variant(chosen)


def set_threads(count: int) -> int:
    """Let rendering in this process use `count` threads, from now on; all cores by default. Never changes a pixel.

    Returns:
        How many it used before.
    """
    import drjit

    before: int = drjit.thread_count()
    if before != count:
        drjit.set_thread_count(count)
    return before


def _description(mi: Any, scene: Mapping[str, Any], size: tuple[int, int], samples: int) -> dict[str, Any]:
    """The scene as Mitsuba's `load_dict` takes it."""
    turned = mi.ScalarTransform4f
    up = [0.0, 0.0, 1.0]
    camera = scene_camera(scene)
    description: dict[str, Any] = {
        "type": "scene",
        "integrator": {
            "type": "path",
            "max_depth": _MAX_DEPTH,
            "rr_depth": _MAX_DEPTH + 1,
            # Mitsuba would choose the size by the number of cores, and the noise follows from the blocks.
            "block_size": _BLOCK,
        },
        "sensor": {
            "type": "perspective",
            "fov_axis": "x",
            "fov": math.degrees(2 * math.atan(size[0] / 2 / focal_pixels(size))),
            "to_world": turned().look_at(list(camera.location), list(camera.target), up),
            "film": {
                "type": "hdrfilm",
                "width": size[0],
                "height": size[1],
                "component_format": "float32",
                # A box keeps blocks apart: with any wider filter, sums depend on which block is finished first.
                "rfilter": {"type": "box"},
            },
            "sampler": {"type": "multijitter", "sample_count": samples},
        },
        "ground": {"type": "rectangle", "to_world": turned().scale(400.0), "bsdf": _diffuse([_GROUND] * 3)},
        # With _EMITTERS emitters in all, every bundle asks each of them equally often, which keeps the noise low.
        "ambient": {"type": "constant", "radiance": _rgb([_AMBIENT] * 3)},
    }
    for name, location in scene_lights(scene).items():
        description[name] = {
            "type": "rectangle",
            "to_world": turned().look_at(list(location), [0.0, 0.0, 0.0], up).scale(_LIGHT_SIDE / 2),
            "emitter": {"type": "area", "radiance": _rgb([_RADIANCE[name]] * 3)},
        }
    for index, thing in enumerate(scene["objects"]):
        description[f"object{index}"] = _shape(mi, thing)
    return description


def _rgb(values: list[float]) -> dict[str, Any]:
    return {"type": "rgb", "value": values}


def _diffuse(reflectance: list[float]) -> dict[str, Any]:
    return {"type": "diffuse", "reflectance": _rgb(reflectance)}


def _shape(mi: Any, thing: Mapping[str, Any]) -> Any:
    color = [value / 255 for value in COLORS[thing["color"]]]
    material = _diffuse(color)
    if thing["material"] == "metal":
        material = {
            "type": "roughconductor",
            "material": "none",
            "alpha": _METAL_ROUGHNESS,
            "specular_reflectance": _rgb(color),
        }
    center, radius = thing["3d_coords"], RADII[thing["size"]]
    if thing["shape"] == "sphere":
        return {"type": "sphere", "center": list(center), "radius": radius, "bsdf": material}
    model = rounded_cube() if thing["shape"] == "cube" else rounded_cylinder()
    angle = math.radians(thing["rotation"])
    turn = np.array(
        [[math.cos(angle), math.sin(angle), 0.0], [-math.sin(angle), math.cos(angle), 0.0], [0.0, 0.0, 1.0]]
    )
    properties = mi.Properties()
    properties["bsdf"] = mi.load_dict(material)
    mesh = mi.Mesh(thing["shape"], len(model.vertices), len(model.faces), has_vertex_normals=True, props=properties)
    parameters = mi.traverse(mesh)
    parameters["vertex_positions"] = (model.vertices @ turn * radius + center).astype(np.float32).ravel()
    parameters["vertex_normals"] = (model.normals @ turn).astype(np.float32).ravel()
    parameters["faces"] = model.faces.astype(np.uint32).ravel()
    parameters.update()
    return mesh


def _without_fireflies(linear: NDArray[np.float32]) -> NDArray[np.float32]:
    """Dim pixels that outshine all but two of their neighbours to the brightness of the third.

    Such are the ends of the few paths that found a light by way of a metal. Highlights are wider and stay.
    """
    height, width = linear.shape[:2]
    brightness = linear.sum(axis=2)
    padded = np.pad(brightness, 1, mode="edge")
    first, second, third = (np.zeros_like(brightness) for _ in range(3))
    for row in range(3):
        for column in range(3):
            if (row, column) != (1, 1):
                neighbour = padded[row : row + height, column : column + width]
                np.maximum(third, np.minimum(second, neighbour), out=third)
                np.maximum(second, np.minimum(first, neighbour), out=second)
                np.maximum(first, neighbour, out=first)
    dimmed = np.minimum(1.0, third / np.maximum(brightness, 1e-6))
    return linear * dimmed[:, :, None]


def _encoded(linear: NDArray[np.float64]) -> NDArray[np.uint8]:
    """Linear RGB as 8-bit sRGB."""
    curve = np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)
    return np.rint(curve * 255).astype(np.uint8)


def cache_folder() -> Path:
    """Where rendered images are kept: `$VISIONZERO_CACHE`, else `visionzero` under `$XDG_CACHE_HOME` or `~/.cache`."""
    chosen = os.environ.get("VISIONZERO_CACHE")
    if chosen:
        return Path(chosen).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "visionzero"


def render_cached(
    scene: Mapping[str, Any], size: tuple[int, int], samples: int, folder: str | Path | None = None
) -> Image.Image:
    """`render_scene`, with the result kept on disk.

    Several processes may share the folder. A file that cannot be read is rendered again.

    Args:
        scene: A CLEVR scene.
        size: Width and height in pixels.
        samples: Rays a pixel.
        folder: Where to keep images; `cache_folder()` by default.

    Raises:
        SceneError: The scene is malformed.
        ValueError: `size` or `samples` is out of range.
        OSError: The folder cannot be written to.
    """
    check_scene(scene)
    key = render_key(scene, check_size(size), check_samples(samples))
    path = (cache_folder() if folder is None else Path(folder)) / "clevr" / key[:2] / f"{key}.png"
    kept = finished_image(path, size)
    if kept is not None:
        return kept
    image = render_scene(scene, size, samples)
    write_whole(png_bytes(image), path)
    return image


def render_key(scene: Mapping[str, Any], size: tuple[int, int], samples: int) -> str:
    """Hash of everything that decides the pixels: the scene's visible part, the settings and the renderer's version."""
    camera = scene_camera(scene)
    decisive = {
        "renderer": [RENDERER_VERSION, version("mitsuba")],
        "size": list(size),
        "samples": samples,
        "camera": [list(camera.location), list(camera.target)],
        "lights": {name: list(location) for name, location in scene_lights(scene).items()},
        "objects": [
            [thing[key] for key in ("shape", "color", "material", "size", "3d_coords", "rotation")]
            for thing in scene["objects"]
        ],
    }
    return hashlib.blake2b(json.dumps(decisive, sort_keys=True).encode(), digest_size=20).hexdigest()


def png_bytes(image: Image.Image) -> bytes:
    """The image as a PNG file."""
    stream = BytesIO()
    image.save(stream, format="PNG")
    return stream.getvalue()


def finished_image(path: Path, size: tuple[int, int]) -> Image.Image | None:
    """The image at `path`, or None if there is no readable RGB image of that size."""
    try:
        with Image.open(path) as image:
            image.load()
            usable = image.mode == "RGB" and image.size == tuple(size)
            return image.copy() if usable else None
    # Damaged files make Pillow raise nearly anything; all of them are simply rendered again.
    except Exception:
        return None
