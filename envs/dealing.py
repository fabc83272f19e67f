"""Dealing games from images, rules and a generator, for every environment of the spy game."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, get_args

import numpy as np

from visionzero.games import SpyConfig, SpyGame
from visionzero.images import ImagePair, ImageSource
from visionzero.images.reading import image_name, read_image

SeatRole = Literal["random", "spy", "civilian"]
Seat = SeatRole | int
"""Who plays a seat: any seat, the spy's, a civilian's, or a seat number from 0."""


def read_config(config: SpyConfig | Mapping[str, Any] | None) -> SpyConfig:
    """Turn the `config` of an environment into rules.

    Args:
        config: Rules, a mapping of `SpyConfig` fields, or None for the paper's rules.

    Returns:
        The rules.

    Raises:
        TypeError: `config` is none of these.
        ValueError: A field is unknown or its value out of range.
    """
    if config is None:
        return SpyConfig()
    if isinstance(config, SpyConfig):
        return config
    if not isinstance(config, Mapping):
        raise TypeError(f"config must be a SpyConfig or a mapping of its fields, got {type(config).__name__}")
    known = [field.name for field in fields(SpyConfig)]
    unknown = [name for name in config if name not in known]
    if unknown:
        raise ValueError(f"config has no field {', '.join(map(repr, unknown))}; its fields are {', '.join(known)}")
    return SpyConfig(**config)


def read_seat(seat: Seat, config: SpyConfig) -> Seat:
    """Check the `seat` of an environment.

    Args:
        seat: `"random"`, `"spy"`, `"civilian"` or a seat number from 0.
        config: The rules.

    Returns:
        The seat; numbers of any integer type as an int.

    Raises:
        ValueError: It is none of these.
    """
    if isinstance(seat, str) and seat in get_args(SeatRole):
        return seat
    if _is_index(seat, config.num_players):
        return int(seat)
    raise ValueError(
        f"seat must be {', '.join(map(repr, get_args(SeatRole)))} or a seat from 0 to {config.num_players - 1}, "
        f"got {seat!r}"
    )


def read_images(images: Any) -> ImageSource:
    """Turn the `images` of an environment into a source.

    Args:
        images: An `ImageSource`, or anything that `visionzero.images.registry.load_images` takes.

    Returns:
        The source.

    Raises:
        ValueError: `images` is missing, or the source is empty.
    """
    if images is None:
        raise ValueError(
            'images is missing: give a folder, a source such as "photos", "clevr" or "charts", or an ImageSource'
        )
    if not isinstance(images, ImageSource):
        from visionzero.images.registry import load_images

        images = load_images(images)
    if len(images) == 0:
        raise ValueError(f"{images!r} has no images to play with")
    return images


@dataclass(frozen=True)
class DealOptions:
    """What the `options` of `reset` pin down; None leaves it to the deal.

    Attributes:
        image: The board.
        index: The board's index in the images.
        spy_seat: The spy's seat, from 0.
    """

    image: ImagePair | None = None
    index: int | None = None
    spy_seat: int | None = None


OPTION_NAMES: tuple[str, ...] = tuple(field.name for field in fields(DealOptions))


class Dealer:
    """Deals games.

    Every deal draws the same numbers from the generator, whatever the options pin down, so that pinning one thing
    changes nothing else.

    Args:
        images: The boards, see `read_images`.
        config: The rules, see `read_config`.

    Attributes:
        images: The boards.
        config: The rules.
    """

    def __init__(self, images: Any, config: SpyConfig | Mapping[str, Any] | None) -> None:
        self.config = read_config(config)
        self.images = read_images(images)

    def read_options(self, options: Mapping[str, Any] | None) -> DealOptions:
        """Check the `options` of `reset`.

        Args:
            options: Any of `"image"` (an `ImagePair`, or anything that `read_image` takes), `"index"` (of a board) and
                `"spy_seat"` (from 0); `"image"` and `"index"` exclude each other.

        Returns:
            The options.

        Raises:
            ValueError: An option is unknown, out of range, or contradicts another.
        """
        options = options or {}
        unknown = [name for name in options if name not in OPTION_NAMES]
        if unknown:
            raise ValueError(
                f"options has no key {', '.join(map(repr, unknown))}; its keys are {', '.join(OPTION_NAMES)}"
            )
        image, index, spy_seat = (options.get(name) for name in OPTION_NAMES)
        if image is not None and index is not None:
            raise ValueError("options must not have both image and index: they name two boards")
        if index is not None and not _is_index(index, len(self.images)):
            raise ValueError(f"options['index'] must be from 0 to {len(self.images) - 1}, got {index!r}")
        if spy_seat is not None and not _is_index(spy_seat, self.config.num_players):
            raise ValueError(f"options['spy_seat'] must be from 0 to {self.config.num_players - 1}, got {spy_seat!r}")
        if image is not None and not isinstance(image, ImagePair):
            image = ImagePair(read_image(image), name=image_name(image))
        return DealOptions(image, index, spy_seat)

    def deal(self, generator: np.random.Generator, options: DealOptions, seat: Seat = "random") -> tuple[SpyGame, int]:
        """Deal one game, and a seat in it.

        Args:
            generator: Where the board, the game's seed, the spy's seat and the caller's seat are drawn from.
            options: What is not drawn.
            seat: Who the caller is to be.

        Returns:
            The game, and the caller's seat.
        """
        players = self.config.num_players
        index = int(generator.integers(len(self.images)))
        game_seed = int(generator.integers(2**63))
        spy_seat = int(generator.integers(players))
        any_seat = int(generator.integers(players))
        seats_from_spy = 1 + int(generator.integers(players - 1))

        index = index if options.index is None else options.index
        spy_seat = spy_seat if options.spy_seat is None else options.spy_seat
        image = self.images[index] if options.image is None else options.image
        game = SpyGame(image, self.config, game_seed, spy_seat=spy_seat)
        if isinstance(seat, int):
            return game, seat
        by_role = {"random": any_seat, "spy": spy_seat, "civilian": (spy_seat + seats_from_spy) % players}
        return game, by_role[seat]


def _is_index(value: Any, size: int) -> bool:
    """Whether `value` is a whole number from 0 to `size - 1`."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and 0 <= int(value) < size
