"""A text space without a character set: any language, emoji, newlines, the empty string."""

from __future__ import annotations

import multiprocessing
import sys
from collections.abc import Callable, Iterator, Sequence, Set
from copy import deepcopy
from functools import lru_cache
from types import ModuleType
from typing import Any, cast

import numpy as np
from gymnasium.spaces import Text, Tuple
from gymnasium.spaces.space import Space
from gymnasium.vector.utils import (
    batch_differing_spaces,
    create_empty_array,
    create_shared_memory,
    read_from_shared_memory,
    write_to_shared_memory,
)
from numpy.typing import NDArray

NUM_CODE_POINTS = 0x110000
"""Characters that a Python string can hold."""

_SAMPLE_LENGTH = 64
_SAMPLE_CHARACTERS = (
    "".join(map(chr, range(0x20, 0x7F)))
    + "\n\t{}\\%<>|áçñößøžłığ"
    + "".join(chr(start + offset) for start in (0x3B1, 0x430, 0x5D0, 0x628, 0x905, 0xE01) for offset in range(16))
    + "".join(chr(start + offset) for start in (0x3042, 0x4E00, 0xAC00, 0x1F600, 0x1F980) for offset in range(16))
)


class UnicodeText(Text):
    """Every string of at most `max_length` characters.

    `gymnasium.spaces.Text` lists its characters one by one; this space holds all of Unicode and stays as small as its
    bounds. Flattening gives the code points, padded with `NUM_CODE_POINTS`. In `AsyncVectorEnv` with shared memory the
    texts are read when the observations are, so that they are never stale.

    Args:
        max_length: Most characters in a text.
        min_length: Fewest characters in a text.
        seed: Seed of `sample`.

    Raises:
        ValueError: Not `0 <= min_length <= max_length`.
    """

    def __init__(self, max_length: int, *, min_length: int = 0, seed: int | np.random.Generator | None = None) -> None:
        if not 0 <= min_length <= max_length:
            raise ValueError(f"lengths must be 0 <= min_length <= max_length, got {min_length} and {max_length}")
        self.min_length = int(min_length)
        self.max_length = int(max_length)
        # Text.__init__ would build tables of every character.
        Space.__init__(self, dtype=str, seed=seed)

    def contains(self, x: Any) -> bool:
        """Whether `x` is a string of an allowed length."""
        return isinstance(x, str) and self.min_length <= len(x) <= self.max_length

    def sample(
        self,
        mask: tuple[int | None, NDArray[np.int8] | None] | None = None,
        probability: tuple[int | None, NDArray[np.float64] | None] | None = None,
    ) -> str:
        """A random text of several scripts, emoji, line breaks and braces.

        Args:
            mask: `(length, allowed)`; `allowed` is an int8 array over all code points. Either may be None.
            probability: `(length, weights)`; `weights` is a float64 array over all code points that sums to 1.

        Returns:
            A text of `length` characters; without one, of 64 characters at most unless `min_length` is more.

        Raises:
            ValueError: Both are given, the length is not allowed, or an array does not fit.
        """
        if mask is not None and probability is not None:
            raise ValueError("give mask or probability, not both")
        length, weights = mask or probability or (None, None)
        if length is None:
            high = max(self.min_length, min(self.max_length, _SAMPLE_LENGTH))
            length = int(self.np_random.integers(self.min_length, high + 1))
        elif not self.min_length <= length <= self.max_length:
            raise ValueError(f"a text has {self.min_length} to {self.max_length} characters, got length {length}")
        if weights is None:
            drawn = self.np_random.integers(len(_SAMPLE_CHARACTERS), size=length)
            return "".join(_SAMPLE_CHARACTERS[index] for index in drawn)
        if weights.shape != (NUM_CODE_POINTS,) or not (weights >= 0).all() or not weights.any():
            raise ValueError(f"weights must be {NUM_CODE_POINTS} numbers >= 0, not all 0; got shape {weights.shape}")
        if probability is not None and not np.isclose(weights.sum(), 1):
            raise ValueError(f"probabilities must sum to 1, got {weights.sum()}")
        codes = self.np_random.choice(NUM_CODE_POINTS, size=length, p=weights / weights.sum())
        return "".join(map(chr, codes))

    @property
    def character_set(self) -> frozenset[str]:
        """Every character, as a set that is computed, not stored."""
        return cast("frozenset[str]", _CHARACTER_SET)

    @property
    def character_list(self) -> tuple[str, ...]:
        """Every character in the order of its code point, as a sequence that is computed, not stored."""
        return cast("tuple[str, ...]", _CHARACTER_LIST)

    @property
    def characters(self) -> str:
        """Every character in one string of 4 MB; nothing in this package asks for it."""
        return _all_characters()

    def character_index(self, char: str) -> np.int32:
        """The code point of a character."""
        return np.int32(ord(char))

    def __repr__(self) -> str:
        return f"UnicodeText({self.min_length}, {self.max_length})"

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, UnicodeText)
            and self.min_length == other.min_length
            and self.max_length == other.max_length
        )

    __hash__ = None  # type: ignore[assignment]  # spaces are mutable: they hold a generator


class _CharacterSet(Set[str]):
    def __contains__(self, char: object) -> bool:
        return isinstance(char, str) and len(char) == 1

    def __iter__(self) -> Iterator[str]:
        return map(chr, range(NUM_CODE_POINTS))

    def __len__(self) -> int:
        return NUM_CODE_POINTS

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _CharacterSet) or super().__eq__(other)

    __hash__ = None  # type: ignore[assignment]


class _CharacterList(Sequence[str]):
    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return tuple(map(chr, range(NUM_CODE_POINTS)[index]))
        # gymnasium unflattens a text that was flattened together with floats from a float array.
        return chr(range(NUM_CODE_POINTS)[int(index)])

    def __len__(self) -> int:
        return NUM_CODE_POINTS


_CHARACTER_SET = _CharacterSet()
_CHARACTER_LIST = _CharacterList()


@lru_cache(maxsize=1)
def _all_characters() -> str:
    return "".join(_CHARACTER_SET)


class SharedTexts(Sequence[str]):
    """The texts that the workers of an `AsyncVectorEnv` wrote last; a deep copy is a tuple of them.

    Args:
        memory: int32 array of shape `(num_envs, 1 + max_length)`: a length and that many code points.
    """

    def __init__(self, memory: NDArray[np.int32]) -> None:
        self._memory = memory

    def __len__(self) -> int:
        return len(self._memory)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return tuple(self)[index]
        row = self._memory[index]
        return row[1 : 1 + row[0]].tobytes().decode(_CODEC, "surrogatepass")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(tuple(self))

    def __deepcopy__(self, memo: dict[int, Any]) -> tuple[str, ...]:
        return tuple(self)


_CODEC = "utf-32-le" if sys.byteorder == "little" else "utf-32-be"


@create_shared_memory.register(UnicodeText)
def _create_shared_text(space: UnicodeText, n: int = 1, ctx: ModuleType = multiprocessing) -> Any:
    return ctx.Array(np.dtype(np.int32).char, n * (1 + space.max_length))


@read_from_shared_memory.register(UnicodeText)
def _read_shared_text(space: UnicodeText, shared_memory: Any, n: int = 1) -> SharedTexts:
    # gymnasium reads once, when the environment is made, and returns deep copies of what it got.
    return SharedTexts(np.frombuffer(shared_memory.get_obj(), dtype=np.int32).reshape(n, 1 + space.max_length))


@write_to_shared_memory.register(UnicodeText)
def _write_shared_text(space: UnicodeText, index: int, value: str, shared_memory: Any) -> None:
    row = np.frombuffer(shared_memory.get_obj(), dtype=np.int32)[index * (1 + space.max_length) :]
    row[0] = len(value)
    row[1 : 1 + len(value)] = np.frombuffer(value.encode(_CODEC, "surrogatepass"), dtype=np.int32)


@create_empty_array.register(UnicodeText)
def _create_empty_texts(space: UnicodeText, n: int = 1, fn: Callable[..., Any] = np.zeros) -> tuple[str, ...]:
    return (" " * space.min_length,) * n


@batch_differing_spaces.register(UnicodeText)
def _batch_differing_texts(spaces: Any) -> Tuple:  # type: ignore[misc]  # dispatches on the first of the spaces
    return Tuple([deepcopy(space) for space in spaces], seed=deepcopy(spaces[0].np_random))
