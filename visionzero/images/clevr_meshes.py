"""The two CLEVR shapes with edges, as triangle meshes with rounded edges."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_BEVEL = 0.1
_CUBE_STEPS = 4
_CYLINDER_STEPS = 5
_SEGMENTS = 64


class Mesh(NamedTuple):
    """A closed surface that fits into the cube from -1 to 1.

    Attributes:
        vertices: Shape (n, 3).
        normals: Unit vectors pointing outwards, shape (n, 3).
        faces: Vertex indices of triangles, counterclockwise from outside, shape (m, 3).
    """

    vertices: NDArray[np.float64]
    normals: NDArray[np.float64]
    faces: NDArray[np.int64]


@lru_cache(maxsize=1)
def rounded_cube() -> Mesh:
    """The cube from -1 to 1: every point of its surface, drawn towards a smaller cube until it is `_BEVEL` away."""
    core = 1 - _BEVEL
    # Steps of equal angle along the rounding; the flat middle of a side needs none.
    rounding = core + _BEVEL * np.tan(np.linspace(0.0, np.pi / 4, _CUBE_STEPS))
    steps = np.concatenate([-rounding[::-1], rounding])
    u, v = (grid.ravel() for grid in np.meshgrid(steps, steps, indexing="ij"))
    squares = _squares(len(steps), len(steps))
    vertices: list[NDArray[np.float64]] = []
    normals: list[NDArray[np.float64]] = []
    faces: list[NDArray[np.int64]] = []
    for axis in range(3):
        for side in (-1.0, 1.0):
            surface = np.empty((len(u), 3))
            surface[:, axis] = side
            # Swapping the two other axes turns the triangles of the opposite side outwards as well.
            surface[:, (axis + 1) % 3], surface[:, (axis + 2) % 3] = (u, v) if side > 0 else (v, u)
            inner = np.clip(surface, -core, core)
            outward = surface - inner
            outward /= np.linalg.norm(outward, axis=1, keepdims=True)
            faces.append(squares + len(vertices) * len(u))
            vertices.append(inner + _BEVEL * outward)
            normals.append(outward)
    return Mesh(np.concatenate(vertices), np.concatenate(normals), np.concatenate(faces))


@lru_cache(maxsize=1)
def rounded_cylinder() -> Mesh:
    """The upright cylinder of radius 1 from -1 to 1: half its outline, swept around the axis."""
    angles = np.linspace(0.0, np.pi / 2, _CYLINDER_STEPS)
    rounding = np.stack([np.sin(angles), np.cos(angles)], axis=1)
    # Distance from the axis and height, from the middle of the top to the middle of the bottom.
    upper = np.concatenate([[[0.0, 1.0]], 1 - _BEVEL + _BEVEL * rounding])
    upper_normals = np.concatenate([[[0.0, 1.0]], rounding])
    outline = np.concatenate([upper, upper[::-1] * (1, -1)])
    outline_normals = np.concatenate([upper_normals, upper_normals[::-1] * (1, -1)])
    around = np.linspace(0.0, 2 * np.pi, _SEGMENTS + 1)
    circle = np.stack([np.cos(around), np.sin(around)], axis=1)

    def swept(curve: NDArray[np.float64]) -> NDArray[np.float64]:
        flat = curve[:, None, :1] * circle
        return np.concatenate([flat, np.broadcast_to(curve[:, None, 1:], (*flat.shape[:2], 1))], axis=2).reshape(-1, 3)

    faces = _squares(len(outline), len(circle))
    vertices = swept(outline)
    # The squares that touch the axis have one triangle without area.
    corners = vertices[faces]
    areas = np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1)
    return Mesh(vertices, swept(outline_normals), faces[areas > 1e-12])


def _squares(rows: int, columns: int) -> NDArray[np.int64]:
    """Two triangles for each square of a grid whose vertices are numbered row by row."""
    corner = np.arange(rows * columns).reshape(rows, columns)
    a, b, c, d = (part.ravel() for part in (corner[:-1, :-1], corner[1:, :-1], corner[1:, 1:], corner[:-1, 1:]))
    return np.concatenate([np.stack([a, b, c], axis=1), np.stack([a, c, d], axis=1)])
