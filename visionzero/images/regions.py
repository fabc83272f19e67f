"""Finds things in a photo that can be changed: connected patches of similar colour that stand out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from PIL import Image

THUMBNAIL = 96
"""Regions are looked for in a copy of the image whose sides are at most this long; they need not keep their ratio."""

MIN_SHARE, MAX_SHARE = 0.014, 0.16
"""Share of the image that a region takes, at least and at most."""

_COLOURS = (3, 5, 8)


@dataclass(frozen=True, eq=False)
class Region:
    """A part of a picture.

    Attributes:
        mask: Which pixels of the thumbnail belong to it, bool, height x width.
        compactness: 1 for a disc, near 0 for thin or ragged shapes.
        score: How well it stands out; larger is better.
    """

    mask: np.ndarray
    compactness: float
    score: float


def thumbnail(image: Image.Image) -> np.ndarray:
    """A small copy as float32, height x width x 3, sides at most `THUMBNAIL`."""
    size = (min(image.width, THUMBNAIL), min(image.height, THUMBNAIL))
    return np.asarray(image.resize(size, Image.Resampling.BOX), dtype=np.float32)


def opponent(pixels: np.ndarray) -> np.ndarray:
    """Lightness and two colour axes of RGB pixels (... x 3); distances are closer to what eyes see than in RGB."""
    red, green, blue = pixels[..., 0], pixels[..., 1], pixels[..., 2]
    return np.stack([(red + green + blue) / 3, (red - green) * 0.9, (red + green) * 0.45 - blue * 0.9], axis=-1)


def find_regions(small: np.ndarray, rng: np.random.Generator) -> list[Region]:
    """Connected patches of similar colour, the ones that stand out most first.

    Args:
        small: The thumbnail, height x width x 3, 0 to 255.
        rng: Where the clustering starts.

    Returns:
        Regions within the allowed shares; empty for pictures without any, such as a plain surface or noise.
    """
    colours = opponent(box_mean(small, 1))
    steepness = _steepness(colours)
    found = []
    # Few colours give whole things, many give their parts.
    for count in _COLOURS:
        for patch in _components(_majority(_cluster(colours, count, rng))):
            mask = _without_holes(patch)
            if MIN_SHARE <= mask.mean() <= MAX_SHARE:
                found.append(_measured(mask, steepness))
    distinct: list[Region] = []
    for region in sorted(found, key=lambda region: -region.score):
        if all(_overlap(region.mask, other.mask) < 0.6 for other in distinct):
            distinct.append(region)
    return distinct


def grow(mask: np.ndarray, steps: int) -> np.ndarray:
    """The mask with a rim of `steps` pixels added, 4-neighbours at a time."""
    for _ in range(steps):
        padded = np.pad(mask, 1)
        mask = mask | padded[:-2, 1:-1] | padded[2:, 1:-1] | padded[1:-1, :-2] | padded[1:-1, 2:]
    return mask


def box_mean(values: np.ndarray, radius: int) -> np.ndarray:
    """Mean over the (2 radius + 1) square around each pixel, smaller squares at the border; height x width (x any)."""
    for axis in (0, 1):
        length = values.shape[axis]
        total = np.cumsum(values, axis=axis, dtype=np.float64)
        total = np.concatenate([np.zeros_like(total.take([0], axis=axis)), total], axis=axis)
        start = np.maximum(np.arange(length) - radius, 0)
        stop = np.minimum(np.arange(length) + radius + 1, length)
        shape = [1] * values.ndim
        shape[axis] = length
        values = (total.take(stop, axis=axis) - total.take(start, axis=axis)) / (stop - start).reshape(shape)
    return values.astype(np.float32)


def _cluster(colours: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """k-means over the colours: a label a pixel."""
    points = colours.reshape(-1, 3)
    centres = points[rng.integers(len(points))][None]
    # Each further centre is the colour farthest from all others, so that small things of their own colour are found.
    for _ in range(min(count, len(points)) - 1):
        distances = ((points[:, None] - centres[None]) ** 2).sum(-1).min(1)
        centres = np.concatenate([centres, points[distances.argmax()][None]])
    for _ in range(8):
        labels = ((points[:, None] - centres[None]) ** 2).sum(-1).argmin(1)
        centres = np.stack(
            [points[labels == k].mean(0) if (labels == k).any() else centres[k] for k in range(len(centres))]
        )
    return labels.reshape(colours.shape[:2])


def _majority(labels: np.ndarray) -> np.ndarray:
    """Each pixel takes the label that most of its 3 x 3 square has."""
    votes = np.stack([box_mean((labels == k).astype(np.float32), 1) for k in range(labels.max() + 1)])
    return votes.argmax(0)


def _components(labels: np.ndarray) -> list[np.ndarray]:
    """Masks of the 4-connected patches of equal label that are not too small."""
    height, width = labels.shape
    nodes = np.arange(height * width).reshape(height, width)
    across, along = labels[:, 1:] == labels[:, :-1], labels[1:] == labels[:-1]
    first = np.concatenate([nodes[:, 1:][across], nodes[1:][along]])
    second = np.concatenate([nodes[:, :-1][across], nodes[:-1][along]])
    roots = nodes.ravel()
    # Every patch takes the smallest number in it: hook roots of neighbours together, then shorten the paths.
    while (roots[first] != roots[second]).any():
        lowest = np.minimum(roots[first], roots[second])
        np.minimum.at(roots, roots[first], lowest)
        np.minimum.at(roots, roots[second], lowest)
        while (roots[roots] != roots).any():
            roots = roots[roots]
    names, sizes = np.unique(roots, return_counts=True)
    grid = roots.reshape(height, width)
    return [grid == name for name, size in zip(names, sizes, strict=True) if size >= MIN_SHARE * height * width]


def _without_holes(mask: np.ndarray) -> np.ndarray:
    outside = np.zeros_like(mask)
    outside[[0, -1], :] = True
    outside[:, [0, -1]] = True
    outside &= ~mask
    while True:
        spread = grow(outside, 1) & ~mask
        if (spread == outside).all():
            return ~outside
        outside = spread


def _overlap(first: np.ndarray, second: np.ndarray) -> float:
    return float((first & second).sum() / (first | second).sum())


def _steepness(colours: np.ndarray) -> np.ndarray:
    """How much the colour changes across each pixel."""
    padded = np.pad(colours, ((1, 1), (1, 1), (0, 0)), mode="edge")
    down, right = padded[2:, 1:-1] - padded[:-2, 1:-1], padded[1:-1, 2:] - padded[1:-1, :-2]
    return np.sqrt((down**2 + right**2).sum(-1))


def _measured(mask: np.ndarray, steepness: np.ndarray) -> Region:
    """Score: how clear the outline is, times size and compactness, less for what the picture's border cuts off."""
    rim = mask & ~_shrunk(mask)
    # The outline must be clear nearly all around: a patch of sky ends where the clustering says so, a kite by itself.
    outline = float(np.quantile(steepness[grow(rim, 1)], 0.35))
    compactness = min(1.0, 11 * float(mask.sum()) / float(rim.sum()) ** 2)
    size = min(1.0, float(mask.mean()) / 0.03) ** 0.5
    touching = mask[0].sum() + mask[-1].sum() + mask[:, 0].sum() + mask[:, -1].sum()
    score = outline * size * (0.1 + compactness) * (1 - 0.95 * min(1.0, float(touching) / float(rim.sum())))
    return Region(mask, compactness, score)


def _shrunk(mask: np.ndarray) -> np.ndarray:
    return ~grow(~mask, 1)
