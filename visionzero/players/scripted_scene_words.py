"""The words in which scripted players speak of CLEVR scenes: descriptions of objects, sentences, and how they are read."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from visionzero.players.scripted_language import Claim, capital

Description: TypeAlias = tuple[str | None, ...]
"""Size, colour, material, shape; None leaves one open."""

SIZES = ("small", "large")
COLOURS = ("gray", "red", "blue", "green", "brown", "purple", "cyan", "yellow")
MATERIALS = ("rubber", "metal")
SHAPES = ("cube", "sphere", "cylinder")
VALUES = (SIZES, COLOURS, MATERIALS, SHAPES)
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

_WORD = re.compile(r"[a-z]+|\d+")
_SYNONYMS = {
    "tiny": "small", "little": "small", "big": "large", "huge": "large",
    "grey": "gray", "violet": "purple", "turquoise": "cyan", "teal": "cyan",
    "matte": "rubber", "rubbery": "rubber", "matt": "rubber", "metallic": "metal", "shiny": "metal", "reflective": "metal",
    "block": "cube", "box": "cube", "boxes": "cube", "ball": "sphere", "tube": "cylinder",
}  # fmt: skip
ATTRIBUTES: dict[str, tuple[int, str]] = {}
for _slot, _values in enumerate(VALUES):
    for _value in _values:
        ATTRIBUTES[_value] = (_slot, _value)
for _word, _value in _SYNONYMS.items():
    ATTRIBUTES[_word] = ATTRIBUTES[_value]
for _word, (_slot, _value) in list(ATTRIBUTES.items()):
    if _slot == 3:
        ATTRIBUTES[_word + "s"] = (_slot, _value)
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
    for wanted, given, values in zip(description, known, VALUES, strict=True):
        if wanted is None or wanted == given:
            continue
        if given is not None:
            return 0.0
        probability /= len(values)
    return probability


def say_scene_claim(claim: Claim) -> tuple[str, ...]:
    """Every wording of a claim about a scene."""
    kind = claim[0]
    if kind == "some":
        thing = _with_article(claim[1])
        return (f"There is {thing}.", f"I can see {thing}.", f"Somewhere in the scene is {thing}.")
    if kind == "count":
        return _count_texts(claim[1], claim[2])
    if kind == "relation":
        first, second = _with_article(claim[1]), _with_article(claim[3])
        place = _RELATION_TEXT[claim[2]]
        return (f"{capital(first)} is {place} {second}.", f"There is {first} {place} {second}.")
    if kind == "end":
        thing = _with_article(claim[2])
        return tuple(text.format(thing) for text in _END_TEXT[claim[1]])
    more, fewer = describe(claim[1], plural=True), describe(claim[2], plural=True)
    return (f"There are more {more} than {fewer}.", f"I see more {more} than {fewer}.")


def _count_texts(description: Description, number: int) -> tuple[str, ...]:
    if number == 0:
        return (f"There is no {describe(description)}.", f"I see no {describe(description, plural=True)} at all.")
    word = _NUMBERS[number] if number < len(_NUMBERS) else str(number)
    things = describe(description, plural=number != 1)
    if description == ANYTHING:
        things = "object" if number == 1 else "objects"
    return (f"There {'is' if number == 1 else 'are'} exactly {word} {things}.", f"I count {word} {things}.")


@lru_cache(maxsize=65_536)
def read_scene_claims(text: str) -> tuple[Claim, ...]:
    """The claims about objects in any text, in the order in which they stand there."""
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
        if word in ATTRIBUTES:
            slot, value = ATTRIBUTES[word]
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
