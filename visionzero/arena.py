"""How good a player is: win rates of one player against another."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import NormalDist, fmean

import numpy as np

from visionzero.games import SpyConfig, SpyGame, Turn, derive_seed
from visionzero.games.game import Game
from visionzero.images import ImagePair
from visionzero.players.base import Player
from visionzero.rollout import Episode, rollout


def wilson_interval(wins: float, rounds: int, confidence: float = 0.95) -> tuple[float, float]:
    """Wilson's score interval of a win rate.

    Args:
        wins: Number of wins.
        rounds: Number of rounds, >= 1.
        confidence: Coverage, in (0, 1).

    Returns:
        Lower and upper end, in [0, 1].

    Raises:
        ValueError: There are no rounds, or more wins than rounds.
    """
    if rounds < 1 or not 0 <= wins <= rounds:
        raise ValueError(f"need 0 <= wins <= rounds and a round, got {wins} of {rounds}")
    z = NormalDist().inv_cdf(0.5 + confidence / 2)
    rate = wins / rounds
    scale = 1 + z * z / rounds
    centre = (rate + z * z / (2 * rounds)) / scale
    spread = z / scale * math.sqrt(rate * (1 - rate) / rounds + z * z / (4 * rounds * rounds))
    # The ends at 0 and 1 are exact in theory; rounding would put the rate itself outside.
    return (centre - spread if wins else 0.0), (centre + spread if wins < rounds else 1.0)


@dataclass(frozen=True)
class MatchResult:
    """Result of A against B.

    Attributes:
        player: Name of A.
        opponent: Name of B.
        rounds_as_spy: Rounds with A as the spy and B in the civilians' seats.
        wins_as_spy: Rounds of these that A won.
        rounds_as_civilians: Rounds with A in the civilians' seats and B as the spy.
        wins_as_civilians: Rounds of these that A won.
        figures: Means over A's turns: `length/{stage}` (tokens, or characters of players without tokens), `na_rate`,
            `right_vote_rate`, `invalid_vote_rate`, `unreadable_clue_rate`.
        episodes: The games, those with A as the spy first.
    """

    player: str
    opponent: str
    rounds_as_spy: int
    wins_as_spy: int
    rounds_as_civilians: int
    wins_as_civilians: int
    figures: dict[str, float]
    episodes: list[Episode[SpyGame]] = field(repr=False, compare=False)

    @property
    def rounds(self) -> int:
        """Rounds in all."""
        return self.rounds_as_spy + self.rounds_as_civilians

    @property
    def wins(self) -> int:
        """Rounds that A won."""
        return self.wins_as_spy + self.wins_as_civilians

    @property
    def win_rate(self) -> float:
        """Share of the rounds that A won. Two equal players have 0.5 each."""
        return self.wins / self.rounds

    @property
    def interval(self) -> tuple[float, float]:
        """95 % interval of the win rate (Wilson)."""
        return wilson_interval(self.wins, self.rounds)


def play_match(
    player: Player,
    opponent: Player,
    boards: Sequence[ImagePair],
    config: SpyConfig | None = None,
    *,
    rounds: int = 100,
    seed: int = 0,
    on_turns: Callable[[int], None] | None = None,
) -> MatchResult:
    """Play A against B, half of the rounds with A as the spy and half with A in all civilians' seats.

    Every deal (board, seats, seed) is played twice with the roles exchanged, so that neither side gets the easier ones.

    Args:
        player: A.
        opponent: B.
        boards: Images to draw from, without replacement as long as they last.
        config: Rules of the games.
        rounds: Number of games, even.
        seed: Decides boards and deals.
        on_turns: See `rollout`.

    Returns:
        The result.

    Raises:
        ValueError: `rounds` is odd or < 2, or there are no boards.
    """
    if rounds < 2 or rounds % 2:
        raise ValueError(f"rounds must be an even number >= 2, got {rounds}")
    if len(boards) == 0:
        raise ValueError("a match needs at least one board")
    rng = np.random.default_rng(derive_seed(seed, "match"))
    half = rounds // 2
    order = np.concatenate([rng.permutation(len(boards)) for _ in range(-(-half // len(boards)))])[:half]
    pairs = [boards[int(index)] for index in order]
    games = [SpyGame(pairs[i], config, seed=derive_seed(seed, "round", i)) for _ in range(2) for i in range(half)]
    spies = {id(game): player if number < half else opponent for number, game in enumerate(games)}

    def choose(game: Game, turn: Turn) -> Player:
        spy = spies[id(game)]
        return spy if turn.role == "spy" else opponent if spy is player else player

    episodes = rollout(games, choose, on_turns=on_turns)
    finished = [[e for e in episodes[:half] if e.error is None], [e for e in episodes[half:] if e.error is None]]
    if not any(finished):
        raise RuntimeError("no game of the match could be finished") from episodes[0].error
    return MatchResult(
        player=player.name,
        opponent=opponent.name,
        rounds_as_spy=len(finished[0]),
        wins_as_spy=sum(e.game.outcome.winner == "spy" for e in finished[0]),
        rounds_as_civilians=len(finished[1]),
        wins_as_civilians=sum(e.game.outcome.winner == "civilians" for e in finished[1]),
        figures=_figures(player, [*finished[0], *finished[1]]),
        episodes=episodes,
    )


def _figures(player: Player, episodes: Sequence[Episode[SpyGame]]) -> dict[str, float]:
    """Means over the turns that `player` answered."""
    values: dict[str, list[float]] = defaultdict(list)
    for episode in episodes:
        spy = episode.game.spy_seat + 1
        for played in episode.game.history:
            if episode.players[played.turn] is not player:
                continue
            reply = episode.replies[played.turn]
            values[f"length/{played.turn.stage}"].append(len(reply.completion_ids) or len(reply.text))
            if played.turn.stage == "clue":
                values["unreadable_clue_rate"].append(played.answer is None)
            else:
                values["na_rate"].append(played.answer.kind == "n/a")
                values["invalid_vote_rate"].append(played.answer.kind == "invalid")
                values["right_vote_rate"].append(played.answer.player == spy)
    return {name: fmean(values[name]) for name in sorted(values)}
