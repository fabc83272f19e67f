"""Edited views of images."""

from __future__ import annotations

from PIL import Image


def blank_image(size: tuple[int, int]) -> Image.Image:
    """A white RGB image of `size` (width, height)."""
    return Image.new("RGB", size, (255, 255, 255))
