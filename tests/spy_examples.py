"""Answers with which the tests of the spy game play it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from visionzero.games import SpyGame, SpyOutcome, SpyTurn

Answer = Callable[[SpyTurn], str]


def clue_of(turn: SpyTurn) -> str:
    return f"secret thoughts of player {turn.player} \\boxed{{clue {turn.round} of player {turn.player}}}"


def vote_for(number: object) -> Answer:
    return lambda turn: f"secret vote of player {turn.player} \\boxed{{{number}}}"


def to_the_vote(game: SpyGame, clue: Answer = clue_of) -> list[SpyTurn]:
    """Play the clue stage; the pending votes."""
    while game.pending()[0].stage == "clue":
        (turn,) = game.pending()
        game.submit(turn, clue(turn))
    return list(game.pending())


def play(game: SpyGame, clue: Answer = clue_of, vote: Answer | None = None) -> SpyOutcome:
    """Play the game to its end; without `vote`, everybody votes for player 1, and player 1 for nobody."""
    for turn in to_the_vote(game, clue):
        game.submit(turn, vote(turn) if vote else f"\\boxed{{{'n/a' if turn.player == 1 else 1}}}")
    return game.outcome


def votes_in_order(contents: Sequence[object]) -> Answer:
    """The pending votes, in the order of the turns."""
    queue = iter(contents)
    return lambda turn: f"\\boxed{{{next(queue)}}}"
