from __future__ import annotations

import subprocess
import sys

import gymnasium
import pytest
from envs_table import Chatterbox, Gradients

import visionzero
from visionzero.envs import ENV_IDS, register_envs

IMPORT = """
import sys, time
start = time.perf_counter()
import visionzero
import gymnasium
seconds = time.perf_counter() - start
heavy = {"torch", "transformers", "trl", "mitsuba", "matplotlib", "PIL", "jinja2", "pettingzoo", "scipy"} & set(sys.modules)
assert not heavy, heavy
assert sum(name.startswith("visionzero/") for name in gymnasium.registry) == 4
assert seconds < 3, seconds
"""


def test_importing_registers_the_environments_and_loads_nothing_heavy():
    subprocess.run([sys.executable, "-c", IMPORT], check=True)


NO_MODEL = """
import sys
import gymnasium, visionzero
from visionzero.envs import spy_aec_v0
env = gymnasium.make("visionzero/WhoIsTheSpyPhotos-v0", render_mode="rgb_array")
env.reset(seed=0)
env.render()
spy_aec_v0.env(images="photos").reset(seed=0)
heavy = {"torch", "transformers", "trl", "mitsuba", "matplotlib"} & set(sys.modules)
assert not heavy, heavy
"""


def test_a_game_on_photos_without_a_model_needs_no_torch_and_no_renderer():
    subprocess.run([sys.executable, "-c", NO_MODEL], check=True)


def test_the_ids_are_the_documented_ones():
    assert ENV_IDS == (
        "visionzero/WhoIsTheSpy-v0",
        "visionzero/WhoIsTheSpyClevr-v0",
        "visionzero/WhoIsTheSpyCharts-v0",
        "visionzero/WhoIsTheSpyPhotos-v0",
    )
    assert all(isinstance(gymnasium.spec(env_id).entry_point, str) for env_id in ENV_IDS)


def test_registering_twice_is_harmless(recwarn):
    register_envs()
    assert not recwarn.list


def test_the_shortcuts_take_other_images_too():
    env = gymnasium.make("visionzero/WhoIsTheSpyClevr-v0", images=Gradients(), opponents=Chatterbox())
    env.reset(seed=0)
    assert env.unwrapped.game.pair.name.startswith("gradient")


def test_an_environment_without_images_says_what_to_give():
    with pytest.raises(ValueError, match='give a folder, a source such as "photos"'):
        gymnasium.make("visionzero/WhoIsTheSpy-v0")


def test_the_package_knows_its_version_and_its_environments():
    assert visionzero.__version__.count(".") == 2
    assert visionzero.envs.spy_aec_v0.env
    with pytest.raises(AttributeError, match="spy_aec_v9"):
        visionzero.envs.spy_aec_v9  # noqa: B018
