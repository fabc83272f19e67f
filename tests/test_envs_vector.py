from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest
from envs_table import Chatterbox, Gradients
from gymnasium.vector import AutoresetMode

import visionzero  # noqa: F401 - registers the environments

NUM_ENVS = 3


def make_vec(mode: str, config: dict[str, Any], **vector_kwargs: Any) -> gymnasium.vector.VectorEnv:
    return gymnasium.make_vec(
        "visionzero/WhoIsTheSpy-v0",
        num_envs=NUM_ENVS,
        vectorization_mode=mode,
        vector_kwargs=vector_kwargs,
        images=Gradients(),
        opponents=Chatterbox(),
        config=config,
        image_size=32,
    )


def answers(observations: dict[str, Any], step: int) -> tuple[str, ...]:
    stages = ["clue" if stage == 0 else "decision" for stage in observations["stage"]]
    return tuple(Chatterbox.say(stage, 100 * step + place) for place, stage in enumerate(stages))


def assert_same(first: tuple[Any, ...], second: tuple[Any, ...]) -> None:
    for key in ("image", "stage", "round", "player"):
        np.testing.assert_array_equal(first[0][key], second[0][key])
    assert first[0]["prompt"] == second[0]["prompt"]
    for mine, others in zip(first[1:-1], second[1:-1], strict=True):
        np.testing.assert_array_equal(mine, others)
    for key in ("role", "winner", "votes", "turn_rewards"):
        assert (key in first[-1]) == (key in second[-1])
        if key in first[-1]:
            assert list(first[-1][key]) == list(second[-1][key])


@pytest.mark.parametrize(
    ("mode", "config"),
    [
        (AutoresetMode.NEXT_STEP, {"num_civilians": 2, "prompts": "compact"}),
        (AutoresetMode.NEXT_STEP, {"num_civilians": 3, "clue_rounds": 1, "votes_per_civilian": 2}),
        (AutoresetMode.SAME_STEP, {"num_civilians": 2, "clue_rounds": 1, "prompts": "compact"}),
    ],
)
def test_sync_and_async_tell_the_same_story_over_several_episodes(mode, config):
    sync, async_ = make_vec("sync", config, autoreset_mode=mode), make_vec("async", config, autoreset_mode=mode)
    try:
        first = sync.reset(seed=11)
        assert_same(first, async_.reset(seed=11))
        prompts, finished = {first[0]["prompt"]}, 0
        for step in range(16):
            actions = answers(first[0], step)
            first, second = sync.step(actions), async_.step(actions)
            assert_same(first, second)
            assert second[0] in async_.observation_space
            finished += int(first[2].sum())
            prompts.add(first[0]["prompt"])
        assert finished > 2 * NUM_ENVS
        assert len(prompts) > 8
    finally:
        sync.close()
        async_.close()


def test_a_reset_after_the_end_of_an_episode_is_the_same_in_both():
    config = {"num_civilians": 2, "clue_rounds": 1, "prompts": "compact"}
    sync, async_ = make_vec("sync", config), make_vec("async", config)
    try:
        for _ in range(3):
            first = sync.reset(seed=3)
            assert_same(first, async_.reset(seed=3))
            for step in range(4):
                actions = answers(first[0], step)
                first = sync.step(actions)
                assert_same(first, async_.step(actions))
                if first[2].any():
                    break
            assert first[2].any()
    finally:
        sync.close()
        async_.close()


def test_the_default_of_async_environments_returns_fresh_text():
    async_ = make_vec("async", {"num_civilians": 2, "prompts": "compact"})
    try:
        observations, infos = async_.reset(seed=0)
        kept = observations["prompt"]
        assert [messages[0]["content"][1]["text"] for messages in infos["messages"]] == list(kept)
        later, _, _, _, infos = async_.step(("\\boxed{a green hill}",) * NUM_ENVS)
        assert [messages[0]["content"][1]["text"] for messages in infos["messages"]] == list(later["prompt"])
        assert all("a green hill" in prompt for prompt in later["prompt"])
        assert not any("a green hill" in prompt for prompt in kept)
    finally:
        async_.close()
