"""Files of one colour for the tests of the images, and what can be told of them when they were read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image

from visionzero.images.photos import PhotoSource

COLOURS = {"red": (255, 0, 0), "green": (0, 128, 0), "blue": (0, 0, 255), "white": (255, 255, 255), "black": (0, 0, 0)}


def paint(path: Path, colour: str = "red", size: tuple[int, int] = (20, 10)) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", size, COLOURS[colour]).save(path)
    return path


def truncate(path: Path) -> Path:
    """A file whose header is fine and whose pixels are not there."""
    pixels = np.random.default_rng(0).integers(0, 256, (200, 200, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(path)
    path.write_bytes(path.read_bytes()[:2000])
    return path


def colour_of(image: Image.Image) -> str:
    pixel = np.asarray(image)[0, 0].astype(int)
    return min(COLOURS, key=lambda name: int(np.abs(pixel - COLOURS[name]).sum()))


def names(source: PhotoSource) -> list[str]:
    return [board.name for board in source]
