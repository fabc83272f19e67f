"""Scripted players' view of any image: colours by region, brightness, detail, proportions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from PIL import Image

from visionzero.players.scripted_language import KNOWN, Claim, Dice, Language, Listener, Sight, capital, mixed_deck

COLOURS = ("black", "gray", "white", "red", "orange", "brown", "yellow", "green", "turquoise", "blue", "purple", "pink")
WHOLE = "picture"
_SMALL = 48
# People speak of what stands out: a colour that fills less of the picture than this.
_RARE = 0.12
# Rows and columns of the thumbnail that a region covers, in thirds: top, bottom, left, right.
_THIRDS = {
    "top left": (0, 1, 0, 1), "top centre": (0, 1, 1, 2), "top right": (0, 1, 2, 3),
    "middle left": (1, 2, 0, 1), "centre": (1, 2, 1, 2), "middle right": (1, 2, 2, 3),
    "bottom left": (2, 3, 0, 1), "bottom centre": (2, 3, 1, 2), "bottom right": (2, 3, 2, 3),
}  # fmt: skip
_HALVES = {
    "upper half": (0, 3, 0, 6),
    "lower half": (3, 6, 0, 6),
    "left half": (0, 6, 0, 3),
    "right half": (0, 6, 3, 6),
}
REGIONS = (*_THIRDS, *_HALVES, WHOLE)

_WORD = re.compile(r"[a-z]+")
_COLOUR_WORDS = {colour: colour for colour in COLOURS} | {
    "grey": "gray", "silver": "gray", "dark": "black", "cyan": "turquoise", "teal": "turquoise", "violet": "purple",
    "golden": "yellow", "gold": "yellow", "beige": "brown", "tan": "brown", "magenta": "pink", "navy": "blue",
    "crimson": "red", "scarlet": "red", "greenish": "green", "blueish": "blue", "bluish": "blue", "reddish": "red",
    "brownish": "brown", "yellowish": "yellow", "whitish": "white", "grayish": "gray", "greyish": "gray",
}  # fmt: skip
# Most pictures have none of these.
_SELDOM = ("turquoise", "purple", "pink")
_VERTICAL = {"top": "top", "upper": "top", "above": "top", "bottom": "bottom", "lower": "bottom", "below": "bottom"}
_CENTRE = frozenset(["centre", "center", "middle", "central"])
_NOTHING = frozenset(["no", "hardly", "without", "barely", "little"])


class PixelLanguage(Language):
    """Sentences about what fills an image.

    Claims: `("mostly", region, colour)`, `("some", region, colour)`, `("none", colour)`, `("brighter", region, region)`,
    `("finer", region, region)`, `("format", "wide" | "tall" | "square")`, `("tone", "dark" | "bright")`,
    `("colours", "strong" | "muted")`.
    """

    def say(self, claim: Claim) -> tuple[str, ...]:
        """Every wording of a claim."""
        kind, *rest = claim
        key = f"{kind} {rest[0]}" if kind in ("format", "tone", "colours") else str(kind)
        return tuple(capital(text.format(*rest)) for text in _TEXTS[key])

    def read(self, text: str) -> tuple[Claim, ...]:
        """The claims in any text."""
        return _read(text)

    def listener(self, claims: Iterable[Claim] = ()) -> Listener:
        """Somebody who has heard `claims`."""
        return PixelListener(claims)


class PixelListener(Listener):
    """Somebody who knows of an image what others told, and its format, which the blank image has too."""

    def chance(self, claim: Claim) -> float:
        """How likely a listener would be to be right with a claim."""
        if claim in self.said or claim[0] == "format":
            return KNOWN
        kind = claim[0]
        if kind in ("mostly", "some"):
            return self._colour_chance(claim)
        if kind in ("brighter", "finer"):
            return 0.05 if (kind, claim[2], claim[1]) in self.said else 0.5
        return 0.85 if kind == "none" and claim[1] in _SELDOM else 0.5

    def guess(self, dice: Dice) -> Claim:
        """A likely claim that fits what was heard."""
        colours = [claim[2] for claim in self.said if claim[0] in ("mostly", "some")]
        for _ in range(6):
            claim = _guess(colours, dice)
            if claim not in self.said and not self._contradicts(claim):
                return claim
        return ("brighter", "upper half", "lower half")

    def _colour_chance(self, claim: Claim) -> float:
        kind, region, colour = claim
        mostly = kind == "mostly"
        chance = 0.15 if mostly else 0.35
        for other in self.said:
            if other[0] not in ("mostly", "some"):
                continue
            if other[2] == colour:
                whole, near = other[1] == WHOLE, WHOLE in (other[1], region)
                if other[0] == "mostly":
                    here = (0.8 if whole else 0.45) if mostly else KNOWN if near else 0.7
                else:
                    here = 0.3 if mostly else 0.55
                chance = max(chance, here)
            elif mostly and other[0] == "mostly" and other[1] == region:
                chance = min(chance, 0.05)
        return chance

    def _contradicts(self, claim: Claim) -> bool:
        """Whether a guess is plainly at odds with what others said."""
        kind = claim[0]
        if kind in ("brighter", "finer"):
            return (kind, claim[2], claim[1]) in self.said
        if kind in ("mostly", "some"):
            taken = kind == "mostly" and any(other[:2] == claim[:2] for other in self.said)
            return taken or ("none", claim[2]) in self.said
        return any(other[0] in ("mostly", "some") and other[2] == claim[1] for other in self.said)


_TEXTS = {
    "mostly": ("the {0} is mostly {1}.", "{1} fills most of the {0}."),
    "some": ("there is some {1} in the {0}.", "I can see {1} in the {0}."),
    "none": ("there is hardly any {0}.", "I see no {0} at all."),
    "brighter": ("the {0} is brighter than the {1}.", "the {0} is lighter than the {1}."),
    "finer": ("the {0} has more fine detail than the {1}.", "the {0} is busier than the {1}."),
    "format wide": ("the picture is wider than it is tall.",),
    "format tall": ("the picture is taller than it is wide.",),
    "format square": ("the picture is about square.",),
    "tone dark": ("overall the picture is rather dark.",),
    "tone bright": ("overall the picture is rather bright.",),
    "colours strong": ("the colours are strong.", "the colours are vivid."),
    "colours muted": ("the colours are muted.", "the colours are pale or dull."),
}


def _guess(colours: Sequence[Any], dice: Dice) -> Claim:
    roll = dice.unit()
    if colours and roll < 0.4:
        return ("some", dice.pick(tuple(_THIRDS)), dice.pick(colours))
    if colours and roll < 0.5:
        return ("mostly", dice.pick(tuple(_THIRDS)), dice.pick(colours))
    if roll < 0.65:
        # Light mostly comes from above.
        return ("brighter", dice.pick(("upper half", "top left", "top centre", "top right")), "lower half")
    if roll < 0.75:
        return ("finer", "centre", dice.pick(("top left", "top right", "upper half", "bottom left")))
    if roll < 0.88:
        return ("some", dice.pick(tuple(_THIRDS)), dice.pick(("brown", "gray", "black")))
    return ("none", dice.pick(("red", "orange", "yellow", "green", *_SELDOM)))


@lru_cache(maxsize=65_536)
def _read(text: str) -> tuple[Claim, ...]:
    words = _WORD.findall(text.casefold())
    said = set(words)
    regions = _regions(words)
    colours = list(dict.fromkeys(_COLOUR_WORDS[word] for word in words if word in _COLOUR_WORDS))
    where = regions[0] if regions else WHOLE
    if "than" in said:
        return _comparison(words, said, regions)
    if said & {"square", "portrait", "landscape", "panorama"} and not colours:
        return (("format", "square" if "square" in said else "tall" if "portrait" in said else "wide"),)
    if "colours" in said or "colors" in said:
        if said & {"strong", "vivid", "bright", "saturated", "colourful", "colorful"}:
            return (("colours", "strong"),)
        if said & {"muted", "pale", "dull", "faded"}:
            return (("colours", "muted"),)
    if where == WHOLE and said & {"overall", "picture", "photo", "image", "scene"} and said & {"dark", "bright"}:
        tone = "dark" if "dark" in said else "bright"
        if not set(colours) - {"black"}:
            return (("tone", tone),)
    if said & _NOTHING and not regions:
        return tuple(("none", colour) for colour in colours)
    kind = "mostly" if said & {"mostly", "mainly", "dominates", "dominated", "entirely", "almost", "fills"} else "some"
    return tuple((kind, where, colour) for colour in colours)


def _comparison(words: Sequence[str], said: set[str], regions: Sequence[str]) -> tuple[Claim, ...]:
    if said & {"wider", "taller"}:
        return (("format", "wide" if "wider" in said else "tall"),)
    if len(regions) < 2:
        return ()
    first, second = regions[:2]
    if said & {"brighter", "lighter"}:
        return (("brighter", first, second),)
    if "darker" in said:
        return (("brighter", second, first),)
    if said & {"busier", "detail", "detailed", "textured", "sharper"}:
        return (("finer", first, second),)
    if said & {"smoother", "plainer", "calmer", "blurrier"}:
        return (("finer", second, first),)
    return ()


def _regions(words: Sequence[str]) -> list[str]:
    """The regions that a text names, in order."""
    regions: list[str] = []
    index = 0
    while index < len(words):
        word, following = words[index], words[index + 1] if index + 1 < len(words) else ""
        index += 1
        if word in _VERTICAL:
            vertical = _VERTICAL[word]
            if following in ("left", "right"):
                regions.append(f"{vertical} {following}")
                index += 1
            elif following in _CENTRE:
                regions.append(f"{vertical} centre")
                index += 1
            else:
                regions.append("upper half" if vertical == "top" else "lower half")
        elif word in ("left", "right"):
            regions.append(f"{word} half")
        elif word in _CENTRE and following in ("left", "right"):
            regions.append(f"middle {following}")
            index += 1
        elif word in _CENTRE:
            regions.append("centre")
        elif word == "whole":
            regions.append(WHOLE)
    return regions


class PixelSight(Sight):
    """An image as a player sees it who knows colours and light but not things.

    Args:
        image: RGB image of any size.
        scene: What else is known about it; not used.
    """

    def __init__(self, image: Image.Image, scene: Any = None) -> None:
        super().__init__(scene, PIXEL_LANGUAGE)
        pixels = np.asarray(image.resize((_SMALL, _SMALL), Image.Resampling.BOX, reducing_gap=2.0), dtype=np.float32)
        names = colour_names(pixels)
        luma = pixels @ np.array([0.299, 0.587, 0.114], dtype=np.float32)
        detail = _detail(luma)
        self._shares: dict[str, dict[str, float]] = {}
        self._luma: dict[str, float] = {}
        self._detail: dict[str, float] = {}
        for region in REGIONS:
            where = _slices(region)
            counts = np.bincount(names[where].ravel(), minlength=len(COLOURS))
            self._shares[region] = dict(zip(COLOURS, (counts / counts.sum()).tolist(), strict=True))
            self._luma[region] = float(luma[where].mean())
            self._detail[region] = float(detail[where].mean())
        self._chroma = float((pixels.max(-1) - pixels.min(-1)).mean())
        self._ratio = image.width / image.height
        self.facts = mixed_deck(self._groups())

    def fits(self, claim: Claim) -> float:
        """How far a claim is true."""
        kind, *rest = claim
        if kind == "mostly":
            return _soft(self._shares[rest[0]][rest[1]], 0.2, 0.5)
        if kind == "some":
            return _soft(self._shares[rest[0]][rest[1]], 0.0, 0.06)
        if kind == "none":
            return 1.0 - _soft(self._shares[WHOLE][rest[0]], 0.01, 0.06)
        if kind == "brighter":
            return _soft(self._luma[rest[0]] - self._luma[rest[1]], -8.0, 8.0)
        if kind == "finer":
            return _soft(self._detail[rest[0]] / (self._detail[rest[1]] + 0.1), 0.8, 1.25)
        if kind == "format":
            return self._format(rest[0])
        if kind == "tone":
            bright = _soft(self._luma[WHOLE], 80.0, 150.0)
            return bright if rest[0] == "bright" else 1.0 - bright
        strong = _soft(self._chroma, 25.0, 70.0)
        return strong if rest[0] == "strong" else 1.0 - strong

    def _format(self, name: Any) -> float:
        if name == "square":
            return float(0.85 < self._ratio < 1.18)
        return float(self._ratio > 1.02 if name == "wide" else self._ratio < 0.98)

    def _groups(self) -> list[tuple[int, list[Claim]]]:
        places = [*_THIRDS, *_HALVES]
        mostly: list[Claim] = [("mostly", region, colour) for region in places for colour in COLOURS]
        some: list[Claim] = [("some", region, colour) for region in _THIRDS for colour in COLOURS]
        striking = [claim for claim in some if self._shares[WHOLE][claim[2]] < _RARE]
        brighter: list[Claim] = [("brighter", a, b) for a in places for b in places if a != b]
        finer: list[Claim] = [("finer", a, b) for a in places for b in places if a != b]
        overall: list[Claim] = [("none", colour) for colour in COLOURS[3:]]
        overall += [("tone", "dark"), ("tone", "bright"), ("colours", "strong"), ("colours", "muted")]
        overall += [("mostly", WHOLE, colour) for colour in COLOURS]
        groups = [(3, mostly), (2, some), (5, striking), (2, brighter), (2, finer), (1, overall)]
        return [(weight, [claim for claim in claims if self.fits(claim) >= 0.95]) for weight, claims in groups]


def colour_names(pixels: np.ndarray) -> np.ndarray:
    """The name of every pixel's colour.

    Args:
        pixels: RGB, float, (..., 3), 0 to 255.

    Returns:
        Indices into `COLOURS`, (...).
    """
    red, green, blue = pixels[..., 0], pixels[..., 1], pixels[..., 2]
    high, low = pixels.max(-1), pixels.min(-1)
    chroma = high - low
    safe = np.maximum(chroma, 1e-6)
    hue = np.where(
        high == red,
        (green - blue) / safe % 6,
        np.where(high == green, (blue - red) / safe + 2, (red - green) / safe + 4),
    )
    degrees = hue * 60
    index = {colour: place for place, colour in enumerate(COLOURS)}
    hues = np.array(
        [index[c] for c in ("red", "orange", "yellow", "green", "turquoise", "blue", "purple", "pink", "red")]
    )
    names = hues[np.searchsorted([14, 42, 68, 165, 195, 255, 290, 340], degrees)]
    warm = (degrees < 50) | (degrees > 345)
    names = np.where(warm & (high < 170) & (chroma > 0) & (names != index["red"]), index["brown"], names)
    names = np.where(warm & (high < 110), index["brown"], names)
    dull = chroma < 0.16 * high + 10
    greys = np.where(high < 60, index["black"], np.where(high > 205, index["white"], index["gray"]))
    return np.where(dull, greys, np.where(high < 45, index["black"], names))


def _detail(luma: np.ndarray) -> np.ndarray:
    """How much neighbouring pixels differ, in grey levels."""
    down = np.abs(np.diff(luma, axis=0, append=luma[-1:]))
    across = np.abs(np.diff(luma, axis=1, append=luma[:, -1:]))
    return down + across


def _slices(region: str) -> tuple[slice, slice]:
    if region == WHOLE:
        return slice(None), slice(None)
    parts, box = (3, _THIRDS[region]) if region in _THIRDS else (6, _HALVES[region])
    top, bottom, left, right = (edge * _SMALL // parts for edge in box)
    return slice(top, bottom), slice(left, right)


def _soft(value: float, low: float, high: float) -> float:
    """0 up to `low`, 1 from `high` on, a straight line between."""
    return min(1.0, max(0.0, (value - low) / (high - low)))


PIXEL_LANGUAGE = PixelLanguage()
