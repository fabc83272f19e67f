"""Rewards on cases worked out by hand, and what must hold for any votes."""

from __future__ import annotations

import math
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from visionzero.games.answers import ABSTENTION, INVALID, Vote
from visionzero.games.spy.scoring import (
    civilians_win,
    clue_rewards,
    count_votes,
    decision_reward,
    vote_points,
)

COUNT = st.one_of(
    st.integers(0, 100).map(float),
    st.floats(0, 100, allow_nan=False),
    st.builds(lambda votes, samples: votes / samples, st.integers(0, 64), st.integers(1, 16)),
)
CIVILIAN_COUNTS = st.lists(COUNT, min_size=1, max_size=12)
WEIGHT = st.floats(0, 10)


class TestClueRewards:
    @pytest.mark.parametrize(
        ("spy_votes", "civilian_votes", "weights", "spy_reward", "civilian_rewards"),
        [
            # Everybody finds the spy. vbar = 0, margin = 4 - 0 = 4.
            # r_spy = -0.1 * 4; r_cj = 0.1 / 4 * 4 - 0.1 * (0 - 0).
            pytest.param(4, (0, 0, 0, 0), {}, -0.4, (0.1, 0.1, 0.1, 0.1), id="unanimous for the spy"),
            # One vote for the spy, two for c1, one for c2. vbar = 3/4, margin = 1/4.
            # r_spy = -0.1 / 4; r_cj = 0.1 / 4 * 1/4 - 0.1 * (v_cj - 3/4) = 0.00625 - 0.1 * (1.25, 0.25, -0.75, -0.75).
            pytest.param(1, (2, 1, 0, 0), {}, -0.025, (-0.11875, -0.01875, 0.08125, 0.08125), id="split"),
            # Nobody suspects the spy. vbar = 4/4 = 1, margin = -1.
            # r_spy = +0.1; r_cj = -0.025 - 0.1 * (v_cj - 1).
            pytest.param(0, (4, 0, 0, 0), {}, 0.1, (-0.325, 0.075, 0.075, 0.075), id="a civilian is convicted"),
            # All abstain: nothing happened.
            pytest.param(0, (0, 0, 0), {}, 0.0, (0.0, 0.0, 0.0), id="all abstain"),
            # The same count for everybody: every bracket is 0.
            pytest.param(1, (1, 1, 1), {}, 0.0, (0.0, 0.0, 0.0), id="tie of all"),
            # Means of several votes. vbar = 1.25 / 2 = 0.625, margin = -0.125.
            # r_spy = 0.0125; r_cj = 0.05 * -0.125 - 0.1 * (0.375, -0.375).
            pytest.param(0.5, (1.0, 0.25), {}, 0.0125, (-0.04375, 0.03125), id="fractional counts"),
            # Other weights. vbar = 1, margin = -1.
            # r_spy = 0.2; r_cj = 0.2 / 3 * -1 - 0.5 * (2, -1, -1).
            pytest.param(
                0, (3, 0, 0), {"beta": 0.2, "lam": 0.5}, 0.2, (-16 / 15, 13 / 30, 13 / 30), id="other weights"
            ),
            # lambda = 0: civilians stand together. vbar = 1/2, margin = 3/2.
            pytest.param(2, (1, 0), {"beta": 1.0, "lam": 0.0}, -1.5, (0.75, 0.75), id="no lambda"),
            # beta = 0: the spy is out of it. vbar = 1/2; r_cj = -(v_cj - 1/2).
            pytest.param(2, (1, 0), {"beta": 0.0, "lam": 1.0}, 0.0, (-0.5, 0.5), id="no beta"),
        ],
    )
    def test_equal_the_hand_worked_cases(
        self,
        spy_votes: float,
        civilian_votes: tuple[float, ...],
        weights: dict[str, float],
        spy_reward: float,
        civilian_rewards: tuple[float, ...],
    ) -> None:
        spy, civilians = clue_rewards(spy_votes, civilian_votes, **weights)
        assert spy == pytest.approx(spy_reward, abs=1e-12)
        assert civilians == pytest.approx(list(civilian_rewards), abs=1e-12)

    @given(COUNT, CIVILIAN_COUNTS, WEIGHT, WEIGHT)
    def test_sum_to_zero_for_any_votes(self, spy_votes: float, counts: list[float], beta: float, lam: float) -> None:
        spy, civilians = clue_rewards(spy_votes, counts, beta, lam)
        assert abs(math.fsum([spy, *civilians])) < 1e-9

    @given(COUNT, CIVILIAN_COUNTS, st.randoms(use_true_random=False))
    def test_move_with_the_civilians_when_these_change_seats(
        self, spy_votes: float, counts: list[float], random: Random
    ) -> None:
        order = random.sample(range(len(counts)), len(counts))
        spy, civilians = clue_rewards(spy_votes, counts)
        moved_spy, moved = clue_rewards(spy_votes, [counts[j] for j in order])
        assert moved_spy == pytest.approx(spy, abs=1e-12)
        assert moved == pytest.approx([civilians[j] for j in order], abs=1e-12)

    @given(COUNT, CIVILIAN_COUNTS, st.floats(0.01, 10))
    def test_more_votes_never_pay(self, spy_votes: float, counts: list[float], extra: float) -> None:
        spy, civilians = clue_rewards(spy_votes, counts)
        assert clue_rewards(spy_votes + extra, counts)[0] < spy
        if len(counts) > 1:
            assert clue_rewards(spy_votes, [counts[0] + extra, *counts[1:]])[1][0] < civilians[0]

    def test_need_a_civilian(self) -> None:
        with pytest.raises(ValueError, match="at least one civilian"):
            clue_rewards(1, [])


class TestDecisionRewards:
    @pytest.mark.parametrize(
        ("vote", "paper", "released"),
        [
            # Released: 1.2 * (1, -0.5, -1, -1) + 0.99 * (1, 0, 0, 0) + 0.3 * (1, 1, 1, 0).
            (Vote("player", 2), 1.0, 2.49),
            (ABSTENTION, -0.5, -0.3),
            (Vote("player", 3), -1.0, -0.9),
            (INVALID, -1.0, -1.2),
        ],
    )
    def test_of_both_schemes(self, vote: Vote, paper: float, released: float) -> None:
        assert decision_reward(vote, spy=2) == paper
        assert decision_reward(vote, spy=2, scheme="paper") == paper
        assert decision_reward(vote, spy=2, scheme="released") == pytest.approx(released)

    def test_are_what_the_voters_are_told(self) -> None:
        assert vote_points("paper") == {"spy": 1.0, "unsure": -0.5, "civilian": -1.0}
        assert vote_points("released") == pytest.approx({"spy": 2.49, "unsure": -0.3, "civilian": -0.9})


class TestCounting:
    def test_leaves_out_abstentions_and_invalid_votes(self) -> None:
        votes = [Vote("player", 1), Vote("player", 3), ABSTENTION, Vote("player", 3), INVALID]
        assert count_votes(votes, 4) == [1, 0, 2, 0]

    def test_scales_every_vote(self) -> None:
        assert count_votes([Vote("player", 1)] * 3 + [ABSTENTION], 2, scale=0.25) == [0.75, 0]


class TestTheVerdict:
    @pytest.mark.parametrize(
        ("counts", "spy", "abstentions", "convicted"),
        [
            pytest.param([0, 4, 0, 0, 0], 2, 0, True, id="unanimous"),
            pytest.param([1, 2, 1, 0, 0], 2, 0, True, id="a plurality is enough"),
            pytest.param([2, 2, 0, 0, 0], 2, 0, False, id="a tie at the top"),
            pytest.param([3, 1, 0, 0, 0], 2, 0, False, id="somebody else has more"),
            pytest.param([0, 0, 0, 0, 0], 2, 4, False, id="all abstain"),
            pytest.param([0, 0, 0, 0, 0], 2, 0, False, id="all votes invalid"),
            pytest.param([0, 1, 0, 0, 0], 2, 3, False, id="more abstentions than votes for the spy"),
            pytest.param([0, 2, 0, 0, 0], 2, 2, True, id="as many abstentions as votes for the spy"),
            pytest.param([0, 1, 0], 2, 0, True, id="the only readable vote"),
            pytest.param([0.25, 0.5, 0.25, 0, 0], 2, 0.5, True, id="fractional counts"),
        ],
    )
    def test_convicts_the_spy(self, counts: list[float], spy: int, abstentions: float, convicted: bool) -> None:
        assert civilians_win(counts, spy, abstentions) is convicted

    @given(st.lists(COUNT, min_size=2, max_size=9), st.data())
    def test_convicts_at_most_one_player(self, counts: list[float], data: st.DataObject) -> None:
        abstentions = data.draw(COUNT)
        assert sum(civilians_win(counts, player, abstentions) for player in range(1, len(counts) + 1)) <= 1
