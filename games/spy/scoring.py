"""The rewards of the spy game, as plain functions in the symbols of the paper (Vision-Zero, arXiv 2509.25541).

| symbol | here | meaning |
| --- | --- | --- |
| n_c | `num_civilians` | number of civilians |
| v_s | `spy_votes` | votes that the spy received |
| v_cj | `civilian_votes[j]` | votes that civilian j received |
| beta, lambda | `beta`, `lam` | weights of the two terms of eq. 1 |

Votes may be fractional: where every civilian votes several times, a count is the mean over its votes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Literal

from visionzero.games.answers import ABSTENTION, Vote

RewardScheme = Literal["paper", "released"]


def clue_rewards(
    spy_votes: float, civilian_votes: Sequence[float], beta: float = 0.1, lam: float = 0.1
) -> tuple[float, list[float]]:
    """Zero-sum rewards of the clue stage (eq. 1).

        r_spy = -beta * (v_s - mean_j v_cj)
        r_cj  = beta / n_c * (v_s - mean_j v_cj) - lam * (v_cj - mean_j v_cj)

    Args:
        spy_votes: v_s, votes received by the spy.
        civilian_votes: v_cj, votes received by each civilian, in seat order.
        beta: Weight of the spy being found out against civilians being suspected.
        lam: Weight of one civilian being suspected more than the others.

    Returns:
        `(r_spy, [r_cj, ...])`; the sum of all of them is 0.

    Raises:
        ValueError: There is no civilian.
    """
    num_civilians = len(civilian_votes)
    if num_civilians == 0:
        raise ValueError("clue_rewards needs the votes of at least one civilian")
    mean_civilian = sum(civilian_votes) / num_civilians
    margin = spy_votes - mean_civilian
    return -beta * margin, [beta / num_civilians * margin - lam * (votes - mean_civilian) for votes in civilian_votes]


def decision_reward(vote: Vote, spy: int, scheme: RewardScheme = "paper") -> float:
    """Verifiable reward of one vote (eq. 4).

    `"paper"`: +1 for the spy, -0.5 for n/a, -1 for anybody else and for a vote that cannot be read.
    `"released"`, as the published code scores it: 1.2 times that, +0.99 where the spy is named, +0.3 where the vote can
    be read.

    Args:
        vote: What was voted.
        spy: The spy's player number, from 1.
        scheme: Which of the two.

    Returns:
        The reward.
    """
    right = vote.kind == "player" and vote.player == spy
    accuracy = 1.0 if right else -0.5 if vote.kind == "n/a" else -1.0
    if scheme == "paper":
        return accuracy
    return 1.2 * accuracy + 0.99 * right + 0.3 * (vote.kind != "invalid")


def vote_points(scheme: RewardScheme = "paper") -> dict[str, float]:
    """What `decision_reward` pays for a readable vote, as the voters are told it.

    Args:
        scheme: Which scheme.

    Returns:
        The rewards of naming the spy (`"spy"`), of n/a (`"unsure"`) and of naming a civilian (`"civilian"`).
    """
    votes = {"spy": Vote("player", 1), "unsure": ABSTENTION, "civilian": Vote("player", 2)}
    return {name: decision_reward(vote, spy=1, scheme=scheme) for name, vote in votes.items()}


def count_votes(votes: Iterable[Vote], num_players: int, scale: float = 1.0) -> list[float]:
    """Votes received by every player.

    Args:
        votes: All votes; abstentions and invalid ones count for nobody.
        num_players: Number of players.
        scale: What one vote counts, for example 1 / votes_per_civilian.

    Returns:
        `num_players` counts; player k's is at index k - 1.
    """
    received = Counter(vote.player for vote in votes if vote.kind == "player")
    return [scale * received[player] for player in range(1, num_players + 1)]


def civilians_win(counts: Sequence[float], spy: int, abstentions: float) -> bool:
    """Whether the vote convicts the spy.

    Civilians win when the spy has strictly more votes than any civilian and at least as many as there are abstentions;
    a tie, and a table that mostly abstains, let the spy get away.

    Args:
        counts: Votes received by every player, in the same unit as `abstentions`.
        spy: The spy's player number, from 1.
        abstentions: Number of n/a votes.

    Returns:
        True when the civilians win.
    """
    for_spy = counts[spy - 1]
    others = max((count for player, count in enumerate(counts, start=1) if player != spy), default=0.0)
    return for_spy > others and for_spy >= abstentions
