"""What an `info` says about a finished game, in plain types that every vector environment can carry."""

from __future__ import annotations

from typing import Any

from visionzero.games import SpyGame


def game_result(game: SpyGame) -> dict[str, Any]:
    """How a game ended, for all.

    Args:
        game: A finished game.

    Returns:
        `winner` (`"civilians"` or `"spy"`), `spy` (its player number, from 1), `votes` (pairs of the voter's player
        number and `"1"`, `"2"`, ..., `"n/a"` or `"invalid"`), `vote_counts` (votes received by each player) and
        `seat_returns` (by seat, the sum over its turns; the observer's is last where there is one).
    """
    outcome = game.outcome
    seats = game.config.num_players + (game.config.voters == "observer")
    return {
        "winner": outcome.winner,
        "spy": outcome.spy,
        "votes": [(voter, str(vote)) for voter, vote in outcome.votes],
        "vote_counts": list(outcome.vote_counts),
        "seat_returns": [seat_return(game, seat) for seat in range(seats)],
    }


def seat_result(game: SpyGame, seat: int) -> dict[str, Any]:
    """How a game ended for one seat.

    Args:
        game: A finished game.
        seat: The seat, from 0; `num_players` is the observer's.

    Returns:
        `won`, `turn_rewards` (stage, position and reward of each of its turns, in order; the position, from 0, counts
        clue rounds and vote samples) and `stage_rewards` (the sum for each stage).
    """
    outcome = game.outcome
    turns = [played.turn for played in game.history if played.turn.seat == seat]
    turn_rewards = [(turn.stage, turn.position, outcome.rewards[turn]) for turn in turns]
    return {
        "won": outcome.winner == ("spy" if seat == game.spy_seat else "civilians"),
        "turn_rewards": turn_rewards,
        "stage_rewards": {
            stage: sum((reward for of, _, reward in turn_rewards if of == stage), 0.0) for stage in ("clue", "decision")
        },
    }


def seat_return(game: SpyGame, seat: int) -> float:
    """The sum of a finished game's rewards for the turns of one seat."""
    outcome = game.outcome
    return sum((outcome.rewards[played.turn] for played in game.history if played.turn.seat == seat), 0.0)
