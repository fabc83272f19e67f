"""The games: rules, scoring, prompts. Nothing here knows gymnasium or torch."""

from visionzero.games.game import Game, Message, Outcome, PlayedTurn, Turn, derive_seed

__all__ = ["Game", "Message", "Outcome", "PlayedTurn", "Turn", "derive_seed"]
