"""Several sources as one."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from visionzero.images.source import ImageKind, ImagePair, ImageSource, SkippedImage

MAX_LENGTH = 20_000_000
"""A mixture is at most this long."""


class MixedSource(ImageSource):
    """Boards of several sources in a fixed order, each source at its own rate.

    The order is a low-discrepancy schedule: with weights `w_k` that add up to 1, the `j`-th turn of source `k`
    (`j` = 0, 1, ...) stands at `(j + 1/2) / w_k`, and the turns are sorted by where they stand, the earlier source first
    where two coincide. So every source comes evenly, and after any number of boards each has had about its share. A
    source goes through its boards in order and then starts again. The mixture is as long as it takes until every source
    has been gone through.

    Args:
        sources: At least one.
        weights: How often each source has its turn, relative to the others; equally often by default. The lengths of the
            sources as weights give every board exactly once.
        name: Name of the mixture.

    Attributes:
        kind: The kind that all sources have, else `"photos"`; each board has a kind of its own.

    Raises:
        ValueError: There are no sources, or weights that are not positive, finite and one a source, or so uneven that the
            mixture would be longer than `MAX_LENGTH`.
    """

    def __init__(
        self, sources: Sequence[ImageSource], weights: Sequence[float] | None = None, *, name: str | None = None
    ) -> None:
        if not sources:
            raise ValueError("a mixture needs at least one source")
        if any(len(source) == 0 for source in sources):
            raise ValueError("an empty source cannot be mixed")
        weights = [1.0] * len(sources) if weights is None else list(weights)
        if len(weights) != len(sources):
            raise ValueError(f"{len(weights)} weights for {len(sources)} sources")
        for weight in weights:
            if not (math.isfinite(weight) and weight > 0):
                raise ValueError(f"weights must be positive and finite, got {weights}; leave out a source of weight 0")
        kinds = {source.kind for source in sources}
        self.kind: ImageKind = kinds.pop() if len(kinds) == 1 else "photos"
        self.name = name or " + ".join(source.name for source in sources)
        self.sources = tuple(sources)
        self._turns, self._places = _schedule([len(source) for source in sources], weights)

    def __len__(self) -> int:
        return len(self._turns)

    def pair(self, index: int) -> ImagePair:
        """The board at `index`, with the kind that it has in its source."""
        return self.sources[self._turns[index]][int(self._places[index])]

    @property
    def skipped(self) -> list[SkippedImage]:  # type: ignore[override]
        """What the sources left out so far."""
        return [skip for source in self.sources for skip in source.skipped]


def _schedule(lengths: Sequence[int], weights: Sequence[float]) -> tuple[np.ndarray, np.ndarray]:
    """Whose turn it is at each index, and for which board of that source."""
    shares = np.array(weights, dtype=np.float64) / sum(weights)
    # A little less than the exact quotient, so that rounding does not add one more turn.
    total = max(math.ceil(length / share - 1e-6) for length, share in zip(lengths, shares, strict=True))
    if total > MAX_LENGTH:
        raise ValueError(
            f"with these weights a mixture of {sum(lengths)} boards would be {total} long; make them more even"
        )
    counts = [math.ceil(total * share) + 1 for share in shares]
    turns = np.concatenate([np.full(count, k, dtype=np.int32) for k, count in enumerate(counts)])
    numbers = np.concatenate([np.arange(count) for count in counts])
    # Rounded, so that turns that coincide on paper also do here.
    stands = np.round((numbers + 0.5) / shares[turns], 6)
    order = np.lexsort((turns, stands))[:total]
    return turns[order], numbers[order] % np.array(lengths)[turns[order]]
