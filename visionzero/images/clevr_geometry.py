"""Where CLEVR objects stand in space, and where and how much of them a camera sees."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

RADII: Mapping[str, float] = {"large": 0.7, "small": 0.35}
"""Half the height and half the width of an object by its size name, in scene units. Cubes are turned about their centre."""

REFERENCE_SIZE = (320, 240)
"""Width and height of CLEVR's pictures, in pixels."""

FRAME = 3 / 2
"""Width over height of the frame that every picture shows whole: that of the released CLEVR pictures, 480 x 320."""

_FOCAL_LENGTH = 35 / 32
"""Focal length of CLEVR's camera in widths of its picture (35 mm lens, 32 mm sensor)."""

_VISIBILITY_SIZE = (160, 120)


@dataclass(frozen=True)
class Camera:
    """A pinhole camera that stands upright.

    Attributes:
        location: Where it is, in scene units; z points up and the ground is z = 0.
        target: The point in the middle of the picture.
    """

    location: tuple[float, float, float]
    target: tuple[float, float, float] = (0.0, 0.0, 0.0)

    def axes(self) -> Array:
        """Rows: unit vectors to the right, up and forward, shape (3, 3)."""
        forward = np.subtract(self.target, self.location).astype(np.float64)
        forward /= np.linalg.norm(forward)
        right = np.cross(forward, (0.0, 0.0, 1.0))
        right /= np.linalg.norm(right)
        return np.stack([right, np.cross(right, forward), forward])

    def directions(self) -> dict[str, list[float]]:
        """CLEVR's six unit vectors along the ground and off it, as seen by this camera."""
        right = self.axes()[0]
        behind = np.cross((0.0, 0.0, 1.0), right)
        up = np.array((0.0, 0.0, 1.0))
        pairs = {"left": -right, "right": right, "front": -behind, "behind": behind, "above": up, "below": -up}
        # Adding 0.0 turns the -0.0 of negated vectors into 0.0.
        return {name: (vector + 0.0).tolist() for name, vector in pairs.items()}

    def project(self, points: Any, size: tuple[int, int] = REFERENCE_SIZE) -> Array:
        """Where points appear in a picture.

        Args:
            points: Scene coordinates, shape (n, 3).
            size: Width and height of the picture in pixels.

        Returns:
            Shape (n, 3): x from the left and y from the top in pixels, and the depth along the camera's axis in scene units.
        """
        seen = (np.asarray(points, dtype=np.float64) - self.location) @ self.axes().T
        focal = focal_pixels(size)
        return np.stack(
            [
                size[0] / 2 + focal * seen[:, 0] / seen[:, 2],
                size[1] / 2 - focal * seen[:, 1] / seen[:, 2],
                seen[:, 2],
            ],
            axis=1,
        )


def focal_pixels(size: tuple[int, int]) -> float:
    """Focal length in pixels at which `FRAME` just fits into a picture of `size` (width, height)."""
    width, height = size
    return min(width, height * FRAME) * _FOCAL_LENGTH


@dataclass(frozen=True, eq=False)
class Visibility:
    """How many pixels of each object can be seen in a picture of `REFERENCE_SIZE`.

    Attributes:
        visible: Pixels of each object that nothing hides, shape (n,).
        whole: Pixels that it would have alone, shape (n,).
        framed: Whether it lies inside `FRAME` entirely, shape (n,).
    """

    visible: Array
    whole: Array
    framed: NDArray[np.bool_]

    @property
    def shares(self) -> Array:
        """Visible part of each object, 0 to 1; 0 for an object without any pixel."""
        return self.visible / np.maximum(self.whole, 1.0)


def visibility(camera: Camera, objects: Sequence[Mapping[str, Any]]) -> Visibility:
    """Cast one ray a pixel at every object.

    Args:
        camera: The camera.
        objects: Objects of a CLEVR scene, with `shape`, `size`, `3d_coords` and `rotation`.

    Returns:
        What is seen of each object. Rays are cast at half of `REFERENCE_SIZE`, so that counts are multiples of 4.
    """
    rays = _rays() @ camera.axes()
    depths = np.stack([_depths(camera, rays, thing) for thing in objects])
    hit = np.isfinite(depths)
    nearest = np.argmin(depths, axis=0)
    indices = np.arange(len(objects))[:, None]
    scale = (REFERENCE_SIZE[0] / _VISIBILITY_SIZE[0]) ** 2
    centers = camera.project([thing["3d_coords"] for thing in objects], REFERENCE_SIZE)
    # The sphere around a cube is the largest of the three outlines that an edit can give the object.
    reach = (
        np.array([RADII[thing["size"]] * 2**0.5 for thing in objects]) * focal_pixels(REFERENCE_SIZE) / centers[:, 2]
    )
    half_frame = np.array([REFERENCE_SIZE[0] / 2, REFERENCE_SIZE[0] / FRAME / 2])
    room = (half_frame - np.abs(centers[:, :2] - np.array(REFERENCE_SIZE) / 2)).min(axis=1)
    return Visibility(
        visible=(hit & (nearest == indices)).sum(axis=1) * scale,
        whole=hit.sum(axis=1) * scale,
        framed=(room >= reach) & (centers[:, 2] > 0),
    )


@lru_cache(maxsize=1)
def _rays() -> Array:
    """Directions through the pixel centres in camera coordinates, depth 1, shape (pixels, 3)."""
    width, height = _VISIBILITY_SIZE
    focal = focal_pixels(_VISIBILITY_SIZE)
    x, y = np.meshgrid(np.arange(width) + 0.5 - width / 2, np.arange(height) + 0.5 - height / 2)
    return np.stack([x / focal, -y / focal, np.ones_like(x)], axis=-1).reshape(-1, 3)


def _depths(camera: Camera, rays: Array, thing: Mapping[str, Any]) -> Array:
    """Depth at which each ray meets the object, infinite where it does not."""
    radius = RADII[thing["size"]]
    angle = np.deg2rad(thing["rotation"])
    turn = np.array([[np.cos(angle), np.sin(angle), 0.0], [-np.sin(angle), np.cos(angle), 0.0], [0.0, 0.0, 1.0]])
    # In the object's own coordinates every shape fits into the cube from -1 to 1.
    origin = turn @ (np.asarray(camera.location) - thing["3d_coords"]) / radius
    heading = rays @ turn.T / radius
    with np.errstate(divide="ignore", invalid="ignore"):
        if thing["shape"] == "sphere":
            near, far = _round(origin, heading)
        elif thing["shape"] == "cylinder":
            near, far = _round(origin[:2], heading[:, :2])
            low, high = _slab(origin[2], heading[:, 2])
            near, far = np.maximum(near, low), np.minimum(far, high)
        else:
            spans = [_slab(origin[axis], heading[:, axis]) for axis in range(3)]
            near = np.max([span[0] for span in spans], axis=0)
            far = np.min([span[1] for span in spans], axis=0)
        return np.where((near <= far) & (near > 0), near, np.inf)


def _round(origin: Array, heading: Array) -> tuple[Array, Array]:
    """Where rays enter and leave the unit ball, or the unit disk swept along the axis left out; NaN without a hit."""
    a = (heading**2).sum(axis=1)
    b = heading @ origin
    root = np.sqrt(b**2 - a * (origin @ origin - 1.0))
    return (-b - root) / a, (-b + root) / a


def _slab(origin: float, heading: Array) -> tuple[Array, Array]:
    """Where rays enter and leave the layer from -1 to 1 of one axis."""
    ends = np.stack([(-1.0 - origin) / heading, (1.0 - origin) / heading])
    return ends.min(axis=0), ends.max(axis=0)
