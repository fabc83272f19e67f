"""Who answers the turns: scripted players, models, people."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from visionzero.players.base import Player, Reply

if TYPE_CHECKING:
    from visionzero.players.human import HumanPlayer
    from visionzero.players.model import ModelPlayer
    from visionzero.players.scripted import RandomPlayer, ScriptedPlayer
    from visionzero.players.withheld import WithheldPlayer

__all__ = ["HumanPlayer", "ModelPlayer", "Player", "RandomPlayer", "Reply", "ScriptedPlayer", "WithheldPlayer"]

_MODULES = {
    "HumanPlayer": "human",
    "ModelPlayer": "model",
    "RandomPlayer": "scripted",
    "ScriptedPlayer": "scripted",
    "WithheldPlayer": "withheld",
}


def __getattr__(name: str) -> Any:
    # Imported when first used: a model player needs torch, and nothing else here does.
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
