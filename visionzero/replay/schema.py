"""The layout of a recorded game, and what is wrong with data that does not have it."""

from __future__ import annotations

import math
import re
from typing import Any

FORMAT = "visionzero-spy-game"
VERSION = 1

_BASE64 = re.compile(r"[A-Za-z0-9+/]*={0,2}")
_COUNT, _PLAYER = "a whole number >= 0", "a player number"


class _Optional:
    """Null, or what `spec` says."""

    def __init__(self, spec: Any) -> None:
        self.spec = spec


class _OneOf:
    """One of some texts."""

    def __init__(self, *choices: str) -> None:
        self.choices = choices


_IMAGE = {
    "media_type": _OneOf("image/jpeg", "image/png"),
    "width": _COUNT,
    "height": _COUNT,
    "data": "base64",
}
_VOTE_KIND = _OneOf("player", "n/a", "invalid")

SCHEMA: dict[str, Any] = {
    "format": _OneOf(FORMAT),
    "version": _COUNT,
    "board": {"name": str, "kind": _OneOf("clevr", "charts", "photos")},
    "seed": int,
    "config": dict,
    "images": {"civilian": _IMAGE, "spy": _Optional(_IMAGE)},
    "spy": {"player": _PLAYER, "card": _Optional(_OneOf("blank", "edited", "identical"))},
    "turns": [
        {
            "index": _COUNT,
            "player": _PLAYER,
            "role": _OneOf("spy", "civilian", "observer"),
            "stage": _OneOf("clue", "decision"),
            "round": _PLAYER,
            "position": _COUNT,
            "text": str,
            "answer": object,
            "reward": _Optional(float),
            "name": _Optional(str),
            "prompt_tokens": _COUNT,
            "completion_tokens": _COUNT,
            "truncated": bool,
        }
    ],
    "outcome": _Optional(
        {
            "winner": _OneOf("civilians", "spy"),
            "votes": [{"voter": _PLAYER, "kind": _VOTE_KIND, "player": _Optional(_PLAYER)}],
            "vote_counts": [float],
            "abstentions": float,
            "seat_rewards": [float],
            "unreadable_clues": _COUNT,
            "invalid_votes": _COUNT,
            "metrics": dict,
        }
    ),
    "error": _Optional(str),
}
"""Every field of a record. A type stands for itself, `[x]` for a list of x, nested mappings for objects."""

_CLUE = _Optional(str)
_VOTE = {"kind": _VOTE_KIND, "player": _Optional(_PLAYER)}


def problem_of(record: Any) -> str | None:
    """What keeps data from being a record.

    Args:
        record: Anything that JSON can hold.

    Returns:
        One sentence that names the field and its value, or None for a record. Fields that are not in the schema are
        allowed: a later version may have added them.
    """
    if not isinstance(record, dict):
        return f"a game is an object, got {_shown(record)}"
    version = record.get("version")
    if record.get("format") == FORMAT and isinstance(version, int) and version > VERSION:
        return f"version must be at most {VERSION}, got {version}: it was written by a newer release"
    problem = _problem(record, SCHEMA, "")
    if problem is not None:
        return problem
    players = len(record["outcome"]["seat_rewards"]) if record["outcome"] else None
    if players is not None and len(record["outcome"]["vote_counts"]) != players:
        return f"outcome.vote_counts must have {players} entries as outcome.seat_rewards, got {_shown(record['outcome']['vote_counts'])}"
    if players is not None and record["spy"]["player"] > players:
        return f"spy.player must be at most {players}, got {record['spy']['player']}"
    for place, turn in enumerate(record["turns"]):
        spec = _CLUE if turn["stage"] == "clue" else _VOTE
        problem = _problem(turn["answer"], spec, f"turns[{place}].answer")
        if problem is not None:
            return problem
    return None


def _problem(value: Any, spec: Any, where: str) -> str | None:
    if isinstance(spec, _Optional):
        return None if value is None else _problem(value, spec.spec, where)
    if isinstance(spec, dict):
        if not isinstance(value, dict):
            return f"{where} must be an object, got {_shown(value)}"
        prefix = f"{where}." if where else ""
        for name, inner in spec.items():
            if name not in value:
                return f"{prefix}{name} is missing"
            problem = _problem(value[name], inner, f"{prefix}{name}")
            if problem is not None:
                return problem
        return None
    if isinstance(spec, list):
        if not isinstance(value, list):
            return f"{where} must be a list, got {_shown(value)}"
        problems = (_problem(item, spec[0], f"{where}[{place}]") for place, item in enumerate(value))
        return next((problem for problem in problems if problem is not None), None)
    wanted = _wanted(value, spec)
    return None if wanted is None else f"{where} must be {wanted}, got {_shown(value)}"


def _wanted(value: Any, spec: Any) -> str | None:
    """What a plain value must be, where it is not."""
    whole = isinstance(value, int) and not isinstance(value, bool)
    if isinstance(spec, _OneOf):
        return None if value in spec.choices else " or ".join(spec.choices)
    if spec in (_COUNT, _PLAYER):
        return None if whole and value >= (spec == _PLAYER) else spec
    if spec == "base64":
        return None if isinstance(value, str) and _BASE64.fullmatch(value) else "base64"
    if spec is int:
        return None if whole else "a whole number"
    if spec is float:
        return None if whole or (isinstance(value, float) and math.isfinite(value)) else "a number"
    names = {str: "a text", bool: "true or false", dict: "an object", object: "anything"}
    return None if isinstance(value, spec) else names[spec]


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
