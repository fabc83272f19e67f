"""Scripted players' view of CLEVR scenes: objects with size, colour, material, shape and place."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from itertools import chain, permutations, product
from math import comb
from typing import Any, NamedTuple

from visionzero.players.scripted_language import KNOWN, Claim, Dice, Language, Listener, Sight, mixed_deck
from visionzero.players.scripted_scene_words import (
    ANYTHING,
    ATTRIBUTES,
    MATERIALS,
    OPPOSITE,
    SHAPES,
    SIZES,
    VALUES,
    Description,
    read_scene_claims,
    say_scene_claim,
    share,
)

_TYPICAL_OBJECTS = 5
# Pixels by which two places must differ before players speak of left and right.
_CLEAR_MARGIN = 4.0
_SIDES = ("left", "front", "right", "behind")


class SceneLanguage(Language):
    """Sentences about objects.

    Claims: `("some", d)`, `("count", d, n)` (exactly n), `("relation", d, side, d)`, `("end", side, d)`, `("more", d, d)`,
    where d is a `Description` and a side is left, right, front or behind.
    """

    def say(self, claim: Claim) -> tuple[str, ...]:
        """Every wording of a claim."""
        return say_scene_claim(claim)

    def read(self, text: str) -> tuple[Claim, ...]:
        """The claims in any text."""
        return read_scene_claims(text)

    def listener(self, claims: Iterable[Claim] = ()) -> Listener:
        """Somebody who has heard `claims`."""
        return SceneListener(claims)


class _Traits(NamedTuple):
    """A description in numbers, because voters and speakers compare very many of them.

    Attributes:
        bits: One bit for each value that it names.
        contrary: The bits that contradict it.
        common: Probability that some object of a typical scene matches it, `KNOWN` at most.
    """

    bits: int
    contrary: int
    common: float


def _all_traits() -> dict[Description, _Traits]:
    places = {value: 1 << place for place, value in enumerate(chain(*VALUES))}
    traits = {}
    for description in product(*((None, *values) for values in VALUES)):
        named = [(value, values) for value, values in zip(description, VALUES, strict=True) if value is not None]
        bits = sum(places[value] for value, _ in named)
        contrary = sum(places[other] for value, values in named for other in values if other != value)
        common = min(KNOWN, 1 - (1 - share(description)) ** _TYPICAL_OBJECTS)
        traits[description] = _Traits(bits, contrary, common)
    return traits


_TRAITS = _all_traits()
# Probability that an object has all the values of the bits.
_SHARES = {traits.bits: share(description) for description, traits in _TRAITS.items()}


class SceneListener(Listener):
    """Somebody who knows of a scene what others told."""

    def __init__(self, claims: Iterable[Claim] = ()) -> None:
        self._things: dict[int, Description] = {}  # by their bits
        super().__init__(claims)

    def hear(self, claim: Claim) -> None:
        """Take note of one more claim."""
        self.said[claim] = None
        kind = claim[0]
        if kind == "some":
            self._things[_TRAITS[claim[1]].bits] = claim[1]
        elif kind == "relation":
            self._things[_TRAITS[claim[1]].bits] = claim[1]
            self._things[_TRAITS[claim[3]].bits] = claim[3]
        elif kind == "end":
            self._things[_TRAITS[claim[2]].bits] = claim[2]
        elif kind == "count" and claim[2] and claim[1] != ANYTHING:
            self._things[_TRAITS[claim[1]].bits] = claim[1]

    def chance(self, claim: Claim) -> float:
        """How likely a listener would be to be right with a claim."""
        if claim in self.said:
            return KNOWN
        kind = claim[0]
        if kind == "some":
            return self._exists(claim[1])
        if kind == "relation":
            if mirrored(claim) in self.said:
                return KNOWN
            return max(0.02, 0.5 * self._exists(claim[1]) * self._exists(claim[3]))
        if kind == "end":
            return max(share(claim[2]), 0.3 * self._exists(claim[2]))
        return _exactly(claim[1], claim[2]) if kind == "count" else 0.4

    def guess(self, dice: Dice) -> Claim:
        """A likely claim that fits what was heard."""
        places = _Places(self.said)
        for _ in range(6):
            claim = self._guess(places, dice)
            if claim not in self.said and not self._contradicts(claim):
                return claim
        return ("some", _new_object(dice))

    def _exists(self, description: Description) -> float:
        bits, contrary, chance = _TRAITS[description]
        for other in self._things:
            if not other & contrary:
                given = _SHARES[bits & ~other]
                if given > chance:
                    if given > KNOWN:
                        return KNOWN
                    chance = given
        return chance

    def _guess(self, places: _Places, dice: Dice) -> Claim:
        things = list(self._things.values())
        roll = dice.unit()
        if len(things) >= 2 and roll < 0.6:
            first, second = dice.pick(things), dice.pick(things)
            if share(first, second) == 0:
                return ("relation", first, places.likely_side(first, second, dice), second)
        if things and roll < 0.85:
            # More about something that others have mentioned.
            description = list(dice.pick(things))
            unknown = [slot for slot in (0, 2) if description[slot] is None]
            if unknown:
                slot = dice.pick(unknown)
                description[slot] = dice.pick(VALUES[slot])
                return ("some", tuple(description))
            return ("end", dice.pick(_SIDES), tuple(description))
        if roll < 0.92:
            return ("count", ANYTHING, max(4, min(6, len(things))))
        return ("some", _new_object(dice))

    def _contradicts(self, claim: Claim) -> bool:
        """Whether a guess is plainly at odds with what others said."""
        kind = claim[0]
        if kind == "relation":
            turned: Claim = ("relation", claim[1], OPPOSITE[claim[2]], claim[3])
            return turned in self.said or mirrored(claim) in self.said or mirrored(turned) in self.said
        if kind in ("count", "end"):
            return any(other[0] == kind and other[1] == claim[1] for other in self.said)
        return any(other[0] == "count" and other[2] == 0 and share(claim[1], other[1]) == 1 for other in self.said)


class _Places:
    """What claims say about the order of objects from left to right and from front to back."""

    def __init__(self, claims: Iterable[Claim]) -> None:
        self._after: dict[tuple[str, Description], list[Description]] = {}
        self._ends: dict[str, Description] = {}
        for claim in claims:
            if claim[0] == "relation":
                for side, first, second in ((claim[2], claim[1], claim[3]), (OPPOSITE[claim[2]], claim[3], claim[1])):
                    self._after.setdefault((side, first), []).append(second)
            elif claim[0] == "end":
                self._ends[claim[1]] = claim[2]

    def likely_side(self, first: Description, second: Description, dice: Dice) -> str:
        """A side of `second` on which `first` is: one that follows from the claims, else any."""
        start = dice.below(4)
        sides = _SIDES[start:] + _SIDES[:start]
        return next((side for side in sides if self._follows(side, first, second)), sides[0])

    def _follows(self, side: str, first: Description, second: Description) -> bool:
        if self._ends.get(side) == first or self._ends.get(OPPOSITE[side]) == second:
            return True
        direct = self._after.get((side, first), ())
        return any(second in self._after.get((side, between), ()) for between in direct)


def mirrored(claim: Claim) -> Claim:
    """The same relation, said of the other object."""
    return ("relation", claim[3], OPPOSITE[claim[2]], claim[1])


@lru_cache(maxsize=100_000)
def _exactly(description: Description, number: int) -> float:
    """Probability that exactly `number` objects of a typical scene match."""
    if description == ANYTHING:
        return 1 / 3 if 4 <= number <= 6 else 0.02
    p = share(description)
    n = _TYPICAL_OBJECTS
    return max(0.01, comb(n, number) * p**number * (1 - p) ** (n - number) if number <= n else 0.0)


def _new_object(dice: Dice) -> Description:
    size, material, shape = dice.pick(SIZES), dice.pick(MATERIALS), dice.pick(SHAPES)
    return (size, None, None, shape) if dice.unit() < 0.5 else (None, None, material, shape)


class _Object(NamedTuple):
    description: Description
    x: float | None
    y: float | None


class SceneSight(Sight):
    """A scene graph as a player sees it.

    Args:
        scene: `{"objects": [{"shape", "color", "size", "material", "pixel_coords"}, ...]}`; values that are not CLEVR's
            are left out, and so are relations between objects without `pixel_coords`.
    """

    def __init__(self, scene: Mapping[str, Any]) -> None:
        super().__init__(scene, SCENE_LANGUAGE)
        self._objects = [_read_object(entry) for entry in scene["objects"]]
        self._orders = {side: self._ordered(side) for side in _SIDES}
        self.facts = mixed_deck(
            [
                (3, self._existence()),
                (4, self._relations()),
                (2, [("end", side, d) for side in OPPOSITE for d in self._at_end(side)]),
                (2, self._counts()),
                (1, self._comparisons()),
            ]
        )

    def fits(self, claim: Claim) -> float:
        """How far a claim is true."""
        kind = claim[0]
        if kind == "some":
            return float(self._count(claim[1]) > 0)
        if kind == "count":
            return float(self._count(claim[1]) == claim[2])
        if kind == "more":
            return float(self._count(claim[1]) > self._count(claim[2]))
        if kind == "end":
            return self._end_fits(claim[1], claim[2])
        return self._relation_fits(claim[1], claim[2], claim[3])

    def _count(self, description: Description) -> int:
        return sum(share(description, thing.description) == 1 for thing in self._objects)

    def _ordered(self, side: str) -> list[tuple[float, Description]]:
        """Objects with how far they are on a side, the furthest first."""
        sign = 1 if side in ("right", "front") else -1
        across = side in ("left", "right")
        places = [
            (sign * (t.x if across else t.y), t.description)
            for t in self._objects
            if t.x is not None and t.y is not None
        ]
        return sorted(places, key=lambda place: -place[0])

    def _end_fits(self, side: str, description: Description) -> float:
        places = self._orders[side]
        if not places:
            return 0.5
        furthest = places[0][0]
        for place, thing in places:
            if share(description, thing) == 1:
                return 1.0 if place == furthest else 0.5 if furthest - place < _CLEAR_MARGIN else 0.0
        return 0.0

    def _relation_fits(self, first: Description, side: str, second: Description) -> float:
        places = self._orders[side]
        lead = None
        for i, (place, thing) in enumerate(places):
            if share(first, thing) == 1:
                for j, (other_place, other) in enumerate(places):
                    if i != j and share(second, other) == 1 and (lead is None or place - other_place > lead):
                        lead = place - other_place
        if lead is None:
            return 0.0 if places else 0.5
        return 1.0 if lead >= _CLEAR_MARGIN else 0.5 if lead > -_CLEAR_MARGIN else 0.0

    def _existence(self) -> list[Claim]:
        claims: dict[Claim, None] = {}
        for (size, colour, material, shape), _, _ in self._objects:
            for description in (
                (None, colour, None, shape),
                (size, colour, None, shape),
                (None, colour, material, shape),
                (size, None, material, shape),
                (None, colour, material, None),
                (size, colour, material, shape),
            ):
                if description != ANYTHING:
                    claims[("some", description)] = None
        return list(claims)

    def _relations(self) -> list[Claim]:
        names = list(dict.fromkeys((None, thing.description[1], None, thing.description[3]) for thing in self._objects))
        return [
            ("relation", first, side, second)
            for first, second in permutations(names, 2)
            if ANYTHING not in (first, second) and share(first, second) == 0
            for side in _SIDES
            # Where several objects have one name, only what is true of all of them is worth saying.
            if self._relation_fits(first, side, second) == 1 and self._relation_fits(first, OPPOSITE[side], second) == 0
        ]

    def _at_end(self, side: str) -> list[Description]:
        places = self._orders[side]
        if not places or (len(places) > 1 and places[0][0] - places[1][0] < _CLEAR_MARGIN):
            return []
        size, colour, material, shape = places[0][1]
        short: Description = (None, colour, None, shape)
        options: list[Description] = [short, (size, None, material, shape)]
        return [description for description in options if description != ANYTHING]

    def _counts(self) -> list[Claim]:
        singles: list[Description] = [
            tuple(value if slot == place else None for place in range(4))
            for slot, values in enumerate(VALUES)
            for value in values
        ]
        claims: list[Claim] = [("count", ANYTHING, len(self._objects))]
        for description in singles:
            number = self._count(description)
            if number or description[3] or description[1] in ("red", "blue", "green"):
                claims.append(("count", description, number))
        return claims

    def _comparisons(self) -> list[Claim]:
        claims: list[Claim] = []
        for slot in (0, 2, 3):
            options: list[Description] = [
                tuple(value if slot == place else None for place in range(4)) for value in VALUES[slot]
            ]
            claims.extend(("more", a, b) for a in options for b in options if self._count(a) > self._count(b) > 0)
        return claims


def _read_object(entry: Mapping[str, Any]) -> _Object:
    values = [
        ATTRIBUTES.get(str(entry.get(key, "")).casefold(), (slot, None))
        for slot, key in enumerate(("size", "color", "material", "shape"))
    ]
    description = tuple(value if slot == place else None for place, (slot, value) in enumerate(values))
    coords = entry.get("pixel_coords")
    x, y = (float(coords[0]), float(coords[1])) if coords is not None and len(coords) >= 2 else (None, None)
    return _Object(description, x, y)


SCENE_LANGUAGE = SceneLanguage()
