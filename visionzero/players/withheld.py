"""What a player reaches without seeing: the same player, with the images of some stages withheld.

Clues are text. A voter may find the spy by reading alone, because clues contradict each other, repeat each other or sound
made up; how often it does is what seeing has to be measured against.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Literal, get_args

from visionzero.games.game import Message, Turn
from visionzero.games.spy.rules import SpyTurn, blank_view
from visionzero.players.base import Player, Reply

Withholding = Literal["blank", "removed"]
"""`"blank"`: a white image of the same size instead. `"removed"`: a chat without an image."""

WITHHOLDINGS: tuple[str, ...] = get_args(Withholding)


@dataclass(frozen=True, kw_only=True)
class WithheldTurn(SpyTurn):
    """A turn whose image the seat does not get; its texts are the turn's own.

    Attributes:
        withholding: What is there instead of the image.
    """

    withholding: Withholding = field(compare=False)

    @classmethod
    def of(cls, turn: SpyTurn, withholding: Withholding) -> WithheldTurn:
        """The turn without its image.

        Args:
            turn: Any turn of a spy game.
            withholding: What is there instead of the image.

        Returns:
            The turn, with a blank view, and with a chat that says what it said before.
        """
        values = {item.name: getattr(turn, item.name) for item in fields(turn)}
        values |= {"view": blank_view(turn.view.image.size), "blank": True}
        return cls(**values, withholding=withholding)

    @cached_property
    def messages(self) -> tuple[Message, ...]:
        """The chat that the seat sees; rendered when first asked for."""
        messages = super().messages
        if self.withholding == "blank":
            return messages
        return tuple(
            {**message, "content": [part for part in message["content"] if part["type"] != "image"]}
            for message in messages
        )


class WithheldPlayer(Player):
    """Answers through another player, which does not see the images of some stages.

    With `votes="blank"` it is a blind voter, with `votes="removed"` a text-only voter, in both cases on clues that were
    given with images. Against the same opponent with the same seed, the games are the same up to the votes.

    Args:
        player: Who answers.
        votes: How the images of its votes are withheld; None to show them.
        clues: The same for the images of its clues, a spy's too.
        name: Short name; the player's own with what is withheld by default.

    Raises:
        ValueError: Nothing is withheld, or a way of withholding is unknown.
    """

    def __init__(
        self,
        player: Player,
        *,
        votes: Withholding | None = None,
        clues: Withholding | None = None,
        name: str | None = None,
    ) -> None:
        ways: dict[str, Withholding] = {}
        for option, stage, way in (("votes", "decision", votes), ("clues", "clue", clues)):
            if way is None:
                continue
            if way not in WITHHOLDINGS:
                raise ValueError(f"{option} must be {' or '.join(WITHHOLDINGS)}, or None, got {way!r}")
            ways[stage] = way
        if not ways:
            raise ValueError("nothing is withheld: name a way for votes, for clues, or for both")
        self.player = player
        self.name = name or " ".join(
            [player.name, *(f"{option}={way}" for option, way in (("votes", votes), ("clues", clues)) if way)]
        )
        self._ways = ways

    def reply(self, turns: Sequence[Turn]) -> list[Reply]:
        """Answer several turns.

        Raises:
            TypeError: A turn whose image is to be withheld is not one of a spy game.
        """
        replies: dict[int, Reply] = {}
        # Stage by stage: chats with images and chats without need not go into one batch.
        for stage in dict.fromkeys(turn.stage for turn in turns):
            places = [place for place, turn in enumerate(turns) if turn.stage == stage]
            way = self._ways.get(stage)
            asked = [turns[place] if way is None else _withhold(turns[place], way) for place in places]
            replies.update(zip(places, self.player.reply(asked), strict=True))
        return [replies[place] for place in range(len(turns))]


def _withhold(turn: Turn, way: Withholding) -> WithheldTurn:
    if not isinstance(turn, SpyTurn):
        raise TypeError(f"images are withheld from turns of Who Is the Spy? only, got a {type(turn).__name__}")
    return WithheldTurn.of(turn, way)
