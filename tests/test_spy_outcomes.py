"""Who wins the spy game, and what every turn of it is worth."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from spy_examples import play, to_the_vote, votes_in_order

from visionzero.games import Clue, SpyConfig, SpyGame
from visionzero.games.answers import ABSTENTION, INVALID, Vote
from visionzero.images import ImagePair


class TestOutcomes:
    def test_of_a_game_worked_out_by_hand(self, board: ImagePair) -> None:
        """Spy is player 3 of 5; players 1, 2, 4, 5 vote 3, 1, 3, n/a.

        v = (1, 0, 2, 0, 0), vbar = 1/4, margin = 7/4: r_spy = -0.175,
        r_c1 = 0.025 * 1.75 - 0.1 * 0.75 = -0.03125, the other civilians 0.04375 + 0.025 = 0.06875.
        """
        game = SpyGame(board, seed=7, spy_seat=2)
        outcome = play(game, vote=votes_in_order([3, 1, 3, "n/a"]))
        assert outcome.winner == "civilians"
        assert outcome.spy == 3
        assert outcome.votes == (
            (1, Vote("player", 3)),
            (2, Vote("player", 1)),
            (4, Vote("player", 3)),
            (5, ABSTENTION),
        )
        assert outcome.vote_counts == (1, 0, 2, 0, 0)
        assert outcome.abstentions == 1
        assert outcome.seat_rewards == pytest.approx((-0.03125, 0.06875, -0.175, 0.06875, 0.06875))
        rewards = [outcome.rewards[played.turn] for played in game.history]
        assert rewards[:5] == rewards[5:10] == pytest.approx(list(outcome.seat_rewards))
        assert rewards[10:] == [1, -1, 1, -0.5]
        assert outcome.metrics == {
            "civilians_win": 1.0,
            "right_vote_rate": 0.5,
            "na_rate": 0.25,
            "invalid_vote_rate": 0.0,
            "unreadable_clue_rate": 0.0,
        }

    @pytest.mark.parametrize(
        ("votes", "winner"),
        [
            ((3, 3, 3, 3), "civilians"),
            ((3, 3, 1, 2), "civilians"),
            ((3, "n/a", 1, 3), "civilians"),
            ((3, "n/a", "n/a", 3), "civilians"),
            ((3, "junk", "junk", "junk"), "civilians"),
            ((3, 3, 1, 1), "spy"),
            ((2, 1, 3, 1), "spy"),
            ((3, "n/a", "n/a", "junk"), "spy"),
            (("n/a",) * 4, "spy"),
            (("junk",) * 4, "spy"),
        ],
    )
    def test_go_to_the_spy_unless_it_has_strictly_the_most(
        self, board: ImagePair, votes: tuple[object, ...], winner: str
    ) -> None:
        outcome = play(SpyGame(board, spy_seat=2), vote=votes_in_order(votes))
        assert outcome.winner == winner
        assert outcome.metrics["civilians_win"] == (winner == "civilians")

    def test_votes_for_oneself_are_wrong_and_count_for_nobody(self, board: ImagePair) -> None:
        game = SpyGame(board, spy_seat=0)
        outcome = play(game, vote=lambda turn: f"\\boxed{{{turn.player}}}")
        assert outcome.vote_counts == (0,) * 5
        assert outcome.invalid_votes == 4
        assert [vote for _, vote in outcome.votes] == [INVALID] * 4
        assert [outcome.rewards[played.turn] for played in game.history[-4:]] == [-1] * 4

    def test_several_votes_of_a_civilian_count_as_their_mean(self, board: ImagePair) -> None:
        """Civilians 2 and 3 (spy 1) vote (1, 1, 3, n/a) and (2, 1, junk, 1): v = (4/4, 1/4, 1/4).

        vbar = 1/4, margin = 3/4: r_spy = -0.075 and both civilians 0.1 / 2 * 0.75 = 0.0375.
        """
        game = SpyGame(board, SpyConfig(num_civilians=2, votes_per_civilian=4), spy_seat=0)
        outcome = play(game, vote=votes_in_order([1, 1, 3, "n/a", 2, 1, "junk", 1]))
        assert outcome.vote_counts == (1.0, 0.25, 0.25)
        assert outcome.abstentions == 0.25
        assert outcome.seat_rewards == pytest.approx((-0.075, 0.0375, 0.0375))
        assert outcome.winner == "civilians"
        assert [outcome.rewards[played.turn] for played in game.history[6:]] == [1, 1, -1, -0.5, -1, 1, -1, 1]

    def test_the_observers_votes_weigh_as_much_as_those_of_all_civilians(self, board: ImagePair) -> None:
        """8 votes stand for 4 voters: 6 for the spy are v_s = 3, 2 for player 5 are v = 1."""
        game = SpyGame(board, SpyConfig(voters="observer"), spy_seat=1)
        outcome = play(game, vote=votes_in_order([2, 2, 2, 5, 2, 2, 5, 2]))
        assert outcome.vote_counts == (0, 3, 0, 0, 1)
        assert {voter for voter, _ in outcome.votes} == {6}
        assert outcome.winner == "civilians"

    def test_the_observer_may_name_any_player(self, board: ImagePair) -> None:
        game = SpyGame(board, SpyConfig(voters="observer", votes_per_game=6), spy_seat=1)
        outcome = play(game, vote=votes_in_order([1, 2, 3, 4, 5, 6]))
        assert outcome.invalid_votes == 1
        assert outcome.vote_counts == pytest.approx((4 / 6,) * 5)

    def test_an_unreadable_clue_is_shown_as_none_and_costs_the_penalty_once_a_turn(self, board: ImagePair) -> None:
        game = SpyGame(board, SpyConfig(num_civilians=2, format_penalty=0.25), spy_seat=2)
        (turn,) = game.pending()
        game.submit(turn, "I forgot the box, but I see a red cube")
        (turn,) = game.pending()
        assert turn.clues == (Clue(1, 1, None),)
        assert "Round 1, player 1: (no clue)" in turn.prompt
        assert "red cube" not in turn.prompt
        outcome = play(game, vote=votes_in_order([3, 3]))
        assert outcome.unreadable_clues == 1
        assert outcome.metrics["unreadable_clue_rate"] == pytest.approx(1 / 6)
        assert game.history[0].answer is None
        assert outcome.seat_rewards == pytest.approx((0.1, 0.1, -0.2))
        clue_rewards = [outcome.rewards[played.turn] for played in game.history[:6]]
        assert clue_rewards == pytest.approx([0.1 - 0.25, 0.1, -0.2, 0.1, 0.1, -0.2])

    def test_long_clues_are_cut_for_the_others(self, board: ImagePair) -> None:
        game = SpyGame(board, SpyConfig(max_clue_chars=10))
        game.submit(game.pending()[0], "\\boxed{" + "x" * 100 + "}")
        assert game.clues[0].text == "x" * 10
        assert "x" * 11 not in game.pending()[0].prompt

    def test_released_rewards_change_the_votes_only(self, board: ImagePair) -> None:
        votes = [3, 1, "n/a", "junk"]
        paper = play(SpyGame(board, spy_seat=2), vote=votes_in_order(votes))
        released = play(SpyGame(board, SpyConfig(rewards="released"), spy_seat=2), vote=votes_in_order(votes))
        assert released.seat_rewards == paper.seat_rewards
        assert list(released.rewards.values())[10:] == pytest.approx([2.49, -0.9, -0.3, -1.2])

    @given(
        st.integers(2, 5), st.integers(1, 3), st.integers(0, 2**32), st.lists(st.sampled_from("0123456nx"), min_size=15)
    )
    def test_clue_rewards_of_any_game_sum_to_zero(
        self, num_civilians: int, votes_per_civilian: int, seed: int, contents: list[str]
    ) -> None:
        config = SpyConfig(num_civilians=num_civilians, clue_rounds=1, votes_per_civilian=votes_per_civilian)
        game = SpyGame(Image.new("RGB", (8, 8)), config, seed=seed)
        outcome = play(game, vote=votes_in_order([content.replace("n", "n/a") for content in contents]))
        assert abs(sum(outcome.seat_rewards)) < 1e-9
        assert sum(outcome.vote_counts) + outcome.abstentions <= num_civilians + 1e-9
        assert set(outcome.rewards) == {played.turn for played in game.history}

    @given(st.randoms(use_true_random=False), st.lists(st.sampled_from("1234nx"), min_size=9, max_size=9))
    def test_votes_submitted_in_any_order_give_the_same_outcome(self, random: Random, contents: list[str]) -> None:
        config = SpyConfig(num_civilians=3, clue_rounds=1, votes_per_civilian=3)
        image = Image.new("RGB", (8, 8))
        straight, shuffled = (SpyGame(image, config, seed=11) for _ in range(2))
        answers = {
            turn.index: f"\\boxed{{{content.replace('n', 'n/a')}}}"
            for turn, content in zip(to_the_vote(straight), contents, strict=True)
        }
        for turn in straight.pending():
            straight.submit(turn, answers[turn.index])
        turns = to_the_vote(shuffled)
        random.shuffle(turns)
        for turn in turns:
            shuffled.submit(turn, answers[turn.index])
        assert shuffled.outcome == straight.outcome
        assert [played.text for played in shuffled.history] == [played.text for played in straight.history]

    def test_do_not_exist_before_the_end(self, board: ImagePair) -> None:
        game = SpyGame(board)
        with pytest.raises(RuntimeError, match="not done: 1 turns are pending"):
            _ = game.outcome
        to_the_vote(game)
        with pytest.raises(RuntimeError, match="not done: 4 turns are pending"):
            _ = game.outcome
