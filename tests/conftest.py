from __future__ import annotations

from typing import Any

import pytest
from PIL import Image

from visionzero.images import EditedView, ImagePair


@pytest.fixture(scope="session")
def photo() -> Image.Image:
    """A small picture in which no two rows are alike."""
    image = Image.new("RGB", (32, 24))
    image.putdata([(8 * x, 10 * y, 128) for y in range(24) for x in range(32)])
    return image


@pytest.fixture(scope="session")
def scene() -> dict[str, Any]:
    """Four objects in the layout of a CLEVR scene JSON."""
    looks = [
        ("cube", "red", "metal", "large"),
        ("sphere", "blue", "rubber", "small"),
        ("cylinder", "green", "metal", "small"),
        ("cube", "yellow", "rubber", "large"),
    ]
    return {
        "objects": [
            {
                "shape": shape,
                "color": color,
                "material": material,
                "size": size,
                "rotation": 30.0 * place,
                "3d_coords": [float(place) - 1.5, 0.5 * place, 0.35],
                "pixel_coords": [4 + 8 * place, 12, 10.0],
            }
            for place, (shape, color, material, size) in enumerate(looks)
        ]
    }


@pytest.fixture(scope="session")
def board(photo: Image.Image, scene: dict[str, Any]) -> ImagePair:
    """A CLEVR board with an edited view: the same picture upside down, its first object another colour."""
    first, *others = scene["objects"]
    edited = EditedView(photo.transpose(Image.Transpose.ROTATE_180), {"objects": [{**first, "color": "cyan"}, *others]})
    return ImagePair(photo, kind="clevr", name="test scene", scene=scene, edit=lambda: edited)
