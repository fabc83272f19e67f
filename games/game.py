"""The turn protocol: what every game of this package is, whatever its rules.

A game says which turns can be answered now, takes a text for each of them, and in the end says what each text was
worth. Environments, rollouts, trainers and replays know games through this file only.
"""

from __future__ import annotations

import hashlib
import operator
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

Message = dict[str, Any]
"""One chat message in the transformers/TRL format: `{"role": ..., "content": [{"type": "text", "text": ...}, ...]}`."""


def derive_seed(*parts: int | str) -> int:
    """Mix integers and strings into one 63-bit seed.

    The result depends on the values of the parts alone: not on the process, the platform, `PYTHONHASHSEED`, or on which
    integer type (int, numpy) a number has.

    Args:
        parts: What the seed is for, for example `(game_seed, "vote", 3)`.

    Returns:
        An integer in `[0, 2**63)`.

    Raises:
        TypeError: A part is neither an integer nor a string.
    """
    text = "\x1f".join([f"str:{part}" if isinstance(part, str) else f"int:{operator.index(part)}" for part in parts])
    # surrogatepass: file names that are no valid UTF-8 are seeds like any others.
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 1


@dataclass(frozen=True, kw_only=True)
class Turn:
    """One question to one seat. Two turns are equal when they stand at the same place in games of the same seed.

    Attributes:
        game_seed: Seed of the game that the turn belongs to.
        index: Position in the game's order of turns, from 0.
        seat: Which seat must answer, from 0.
        role: What decides the policy and the baseline: `"spy"`, `"civilian"`, `"generator"`, ...
        stage: Part of the game: `"clue"`, `"decision"`, ...
        position: Place among the role's turns of that stage, from 0 (clue round, vote sample, refinement, ...).
    """

    game_seed: int
    index: int
    seat: int
    role: str
    stage: str
    position: int = 0

    @property
    def messages(self) -> tuple[Message, ...]:
        """The chat that the seat sees, images included as `{"type": "image", "image": PIL.Image}`."""
        raise NotImplementedError

    @property
    def seed(self) -> int:
        """Seed for whatever randomness answering this turn needs; different for every turn of every game."""
        return derive_seed(self.game_seed, "turn", self.index)

    @property
    def images(self) -> list[Any]:
        """Every PIL image in the chat, in order."""
        return [
            part["image"]
            for message in self.messages
            if isinstance(message["content"], list)
            for part in message["content"]
            if part["type"] == "image"
        ]

    @property
    def prompt(self) -> str:
        """Every text of the chat, in order, one paragraph a part; images are left out."""
        texts: list[str] = []
        for message in self.messages:
            content = message["content"]
            if isinstance(content, str):
                texts.append(content)
            else:
                texts.extend(part["text"] for part in content if part["type"] == "text")
        return "\n\n".join(texts)


TurnT = TypeVar("TurnT", bound=Turn)


@dataclass(frozen=True)
class PlayedTurn(Generic[TurnT]):
    """A turn with what was answered.

    Attributes:
        turn: The question.
        text: The answer, exactly as submitted.
        answer: What the game read from it; its type is the game's own.
    """

    turn: TurnT
    text: str
    answer: Any


@dataclass(frozen=True)
class Outcome:
    """What a finished game was worth.

    Attributes:
        winner: Name of the winning side.
        rewards: The reward of every turn that was played.
        metrics: Figures of this one game, ready to be averaged over many.
    """

    winner: str
    rewards: Mapping[Turn, float]
    metrics: Mapping[str, float] = field(default_factory=dict)


OutcomeT = TypeVar("OutcomeT", bound=Outcome)


class Game(ABC, Generic[TurnT, OutcomeT]):
    """A state machine over turns.

    The loop is the same for every game:

        while not game.done:
            for turn in game.pending():
                game.submit(turn, player.answer(turn))
        game.outcome

    A game can be pickled at any point. `copy.copy` and `copy.deepcopy` both give an independent game at the same point,
    cheaply, for searching over answers: they share images and turns, which nobody changes.

    Attributes:
        seed: What the game was dealt from; the same seed and the same answers give the same game.
    """

    seed: int

    @abstractmethod
    def pending(self) -> Sequence[TurnT]:
        """The turns that can be answered now, all of them independently of each other; empty when the game is done."""

    @abstractmethod
    def submit(self, turn: TurnT, text: str) -> None:
        """Answer one pending turn.

        An answer that cannot be read is scored as the rules say; it is never an exception.

        Args:
            turn: One of `pending()`.
            text: Any text, the empty one included.

        Raises:
            ValueError: `turn` is not pending.
            TypeError: `text` is not a string, or `turn` is no turn of such a game.
        """

    @property
    @abstractmethod
    def history(self) -> Sequence[PlayedTurn[TurnT]]:
        """The turns answered so far, in the order of `Turn.index`."""

    @property
    @abstractmethod
    def done(self) -> bool:
        """Whether nothing is left to answer."""

    @property
    @abstractmethod
    def outcome(self) -> OutcomeT:
        """What the game was worth.

        Raises:
            RuntimeError: The game is not done.
        """
