"""Playing many games at once: every step asks each player once, for all turns that can be answered in all games."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from visionzero.games.game import Game, Turn
from visionzero.players.base import Player, Reply

logger = logging.getLogger(__name__)

GameT = TypeVar("GameT", bound=Game)

Seating = Mapping[str, Player] | Callable[[Game, Turn], Player]
"""Who answers: a player for each role, or a function of the game and the turn."""


@dataclass
class Episode(Generic[GameT]):
    """A game and what was replied in it.

    Attributes:
        game: The game; done, unless `error` is set.
        replies: The reply to every turn that was answered.
        players: The player that answered it.
        error: What stopped the game early; None for a finished game.
    """

    game: GameT
    replies: dict[Turn, Reply] = field(default_factory=dict)
    players: dict[Turn, Player] = field(default_factory=dict)
    error: Exception | None = None


def seating(seats: Player | Seating) -> Callable[[Game, Turn], Player]:
    """Turn any way of naming players into a function of the game and the turn.

    Args:
        seats: One player for everything, a player for each role, or already such a function.

    Returns:
        The function.

    Raises:
        KeyError: Raised by the function for a role that nobody plays.
    """
    if isinstance(seats, Player):
        return lambda game, turn: seats
    if isinstance(seats, Mapping):

        def by_role(game: Game, turn: Turn) -> Player:
            if turn.role not in seats:
                raise KeyError(f"nobody plays the role {turn.role!r}; there are players for {', '.join(seats)}")
            return seats[turn.role]

        return by_role
    return seats


def rollout(
    games: Sequence[GameT],
    players: Player | Seating,
    *,
    on_step: Callable[[int], None] | None = None,
) -> list[Episode[GameT]]:
    """Play games to their end, all of them at once.

    Each step collects the pending turns of all games and makes one `Player.reply` call a player. The order of the games
    changes nothing about any of them. A game that raises is taken off the table with its error kept in its episode;
    the others go on.

    Args:
        games: Fresh games, of any length and kind.
        players: Who answers, see `seating`.
        on_step: Called after each step with the number of games that are done, for progress bars.

    Returns:
        One episode a game, in the order of `games`.
    """
    choose = seating(players)
    episodes = [Episode(game) for game in games]
    playing = [episode for episode in episodes if not episode.game.done]
    while playing:
        asked: dict[Player, list[tuple[Episode[GameT], Turn]]] = {}
        for episode in playing:
            for turn in episode.game.pending():
                asked.setdefault(choose(episode.game, turn), []).append((episode, turn))
        for player, questions in asked.items():
            replies = player.reply([turn for _, turn in questions])
            if len(replies) != len(questions):
                raise RuntimeError(f"{player.name} was asked {len(questions)} turns and answered {len(replies)}")
            for (episode, turn), reply in zip(questions, replies, strict=True):
                if episode.error is not None:
                    continue
                episode.replies[turn] = reply
                episode.players[turn] = player
                try:
                    episode.game.submit(turn, reply.text)
                except Exception as error:
                    episode.error = error
                    logger.warning("game %r stopped: %s", episode.game, error)
        playing = [episode for episode in playing if not episode.game.done and episode.error is None]
        if on_step is not None:
            on_step(sum(episode.game.done for episode in episodes))
    return episodes
