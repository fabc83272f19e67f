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
    on_turns: Callable[[int], None] | None = None,
) -> list[Episode[GameT]]:
    """Play games to their end, all of them at once.

    Each step collects the pending turns of all games and makes one `Player.reply` call a player. The order of the games
    changes nothing about any of them. A game that raises is taken off the table with its error kept in its episode;
    the others go on. What a player or the seating raises ends the rollout.

    Args:
        games: Games of any length and kind, fresh or begun.
        players: Who answers, see `seating`.
        on_turns: Called after each `reply` with the number of turns that it answered, for progress bars.

    Returns:
        One episode a game, in the order of `games`.

    Raises:
        ValueError: The same game object is listed twice.
        RuntimeError: A player gave another number of replies than it was asked for.
    """
    if len({id(game) for game in games}) < len(games):
        raise ValueError("rollout got the same game object twice; every entry must be a game of its own")
    choose = seating(players)
    episodes = [Episode(game) for game in games]
    playing = [episode for episode in episodes if not episode.game.done]
    while playing:
        # Keyed by identity, because players that compare equal are still two players.
        asked: dict[int, tuple[Player, list[tuple[Episode[GameT], Turn]]]] = {}
        for episode in playing:
            for turn in _pending(episode):
                player = choose(episode.game, turn)
                asked.setdefault(id(player), (player, []))[1].append((episode, turn))
        for player, questions in asked.values():
            replies = player.reply([turn for _, turn in questions])
            if len(replies) != len(questions):
                raise RuntimeError(f"{player.name} was asked {len(questions)} turns and answered {len(replies)}")
            if on_turns is not None:
                on_turns(len(questions))
            for (episode, turn), reply in zip(questions, replies, strict=True):
                if episode.error is not None:
                    continue
                episode.replies[turn] = reply
                episode.players[turn] = player
                try:
                    episode.game.submit(turn, reply.text)
                except Exception as error:
                    _stop(episode, error)
        playing = [episode for episode in playing if episode.error is None and not episode.game.done]
    return episodes


def _pending(episode: Episode[GameT]) -> Sequence[Turn]:
    """The game's pending turns; none, and the game stopped, where it cannot say."""
    try:
        turns = episode.game.pending()
        if not turns:
            raise RuntimeError("the game is not done, but no turn is pending")
    except Exception as error:
        _stop(episode, error)
        return []
    return turns


def _stop(episode: Episode[GameT], error: Exception) -> None:
    episode.error = error
    logger.warning("game %r stopped: %s: %s", episode.game, type(error).__name__, error)
