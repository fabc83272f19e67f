"""The visual game "Who Is the Spy?"."""

from visionzero.games.spy.config import SpyConfig
from visionzero.games.spy.rules import Clue, SpyGame, SpyOutcome, SpyTurn

__all__ = ["Clue", "SpyConfig", "SpyGame", "SpyOutcome", "SpyTurn"]
