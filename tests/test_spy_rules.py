"""The rules of the spy game: who speaks, who sees what, and which answers are taken."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from spy_examples import clue_of, play, to_the_vote, vote_for

from visionzero.games import Clue, SpyConfig, SpyGame
from visionzero.images import ImagePair


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
