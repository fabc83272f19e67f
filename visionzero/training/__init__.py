"""Training with self-play."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from visionzero.training.iterative_spo import IterativeSPOConfig, IterativeSPOTrainer

__all__ = ["IterativeSPOConfig", "IterativeSPOTrainer"]


def __getattr__(name: str) -> Any:
    # The controller and the advantages beside it can be used without torch.
    if name in __all__:
        from visionzero.training import iterative_spo

        return getattr(iterative_spo, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
