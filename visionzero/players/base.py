"""What a player is: somebody who answers turns, many at a time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from visionzero.games.game import Turn


@dataclass(frozen=True, slots=True)
class Reply:
    """A player's answer to a turn.

    Attributes:
        text: The answer, special tokens left out.
        prompt_ids: Token ids of the prompt that was answered; empty for players without tokens.
        completion_ids: Token ids that were sampled, the end-of-turn token included; empty for players without tokens.
        truncated: Whether the answer was cut off at the length limit.
    """

    text: str
    prompt_ids: tuple[int, ...] = ()
    completion_ids: tuple[int, ...] = ()
    truncated: bool = False


def batches_by_length(turns: Sequence[Turn], size: int) -> Iterator[list[int]]:
    """Batches of turns with prompts of similar length, so that little is padded.

    Args:
        turns: Turns of any games.
        size: Most turns in a batch.

    Yields:
        Places in `turns`; every place once.
    """
    order = sorted(range(len(turns)), key=lambda place: len(turns[place].prompt))
    for start in range(0, len(order), size):
        yield order[start : start + size]


class Player(ABC):
    """Answers turns. The answer to a turn depends on the turn alone, not on which others are asked at the same time.

    Attributes:
        name: Short name for tables and replays.
    """

    name: str = "player"

    @abstractmethod
    def reply(self, turns: Sequence[Turn]) -> list[Reply]:
        """Answer several turns at once.

        Args:
            turns: Turns of any games, in any order.

        Returns:
            One reply a turn, in the same order.
        """

    def answer(self, turn: Turn) -> str:
        """Answer one turn with a text."""
        return self.reply([turn])[0].text
