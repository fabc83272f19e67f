"""Scripted players' view of CLEVR scenes: objects with size, colour, material, shape and place."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import comb
from typing import Any, NamedTuple, TypeAlias

from visionzero.players.scripted_language import KNOWN, Claim, Dice, Language, Sight, mixed_deck

Description: TypeAlias = tuple[str | None, ...]
"""Size, colour, material, shape; None leaves one open."""

SIZES = ("small", "large")
COLOURS = ("gray", "red", "blue", "green", "brown", "purple", "cyan", "yellow")
MATERIALS = ("rubber", "metal")
SHAPES = ("cube", "sphere", "cylinder")
_VALUES = (SIZES, COLOURS, MATERIALS, SHAPES)
ANYTHING: Description = (None, None, None, None)

OPPOSITE = {"left": "right", "right": "left", "front": "behind", "behind": "front"}
_RELATION_TEXT = {"left": "to the left of", "right": "to the right of", "front": "in front of", "behind": "behind"}
_END_TEXT = {
    "left": ("The leftmost object is {}.", "Furthest to the left is {}."),
    "right": ("The rightmost object is {}.", "Furthest to the right is {}."),
    "front": ("The object closest to the camera is {}.", "Nearest to the viewer is {}."),
    "behind": ("The object furthest away is {}.", "Rearmost is {}."),
}
_NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_TYPICAL_OBJECTS = 5
_CLEAR_MARGIN = 4.0

_WORD = re.compile(r"[a-z]+|\d+")
_SYNONYMS = {
    "tiny": "small", "little": "small", "big": "large", "huge": "large",
    "grey": "gray", "violet": "purple", "turquoise": "cyan", "teal": "cyan",
    "matte": "rubber", "rubbery": "rubber", "matt": "rubber", "metallic": "metal", "shiny": "metal", "reflective": "metal",
    "block": "cube", "box": "cube", "boxes": "cube", "ball": "sphere", "can": "cylinder", "tube": "cylinder",
}  # fmt: skip
_ATTRIBUTES: dict[str, tuple[int, str]] = {}
for _slot, _values in enumerate(_VALUES):
    for _value in _values:
        _ATTRIBUTES[_value] = (_slot, _value)
for _word, _value in _SYNONYMS.items():
    _ATTRIBUTES[_word] = _ATTRIBUTES[_value]
for _word, (_slot, _value) in list(_ATTRIBUTES.items()):
    if _slot == 3:
        _ATTRIBUTES[_word + "s"] = (_slot, _value)
_NOUNS = frozenset(["object", "objects", "thing", "things", "item", "items", "shape", "shapes", "ones"])
_RELATIONS = {"left": "left", "right": "right", "front": "front", "behind": "behind"}
_ENDS = {
    "leftmost": "left", "rightmost": "right", "closest": "front", "nearest": "front", "frontmost": "front",
    "foremost": "front", "rearmost": "behind", "backmost": "behind", "furthest": "behind", "farthest": "behind",
}  # fmt: skip
_NONE_WORDS = frozenset(["no", "without", "neither", "none"])


class _Item(NamedTuple):
    """A piece of a sentence: a described object, or a word that says how objects relate."""

    kind: str
    value: str = ""
    description: Description = ANYTHING
    number: int | None = None
    noun: bool = False


def describe(description: Description, plural: bool = False) -> str:
    """A description in words, such as "small red thing"."""
    *adjectives, shape = description
    noun = (shape or "thing") + ("s" if plural else "")
    return " ".join([*filter(None, adjectives), noun])


def _with_article(description: Description) -> str:
    return "a " + describe(description)


@lru_cache(maxsize=100_000)
def share(description: Description, known: Description = ANYTHING) -> float:
    """Probability that an object of which `known` is known matches `description`; 0 where they contradict."""
    probability = 1.0
    for wanted, given, values in zip(description, known, _VALUES, strict=True):
        if wanted is None or wanted == given:
            continue
        if given is not None:
            return 0.0
        probability /= len(values)
    return probability


@lru_cache(maxsize=100_000)
def _exactly(description: Description, number: int) -> float:
    """Probability that exactly `number` objects of a typical scene match."""
    if description == ANYTHING:
        return 1 / 3 if 4 <= number <= 6 else 0.02
    p = share(description)
    n = _TYPICAL_OBJECTS
    return max(0.01, comb(n, number) * p**number * (1 - p) ** (n - number) if number <= n else 0.0)


def _descriptions(claim: Claim) -> tuple[Description, ...]:
    """The objects that a claim says are there."""
    kind = claim[0]
    if kind == "some":
        return (claim[1],)
    if kind == "relation":
        return (claim[1], claim[3])
    if kind == "end":
        return (claim[2],)
    if kind == "count":
        return (claim[1],) if claim[2] and claim[1] != ANYTHING else ()
    return ()


class SceneLanguage(Language):
    """Sentences about objects.

    Claims: `("some", d)`, `("count", d, n)` (exactly n), `("relation", d, side, d)`, `("end", side, d)`, `("more", d, d)`.
    """

    def say(self, claim: Claim) -> tuple[str, ...]:
        """Every wording of a claim."""
        kind = claim[0]
        if kind == "some":
            thing = _with_article(claim[1])
            return (f"There is {thing}.", f"I can see {thing}.", f"Somewhere in the scene is {thing}.")
        if kind == "count":
            return _count_texts(claim[1], claim[2])
        if kind == "relation":
            first, second = _with_article(claim[1]), _with_article(claim[3])
            place = _RELATION_TEXT[claim[2]]
            return (f"{_capital(first)} is {place} {second}.", f"There is {first} {place} {second}.")
        if kind == "end":
            thing = _with_article(claim[2])
            return tuple(text.format(thing) for text in _END_TEXT[claim[1]])
        more, fewer = describe(claim[1], plural=True), describe(claim[2], plural=True)
        return (f"There are more {more} than {fewer}.", f"I see more {more} than {fewer}.")

    def read(self, text: str) -> tuple[Claim, ...]:
        """The claims in any text."""
        return _read(text)

    def chance(self, claim: Claim, heard: Sequence[Claim]) -> float:
        """How likely a listener is to be right with a claim."""
        if claim in heard:
            return KNOWN
        kind = claim[0]
        if kind == "count":
            return _exactly(claim[1], claim[2])
        if kind == "more":
            return 0.4
        known = [description for other in heard for description in _descriptions(other)]
        if kind == "some":
            return _some(claim[1], known)
        if kind == "end":
            return max(share(claim[2]), 0.3 * _some(claim[2], known))
        if mirrored(claim) in heard:
            return KNOWN
        return max(0.02, 0.5 * _some(claim[1], known) * _some(claim[3], known))

    def guess(self, heard: Sequence[Claim], dice: Dice) -> Claim:
        """A likely claim that fits what was heard."""
        known = list(dict.fromkeys(d for claim in heard for d in _descriptions(claim)))
        for _ in range(4):
            claim = _guess(known, dice)
            if claim not in heard and not _contradicts(claim, heard):
                return claim
        return ("some", _new_object(known, dice))


def mirrored(claim: Claim) -> Claim:
    """The same relation, said of the other object."""
    return ("relation", claim[3], OPPOSITE[claim[2]], claim[1])


def _some(description: Description, known: Sequence[Description]) -> float:
    chance = 1 - (1 - share(description)) ** _TYPICAL_OBJECTS
    for other in known:
        given = share(description, other)
        if given > chance:
            chance = given
    return min(chance, KNOWN)


def _contradicts(claim: Claim, heard: Sequence[Claim]) -> bool:
    """Whether a guess is plainly at odds with what others said."""
    kind = claim[0]
    if kind == "relation":
        turned: Claim = ("relation", claim[1], OPPOSITE[claim[2]], claim[3])
        return turned in heard or mirrored(claim) in heard or mirrored(turned) in heard
    if kind in ("count", "end"):
        place = 1
        return any(other[0] == kind and other[place] == claim[place] for other in heard)
    if kind == "some":
        return any(other[0] == "count" and other[2] == 0 and share(other[1], claim[1]) == 1 for other in heard)
    return False


def _guess(known: Sequence[Description], dice: Dice) -> Claim:
    roll = dice.unit()
    if len(known) >= 2 and roll < 0.45:
        first = dice.below(len(known))
        second = (first + 1 + dice.below(len(known) - 1)) % len(known)
        if share(known[first], known[second]) == 0:
            return ("relation", known[first], dice.pick(("left", "right", "front", "behind")), known[second])
    if known and roll < 0.75:
        # More about something that others have mentioned.
        description = list(dice.pick(known))
        open_slots = [slot for slot in (0, 2) if description[slot] is None]
        if open_slots:
            slot = dice.pick(open_slots)
            description[slot] = dice.pick(_VALUES[slot])
            return ("some", tuple(description))
        return ("end", dice.pick(("left", "right", "front", "behind")), tuple(description))
    if roll < 0.85:
        return ("count", ANYTHING, max(4, min(6, len(known) + dice.below(2))) if known else 4 + dice.below(3))
    return ("some", _new_object(known, dice))


def _new_object(known: Sequence[Description], dice: Dice) -> Description:
    size, material, shape = dice.pick(SIZES), dice.pick(MATERIALS), dice.pick(SHAPES)
    return (size, None, None, shape) if dice.unit() < 0.5 else (None, None, material, shape)


@lru_cache(maxsize=65_536)
def _read(text: str) -> tuple[Claim, ...]:
    items = _items(_WORD.findall(text.casefold()))
    kinds = [item.kind for item in items]
    if "end" in kinds:
        place = kinds.index("end")
        things = [*items[place + 1 :], *reversed(items[:place])]
        for item in things:
            if item.kind == "thing" and item.description != ANYTHING:
                return (("end", items[place].value, item.description),)
        return ()
    if "more" in kinds and "than" in kinds[kinds.index("more") :]:
        more, than = kinds.index("more"), kinds.index("than", kinds.index("more"))
        first = next((item.description for item in items[more:than] if item.kind == "thing"), ANYTHING)
        second = next((item.description for item in items[than:] if item.kind == "thing"), ANYTHING)
        return (("more", first, second),) if ANYTHING not in (first, second) else ()
    return _claims_of_objects(_with_predicates(items))


def _items(words: Sequence[str]) -> list[_Item]:
    items: list[_Item] = []
    attributes: list[str | None] = [None] * 4
    number: int | None = None
    open_ = False

    def close(noun: bool) -> None:
        nonlocal attributes, number, open_
        items.append(_Item("thing", "", tuple(attributes), number, noun))
        attributes, number, open_ = [None] * 4, None, False

    for index, word in enumerate(words):
        if word in _ATTRIBUTES:
            slot, value = _ATTRIBUTES[word]
            if attributes[slot] is not None:
                close(noun=False)
            attributes[slot] = value
            open_ = True
            if slot == 3:
                close(noun=True)
            continue
        if word in _NOUNS or (word == "one" and open_):
            close(noun=True)
            continue
        if open_:
            close(noun=False)
        if word in _NUMBERS:
            number = _NUMBERS.index(word)
        elif word.isdecimal() and len(word) <= 2:
            number = int(word)
        elif word in _NONE_WORDS:
            number = 0
        elif word in ("least", "most", "a", "an", "the"):
            number = None
        elif word in _ENDS:
            side = _ENDS[word]
            if side == "behind":
                side = next((w for w in words[index + 1 : index + 4] if w in ("left", "right", "front")), side)
            items.append(_Item("end", side))
        elif word in _RELATIONS and not (items and items[-1].kind == "end" and items[-1].value == word):
            items.append(_Item("relation", _RELATIONS[word]))
        elif word in ("is", "are", "looks", "s"):
            items.append(_Item("is"))
        elif word in ("more", "than"):
            items.append(_Item(word))
    if open_:
        close(noun=False)
    return items


def _with_predicates(items: Sequence[_Item]) -> list[_Item]:
    """A subject and its predicate, as in "the cube is red", as one description."""
    merged: list[_Item] = []
    for item in items:
        if (
            item.kind == "thing"
            and not item.noun
            and len(merged) >= 2
            and merged[-1].kind == "is"
            and merged[-2].kind == "thing"
            and all(a is None or b is None for a, b in zip(item.description, merged[-2].description, strict=True))
        ):
            subject = merged[-2]
            both = tuple(a or b for a, b in zip(subject.description, item.description, strict=True))
            merged[-2:] = [subject._replace(description=both)]
        else:
            merged.append(item)
    return [item for item in merged if item.kind in ("thing", "relation")]


def _claims_of_objects(items: Sequence[_Item]) -> tuple[Claim, ...]:
    claims: list[Claim] = []
    things = [item for item in items if item.kind == "thing"]
    if len(things) >= 2 and items[0].kind == "relation" and items[1].kind == "thing":
        first, second = things[1].description, things[0].description
        if ANYTHING not in (first, second):
            return (("relation", first, items[0].value, second),)
    index = 0
    while index < len(items):
        item = items[index]
        index += 1
        if item.kind != "thing":
            continue
        if index + 1 < len(items) and items[index].kind == "relation" and items[index + 1].kind == "thing":
            other = items[index + 1].description
            if ANYTHING not in (item.description, other):
                claims.append(("relation", item.description, items[index].value, other))
                index += 2
                continue
        if item.number is not None:
            claims.append(("count", item.description, item.number))
        elif item.description != ANYTHING:
            claims.append(("some", item.description))
    return tuple(dict.fromkeys(claims))


def _count_texts(description: Description, number: int) -> tuple[str, ...]:
    if number == 0:
        return (f"There is no {describe(description)}.", f"I see no {describe(description, plural=True)} at all.")
    word = _NUMBERS[number] if number < len(_NUMBERS) else str(number)
    things = describe(description, plural=number != 1)
    if description == ANYTHING:
        things = "object" if number == 1 else "objects"
    return (f"There {'is' if number == 1 else 'are'} exactly {word} {things}.", f"I count {word} {things}.")


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]


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
        self.facts = mixed_deck(
            [
                (3, [claim for claim in self._existence() if claim[1] != ANYTHING]),
                (4, list(self._relations())),
                (2, [("end", side, d) for side in OPPOSITE for d in self._at_end(side)]),
                (2, list(self._counts())),
                (1, list(self._comparisons())),
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
        places = self._ordered(side)
        if not places:
            return 0.5
        furthest = places[0][0]
        for place, thing in places:
            if share(description, thing) == 1:
                return 1.0 if place == furthest else 0.5 if furthest - place < _CLEAR_MARGIN else 0.0
        return 0.0

    def _relation_fits(self, first: Description, side: str, second: Description) -> float:
        places = self._ordered(side)
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
                claims[("some", description)] = None
        return list(claims)

    def _relations(self) -> list[Claim]:
        names = [self._name(thing.description) for thing in self._objects]
        claims: dict[Claim, None] = {}
        for first in names:
            for second in names:
                for side in OPPOSITE:
                    if ANYTHING not in (first, second) and share(first, second) == 0:
                        # Where several objects have one name, only what is true of all of them is worth saying.
                        turned = self._relation_fits(first, OPPOSITE[side], second)
                        if turned == 0 and self._relation_fits(first, side, second) == 1:
                            claims[("relation", first, side, second)] = None
        return list(claims)

    def _at_end(self, side: str) -> list[Description]:
        places = self._ordered(side)
        if not places or (len(places) > 1 and places[0][0] - places[1][0] < _CLEAR_MARGIN):
            return []
        size, colour, material, shape = places[0][1]
        short: Description = (None, colour, None, shape)
        options: list[Description] = [short, (size, None, material, shape)]
        return [description for description in options if description != ANYTHING]

    def _counts(self) -> list[Claim]:
        singles: list[Description] = [
            tuple(value if slot == place else None for place in range(4))
            for slot, values in enumerate(_VALUES)
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
                tuple(value if slot == place else None for place in range(4)) for value in _VALUES[slot]
            ]
            claims.extend(("more", a, b) for a in options for b in options if self._count(a) > self._count(b) > 0)
        return claims

    def _name(self, description: Description) -> Description:
        """The shortest description of an object that a person would use."""
        return (None, description[1], None, description[3])


def _read_object(entry: Mapping[str, Any]) -> _Object:
    values = [
        _ATTRIBUTES.get(str(entry.get(key, "")).casefold(), (slot, None))
        for slot, key in enumerate(("size", "color", "material", "shape"))
    ]
    description = tuple(value if slot == place else None for place, (slot, value) in enumerate(values))
    coords = entry.get("pixel_coords")
    x, y = (float(coords[0]), float(coords[1])) if coords is not None and len(coords) >= 2 else (None, None)
    return _Object(description, x, y)


SCENE_LANGUAGE = SceneLanguage()
