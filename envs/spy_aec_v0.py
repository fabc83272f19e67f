"""Version 0 of the PettingZoo environment, under the name that PettingZoo's conventions ask for."""

from visionzero.envs.spy_aec import env, raw_env

__all__ = ["env", "raw_env"]
