"""Equations 2 and 5 on numbers worked by hand, and on their invariants."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from visionzero.training.advantages import RoleBaselines, group_advantages

REWARDS = st.floats(-10, 10, allow_nan=False)


def test_baselines_move_before_they_are_used():
    baselines = RoleBaselines(alpha=0.95)
    baselines.update({"spy": -0.2, "civilian": 0.05})
    # b_spy = 0.95 * 0 + 0.05 * -0.2 = -0.01, b_civ = 0.95 * 0 + 0.05 * 0.05 = 0.0025
    assert baselines.values == pytest.approx({"spy": -0.01, "civilian": 0.0025})
    # A = r - b: -0.2 + 0.01, 0.15 - 0.0025
    assert baselines.advantages([-0.2, 0.15], ["spy", "civilian"]) == pytest.approx([-0.19, 0.1475])
    baselines.update({"spy": 0.4})
    # b_spy = 0.95 * -0.01 + 0.05 * 0.4 = 0.0105; the civilians' stays
    assert baselines.values == pytest.approx({"spy": 0.0105, "civilian": 0.0025})


def test_a_constant_reward_is_learned_as_the_baseline():
    baselines = RoleBaselines(alpha=0.5)
    for _ in range(60):
        baselines.update({"spy": 0.3})
    assert baselines.advantages([0.3], ["spy"]) == pytest.approx([0.0], abs=1e-12)


@pytest.mark.parametrize("alpha", [-0.1, 1.0, 2.0])
def test_a_decay_out_of_range_is_an_error(alpha):
    with pytest.raises(ValueError, match="alpha"):
        RoleBaselines(alpha=alpha)


def test_group_advantages_by_hand():
    # mean 0, population std sqrt((1 + 1 + 0 + 0) / 4) = sqrt(0.5)
    assert group_advantages([1.0, -1.0, 0.0, 0.0], eps=0.0) == pytest.approx([2**0.5, -(2**0.5), 0.0, 0.0])
    # the votes right, n/a, wrong, wrong of one game: mean -0.375, deviations 1.375, -0.125, -0.625, -0.625
    std = ((1.375**2 + 0.125**2 + 2 * 0.625**2) / 4) ** 0.5
    assert group_advantages([1.0, -0.5, -1.0, -1.0], eps=0.0) == pytest.approx(
        [1.375 / std, -0.125 / std, -0.625 / std, -0.625 / std]
    )


@given(st.lists(REWARDS, max_size=1) | st.builds(lambda reward, n: [reward] * n, REWARDS, st.integers(0, 8)))
def test_a_group_without_spread_has_advantage_zero(rewards):
    assert group_advantages(rewards) == [0.0] * len(rewards)


@given(st.lists(REWARDS, min_size=2, max_size=16), st.floats(-5, 5), st.floats(0.5, 4))
def test_group_advantages_sum_to_zero_and_do_not_see_shift_and_scale(rewards, shift, scale):
    advantages = np.array(group_advantages(rewards, eps=0.0))
    assert abs(advantages.sum()) < 1e-6 * len(rewards)
    if np.std(rewards) > 1e-3:
        moved = group_advantages([scale * reward + shift for reward in rewards], eps=0.0)
        assert moved == pytest.approx(advantages, abs=1e-6)


@given(st.lists(REWARDS, min_size=2, max_size=16), st.randoms(use_true_random=False))
def test_group_advantages_follow_their_rewards_when_the_group_is_reordered(rewards, random):
    order = list(range(len(rewards)))
    random.shuffle(order)
    advantages = group_advantages(rewards)
    assert group_advantages([rewards[i] for i in order]) == pytest.approx([advantages[i] for i in order])
