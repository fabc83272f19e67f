"""What the environment can be told, who answers for whom, and what it says about wrong arguments, options and actions."""

from __future__ import annotations

import numpy as np
import pytest
from envs_table import Chatterbox, Gradients, assert_closed, make, play
from gymnasium.error import ResetNeeded
from PIL import Image

from visionzero.envs.observation import MAX_ACTION_CHARS
from visionzero.images import ImagePair
from visionzero.players.base import Player


def test_a_template_longer_than_the_space_is_an_error(tmp_path):
    for name in ("clue.j2", "vote.j2"):
        (tmp_path / name).write_text("x" * 2_000_000)
    with pytest.raises(ValueError, match=r"prompt has 2000000 characters"):
        make(config={"prompts": str(tmp_path)}).reset(seed=0)


def test_a_pinned_board_or_spy_changes_nothing_else():
    env = make()
    env.reset(seed=7)
    dealt = (env.game.pair.name, env.game.spy_seat, env.game.seed, env.seat)
    index = next(index for index in range(5) if f"gradient {index}" != dealt[0])
    env.reset(seed=7, options={"index": index})
    assert env.game.pair.name == f"gradient {index}"
    assert (env.game.spy_seat, env.game.seed, env.seat) == dealt[1:]
    spy_seat = (dealt[1] + 1) % 5
    env.reset(seed=7, options={"spy_seat": spy_seat})
    assert (env.game.pair.name, env.game.spy_seat, env.game.seed, env.seat) == (dealt[0], spy_seat, *dealt[2:])
    board = ImagePair(Image.new("RGB", (4, 4)), name="mine")
    env.reset(seed=7, options={"image": board})
    assert env.game.pair is board
    assert (env.game.spy_seat, env.game.seed, env.seat) == dealt[1:]


def test_a_pinned_spy_seat_is_the_callers_when_the_caller_is_the_spy():
    env = make(seat="spy")
    for seat in range(5):
        _, info = env.reset(seed=1, options={"spy_seat": seat})
        assert (env.seat, env.game.spy_seat, info["role"]) == (seat, seat, "spy")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"board": 3}, "no key 'board'; its keys are image, index, spy_seat"),
        ({"index": 5}, "from 0 to 4, got 5"),
        ({"index": "first"}, "got 'first'"),
        ({"spy_seat": -1}, "from 0 to 4, got -1"),
        ({"spy_seat": True}, "got True"),
        ({"index": 0, "image": Image.new("RGB", (4, 4))}, "both image and index"),
        ({"image": "no/such/file.png"}, r"no/such/file\.png"),
    ],
)
def test_wrong_options_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        make().reset(seed=0, options=options)


@pytest.mark.parametrize(
    ("kwargs", "error", "message"),
    [
        ({"images": None}, ValueError, "images is missing"),
        ({"images": Gradients(0)}, ValueError, "has no images"),
        ({"config": {"civilians": 3}}, ValueError, "no field 'civilians'; its fields are num_civilians"),
        ({"config": {"num_civilians": 1}}, ValueError, "from 2 to 8, got 1"),
        ({"config": 4}, TypeError, "config must be a SpyConfig or a mapping"),
        ({"seat": "civillian"}, ValueError, "got 'civillian'"),
        ({"seat": 5}, ValueError, "seat from 0 to 4, got 5"),
        ({"seat": None}, ValueError, "got None"),
        ({"seat": True}, ValueError, "got True"),
        ({"opponents": "scripted"}, TypeError, "opponents must be a Player"),
        ({"opponents": {"spy": Chatterbox()}}, ValueError, "a player for 'civilian'"),
        ({"opponents": {"spy": Chatterbox(), "civilian": "me"}}, TypeError, r"opponents\['civilian'\]"),
        ({"opponents": dict.fromkeys(["spy", "civilian", "judge"], Chatterbox())}, ValueError, "player for 'judge'"),
        (
            {"opponents": dict.fromkeys(["spy", "civilian"], Chatterbox()), "seat": "spy"},
            ValueError,
            "player for 'spy'",
        ),
        (
            {"opponents": dict.fromkeys(["spy", "civilian"], Chatterbox()), "config": {"voters": "observer"}},
            ValueError,
            "a player for 'observer'",
        ),
        ({"image_size": 0}, ValueError, "got 0"),
        ({"image_size": (10, 10, 3)}, ValueError, r"got \(10, 10, 3\)"),
        ({"image_size": 2.5}, ValueError, r"got 2\.5"),
        ({"render_mode": "human"}, ValueError, "ansi, rgb_array or None, got 'human'"),
    ],
)
def test_wrong_arguments_are_named_with_what_would_be_right(kwargs, error, message):
    with pytest.raises(error, match=message):
        make(**kwargs)


def test_each_role_is_played_by_its_own_opponent():
    class Named(Player):
        def __init__(self, name: str) -> None:
            self.name = name

        def reply(self, turns):
            replies = Chatterbox().reply(turns)
            asked.extend((self.name, turn.role, turn.seat) for turn in turns)
            return replies

    asked: list[tuple[str, str, int]] = []
    roles = {"spy": Named("spy"), "civilian": Named("civilian"), "observer": Named("observer")}
    env = make(opponents=roles, seat="civilian", config={"voters": "observer", "votes_per_game": 2})
    play(env)
    assert all(name == role for name, role, _ in asked)
    assert {name for name, _, _ in asked} == set(roles)
    assert all(seat != env.seat for _, _, seat in asked)


def test_an_opponent_with_too_few_replies_is_an_error():
    class Silent(Player):
        name = "silent"

        def reply(self, turns):
            return []

    with pytest.raises(RuntimeError, match="silent was asked 1 turns and answered 0"):
        make(opponents=Silent(), seat=4).reset(seed=0)


def test_actions_that_are_no_text_or_too_long_are_errors_and_the_turn_stays():
    env = make(seat=0)
    env.reset(seed=0)
    turn = env.turn
    for action in (None, 3, b"a", ["a"], np.array("a")):
        with pytest.raises(TypeError, match="an action must be a string"):
            env.step(action)
    with pytest.raises(ValueError, match=f"at most {MAX_ACTION_CHARS} characters"):
        env.step("x" * (MAX_ACTION_CHARS + 1))
    assert env.turn is turn
    env.step(np.str_("\\boxed{a hill}"))
    assert type(env.game.history[0].text) is str


def test_steps_without_a_game_are_errors():
    env = make(seat=0)
    with pytest.raises(ResetNeeded, match="no game was dealt"):
        env.step("a")
    with pytest.raises(ResetNeeded, match="no game was dealt"):
        env.outcome  # noqa: B018
    env.reset(seed=0)
    with pytest.raises(RuntimeError, match="not done"):
        env.outcome  # noqa: B018
    play(env)
    with pytest.raises(ResetNeeded, match="the game is over"):
        env.step("a")
    env.reset()
    assert_closed(env)
