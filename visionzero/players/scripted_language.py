"""What scripted players share: claims about pictures, the language they are said in, and what one view says of them.

A *claim* is a tuple such as `("count", description, 2)`: the content of a clue without its wording. A `Language` turns
claims into sentences and sentences back into claims. A `Listener` is somebody who has heard claims and knows how likely
others are. A `Sight` is one picture as a player sees it: which claims are true of it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, TypeAlias, TypeVar

Claim: TypeAlias = tuple[Any, ...]
"""What a clue says, without its wording; the first item is its kind, all of them are hashable."""

ItemT = TypeVar("ItemT")

KNOWN = 0.95
"""Chance that somebody who has listened is right about what has been said already."""

_MASK = (1 << 64) - 1
_MAX_REMEMBERED = 4096


class Dice:
    """Cheap random numbers from a turn's seed (a 64-bit linear congruential generator with mixed output).

    A numpy generator takes longer to construct than a scripted player may take to answer.

    Args:
        seed: Any integer.
    """

    __slots__ = ("_state",)

    def __init__(self, seed: int) -> None:
        self._state = (seed ^ 0x9E3779B97F4A7C15) & _MASK

    def unit(self) -> float:
        """A number in [0, 1)."""
        state = self._state = (self._state * 6364136223846793005 + 1442695040888963407) & _MASK
        return ((state ^ (state >> 29)) & 0xFFFFFFFF) / 4294967296.0

    def bell(self) -> float:
        """A bell-shaped number in (-1.5, 1.5) around 0: the sum of three uniform ones, standard deviation 0.5."""
        state = self._state = (self._state * 6364136223846793005 + 1442695040888963407) & _MASK
        return ((state & 0xFFFF) + ((state >> 16) & 0xFFFF) + (state >> 48)) / 65536.0 - 1.5

    def below(self, size: int) -> int:
        """A whole number from 0 to `size - 1`."""
        return int(self.unit() * size)

    def pick(self, items: Sequence[ItemT]) -> ItemT:
        """One of `items`, which must not be empty."""
        state = self._state = (self._state * 6364136223846793005 + 1442695040888963407) & _MASK
        return items[((state ^ (state >> 29)) & 0xFFFFFFFF) * len(items) >> 32]


class Listener(ABC):
    """Somebody who has heard claims and has not seen the picture.

    Args:
        claims: What was heard, in order.

    Attributes:
        said: What was heard.
    """

    def __init__(self, claims: Iterable[Claim] = ()) -> None:
        self.said: dict[Claim, None] = {}
        for claim in claims:
            self.hear(claim)

    def hear(self, claim: Claim) -> None:
        """Take note of one more claim."""
        self.said[claim] = None

    @abstractmethod
    def chance(self, claim: Claim) -> float:
        """How likely the listener would be to be right with a claim, in (0, 1)."""

    @abstractmethod
    def guess(self, dice: Dice) -> Claim:
        """A claim that fits what was heard and is likely to be true.

        Args:
            dice: Where chance comes from.
        """


class Language(ABC):
    """How claims about one kind of picture are said and understood."""

    @abstractmethod
    def say(self, claim: Claim) -> tuple[str, ...]:
        """Every wording of a claim; `read` gives back the claim from each of them."""

    @abstractmethod
    def read(self, text: str) -> tuple[Claim, ...]:
        """The claims in any text, in the order in which they stand there; empty where nothing is understood."""

    @abstractmethod
    def listener(self, claims: Iterable[Claim] = ()) -> Listener:
        """Somebody who has heard `claims`."""


class Judgement(NamedTuple):
    """What a view says of a clue.

    Attributes:
        claims: What the clue claims; empty where nothing was understood.
        fits: How far that is true of the view, from 0 (all of it wrong) to 1.
    """

    claims: tuple[Claim, ...]
    fits: float


class Sight(ABC):
    """One picture, as a player sees it.

    Attributes:
        scene: The scene that it was made from; None where there is only an image.
        language: How to speak of it.
        facts: Claims that are true of it, each as often as it deserves to be mentioned, in a fixed mixed order.
    """

    facts: tuple[Claim, ...] = ()

    def __init__(self, scene: Any, language: Language) -> None:
        self.scene = scene
        self.language = language
        self._judged: dict[str, Judgement] = {}
        self._wordings: dict[Claim, tuple[str, ...]] = {}

    @abstractmethod
    def fits(self, claim: Claim) -> float:
        """How far a claim is true, from 0 (wrong) to 1 (clearly true)."""

    def claims(self, text: str) -> tuple[Claim, ...]:
        """What a clue claims, for somebody who knows this picture."""
        return self.language.read(text)

    def judge(self, text: str) -> Judgement:
        """Compare a clue with the picture."""
        judgement = self._judged.get(text)
        if judgement is None:
            claims = self.claims(text)
            fits = sum(map(self.fits, claims)) / len(claims) if claims else 0.5
            if len(self._judged) >= _MAX_REMEMBERED:
                self._judged.clear()
            judgement = self._judged[text] = Judgement(claims, fits)
        return judgement

    def wordings(self, claim: Claim) -> tuple[str, ...]:
        """Every wording of a claim."""
        wordings = self._wordings.get(claim)
        if wordings is None:
            wordings = self._wordings[claim] = self.language.say(claim)
        return wordings


def mixed_deck(groups: Sequence[tuple[int, Sequence[Claim]]], size: int = 256) -> tuple[Claim, ...]:
    """Claims in a fixed mixed order, each group as often as its weight says.

    Args:
        groups: `(weight, claims)`; empty groups are left out.
        size: Length of the result.

    Returns:
        `size` claims, drawn with a fixed seed; none where all groups are empty.
    """
    groups = [(weight, claims) for weight, claims in groups if claims]
    dice = Dice(len(groups))
    tickets = [claims for weight, claims in groups for _ in range(weight)]
    return tuple(dice.pick(dice.pick(tickets)) for _ in range(size)) if tickets else ()


def capital(text: str) -> str:
    """A sentence with a capital first letter."""
    return text[:1].upper() + text[1:]
