"""An episode of the environment: it is the turns of one game, and shows and pays what they are worth."""

from __future__ import annotations

import warnings

import gymnasium
import numpy as np
import pytest
from envs_table import Chatterbox, Gradients, make, play
from gymnasium.utils.env_checker import check_env
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from visionzero.envs.observation import MAX_ACTION_CHARS, STAGES, letterbox, max_prompt_chars
from visionzero.games import SpyConfig

ENV_ID = "visionzero/WhoIsTheSpy-v0"


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
