"""What a seat observes, for every environment of the spy game: one letterbox, one set of spaces, one builder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Dict, Discrete
from numpy.typing import NDArray
from PIL import Image

from visionzero.envs.text_space import UnicodeText
from visionzero.games import Message, SpyConfig, SpyGame, SpyTurn

STAGES: tuple[str, ...] = ("clue", "decision", "over")
"""Names of the values of an observation's `stage`."""

MAX_ACTION_CHARS = 131_072
"""Longest answer that the action space holds."""

LETTERBOX_COLOR = (128, 128, 128)

_TEMPLATE_CHARS = 65_536
_LINE_CHARS = 128

Observation = dict[str, Any]


def max_prompt_chars(config: SpyConfig) -> int:
    """Longest prompt that the observation space holds, in characters.

    Room for 65,536 characters of template, for every clue and for the seat's own earlier answers, each at its longest
    with 128 characters around it. What players say may stand in a prompt at twice its length, with every bracket that
    could open a control token broken up.
    """
    clues = config.num_clues * (2 * config.max_clue_chars + _LINE_CHARS)
    own = config.clue_rounds * (2 * MAX_ACTION_CHARS + _LINE_CHARS) if config.own_reasoning_memory else 0
    return _TEMPLATE_CHARS + clues + own


def read_image_size(image_size: int | Sequence[int]) -> tuple[int, int]:
    """Turn `image_size` into (height, width).

    Args:
        image_size: Pixels a side, or (height, width).

    Returns:
        Height and width in pixels.

    Raises:
        ValueError: It is neither, or a side is not from 1 to 8192.
    """
    sides = tuple(image_size) if isinstance(image_size, Sequence) else (image_size, image_size)
    if len(sides) != 2 or not all(
        isinstance(side, (int, np.integer)) and not isinstance(side, bool) and 1 <= side <= 8192 for side in sides
    ):
        raise ValueError(
            f"image_size must be a number of pixels from 1 to 8192 or (height, width) of them, got {image_size!r}"
        )
    return int(sides[0]), int(sides[1])


def observation_space(config: SpyConfig, image_size: tuple[int, int]) -> Dict:
    """The observation space of a seat.

    Args:
        config: The rules.
        image_size: Height and width of the letterboxed image, in pixels.

    Returns:
        A Dict of `image` (uint8, (height, width, 3)), `prompt` (any text, empty when nothing is asked), `stage` (index
        into `STAGES`), `round` (from 1) and `player` (from 1; the observer's is one past the last player's).
    """
    observers = int(config.voters == "observer")
    return Dict(
        {
            "image": Box(0, 255, (*image_size, 3), np.uint8),
            "prompt": UnicodeText(max_prompt_chars(config)),
            "stage": Discrete(len(STAGES)),
            "round": Discrete(config.clue_rounds, start=1),
            "player": Discrete(config.num_players + observers, start=1),
        }
    )


def action_space() -> UnicodeText:
    """The action space of a seat: any text, reasoning and box included."""
    return UnicodeText(MAX_ACTION_CHARS)


def check_action(action: Any) -> str:
    """Return a valid action as it is.

    Raises:
        TypeError: It is not a string.
        ValueError: It is longer than `MAX_ACTION_CHARS`.
    """
    if not isinstance(action, str):
        raise TypeError(f"an action must be a string (the answer to the prompt), got {type(action).__name__}")
    if len(action) > MAX_ACTION_CHARS:
        raise ValueError(f"an action has at most {MAX_ACTION_CHARS} characters, got {len(action)}")
    return str(action)


def letterbox(image: Image.Image, size: tuple[int, int]) -> NDArray[np.uint8]:
    """Fit an image into a frame, aspect ratio kept, centred on grey.

    Args:
        image: RGB image of any size.
        size: Height and width of the frame, in pixels.

    Returns:
        uint8 array of shape (height, width, 3).
    """
    height, width = size
    scale = min(width / image.width, height / image.height)
    fitted_size = (
        min(width, max(1, round(image.width * scale))),
        min(height, max(1, round(image.height * scale))),
    )
    fitted = image.resize(fitted_size, Image.Resampling.BICUBIC, reducing_gap=3.0)
    frame = np.empty((height, width, 3), np.uint8)
    frame[:] = LETTERBOX_COLOR
    top, left = (height - fitted.height) // 2, (width - fitted.width) // 2
    frame[top : top + fitted.height, left : left + fitted.width] = np.asarray(fitted)
    return frame


def copy_messages(turn: SpyTurn) -> list[Message]:
    """The chat of a turn as fresh lists and dicts that a caller may change; the images are the turn's own."""
    return [{**message, "content": [dict(part) for part in message["content"]]} for message in turn.messages]


def count_clue_round(game: SpyGame) -> int:
    """The clue round that a game is in, from 1; the last one once all clues are given."""
    return min(len(game.clues) // game.config.num_players + 1, game.config.clue_rounds)


class SeatObserver:
    """Builds the observations of every seat of one game.

    Args:
        game: The game.
        image_size: Height and width of the letterboxed image, in pixels.
    """

    def __init__(self, game: SpyGame, image_size: tuple[int, int]) -> None:
        self._game = game
        self._image_size = image_size
        self._frames: dict[bool, NDArray[np.uint8]] = {}

    def image(self, seat: int) -> Image.Image:
        """The full-size image that a seat looks at."""
        return self._game.spy_view.image if seat == self._game.spy_seat else self._game.pair.civilian

    def observe(self, seat: int, turn: SpyTurn | None) -> Observation:
        """What a seat observes.

        Args:
            seat: The seat, from 0; `num_players` is the observer's.
            turn: What the seat is asked; None while it waits and when the game is over.

        Returns:
            An element of `observation_space`, with arrays of its own.

        Raises:
            ValueError: The prompt is longer than the space holds, which only a user's own templates can bring about.
        """
        game = self._game
        spy = seat == game.spy_seat
        if spy not in self._frames:
            self._frames[spy] = letterbox(self.image(seat), self._image_size)
        prompt = "" if turn is None else turn.prompt
        if len(prompt) > max_prompt_chars(game.config):
            raise ValueError(
                f"the prompt has {len(prompt)} characters, the observation space holds {max_prompt_chars(game.config)}; "
                f"shorten the templates in {game.config.prompts}"
            )
        stage = "over" if game.done else "clue" if len(game.clues) < game.config.num_clues else "decision"
        return {
            "image": self._frames[spy].copy(),
            "prompt": prompt,
            "stage": np.int64(STAGES.index(stage)),
            "round": np.int64(count_clue_round(game)),
            "player": np.int64(seat + 1),
        }
