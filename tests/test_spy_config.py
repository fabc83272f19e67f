"""The options of the spy game: wrong ones are named, and each of them changes the game."""

from __future__ import annotations

from typing import Any

import pytest
from spy_examples import clue_of, play, votes_in_order

from visionzero.games import SpyConfig, SpyGame, SpyTurn
from visionzero.images import ImagePair


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
