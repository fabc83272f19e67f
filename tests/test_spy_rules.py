"""The rules of the spy game: who speaks, who sees what, who wins, and what it is worth."""

from __future__ import annotations

import copy
import json
import os
import pickle
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageChops

from visionzero.games import Clue, SpyConfig, SpyGame, SpyOutcome, SpyTurn, derive_seed
from visionzero.games.answers import ABSTENTION, INVALID, Vote
from visionzero.images import ImagePair

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


class TestTheOrderOfSpeaking:
    @pytest.mark.parametrize("num_civilians", [2, 4, 8])
    @pytest.mark.parametrize("clue_rounds", [1, 2, 4])
    def test_seats_give_clues_in_order_round_by_round_then_all_civilians_vote_at_once(
        self, board: ImagePair, num_civilians: int, clue_rounds: int
    ) -> None:
        game = SpyGame(board, SpyConfig(num_civilians=num_civilians, clue_rounds=clue_rounds), spy_seat=1)
        for round_ in range(1, clue_rounds + 1):
            for seat in range(num_civilians + 1):
                (turn,) = game.pending()
                assert (turn.seat, turn.player, turn.round, turn.position) == (seat, seat + 1, round_, round_ - 1)
                assert (turn.stage, turn.role) == ("clue", "spy" if seat == 1 else "civilian")
                game.submit(turn, clue_of(turn))
        votes = game.pending()
        assert [turn.seat for turn in votes] == [seat for seat in range(num_civilians + 1) if seat != 1]
        assert {(turn.stage, turn.role) for turn in votes} == {("decision", "civilian")}
        assert not game.done
        for turn in votes:
            game.submit(turn, r"\boxed{n/a}")
        assert game.done
        assert game.pending() == []
        assert [played.turn.index for played in game.history] == list(range(len(game.history)))

    def test_every_speaker_sees_exactly_the_clues_before_its_own(self, board: ImagePair) -> None:
        game = SpyGame(board, SpyConfig(num_civilians=2, clue_rounds=2), seed=1)
        said: list[Clue] = []
        while (turn := game.pending()[0]).stage == "clue":
            assert turn.clues == tuple(said)
            for clue in said:
                assert f"Round {clue.round}, player {clue.player}: {clue.text}" in turn.prompt
            assert turn.prompt.count("Round ") == len(said)
            game.submit(turn, clue_of(turn))
            said.append(Clue(turn.player, turn.round, f"clue {turn.round} of player {turn.player}"))
        assert game.clues == tuple(said)
        for turn in game.pending():
            assert turn.clues == tuple(said)
            assert turn.prompt.count("Round ") == len(said) == 6

    def test_every_turn_has_a_seed_of_its_own(self, board: ImagePair) -> None:
        games = [SpyGame(board, SpyConfig(votes_per_civilian=2), seed=seed) for seed in range(3)]
        for game in games:
            play(game)
        seeds = [played.turn.seed for game in games for played in game.history]
        assert len(set(seeds)) == len(seeds) == 3 * 18


class TestWhoSeesWhat:
    @pytest.mark.parametrize("spy_view", ["blank", "edited", "mixed"])
    def test_every_civilian_sees_the_one_true_image(self, board: ImagePair, spy_view: Any) -> None:
        game = SpyGame(board, SpyConfig(spy_view=spy_view), spy_seat=2)
        play(game)
        civilians = [played.turn for played in game.history if played.turn.role == "civilian"]
        assert len(civilians) == 12
        assert all(turn.view.image is board.civilian for turn in civilians)
        assert all(len(turn.images) == 1 and turn.images[0] is board.civilian for turn in civilians)
        assert all(turn.view.scene is board.scene and not turn.blank for turn in civilians)

    def test_a_blank_spy_sees_white_of_the_same_size(self, board: ImagePair) -> None:
        (turn,) = SpyGame(board, SpyConfig(spy_view="blank"), spy_seat=0).pending()
        (image,) = turn.images
        assert image.size == board.civilian.size
        assert image.getcolors() == [(32 * 24, (255, 255, 255))]
        assert turn.blank
        assert turn.view.scene is None

    def test_an_edited_spy_sees_the_edited_view_and_its_scene(self, board: ImagePair) -> None:
        (turn,) = SpyGame(board, SpyConfig(spy_view="edited"), spy_seat=0).pending()
        assert turn.images == [board.edited.image]
        assert turn.view is board.edited
        assert not turn.blank

    def test_the_edited_view_is_made_only_for_spies_who_see_it(self, photo: Image.Image) -> None:
        def fail() -> Any:
            raise AssertionError("nobody asked for an edited view")

        play(SpyGame(ImagePair(photo, edit=fail), SpyConfig(spy_view="blank")))
        game = SpyGame(ImagePair(photo, edit=fail), SpyConfig(spy_view="edited"), spy_seat=1)
        with pytest.raises(AssertionError, match="nobody asked"):
            play(game)

    def test_a_mixed_spy_is_blind_in_a_tenth_of_the_games_and_sees_the_truth_in_another(self, board: ImagePair) -> None:
        views = Counter[str]()
        for seed in range(4000):
            game = SpyGame(board, SpyConfig(spy_view="mixed"), seed=seed, spy_seat=0)
            (turn,) = game.pending()
            image = turn.view.image
            views["true" if image is board.civilian else "edited" if image is board.edited.image else "blank"] += 1
            assert turn.blank == (image.getextrema() == ((255, 255),) * 3)
        assert views.keys() == {"blank", "true", "edited"}
        assert 340 < views["blank"] < 460
        assert 340 < views["true"] < 460

    def test_nobody_reads_the_thoughts_of_others(self, board: ImagePair) -> None:
        game = SpyGame(board, SpyConfig(votes_per_civilian=2), seed=4)
        play(game, vote=vote_for("n/a"))
        for played in game.history:
            for other in range(1, 6):
                thoughts = f"secret thoughts of player {other}"
                own_earlier_clues = played.turn.round - (played.turn.stage == "clue")
                seen = own_earlier_clues if other == played.turn.player else 0
                assert played.turn.prompt.count(thoughts) == seen

    def test_without_memory_a_player_forgets_its_own_thoughts(self, board: ImagePair) -> None:
        game = SpyGame(board, SpyConfig(own_reasoning_memory=False))
        play(game)
        assert not any("secret thoughts" in played.turn.prompt for played in game.history)
        assert all(played.turn.own_answers == () for played in game.history)

    def test_votes_stay_secret(self, board: ImagePair) -> None:
        config = SpyConfig(votes_per_civilian=2)
        asked = to_the_vote(SpyGame(board, config, seed=5))
        before = {turn.index: turn.prompt for turn in asked}
        game = SpyGame(board, config, seed=5)
        for turn in to_the_vote(game):
            game.submit(turn, vote_for("n/a")(turn))
            for waiting in game.pending():
                assert waiting.prompt == before[waiting.index]
                assert "secret vote" not in waiting.prompt

    def test_the_same_voter_is_asked_the_same_question_every_time(self, board: ImagePair) -> None:
        turns = to_the_vote(SpyGame(board, SpyConfig(votes_per_civilian=3), spy_seat=4))
        assert [(turn.seat, turn.position) for turn in turns] == [(seat, k) for seat in range(4) for k in range(3)]
        assert len({turn.prompt for turn in turns}) == 4
        assert len({turn.seed for turn in turns}) == 12

    def test_the_observer_sees_the_image_and_the_clues_and_has_no_role(self, board: ImagePair) -> None:
        game = SpyGame(board, SpyConfig(voters="observer"), seed=6)
        turns = to_the_vote(game)
        assert len(turns) == 8
        for turn in turns:
            assert (turn.role, turn.seat, turn.player) == ("observer", 5, 6)
            assert turn.images[0] is board.civilian
            assert turn.clues == game.clues
            assert "secret" not in turn.prompt
            assert "CIVILIAN" not in turn.prompt
            assert "SPY" not in turn.prompt


class TestTheDeal:
    def test_every_seat_is_the_spys_equally_often(self, board: ImagePair) -> None:
        seats = Counter(SpyGame(board, seed=seed).spy_seat for seed in range(5000))
        assert sorted(seats) == [0, 1, 2, 3, 4]
        # Chi-square with 4 degrees of freedom: 18.5 at p = 0.001.
        assert sum((count - 1000) ** 2 / 1000 for count in seats.values()) < 18.5

    def test_the_spys_view_does_not_depend_on_its_seat(self, board: ImagePair) -> None:
        config = SpyConfig(spy_view="mixed")
        games = [SpyGame(board, config, seed=seed) for seed in range(3000)]
        blind = Counter(game.spy_seat for game in games if game.spy_view.image.getextrema() == ((255, 255),) * 3)
        assert sorted(blind) == [0, 1, 2, 3, 4]
        assert all(30 < count < 90 for count in blind.values())

    def test_a_seat_can_be_chosen(self, board: ImagePair) -> None:
        assert [SpyGame(board, spy_seat=seat).spy_seat for seat in range(5)] == [0, 1, 2, 3, 4]
        assert SpyGame(board, spy_seat=np.int64(3)).spy_seat == 3

    def test_numpy_seeds_are_seeds(self, board: ImagePair) -> None:
        for seed in range(20):
            assert SpyGame(board, seed=np.int32(seed)).spy_seat == SpyGame(board, seed=seed).spy_seat
        assert derive_seed(np.int64(3), "x") == derive_seed(3, "x") != derive_seed("3", "x")
        assert derive_seed("\udcff") != derive_seed("\udcfe")

    @pytest.mark.parametrize(
        ("arguments", "error", "message"),
        [
            ({"spy_seat": 5}, ValueError, "spy_seat must be from 0 to 4, got 5"),
            ({"spy_seat": -1}, ValueError, "spy_seat must be from 0 to 4, got -1"),
            ({"spy_seat": 1.5}, TypeError, "float"),
            ({"seed": 1.5}, TypeError, "float"),
            ({"seed": "1"}, TypeError, "str"),
            ({"image": "photo.png"}, TypeError, "must be an ImagePair or a PIL image, got str"),
            ({"config": {"num_civilians": 3}}, TypeError, "config must be a SpyConfig or None, got dict"),
        ],
    )
    def test_bad_arguments_are_named(
        self, board: ImagePair, arguments: dict[str, Any], error: Any, message: str
    ) -> None:
        with pytest.raises(error, match=message):
            SpyGame(**{"image": board, **arguments})

    @pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGBA", "CMYK", "I;16", "F", "HSV"])
    def test_a_pil_image_of_any_mode_is_a_board(self, photo: Image.Image, mode: str) -> None:
        image = photo.convert("L").convert("I").convert("I;16") if mode == "I;16" else photo.convert(mode)
        game = SpyGame(image)
        assert game.pair.civilian.mode == "RGB"
        assert play(game).winner in ("civilians", "spy")

    def test_an_rgb_image_keeps_its_pixels(self, photo: Image.Image) -> None:
        assert ImageChops.difference(SpyGame(photo).pair.civilian, photo).getbbox() is None


class TestReproduction:
    SCRIPT = """
import json, random
import numpy as np
from PIL import Image
from visionzero.games import SpyConfig, SpyGame
from visionzero.images import EditedView, ImagePair

random.seed(NOISE); np.random.seed(NOISE)
image = Image.new("RGB", (16, 8), (10, 20, 30))
board = ImagePair(image, edit=lambda: EditedView(image.rotate(180)))
log = []
for seed in range(6):
    game = SpyGame(board, SpyConfig(spy_view="mixed", votes_per_civilian=2), seed=seed)
    while not game.done:
        for turn in game.pending():
            rng = np.random.default_rng(turn.seed)
            answer = f"\\\\boxed{{{rng.integers(7)}}}" if turn.stage == "decision" else f"\\\\boxed{{clue {rng.random()}}}"
            log.append([turn.seed, turn.role, turn.prompt, turn.images[0].getpixel((0, 0)), answer])
            game.submit(turn, answer)
    outcome = game.outcome
    log.append([outcome.winner, outcome.spy, outcome.vote_counts, outcome.seat_rewards, list(outcome.rewards.values())])
print(json.dumps(log))
"""

    def run(self, noise: int, hash_seed: str) -> list[Any]:
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
        script = self.SCRIPT.replace("NOISE", str(noise))
        run = subprocess.run(
            [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True
        )
        return json.loads(run.stdout)

    def test_the_same_seed_is_the_same_game_in_any_process(self) -> None:
        first = self.run(noise=1, hash_seed="1")
        assert first == self.run(noise=2, hash_seed="2")
        assert len({entry[2] for entry in first if len(entry) == 5 and isinstance(entry[0], int)}) > 60

    def test_a_game_touches_no_global_generator(self, board: ImagePair) -> None:
        before = np.random.get_state()[1].copy()  # noqa: NPY002 - the legacy generator is what must stay untouched
        play(SpyGame(board, SpyConfig(spy_view="mixed")))
        assert (np.random.get_state()[1] == before).all()  # noqa: NPY002


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


class TestSubmitting:
    def test_a_turn_twice_or_too_late_or_too_early_is_an_error(self, board: ImagePair) -> None:
        game, ahead = SpyGame(board, seed=1), SpyGame(board, seed=1)
        (first,) = game.pending()
        ahead.submit(first, "x")
        with pytest.raises(ValueError, match=r"turn 1 \(seat 1, clue\) is not pending"):
            game.submit(ahead.pending()[0], "x")
        game.submit(first, "x")
        with pytest.raises(ValueError, match=r"turn 0 \(seat 0, clue\) is not pending"):
            game.submit(first, "x")
        (vote, *_) = to_the_vote(game)
        game.submit(vote, r"\boxed{n/a}")
        with pytest.raises(ValueError, match="not pending"):
            game.submit(vote, r"\boxed{n/a}")
        for turn in game.pending():
            game.submit(turn, "")
        with pytest.raises(ValueError, match="not pending"):
            game.submit(vote, "")

    def test_a_turn_of_another_game_is_an_error(self, board: ImagePair) -> None:
        with pytest.raises(ValueError, match="not pending"):
            SpyGame(board, seed=1).submit(SpyGame(board, seed=2).pending()[0], "x")

    @pytest.mark.parametrize("text", [None, 3, b"\\boxed{3}", ["x"]])
    def test_anything_but_text_is_an_error_and_changes_nothing(self, board: ImagePair, text: Any) -> None:
        game = SpyGame(board)
        with pytest.raises(TypeError, match="an answer must be a string"):
            game.submit(game.pending()[0], text)
        assert game.history == []
        assert len(game.pending()) == 1

    def test_anything_but_a_turn_is_an_error(self, board: ImagePair) -> None:
        with pytest.raises(TypeError, match=r"turn must be one of pending\(\), got int"):
            SpyGame(board).submit(0, "x")  # type: ignore[arg-type]

    @given(st.lists(st.text(st.characters(), max_size=30), min_size=10))
    def test_any_texts_finish_the_game(self, texts: list[str]) -> None:
        game = SpyGame(Image.new("RGB", (8, 8)), SpyConfig(num_civilians=2, clue_rounds=1))
        queue = iter(texts)
        while not game.done:
            for turn in game.pending():
                assert turn.prompt.encode()
                game.submit(turn, next(queue))
        assert set(game.outcome.rewards.values())

    def test_the_text_is_kept_as_it_was(self, board: ImagePair) -> None:
        game = SpyGame(board)
        text = "  \0\ud800 odd \\boxed{ a\n b }\n"
        game.submit(game.pending()[0], text)
        assert game.history[0].text == text
        assert game.history[0].answer == "a b"


class TestCopies:
    MOMENTS = (0, 1, 6, 10, 12, 14)

    @staticmethod
    def advance(game: SpyGame, answers: int) -> SpyGame:
        for _ in range(answers):
            turn = game.pending()[-1]
            game.submit(turn, f"\\boxed{{{(turn.index % 5) + 1}}}")
        return game

    @pytest.mark.parametrize("moment", MOMENTS)
    @pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
    def test_are_independent_games_at_the_same_point(self, board: ImagePair, moment: int, copied: Any) -> None:
        game = self.advance(SpyGame(board, SpyConfig(spy_view="edited"), seed=3), moment)
        twin = copied(game)
        assert twin.pending() == game.pending()
        assert twin.history == game.history
        self.advance(twin, 14 - moment)
        assert twin.done
        assert len(game.history) == moment
        assert self.advance(game, 14 - moment).outcome == twin.outcome
        assert [p.turn.prompt for p in game.history] == [p.turn.prompt for p in twin.history]

    def test_share_the_images(self, board: ImagePair) -> None:
        game = SpyGame(board)
        twin = copy.deepcopy({"game": game})["game"]
        assert twin is not game
        assert twin.pair is game.pair
        assert twin.pending()[0].images[0] is game.pending()[0].images[0]

    def test_can_branch(self, board: ImagePair) -> None:
        game = SpyGame(board, spy_seat=0)
        to_the_vote(game)
        branches = [copy.copy(game) for _ in range(2)]
        for branch, vote in zip(branches, ("1", "n/a"), strict=True):
            for turn in branch.pending():
                branch.submit(turn, f"\\boxed{{{vote}}}")
        assert [branch.outcome.winner for branch in branches] == ["civilians", "spy"]
        assert len(game.pending()) == 4

    @pytest.mark.parametrize("moment", MOMENTS)
    def test_by_pickle_go_on_where_the_game_stood(self, photo: Image.Image, moment: int) -> None:
        game = self.advance(SpyGame(ImagePair(photo), seed=3), moment)
        for turn in game.pending():
            assert turn.prompt  # a rendered chat travels too
        twin = pickle.loads(pickle.dumps(game))
        assert twin.pending() == game.pending()
        assert [turn.prompt for turn in twin.pending()] == [turn.prompt for turn in game.pending()]
        assert self.advance(twin, 14 - moment).outcome == self.advance(game, 14 - moment).outcome

    def test_of_turns_by_pickle_can_be_submitted(self, board: ImagePair) -> None:
        game = SpyGame(ImagePair(board.civilian))
        (turn,) = game.pending()
        game.submit(pickle.loads(pickle.dumps(turn)), r"\boxed{x}")
        assert game.history[0].turn is turn


class TestConfig:
    @pytest.mark.parametrize(
        ("option", "values"),
        [
            ("num_civilians", [1, 9, 0, -1, 2.0, "4", True, None]),
            ("clue_rounds", [0, 5, 1.5, "2", True, None]),
            ("max_clue_chars", [0, -1, 100_001, 1e3, None]),
            ("spy_view", ["none", "Blank", None, 1, ["blank"]]),
            ("voters", ["spy", "", None]),
            ("rewards", ["published", "", None]),
            ("clue_beta", [-0.1, float("nan"), float("inf"), "0.1", None, True]),
            ("clue_lambda", [-0.1, float("nan"), float("inf"), "0.1", None, True]),
            ("format_penalty", [-0.1, float("nan"), float("inf"), "0.1", None, True]),
            ("votes_per_civilian", [0, -1, 1.5, "1", True]),
            ("own_reasoning_memory", ["yes", 1, None]),
            ("prompts", ["no such folder", None, 3]),
        ],
    )
    def test_names_the_option_and_the_value_that_is_wrong(self, option: str, values: list[Any]) -> None:
        for value in values:
            with pytest.raises(ValueError, match=f"{option} must be") as raised:
                SpyConfig(**{option: value})
            assert repr(value) in str(raised.value)

    @pytest.mark.parametrize("value", [0, -1, 1.5, True])
    def test_votes_per_game_is_a_whole_number(self, value: Any) -> None:
        with pytest.raises(ValueError, match="votes_per_game must be a whole number"):
            SpyConfig(voters="observer", votes_per_game=value)

    @pytest.mark.parametrize(
        "options",
        [
            {"votes_per_game": 8},
            {"voters": "observer", "votes_per_civilian": 1},
            {"voters": "observer", "clue_rounds": 1, "own_reasoning_memory": False},
        ],
    )
    def test_refuses_options_without_effect(self, options: dict[str, Any]) -> None:
        with pytest.raises(ValueError, match="has no effect"):
            SpyConfig(**options)

    def test_defaults_are_the_papers(self) -> None:
        config = SpyConfig()
        assert (config.num_civilians, config.clue_rounds, config.spy_view, config.voters) == (
            4,
            2,
            "blank",
            "civilians",
        )
        assert (config.clue_beta, config.clue_lambda, config.rewards) == (0.1, 0.1, "paper")
        assert (config.num_players, config.num_clues, config.num_votes, config.votes_per_voter) == (5, 10, 4, 1)

    def test_counts_turns(self) -> None:
        config = SpyConfig(num_civilians=3, clue_rounds=3, votes_per_civilian=8)
        assert (config.num_players, config.num_clues, config.num_votes, config.votes_per_voter) == (4, 12, 24, 8)
        assert SpyConfig(voters="observer").num_votes == 8
        assert SpyConfig(voters="observer", votes_per_game=3).num_votes == 3

    @pytest.mark.parametrize(
        "change",
        [
            {"num_civilians": 3},
            {"clue_rounds": 1},
            {"spy_view": "edited"},
            {"voters": "observer"},
            {"votes_per_civilian": 2},
            {"clue_beta": 0.3},
            {"clue_lambda": 0.3},
            {"format_penalty": 0.5},
            {"rewards": "released"},
            {"own_reasoning_memory": False},
            {"prompts": "compact"},
            {"max_clue_chars": 3},
        ],
    )
    def test_every_option_changes_the_game(self, board: ImagePair, change: dict[str, Any]) -> None:
        def transcript(config: SpyConfig) -> Any:
            game = SpyGame(board, config, seed=2, spy_seat=0)

            def clue(turn: SpyTurn) -> str:
                return "no box" if turn.player == 2 else clue_of(turn)

            outcome = play(game, clue, votes_in_order([1, 2, "n/a", 1, 1, 1, 1, 1]))
            shown = [(p.turn.role, p.turn.prompt, p.turn.images[0].tobytes()) for p in game.history]
            return shown, list(outcome.rewards.values())

        assert transcript(SpyConfig(**change)) != transcript(SpyConfig())
