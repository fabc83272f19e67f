"""Remembering what was computed for an image, as long as the image lives."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Generic, TypeVar

from PIL import Image

ValueT = TypeVar("ValueT")


class PerImage(Generic[ValueT]):
    """A cache with image objects as keys. PIL images are unhashable and mutable, so identity is what counts.

    An entry goes when its image is collected. Values must not hold on to the image.
    """

    def __init__(self) -> None:
        self._values: dict[int, ValueT] = {}

    def get(self, image: Image.Image, make: Callable[[Image.Image], ValueT]) -> ValueT:
        """The value for `image`, made by `make(image)` when it is asked for the first time."""
        key = id(image)
        try:
            return self._values[key]
        except KeyError:
            value = self._values[key] = make(image)
            weakref.finalize(image, self._values.pop, key, None)
            return value

    def __len__(self) -> int:
        return len(self._values)
