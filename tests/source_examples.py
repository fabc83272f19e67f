"""A source whose boards are told apart by their names."""

from __future__ import annotations

from typing import Any

from PIL import Image

from visionzero.images import ImagePair, ImageSource
from visionzero.images.source import SkippedImage


class Numbers(ImageSource):
    """Boards that are told apart by their names."""

    def __init__(self, count: int, name: str = "numbers", kind: Any = "photos") -> None:
        self.name, self.kind, self.skipped = name, kind, [SkippedImage(name, "for the test")]
        self.boards = [ImagePair(Image.new("RGB", (1, 1)), kind=kind, name=f"{name} {index}") for index in range(count)]

    def __len__(self) -> int:
        return len(self.boards)

    def pair(self, index: int) -> ImagePair:
        return self.boards[index]
