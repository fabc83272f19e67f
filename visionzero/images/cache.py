"""Keeps the boards that were made last."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Any

from visionzero.images.source import ImagePair


class BoardCache:
    """The boards used last, up to a number of images; safe to share between threads, empty after unpickling.

    Args:
        capacity: How many images to keep; a board counts as the number of images that were read for it. 0 keeps none.

    Raises:
        ValueError: `capacity` is negative.
    """

    def __init__(self, capacity: int) -> None:
        if capacity < 0:
            raise ValueError(f"cache_size must be 0 or more, got {capacity}")
        self.capacity = capacity
        self._clear()

    def get(self, key: int) -> ImagePair | None:
        """The board kept under `key`, or None."""
        with self._lock:
            if key not in self._boards:
                return None
            self._boards.move_to_end(key)
            return self._boards[key][0]

    def keep(self, key: int, board: ImagePair, images: int = 1) -> ImagePair:
        """Keep a board that was read from `images` images.

        Returns:
            The board that is kept now: another thread may have been faster, and everybody should hold the same object.
        """
        with self._lock:
            if key in self._boards:
                return self._boards[key][0]
            if images <= self.capacity:
                self._boards[key] = (board, images)
                self._images += images
                while self._images > self.capacity:
                    self._images -= self._boards.popitem(last=False)[1][1]
            return board

    def __len__(self) -> int:
        return self._images

    def __getstate__(self) -> dict[str, Any]:
        return {"capacity": self.capacity}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.capacity = state["capacity"]
        self._clear()

    def _clear(self) -> None:
        self._boards: OrderedDict[int, tuple[ImagePair, int]] = OrderedDict()
        self._images = 0
        self._lock = threading.Lock()
