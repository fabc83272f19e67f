"""Edited views of images: the same picture with one visible, local change, made without any generative model.

An edit picks a region of the picture (a connected patch of similar colour that stands out) and does one of three things
to it: another colour, gone, or there a second time. Masks follow the picture's own edges by guided filtering (He, Sun,
Tang, "Guided Image Filtering", 2010); fillings are blended in the gradient domain (Perez, Gangnet, Blake, "Poisson Image
Editing", 2003).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from PIL import Image

from visionzero.images.blending import Box, box_around, membrane, soft_mask, upsampled
from visionzero.images.regions import Region, find_regions, grow, opponent, thumbnail

VISIBLE = 24
"""A pixel counts as visibly changed when one of its channels moved by at least this much of 255."""

MIN_CHANGED, MAX_CHANGED = 0.008, 0.25
"""Share of the pixels that an edit changes: at least this share visibly, at most that share at all."""

_CANDIDATES = 5
_SHIFTS = 200
# A disc has compactness 1: what is less compact than this is a part of something and looks wrong on its own.
_COMPACT = 0.6
# Mean colour difference around a filling up to which it looks right, and how much more a copy must differ from its new
# surroundings than these vary; both of 255, found by looking at edits of photos.
_MISMATCH, _STANDS_OUT = 12.0, 15.0


def blank_image(size: tuple[int, int]) -> Image.Image:
    """A white RGB image of `size` (width, height)."""
    return Image.new("RGB", size, (255, 255, 255))


def edit_photo(image: Image.Image, rng: np.random.Generator | None = None) -> Image.Image:
    """The same picture with one thing recoloured, removed or doubled.

    At least `MIN_CHANGED` of the pixels (and always one) change visibly, at most `MAX_CHANGED` change at all (in images
    of fewer than 100 pixels possibly all), and every other pixel stays exactly as it was.

    Args:
        image: RGB image of any size from 1 x 1.
        rng: Chooses thing and change. Without one the image's own pixels are the seed, so that the same picture always
            gets the same edit.

    Returns:
        A new RGB image of the same size.

    Raises:
        ValueError: `image` is not an RGB image.
    """
    if image.mode != "RGB":
        raise ValueError(f"edit_photo needs an RGB image, got mode {image.mode!r}; read_image converts it")
    pixels = np.asarray(image)
    if rng is None:
        digest = hashlib.blake2b(pixels.tobytes(), digest_size=16).digest()
        rng = np.random.default_rng([image.width, image.height, int.from_bytes(digest, "big")])
    change = _choose(pixels, thumbnail(image), rng)
    edited = pixels.copy()
    edited[change.box.index] = change.pixels
    return Image.fromarray(edited)


@dataclass(frozen=True, eq=False)
class _Change:
    """New contents for a box of the image."""

    box: Box
    pixels: np.ndarray


_Operation = Callable[[np.ndarray, np.ndarray, Region, np.random.Generator], _Change | None]


def _choose(pixels: np.ndarray, small: np.ndarray, rng: np.random.Generator) -> _Change:
    """The first change that can be seen and is small enough, over regions and operations in random order."""
    operations: list[_Operation] = [_recoloured, _removed, _doubled]
    regions = find_regions(small, rng)[:_CANDIDATES]
    # Gumbel noise on logarithms draws without replacement with probabilities in proportion to the scores.
    order = np.argsort([-np.log(max(region.score, 1e-6)) - rng.gumbel() for region in regions])
    for index in order:
        for operation in rng.permutation(len(operations)):
            change = operations[operation](pixels, small, regions[index], rng)
            if change is not None and _is_visible_and_local(pixels, change):
                return change
    return _spotted(pixels, rng)


def _is_visible_and_local(pixels: np.ndarray, change: _Change) -> bool:
    moved = np.abs(change.pixels.astype(np.int16) - pixels[change.box.index]).max(-1)
    total = pixels.shape[0] * pixels.shape[1]
    return bool((moved >= VISIBLE).sum() >= MIN_CHANGED * total and (moved > 0).sum() <= MAX_CHANGED * total)


def _recoloured(pixels: np.ndarray, small: np.ndarray, region: Region, rng: np.random.Generator) -> _Change | None:
    """The region in another hue, with its shading kept."""
    box = box_around(region.mask, pixels.shape, margin=2)
    before = pixels[box.index].astype(np.float32)
    alpha = soft_mask(region.mask, pixels, box)
    return _blended(box, before, _in_another_hue(before, alpha, rng), alpha)


def _removed(pixels: np.ndarray, small: np.ndarray, region: Region, rng: np.random.Generator) -> _Change | None:
    """The region filled with the part of the picture whose surroundings fit best, joined to its own without a seam."""
    hole = grow(region.mask, 2)
    if not _frame_free(hole):
        return None
    ring = grow(hole, 2) & ~hole
    rows, columns = np.nonzero(ring)
    colours = opponent(small)
    surroundings = colours[rows, columns]

    def mismatch(down: int, right: int) -> float:
        there = colours[rows + down, columns + right]
        return float(np.abs(there - surroundings).mean())

    shift = _best_shift(hole | ring, hole, rng, mismatch)
    if shift is None or mismatch(*shift) > _MISMATCH:
        return None
    box = box_around(hole, pixels.shape, margin=2)
    before = pixels[box.index].astype(np.float32)
    down, right = _at_full_size(shift, small, pixels)
    from_rows = np.clip(np.arange(box.top, box.bottom) + down, 0, pixels.shape[0] - 1)
    from_columns = np.clip(np.arange(box.left, box.right) + right, 0, pixels.shape[1] - 1)
    filling = pixels[from_rows[:, None], from_columns].astype(np.float32)
    alpha = upsampled(hole, pixels.shape, box)
    filling += membrane(before - filling, alpha > 0)
    return _blended(box, before, filling, np.clip(alpha * 2, 0.0, 1.0))


def _doubled(pixels: np.ndarray, small: np.ndarray, region: Region, rng: np.random.Generator) -> _Change | None:
    """The region, or its mirror image, a second time where the picture is calm and of another colour."""
    if region.compactness < _COMPACT or not _frame_free(region.mask):
        return None
    rows, columns = np.nonzero(region.mask)
    colour = small[region.mask].mean(0)

    def cost(down: int, right: int) -> float:
        there = small[rows + down, columns + right]
        return float(2 * there.std(0).mean() - np.abs(there.mean(0) - colour).max())

    shift = _best_shift(region.mask, grow(region.mask, 2), rng, cost)
    if shift is None or cost(*shift) > -_STANDS_OUT:
        return None
    box = box_around(region.mask, pixels.shape, margin=2)
    alpha, copy = soft_mask(region.mask, pixels, box), pixels[box.index].astype(np.float32)
    if rng.random() < 0.5:
        alpha, copy = alpha[:, ::-1], copy[:, ::-1]
    there = box.moved(*_at_full_size(shift, small, pixels))
    # The margin around the region may stick out of the picture at the new place.
    target = there.within(pixels.shape)
    part = target.moved(-there.top, -there.left).index
    return _blended(target, pixels[target.index].astype(np.float32), copy[part], alpha[part])


def _spotted(pixels: np.ndarray, rng: np.random.Generator) -> _Change:
    """A tinted elliptic spot: what is left for plain surfaces, noise and tiny images."""
    height, width = pixels.shape[:2]
    radius = np.sqrt(rng.uniform(0.03, 0.08) / np.pi)
    ratio = rng.uniform(0.8, 1.25)
    radius_x, radius_y = radius * ratio * width, radius / ratio * height
    centre_x, centre_y = rng.uniform(0.3, 0.7, 2) * (width, height)
    # At least one pixel, and in an image of one row or column too.
    box = Box(
        int(centre_y - radius_y), int(centre_x - radius_x), int(centre_y + radius_y) + 1, int(centre_x + radius_x) + 1
    ).within(pixels.shape)
    y = (np.arange(box.top, box.bottom)[:, None] + 0.5 - centre_y) / max(radius_y, 0.5)
    x = (np.arange(box.left, box.right)[None] + 0.5 - centre_x) / max(radius_x, 0.5)
    distance = np.sqrt(y**2 + x**2).astype(np.float32)
    alpha = np.clip((1 - distance) * 8, 0.0, 1.0)
    alpha[distance == distance.min()] = 1.0
    before = pixels[box.index].astype(np.float32)
    after = before * 0.3 + np.array([154.0, 42.0, 28.0], dtype=np.float32)[rng.permutation(3)]
    # Every pixel of the spot moves, whatever its colour was.
    still = np.abs(after - before).max(-1) < 2 * VISIBLE
    after[still] = np.where(before[still] > 127, before[still] - 90, before[still] + 90)
    return _blended(box, before, after, alpha)


def _blended(box: Box, before: np.ndarray, after: np.ndarray, alpha: np.ndarray) -> _Change:
    mixed = before + (after - before) * alpha[..., None]
    return _Change(box, np.clip(np.rint(mixed), 0, 255).astype(np.uint8))


def _in_another_hue(pixels: np.ndarray, alpha: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """RGB pixels with their chroma turned (or, where they are grey, tinted); `alpha` says which ones matter."""
    luma = pixels @ np.array([0.299, 0.587, 0.114], dtype=np.float32)
    blue, red = pixels[..., 2] - luma, pixels[..., 0] - luma
    weights = alpha / max(float(alpha.sum()), 1e-6)
    strength = float(np.hypot((blue * weights).sum(), (red * weights).sum()))
    mean_luma = float((luma * weights).sum())
    # Black and white hardly take a colour: move them towards the middle first.
    luma = luma + np.float32(max(0.0, 75 - mean_luma) - max(0.0, mean_luma - 185))
    if strength < 20:
        angle = rng.uniform(0, 2 * np.pi)
        blue, red = blue + np.float32(75 * np.cos(angle)), red + np.float32(75 * np.sin(angle))
    else:
        angle, gain = rng.uniform(0.55, 1.45) * np.pi, np.clip(70 / strength, 1.0, 2.0)
        cos, sin = np.float32(gain * np.cos(angle)), np.float32(gain * np.sin(angle))
        blue, red = cos * blue - sin * red, sin * blue + cos * red
    green = (luma - 0.299 * (luma + red) - 0.114 * (luma + blue)) / 0.587
    return np.stack([luma + red, green, luma + blue], -1)


def _best_shift(
    needed: np.ndarray, avoided: np.ndarray, rng: np.random.Generator, cost: Callable[[int, int], float]
) -> tuple[int, int] | None:
    """The cheapest of some shifts (down, right) of the thumbnail that keep `needed` in the picture and off `avoided`."""
    height, width = needed.shape
    rows, columns = np.nonzero(needed)
    down = rng.integers(-rows.min(), height - rows.max(), _SHIFTS)
    right = rng.integers(-columns.min(), width - columns.max(), _SHIFTS)
    shifts = [(int(d), int(r)) for d, r in zip(down, right, strict=True) if not avoided[rows + d, columns + r].any()]
    return min(shifts, key=lambda shift: cost(*shift), default=None)


def _at_full_size(shift: tuple[int, int], small: np.ndarray, pixels: np.ndarray) -> tuple[int, int]:
    return (
        round(shift[0] * pixels.shape[0] / small.shape[0]),
        round(shift[1] * pixels.shape[1] / small.shape[1]),
    )


def _frame_free(mask: np.ndarray) -> bool:
    """Whether the mask stays off the border of the picture: what is cut off there looks wrong elsewhere."""
    return not (mask[[0, -1]].any() or mask[:, [0, -1]].any())
