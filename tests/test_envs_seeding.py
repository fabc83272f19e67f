from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from envs_table import Chatterbox, Gradients
from gymnasium.utils.env_checker import data_equivalence

import visionzero  # noqa: F401 - registers the environments
from visionzero.envs import spy_aec_v0

TESTS = Path(__file__).parent

PLAY = """
import hashlib, random, sys
import numpy as np
perturbation = int(sys.argv[1])
random.seed(perturbation)
np.random.seed(perturbation)

import gymnasium
import visionzero
from envs_table import Chatterbox, Gradients
from visionzero.envs import spy_aec_v0

digest = hashlib.sha256()

def note(observation, reward, info):
    for key, value in sorted(observation.items()):
        digest.update(key.encode() + (value.encode("utf-32", "surrogatepass") if key == "prompt" else value.tobytes()))
    told = {key: value for key, value in info.items() if key not in ("messages", "turn")}
    digest.update(repr((reward, sorted(told.items()))).encode())

config = {"num_civilians": 3, "spy_view": "mixed"}
env = gymnasium.make("visionzero/WhoIsTheSpy-v0", images=Gradients(), opponents=Chatterbox(), config=config)
env.action_space.seed(4)
for episode in range(4):
    observation, info = env.reset(seed=9 if episode == 0 else None)
    note(observation, 0.0, info)
    over = False
    while not over:
        random.random(), np.random.random()
        observation, reward, over, _, info = env.step(env.action_space.sample())
        note(observation, reward, info)
drawn = gymnasium.make("visionzero/WhoIsTheSpyCharts-v0", seat="spy", config={"spy_view": "edited"})
observation, info = drawn.reset(seed=2)
note(observation, 0.0, info)
for clue in ("\\\\boxed{it has bars}", "no box"):
    observation, reward, _, _, info = drawn.step(clue)
    note(observation, reward, info)
table = spy_aec_v0.env(images=Gradients(), config=config)
for episode in range(2):
    table.reset(seed=9 if episode == 0 else None)
    for agent in table.agent_iter():
        observation, reward, over, _, info = table.last()
        note(observation, reward, info)
        table.step(None if over else Chatterbox.say("clue" if observation["stage"] == 0 else "decision", len(table.agents)))
print(digest.hexdigest())
"""


def test_a_seed_gives_the_same_episodes_in_every_process():
    digests = set()
    for hash_seed, perturbation in (("0", 1), ("1", 2), ("random", 3)):
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(TESTS)}
        done = subprocess.run(
            [sys.executable, "-c", PLAY, str(perturbation)], env=environment, capture_output=True, text=True, check=True
        )
        digests.add(done.stdout)
    assert len(digests) == 1


@pytest.mark.parametrize("images", [Gradients(), "photos", "charts"])
def test_no_global_generator_is_touched(images):
    random.seed(1)
    np.random.seed(1)  # noqa: NPY002 - the global generator is what this is about
    before = random.getstate(), repr(np.random.get_state())  # noqa: NPY002
    env = gymnasium.make(
        "visionzero/WhoIsTheSpy-v0",
        images=images,
        config={"spy_view": "edited"},
        render_mode="rgb_array",
    )
    for seed in (None, 3):
        env.reset(seed=seed)
        env.action_space.sample()
        env.render()
        over = False
        while not over:
            _, _, over, _, _ = env.step("\\boxed{1}")
    table = spy_aec_v0.env(images=images, render_mode="ansi")
    for seed in (None, 3):
        table.reset(seed=seed)
        table.render()
        for agent in table.agent_iter():
            table.step(None if table.terminations[agent] else table.action_space(agent).sample())
    assert (random.getstate(), repr(np.random.get_state())) == before  # noqa: NPY002


def test_seeds_repeat_episodes_and_unseeded_resets_go_on():
    first = gymnasium.make("visionzero/WhoIsTheSpy-v0", images=Gradients(), opponents=Chatterbox())
    second = gymnasium.make("visionzero/WhoIsTheSpy-v0", images=Gradients(), opponents=Chatterbox())
    seen = []
    for episode in range(6):
        seed = 5 if episode == 0 else None
        mine, others = first.reset(seed=seed), second.reset(seed=seed)
        assert data_equivalence(mine, others, exact=True)
        seen.append((first.unwrapped.game.seed, first.unwrapped.game.pair.name, first.unwrapped.seat))
    assert len({game_seed for game_seed, _, _ in seen}) == 6
    assert len({name for _, name, _ in seen}) > 1
    first.reset(seed=6)
    assert first.unwrapped.game.seed != seen[0][0]


@pytest.mark.parametrize("seat", ["spy", "civilian", 1])
def test_the_deal_of_a_seed_does_not_depend_on_the_callers_seat(seat):
    games = []
    for rule in ("random", seat):
        env = gymnasium.make("visionzero/WhoIsTheSpy-v0", images=Gradients(), opponents=Chatterbox(), seat=rule)
        env.reset(seed=8)
        games.append((env.unwrapped.game.seed, env.unwrapped.game.spy_seat, env.unwrapped.game.pair.name))
    assert games[0] == games[1]
