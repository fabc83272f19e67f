"""Playing many games at once: what a batch may and may not change."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from visionzero.games import Game, Outcome, PlayedTurn, SpyConfig, SpyGame, Turn
from visionzero.images import ImagePair
from visionzero.players.base import Player, Reply
from visionzero.rollout import rollout, seating


@dataclass(eq=False)
class SeededPlayer(Player):
    """Answers from the turn's own seed, and remembers how it was asked."""

    name: str = "seeded"
    batches: list[list[Turn]] = field(default_factory=list)

    def reply(self, turns: Sequence[Turn]) -> list[Reply]:
        self.batches.append(list(turns))
        return [Reply(self.text(turn)) for turn in turns]

    def text(self, turn: Turn) -> str:
        number = np.random.default_rng(turn.seed).integers(7)
        return f"{self.name} thinks \\boxed{{{number}}}"


class Countdown(Game[Turn, Outcome]):
    """A game of one seat that takes `length` turns; `trouble` names the method that fails on the second turn."""

    def __init__(self, length: int, trouble: str = "", role: str = "solver") -> None:
        self.seed = length
        self._length, self._trouble, self._role = length, trouble, role
        self._history: list[PlayedTurn] = []

    def _fail(self, method: str) -> None:
        if method == self._trouble and len(self._history) == 1:
            raise ZeroDivisionError(f"trouble in {method}")

    def pending(self) -> list[Turn]:
        self._fail("pending")
        if self.done or (self._trouble == "nothing pending" and self._history):
            return []
        return [Turn(game_seed=self.seed, index=len(self._history), seat=0, role=self._role, stage="solve")]

    def submit(self, turn: Turn, text: str) -> None:
        self._fail("submit")
        self._history.append(PlayedTurn(turn, text, None))

    @property
    def history(self) -> list[PlayedTurn]:
        return self._history

    @property
    def done(self) -> bool:
        return len(self._history) >= self._length

    @property
    def outcome(self) -> Outcome:
        return Outcome("nobody", {played.turn: 1.0 for played in self._history})


def spy_games(count: int, image: Image.Image | None = None) -> list[SpyGame]:
    board = ImagePair(image or Image.new("RGB", (8, 8)))
    configs = [
        SpyConfig(num_civilians=2 + k % 3, clue_rounds=1 + k % 2, votes_per_civilian=1 + k % 2) for k in range(4)
    ]
    return [SpyGame(board, configs[seed % 4], seed=seed) for seed in range(count)]


class TestResults:
    def test_are_those_of_games_played_one_by_one(self) -> None:
        player = SeededPlayer()
        together = rollout(spy_games(12), player)
        for game, episode in zip(spy_games(12), together, strict=True):
            while not game.done:
                for turn in game.pending():
                    game.submit(turn, player.answer(turn))
            assert episode.game.outcome == game.outcome
            assert episode.game.history == game.history
            assert episode.error is None

    @given(st.permutations(range(9)))
    def test_do_not_depend_on_the_order_of_the_games(self, order: list[int]) -> None:
        straight = rollout(spy_games(9), SeededPlayer())
        games = spy_games(9)
        shuffled = rollout([games[k] for k in order], SeededPlayer())
        for k, episode in zip(order, shuffled, strict=True):
            assert episode.game is games[k]
            assert episode.game.outcome == straight[k].game.outcome
            assert episode.replies == straight[k].replies

    @given(st.randoms(use_true_random=False), st.integers(1, 9))
    def test_do_not_depend_on_which_games_are_played_together(self, random: Random, size: int) -> None:
        straight = [episode.game.outcome for episode in rollout(spy_games(9), SeededPlayer())]
        chosen = random.sample(range(9), size)
        games = spy_games(9)
        assert [episode.game.outcome for episode in rollout([games[k] for k in chosen], SeededPlayer())] == [
            straight[k] for k in chosen
        ]

    def test_hold_the_reply_and_the_player_of_every_turn(self) -> None:
        spy, civilian = SeededPlayer("spy"), SeededPlayer("civilian")
        for episode in rollout(spy_games(6), {"spy": spy, "civilian": civilian}):
            turns = [played.turn for played in episode.game.history]
            assert list(episode.replies) == list(episode.players) == turns
            for played in episode.game.history:
                assert episode.players[played.turn] is (spy if played.turn.role == "spy" else civilian)
                assert episode.replies[played.turn].text == played.text

    def test_of_no_games_are_none(self) -> None:
        player = SeededPlayer()
        assert rollout([], player) == []
        assert player.batches == []

    def test_of_a_finished_game_are_its_own(self) -> None:
        (game, *_) = spy_games(1)
        rollout([game], SeededPlayer())
        player = SeededPlayer()
        (episode,) = rollout([game], player)
        assert player.batches == []
        assert episode.game.done
        assert episode.replies == {}

    def test_go_on_from_where_a_game_stands(self) -> None:
        (straight,) = rollout(spy_games(1), SeededPlayer())
        (game,) = spy_games(1)
        (turn,) = game.pending()
        game.submit(turn, SeededPlayer().text(turn))
        (episode,) = rollout([game], SeededPlayer())
        assert episode.game.outcome == straight.game.outcome
        assert turn not in episode.replies


class TestBatches:
    def test_are_one_call_a_step(self) -> None:
        player = SeededPlayer()
        games = [SpyGame(Image.new("RGB", (8, 8)), SpyConfig(num_civilians=3), seed=seed) for seed in range(20)]
        rollout(games, player)
        # 8 clues one after the other, then all votes at once.
        assert [len(batch) for batch in player.batches] == [20] * 8 + [60]

    def test_are_one_call_a_player_a_step(self) -> None:
        spy, civilian = SeededPlayer(), SeededPlayer()
        games = [SpyGame(Image.new("RGB", (8, 8)), SpyConfig(num_civilians=3), seed=seed) for seed in range(20)]
        rollout(games, {"spy": spy, "civilian": civilian})
        sizes = [sum(game.spy_seat == seat for game in games) for seat in range(4)] * 2
        assert [len(batch) for batch in spy.batches] == [size for size in sizes if size]
        assert [len(batch) for batch in civilian.batches] == [20 - size for size in sizes] + [60]

    def test_hold_games_of_every_length_until_each_is_done(self) -> None:
        player = SeededPlayer()
        rollout([Countdown(length) for length in (1, 3, 2)], player)
        assert [[turn.game_seed for turn in batch] for batch in player.batches] == [[1, 3, 2], [3, 2], [3]]

    def test_keep_players_apart_that_compare_equal(self) -> None:
        @dataclass
        class Named(SeededPlayer):
            __hash__ = None  # type: ignore[assignment]

            def __eq__(self, other: object) -> bool:
                return True

        first, second = Named(), Named()
        rollout([Countdown(1, role="a"), Countdown(1, role="b")], {"a": first, "b": second})
        assert len(first.batches) == len(second.batches) == 1

    def test_are_reported_for_progress_bars(self) -> None:
        answered: list[int] = []
        games = [SpyGame(Image.new("RGB", (8, 8)), SpyConfig(num_civilians=2, clue_rounds=1), seed=k) for k in range(5)]
        rollout(games, SeededPlayer(), on_turns=answered.append)
        assert answered == [5, 5, 5, 10]


class TestSeating:
    def test_is_one_player_for_all(self) -> None:
        player = SeededPlayer()
        assert seating(player)(Countdown(1), Countdown(1).pending()[0]) is player

    def test_by_role_names_the_role_that_nobody_plays(self) -> None:
        with pytest.raises(KeyError, match="nobody plays the role 'spy'; there are players for civilian, observer"):
            rollout(spy_games(3), {"civilian": SeededPlayer(), "observer": SeededPlayer()})

    def test_by_function_may_look_at_the_game_and_the_turn(self) -> None:
        strong, weak = SeededPlayer("strong"), SeededPlayer("weak")

        def choose(game: Game, turn: Turn) -> Player:
            return strong if (game.seed + turn.seat) % 2 else weak

        for episode in rollout(spy_games(8), choose):
            for turn, player in episode.players.items():
                assert player is choose(episode.game, turn)
        assert strong.batches
        assert weak.batches


class TestTrouble:
    @pytest.mark.parametrize(
        ("trouble", "error"),
        [
            ("submit", "ZeroDivisionError('trouble in submit')"),
            ("pending", "ZeroDivisionError('trouble in pending')"),
            ("nothing pending", "RuntimeError('the game is not done, but no turn is pending')"),
        ],
    )
    def test_in_one_game_stops_that_game_only(self, trouble: str, error: str, caplog: pytest.LogCaptureFixture) -> None:
        with caplog.at_level(logging.WARNING):
            before, broken, after = rollout([Countdown(3), Countdown(4, trouble), Countdown(5)], SeededPlayer())
        assert (before.error, after.error) == (None, None)
        assert before.game.done
        assert after.game.done
        assert repr(broken.error) == error
        assert len(broken.game.history) == 1
        assert not broken.game.done
        assert len(caplog.records) == 1
        assert error.split("(")[0] in caplog.text

    def test_with_one_vote_drops_the_other_votes_of_that_game(self) -> None:
        class Silent(SeededPlayer):
            def text(self, turn: Turn) -> Any:
                return None if turn.stage == "decision" and turn.game_seed == 1 else super().text(turn)

        episodes = rollout(spy_games(3), Silent())
        assert [type(episode.error) for episode in episodes] == [type(None), TypeError, type(None)]
        assert [episode.game.done for episode in episodes] == [True, False, True]
        assert len(episodes[1].replies) == episodes[1].game.config.num_clues + 1

    def test_with_the_number_of_replies_is_an_error(self) -> None:
        class Forgetful(SeededPlayer):
            def reply(self, turns: Sequence[Turn]) -> list[Reply]:
                return super().reply(turns)[1:]

        with pytest.raises(RuntimeError, match="forgetful was asked 3 turns and answered 2"):
            rollout(spy_games(3), Forgetful("forgetful"))

    def test_of_a_player_is_not_swallowed(self) -> None:
        class Failing(SeededPlayer):
            def text(self, turn: Turn) -> str:
                raise MemoryError("out of memory")

        with pytest.raises(MemoryError, match="out of memory"):
            rollout(spy_games(3), Failing())

    def test_with_a_game_listed_twice_is_an_error(self) -> None:
        game = Countdown(1)
        with pytest.raises(ValueError, match="same game object twice"):
            rollout([game, Countdown(1), game], SeededPlayer())
