from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from envs_table import Chatterbox, Gradients, assert_closed
from pettingzoo.test import api_test, seed_test

from visionzero.envs import spy_aec_v0
from visionzero.envs.observation import MAX_ACTION_CHARS, STAGES
from visionzero.envs.spy import SpyEnv

CONFIGS: list[dict[str, Any]] = [
    {},
    {"num_civilians": 2, "clue_rounds": 1, "votes_per_civilian": 3, "prompts": "compact"},
    {"num_civilians": 3, "voters": "observer", "votes_per_game": 4, "spy_view": "edited"},
]


def play(env: Any, seed: int = 0, **reset: Any) -> tuple[list[str], dict[str, float]]:
    """An episode of the chatterbox: who acted, and what every agent was paid."""
    env.reset(seed=seed, **reset)
    acted, paid = [], dict.fromkeys(env.possible_agents, 0.0)
    for agent in env.agent_iter():
        _, reward, terminated, _, info = env.last()
        paid[agent] += reward
        if not terminated:
            acted.append(agent)
        env.step(None if terminated else Chatterbox.say(info["turn"].stage, info["turn"].seed))
    return acted, paid


@pytest.mark.parametrize("config", CONFIGS)
def test_pettingzoos_own_tests_pass(config):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # What they would rather see: arrays as observations, and no texts as actions.
        warnings.filterwarnings("ignore", message="Observation is not a NumPy array")
        warnings.filterwarnings("ignore", message=r"(Observation|Action) space for each agent probably should be")
        warnings.filterwarnings("ignore", message=r"options \['options'\] are unknown")
        for render_mode in (None, "ansi", "rgb_array"):
            api_test(
                spy_aec_v0.env(images=Gradients(), config=config, image_size=32, render_mode=render_mode), num_cycles=20
            )
        seed_test(lambda: spy_aec_v0.env(images=Gradients(), config=config, image_size=32), num_cycles=20)
        seed_test(lambda: spy_aec_v0.raw_env(images=Gradients(), config=config, image_size=32), num_cycles=20)


def test_seats_speak_in_order_and_every_civilian_votes():
    acted, _ = play(spy_aec_v0.env(images=Gradients()), options={"spy_seat": 1})
    players = [f"player_{seat}" for seat in range(5)]
    assert acted == [*players, *players, "player_0", "player_2", "player_3", "player_4"]


def test_the_observer_votes_alone_where_the_rules_have_one():
    env = spy_aec_v0.env(images=Gradients(), config=CONFIGS[2])
    acted, paid = play(env)
    assert env.possible_agents[-1] == "observer_0"
    assert acted[-4:] == ["observer_0"] * 4
    assert acted.count("observer_0") == 4
    assert paid["observer_0"] != 0


@pytest.mark.parametrize("config", CONFIGS)
@pytest.mark.parametrize("seed", range(4))
def test_every_agent_is_paid_what_its_turns_are_worth(config, seed):
    env = spy_aec_v0.env(images=Gradients(), config=config)
    _, paid = play(env, seed)
    game = env.unwrapped.game
    for seat, agent in enumerate(env.possible_agents):
        rewards = [reward for turn, reward in game.outcome.rewards.items() if turn.seat == seat]
        assert paid[agent] == pytest.approx(sum(rewards))


def test_votes_stay_hidden_until_all_are_in():
    env = spy_aec_v0.env(images=Gradients(), config={"votes_per_civilian": 2})
    told = []
    for vote in ("1", "2"):
        env.reset(seed=3, options={"spy_seat": 4})
        seen = []
        for _ in range(17):
            clue = STAGES[env.last()[0]["stage"]] == "clue"
            env.step(r"\boxed{a hill}" if clue else f"\\boxed{{{vote}}}")
            seen += [(env.observe(agent)["prompt"], env.infos[agent], env.rewards[agent]) for agent in env.agents]
        told.append(seen)
        assert not any(env.terminations.values())
        env.step(r"\boxed{3}")
        assert all(env.terminations.values())
    assert told[0] == told[1]


def test_the_spy_waits_for_the_votes_with_an_empty_prompt():
    env = spy_aec_v0.env(images=Gradients())
    env.reset(seed=0, options={"spy_seat": 0})
    assert env.observe("player_3")["prompt"] == ""
    for _ in range(10):
        env.step(r"\boxed{a hill}")
    waiting = env.observe("player_0")
    assert (waiting["prompt"], STAGES[waiting["stage"]]) == ("", "decision")
    assert waiting in env.observation_space("player_0")
    assert (waiting["image"][112, 112] == 255).all()
    assert env.infos["player_0"] == {"role": "spy"}
    assert "a hill" in env.observe("player_3")["prompt"]
    assert env.infos["player_3"]["role"] == "civilian"


def test_the_last_infos_tell_the_outcome():
    env = spy_aec_v0.env(images=Gradients(), config=CONFIGS[2])
    env.reset(seed=0)
    while not any(env.terminations.values()):
        _, _, _, _, info = env.last()
        env.step(Chatterbox.say(info["turn"].stage, info["turn"].seed))
    outcome = env.unwrapped.game.outcome
    for seat, agent in enumerate(env.agents):
        info = env.infos[agent]
        assert (info["winner"], info["spy"]) == (outcome.winner, outcome.spy)
        assert info["seat_returns"][seat] == env.rewards[agent]
        assert info["won"] == ((outcome.winner == "spy") == (info["role"] == "spy"))
    assert env.infos["observer_0"]["role"] == "observer"


def test_the_same_game_is_told_the_same_way_in_both_kinds_of_environment():
    table = spy_aec_v0.env(images=Gradients(), image_size=32)
    single = SpyEnv(images=Gradients(), opponents=Chatterbox(), seat=2, image_size=32)
    observation, info = single.reset(seed=5)
    table.reset(seed=5)
    assert table.unwrapped.game.seed == single.game.seed
    for agent in table.agent_iter():
        observed, reward, terminated, _, told = table.last()
        if agent == "player_2" and not terminated:
            assert observed["prompt"] == observation["prompt"]
            np.testing.assert_array_equal(observed["image"], observation["image"])
            assert told["messages"] == info["messages"]
            observation, paid, _, _, info = single.step(Chatterbox.say(told["turn"].stage, told["turn"].seed))
        elif agent == "player_2":
            assert reward == paid
            assert told == info
        table.step(None if terminated else Chatterbox.say(told["turn"].stage, told["turn"].seed))


def test_wrong_actions_are_errors_and_the_turn_stays():
    env = spy_aec_v0.env(images=Gradients())
    env.reset(seed=0)
    for action in (None, 3, b"a"):
        with pytest.raises(TypeError, match="an action must be a string"):
            env.step(action)
    with pytest.raises(ValueError, match="at most"):
        env.step("x" * (MAX_ACTION_CHARS + 1))
    assert env.agent_selection == "player_0"
    while not any(env.terminations.values()):
        env.step("")
    with pytest.raises(ValueError, match="None"):
        env.step("still talking")


def test_calls_out_of_order_are_errors():
    env = spy_aec_v0.env(images=Gradients())
    with pytest.raises(AttributeError, match="before reset"):
        env.agents  # noqa: B018
    env.reset(seed=0)
    assert_closed(env)


def test_a_reset_in_the_middle_of_the_farewells_starts_afresh():
    env = spy_aec_v0.env(images=Gradients())
    env.reset(seed=0)
    while not any(env.terminations.values()):
        env.step(r"\boxed{n/a}")
    env.step(None)
    env.step(None)
    acted, _ = play(env, seed=1)
    assert len(acted) == 14
    assert env.agents == []


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({}, "images is missing"),
        ({"images": Gradients(), "config": {"rounds": 3}}, "no field 'rounds'"),
        ({"images": Gradients(), "image_size": -1}, "got -1"),
        ({"images": Gradients(), "render_mode": "human"}, "got 'human'"),
    ],
)
def test_wrong_arguments_are_named(kwargs, message):
    with pytest.raises(ValueError, match=message):
        spy_aec_v0.env(**kwargs)


def test_wrong_options_are_named_and_unknown_ones_warned_of():
    env = spy_aec_v0.env(images=Gradients())
    with pytest.raises(ValueError, match="from 0 to 4, got 9"):
        env.reset(options={"index": 9})
    with pytest.warns(UserWarning, match=r"options \['board'\] are unknown and ignored"):
        env.reset(options={"board": 1, "index": 2})
    assert env.unwrapped.game.pair.name == "gradient 2"
