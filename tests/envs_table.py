"""Boards, players and episodes for the tests of the environments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from gymnasium.error import ClosedEnvironmentError
from PIL import Image

from visionzero.envs.spy import SpyEnv
from visionzero.games import Turn, derive_seed
from visionzero.images import ImagePair, ImageSource
from visionzero.players.base import Player, Reply

CLUES = (
    "a red kite over the beach",
    "zwei Katzen auf dem Sofa",
    "三只小鸟在树上",
    "три яблока на столе",
    "قارب صغير قرب الميناء",
    "a cake 🎂 with\ntwo candles 🕯️",
    "",
    "{{ 7 * 7 }} {% raw %}",
)


class Gradients(ImageSource):
    """Pictures of different sizes that are told apart by their colours."""

    def __init__(self, count: int = 5) -> None:
        self.name = "gradients"
        self.kind = "photos"
        self.skipped = []
        self.count = count

    def __len__(self) -> int:
        return self.count

    def pair(self, index: int) -> ImagePair:
        rows, columns = np.mgrid[0 : 40 + 8 * index, 0:64]
        pixels = np.stack([columns * 4, rows * 2, np.full_like(rows, 40 * index)], axis=-1).astype(np.uint8)
        return ImagePair(Image.fromarray(pixels), name=f"gradient {index}")


class Chatterbox(Player):
    """Says things of many languages and votes for anybody, as the turn's seed has it."""

    name = "chatterbox"

    def reply(self, turns: Sequence[Turn]) -> list[Reply]:
        return [Reply(self.say(turn.stage, turn.seed)) for turn in turns]

    @staticmethod
    def say(stage: str, seed: int) -> str:
        draw = derive_seed(seed, "chatterbox")
        if stage == "clue":
            return f"I see … \\boxed{{{CLUES[draw % len(CLUES)]}}}"
        return ("\\boxed{1}", "\\boxed{2}", "\\boxed{3}", "\\boxed{n/a}", "no idea")[draw % 5]


def make(**kwargs: Any) -> SpyEnv:
    return SpyEnv(**{"images": Gradients(), "opponents": Chatterbox(), "image_size": 32, **kwargs})


def play(env: SpyEnv, seed: int = 0, **reset: Any) -> list[tuple[Any, ...]]:
    """An episode of the chatterbox; every entry is what `step` returned."""
    env.reset(seed=seed, **reset)
    steps = []
    while not steps or not steps[-1][2]:
        assert env.turn is not None
        steps.append(env.step(Chatterbox.say(env.turn.stage, env.turn.seed)))
    return steps


def assert_closed(env: Any) -> None:
    """Close the environment twice; nothing can be done with it any more."""
    env.close()
    env.close()
    with pytest.raises(ClosedEnvironmentError):
        env.step("a")
    with pytest.raises(ClosedEnvironmentError):
        env.reset()
