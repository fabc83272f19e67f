from __future__ import annotations

import warnings
from typing import Any

import gymnasium
import numpy as np
import pytest
from envs_table import Chatterbox, Gradients
from gymnasium.error import ClosedEnvironmentError, ResetNeeded
from gymnasium.utils.env_checker import check_env
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from visionzero.envs.observation import MAX_ACTION_CHARS, STAGES, letterbox, max_prompt_chars
from visionzero.envs.spy import SpyEnv
from visionzero.games import SpyConfig
from visionzero.images import ImagePair
from visionzero.players.base import Player

ENV_ID = "visionzero/WhoIsTheSpy-v0"


def make(**kwargs: Any) -> SpyEnv:
    return SpyEnv(**{"images": Gradients(), "opponents": Chatterbox(), "image_size": 32, **kwargs})


def play(env: SpyEnv, seed: int = 0, **reset: Any) -> list[tuple[Any, ...]]:
    """An episode of the chatterbox; every entry is what `step` returned."""
    env.reset(seed=seed, **reset)
    steps = []
    while not steps or not steps[-1][2]:
        assert env.turn is not None
        steps.append(env.step(Chatterbox.say(env.turn.stage, env.turn.seed)))
    return steps


@pytest.mark.parametrize(
    "kwargs",
    [
        {},
        {"seat": "spy", "render_mode": "ansi"},
        {"seat": 2, "render_mode": "rgb_array", "image_size": (20, 50)},
        {"config": {"voters": "observer", "num_civilians": 2, "clue_rounds": 1, "prompts": "compact"}},
        {"config": SpyConfig(votes_per_civilian=3, spy_view="edited"), "seat": "civilian"},
    ],
)
def test_gymnasiums_checker_has_nothing_to_say(kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        env = gymnasium.make(ENV_ID, images=Gradients(), opponents=Chatterbox(), **kwargs)
        check_env(env.unwrapped)


def test_an_episode_inside_gymnasiums_wrappers_gives_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        env = gymnasium.make(ENV_ID, images=Gradients(), opponents=Chatterbox(), render_mode="ansi")
        env.reset(seed=1)
        terminated = False
        while not terminated:
            env.render()
            _, _, terminated, truncated, _ = env.step(env.action_space.sample())
            assert truncated is False


@settings(max_examples=30, deadline=None)
@given(
    config=st.fixed_dictionaries(
        {
            "num_civilians": st.integers(2, 8),
            "clue_rounds": st.integers(1, 4),
            "spy_view": st.sampled_from(["blank", "edited", "mixed"]),
            "rewards": st.sampled_from(["paper", "released"]),
            "prompts": st.sampled_from(["paper", "compact"]),
            "own_reasoning_memory": st.booleans(),
        },
        optional={"votes_per_civilian": st.integers(1, 3)},
    ),
    seat=st.sampled_from(["random", "spy", "civilian", 0, 2]),
    seed=st.integers(0, 2**32),
)
def test_an_episode_is_the_seats_turns_of_one_game_and_pays_what_they_are_worth(config, seat, seed):
    env = make(config=config, seat=seat)
    steps = play(env, seed)
    assert all(observation in env.observation_space for observation, *_ in steps)
    turns = [played.turn for played in env.game.history if played.turn.seat == env.seat]
    assert len(steps) == len(turns)
    assert sum(step[1] for step in steps) == pytest.approx(sum(env.outcome.rewards[turn] for turn in turns))
    info = steps[-1][4]
    assert [reward for _, _, reward in info["turn_rewards"]] == [env.outcome.rewards[turn] for turn in turns]
    assert info["seat_returns"][env.seat] == steps[-1][1]
    assert sum(info["stage_rewards"].values()) == pytest.approx(steps[-1][1])
    if seat in ("spy", "civilian"):
        assert info["role"] == seat
    elif seat != "random":
        assert env.seat == seat


def test_nothing_is_paid_or_told_before_the_last_vote_is_in():
    env = make(config={"votes_per_civilian": 3}, seat="civilian")
    *earlier, last = play(env)
    assert [reward for _, reward, *_ in earlier] == [0.0] * 4
    assert all(set(info) == {"role", "messages", "turn"} for *_, info in earlier)
    assert last[1] != 0.0
    assert {"winner", "spy", "votes", "vote_counts", "seat_returns", "won", "turn_rewards"} <= set(last[4])


@pytest.mark.parametrize(
    ("config", "seat", "turns"),
    [
        ({}, "spy", ["clue", "clue"]),
        ({}, "civilian", ["clue", "clue", "decision"]),
        ({"clue_rounds": 1, "votes_per_civilian": 2}, "civilian", ["clue", "decision", "decision"]),
        ({"voters": "observer"}, "civilian", ["clue", "clue"]),
    ],
)
def test_a_seat_answers_only_its_own_turns(config, seat, turns):
    assert [stage for stage, _, _ in play(make(config=config, seat=seat))[-1][4]["turn_rewards"]] == turns


def test_the_outcome_is_told_as_the_game_has_it():
    env = make(seat="civilian")
    info = play(env, seed=4)[-1][4]
    outcome = env.outcome
    assert info["winner"] == outcome.winner
    assert info["spy"] == outcome.spy == env.game.spy_seat + 1
    assert info["votes"] == [(voter, str(vote)) for voter, vote in outcome.votes]
    assert info["vote_counts"] == list(outcome.vote_counts)
    assert info["won"] == (outcome.winner == "civilians")
    assert sum(info["seat_returns"]) == pytest.approx(sum(outcome.rewards.values()))


def test_every_role_and_every_seat_comes_up_when_seats_are_random():
    env = make(config={"num_civilians": 2, "clue_rounds": 1, "prompts": "compact"})
    dealt = set()
    for seed in range(60):
        _, info = env.reset(seed=seed)
        dealt.add((env.seat, info["role"]))
    assert dealt == {(seat, role) for seat in range(3) for role in ("spy", "civilian")}


def test_the_observation_shows_the_turn_and_the_info_its_exact_chat():
    env = make(seat=3)
    observation, info = env.reset(seed=1, options={"spy_seat": 0})
    turn = info["turn"]
    assert turn is env.turn
    assert info["messages"] == list(turn.messages)
    assert info["messages"][0]["content"][0]["image"] is env.game.pair.civilian
    assert observation["prompt"] == turn.prompt == info["messages"][0]["content"][1]["text"]
    assert (STAGES[observation["stage"]], observation["round"], observation["player"]) == ("clue", 1, 4)
    np.testing.assert_array_equal(observation["image"], letterbox(env.game.pair.civilian, (32, 32)))
    observation, _, _, _, _ = env.step(r"\boxed{a hill}")
    assert (STAGES[observation["stage"]], observation["round"]) == ("clue", 2)
    observation, _, _, _, _ = env.step(r"\boxed{a road}")
    assert (STAGES[observation["stage"]], observation["round"]) == ("decision", 2)
    observation, _, _, _, _ = env.step(r"\boxed{1}")
    assert (STAGES[observation["stage"]], observation["prompt"]) == ("over", "")


def test_the_spy_looks_at_a_blank_image_and_a_civilian_at_the_board():
    env = make(seat="spy")
    observation, _ = env.reset(seed=0, options={"image": Image.new("RGB", (10, 10), (9, 99, 199))})
    assert (observation["image"] == 255).all()
    observation, _ = make(seat="civilian").reset(seed=0, options={"image": Image.new("RGB", (10, 10), (9, 99, 199))})
    assert (observation["image"] == (9, 99, 199)).all()


def test_changing_what_an_info_holds_changes_nothing_in_the_game():
    env = make(seat=0)
    _, info = env.reset(seed=1)
    info["messages"][0]["content"].append({"type": "text", "text": "vote for player 2"})
    info["messages"].clear()
    assert len(env.turn.messages) == 1
    assert len(env.turn.messages[0]["content"]) == 2


def test_any_text_can_be_played_and_one_that_cannot_be_read_is_scored():
    env = make(seat="civilian", config={"format_penalty": 0.25})
    for text in ("", "\n", "no box at all", "\ud800", "\0", "🎲" * 100, "\\boxed{" * 1000, "x" * MAX_ACTION_CHARS):
        env.reset(seed=2)
        terminated = False
        while not terminated:
            observation, reward, terminated, _, info = env.step(text)
            assert observation in env.observation_space
        assert info["stage_rewards"]["decision"] == -1.0
    assert info["stage_rewards"]["clue"] == pytest.approx(2 * (env.outcome.seat_rewards[env.seat] - 0.25))
    assert reward == pytest.approx(sum(info["stage_rewards"].values()))


def test_the_longest_answers_and_clues_fit_into_the_prompt():
    class Shouter(Chatterbox):
        @staticmethod
        def say(stage: str, seed: int) -> str:
            return f"\\boxed{{{'<' * 9000}}}"

    config = SpyConfig(num_civilians=8, clue_rounds=4, max_clue_chars=1000)
    env = make(seat=8, config=config, opponents=Shouter())
    env.reset(seed=0)
    for _ in range(4):
        observation, *_ = env.step("<|" * (MAX_ACTION_CHARS // 2))
        assert observation in env.observation_space
    assert 4 * MAX_ACTION_CHARS < len(observation["prompt"]) <= max_prompt_chars(config)


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
    env.close()
    env.close()
    with pytest.raises(ClosedEnvironmentError):
        env.step("a")
    with pytest.raises(ClosedEnvironmentError):
        env.reset()


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 400), st.integers(1, 400), st.integers(1, 64), st.integers(1, 64))
def test_a_letterbox_keeps_the_aspect_ratio_and_centres_the_image(width, height, frame_height, frame_width):
    frame = letterbox(Image.new("RGB", (width, height), (255, 0, 0)), (frame_height, frame_width))
    assert frame.shape == (frame_height, frame_width, 3)
    inside = (frame == (255, 0, 0)).all(axis=-1)
    rows, columns = inside.any(axis=1).sum(), inside.any(axis=0).sum()
    assert inside.sum() == rows * columns
    assert rows == frame_height or columns == frame_width
    scale = min(frame_width / width, frame_height / height)
    assert abs(columns - max(1, width * scale)) <= 0.5 + 1e-9
    assert abs(rows - max(1, height * scale)) <= 0.5 + 1e-9
    for filled in (inside.any(axis=0), inside.any(axis=1)):
        first = int(filled.argmax())
        assert abs(first - (len(filled) - first - filled.sum())) <= 1


@pytest.mark.parametrize("size", [(1, 1), (20_000, 30), (3, 5000)])
def test_extreme_images_can_be_played(size):
    env = make(seat="civilian", render_mode="rgb_array")
    env.reset(seed=0, options={"image": Image.new("RGB", size)})
    assert env.render().shape == (600, 960, 3)


def test_any_folder_of_images_is_played_with_scripted_players(tmp_path):
    picture = Gradients()[3].civilian
    for place, suffix in enumerate(("png", "jpg", "webp", "gif", "tiff", "bmp")):
        folder = tmp_path / f"level {place % 2}"
        folder.mkdir(exist_ok=True)
        picture.rotate(20 * place).save(folder / f"picture {place}.{suffix}")
    (tmp_path / "notes.txt").write_text("not a picture")
    env = gymnasium.make(ENV_ID, images=str(tmp_path), seat="civilian").unwrapped
    assert len(env.images) == 6
    for index in range(6):
        env.reset(seed=index, options={"index": index})
        over = False
        while not over:
            _, _, over, _, info = env.step(r"\boxed{green fills the lower half}")
        assert info["winner"] in ("civilians", "spy")
        assert all(clue.text is not None for clue in env.game.clues)


@pytest.mark.parametrize("shortcut", ["Photos", "Charts", "Clevr"])
def test_the_shortcuts_play_on_boards_of_their_own(shortcut, tmp_path, monkeypatch):
    monkeypatch.setenv("VISIONZERO_CACHE", str(tmp_path))
    env = gymnasium.make(f"visionzero/WhoIsTheSpy{shortcut}-v0", seat="spy", config={"spy_view": "edited"}).unwrapped
    _, info = env.reset(seed=0)
    assert env.images.kind == shortcut.lower()
    assert info["turn"].view.image.size == env.game.pair.civilian.size
    over = False
    while not over:
        _, _, over, _, info = env.step(r"\boxed{there are some things in it}")
    assert info["winner"] in ("civilians", "spy")
