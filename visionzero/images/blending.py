"""Masks at full size that follow the edges of a picture, and fillings that join their surroundings without a seam."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from PIL import Image

from visionzero.images.regions import box_mean, grow

_WORKING_SIDE = 192
_RELAXATIONS = 80


@dataclass(frozen=True)
class Box:
    """A rectangle of a picture, in pixels.

    Attributes:
        top, left: First row and column.
        bottom, right: One past the last row and column.
    """

    top: int
    left: int
    bottom: int
    right: int

    @property
    def index(self) -> tuple[slice, slice]:
        """What to index a height x width (x any) array with."""
        return slice(self.top, self.bottom), slice(self.left, self.right)

    @property
    def size(self) -> tuple[int, int]:
        """Width and height."""
        return self.right - self.left, self.bottom - self.top

    def moved(self, down: int, right: int) -> Box:
        """The same rectangle elsewhere, possibly outside the picture."""
        return Box(self.top + down, self.left + right, self.bottom + down, self.right + right)

    def within(self, shape: tuple[int, ...]) -> Box:
        """The part of it that lies in a picture of `shape` (height, width, ...)."""
        return Box(max(0, self.top), max(0, self.left), min(shape[0], self.bottom), min(shape[1], self.right))


def box_around(mask: np.ndarray, shape: tuple[int, ...], margin: int) -> Box:
    """The rectangle of a picture of `shape` around a mask of its thumbnail, `margin` thumbnail pixels wider."""
    edges = []
    for axis in (0, 1):
        used = np.flatnonzero(mask.any(1 - axis))
        scale = shape[axis] / mask.shape[axis]
        edges.append((int((used[0] - margin) * scale), int(np.ceil((used[-1] + 1 + margin) * scale))))
    (top, bottom), (left, right) = edges
    return Box(top, left, bottom, right).within(shape)


def resized(
    values: np.ndarray, size: tuple[int, int], box: tuple[float, float, float, float] | None = None
) -> np.ndarray:
    """Float array (height x width, or x 3) at another size (width, height), bilinear; of `box` in its pixels if given."""
    planes = values[..., None] if values.ndim == 2 else values
    # reducing_gap stays off: its shortcut would not start at fractions of a pixel.
    images = [Image.fromarray(np.ascontiguousarray(planes[..., k], dtype=np.float32)) for k in range(planes.shape[2])]
    out = [np.asarray(image.resize(size, Image.Resampling.BILINEAR, box=box)) for image in images]
    return out[0] if values.ndim == 2 else np.stack(out, -1)


def upsampled(mask: np.ndarray, shape: tuple[int, ...], box: Box) -> np.ndarray:
    """A mask of the thumbnail over `box` of a picture of `shape`: float32 in [0, 1], smooth at its edge."""
    down, right = mask.shape[0] / shape[0], mask.shape[1] / shape[1]
    part = (box.left * right, box.top * down, box.right * right, box.bottom * down)
    return np.clip(resized(mask.astype(np.float32), box.size, part), 0.0, 1.0)


def soft_mask(mask: np.ndarray, pixels: np.ndarray, box: Box) -> np.ndarray:
    """Like `upsampled`, with its edge drawn to the edges of the picture and nothing outside a rim of two pixels."""
    coarse = upsampled(mask, pixels.shape, box)
    guide = pixels[box.index].astype(np.float32).mean(-1) / 255
    size = (min(box.size[0], _WORKING_SIDE), min(box.size[1], _WORKING_SIDE))
    slope, offset = _guided(resized(guide, size), resized(coarse, size))
    fine = resized(slope, box.size) * guide + resized(offset, box.size)
    rim = upsampled(grow(mask, 1), pixels.shape, box)
    return np.clip((fine - 0.25) / 0.5, 0.0, 1.0) * np.clip(rim * 2, 0.0, 1.0)


def _guided(guide: np.ndarray, mask: np.ndarray, smoothness: float = 5e-4) -> tuple[np.ndarray, np.ndarray]:
    """The linear model `slope * guide + offset` of the mask, averaged over windows (guided filter)."""
    radius = max(2, max(guide.shape) // 24)
    mean_guide, mean_mask = box_mean(guide, radius), box_mean(mask, radius)
    variance = box_mean(guide * guide, radius) - mean_guide**2
    slope = (box_mean(guide * mask, radius) - mean_guide * mean_mask) / (np.maximum(variance, 0) + smoothness)
    return box_mean(slope, radius), box_mean(mean_mask - slope * mean_guide, radius)


def membrane(difference: np.ndarray, hole: np.ndarray) -> np.ndarray:
    """The smooth surface that equals `difference` outside the hole and is harmonic inside it.

    Adding it to a filling makes the filling meet its surroundings (Laplace's equation, solved on a small grid).

    Args:
        difference: Surroundings minus filling, float, height x width x 3; its values in the hole do not count.
        hole: Where to solve, bool, height x width.

    Returns:
        Float array in the shape of `difference`; zero outside the hole and everywhere when nothing surrounds the hole.
    """
    height, width = hole.shape
    size = (min(width, _WORKING_SIDE // 2), min(height, _WORKING_SIDE // 2))
    known = resized((~hole).astype(np.float32), size)
    # A mean over known pixels only, so that nothing of the hole leaks into its rim.
    rim = resized(difference * ~hole[..., None], size) / np.maximum(known, 1e-6)[..., None]
    fixed = (known > 0.5)[..., None]
    if not fixed.any():
        return np.zeros_like(difference)
    surface = np.where(fixed, rim, _pulled(rim, fixed))
    for _ in range(_RELAXATIONS):
        padded = np.pad(surface, ((1, 1), (1, 1), (0, 0)), mode="edge")
        around = (padded[:-2, 1:-1] + padded[2:, 1:-1] + padded[1:-1, :-2] + padded[1:-1, 2:]) / 4
        surface = np.where(fixed, rim, around)
    return resized(surface, (width, height)) * hole[..., None]


def _pulled(values: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Every unknown value as a mean of known ones nearby, by ever larger windows."""
    weights = known.astype(np.float32)
    filled, have = values * weights, known
    radius = 1
    while not have.all():
        total, count = box_mean(values * weights, radius), box_mean(weights, radius)
        reached = count > 1e-9
        filled = np.where(have, filled, np.where(reached, total / np.maximum(count, 1e-9), 0))
        have = have | reached
        radius *= 2
    return filled
