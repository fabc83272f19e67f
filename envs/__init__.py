"""Gymnasium and PettingZoo environments. Importing this registers the gymnasium ids and loads nothing heavy."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any

import gymnasium

__all__ = ["ENV_IDS", "register_envs", "spy_aec_v0"]

_SPY_ENV = "visionzero.envs.spy:SpyEnv"
_SPECS: dict[str, dict[str, Any]] = {
    "visionzero/WhoIsTheSpy-v0": {},
    "visionzero/WhoIsTheSpyClevr-v0": {"images": "clevr"},
    "visionzero/WhoIsTheSpyCharts-v0": {"images": "charts"},
    "visionzero/WhoIsTheSpyPhotos-v0": {"images": "photos"},
}

ENV_IDS: tuple[str, ...] = tuple(_SPECS)
"""The ids that `gymnasium.make` and `gymnasium.make_vec` know once `visionzero` is imported."""


def register_envs() -> None:
    """Register every id of `ENV_IDS` with gymnasium; ids that are registered already are left alone."""
    for env_id, kwargs in _SPECS.items():
        if env_id not in gymnasium.registry:
            gymnasium.register(id=env_id, entry_point=_SPY_ENV, kwargs=dict(kwargs))


def __getattr__(name: str) -> ModuleType:
    if name == "spy_aec_v0":
        return importlib.import_module("visionzero.envs.spy_aec_v0")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


register_envs()
