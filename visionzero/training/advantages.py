"""The advantages of Iterative-SPO, as plain functions in the paper's symbols."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np


@dataclass
class RoleBaselines:
    """Role-advantage estimation (eq. 2): one running mean of the reward for each role.

        b_role <- alpha * b_role + (1 - alpha) * r_role
        A_k    =  r_k - b_role(k)

    A baseline moves once an update, with the batch mean of its role's reward, *before* it is used. Baselines start at 0.

    Attributes:
        alpha: Decay, in [0, 1).
        values: The baselines by role.

    Raises:
        ValueError: alpha is out of range.
    """

    alpha: float = 0.95
    values: dict[str, float] = field(default_factory=lambda: {"spy": 0.0, "civilian": 0.0})

    def __post_init__(self) -> None:
        if not 0 <= self.alpha < 1:
            raise ValueError(f"alpha must be in [0, 1), got {self.alpha}")

    def update(self, mean_rewards: Mapping[str, float]) -> None:
        """Move the baselines.

        Args:
            mean_rewards: The update's mean reward by role; roles that are left out keep their baseline.
        """
        for role, reward in mean_rewards.items():
            self.values[role] = self.alpha * self.values.get(role, 0.0) + (1 - self.alpha) * float(reward)

    def advantages(self, rewards: Sequence[float], roles: Sequence[str]) -> list[float]:
        """A_k = r_k - b_role(k).

        Args:
            rewards: r_k.
            roles: The role of each.

        Returns:
            The advantages, in the same order.
        """
        return [reward - self.values[role] for reward, role in zip(rewards, roles, strict=True)]


def group_advantages(rewards: Sequence[float], eps: float = 1e-4) -> list[float]:
    """Group-normalised advantages (eq. 5): (r - mean) / (std + eps), with the population's standard deviation.

    Args:
        rewards: The rewards of one group, for example of all votes in one game.
        eps: Keeps the division finite.

    Returns:
        The advantages, in the same order; all 0 where all rewards are the same.
    """
    values = np.asarray(rewards, dtype=np.float64)
    if values.size == 0:
        return []
    std = values.std()
    if np.ptp(values) == 0 or std == 0:  # a spread too small for floating point has std 0 too
        return [0.0] * values.size
    return [float(value) for value in (values - values.mean()) / (std + eps)]
