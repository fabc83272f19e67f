"""The games: rules, scoring, prompts. Nothing here knows gymnasium or torch."""

from visionzero.games.answers import Vote
from visionzero.games.game import Game, Message, Outcome, PlayedTurn, Turn, derive_seed
from visionzero.games.spy import Clue, SpyConfig, SpyGame, SpyOutcome, SpyTurn

__all__ = [
    "Clue",
    "Game",
    "Message",
    "Outcome",
    "PlayedTurn",
    "SpyConfig",
    "SpyGame",
    "SpyOutcome",
    "SpyTurn",
    "Turn",
    "Vote",
    "derive_seed",
]
