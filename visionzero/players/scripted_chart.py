"""Scripted players' view of charts: a type, a title, labels, and a value for each label."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any

from visionzero.players.scripted_language import KNOWN, Claim, Dice, Language, Listener, Sight, mixed_deck

CHART_TYPES = ("bar", "line", "pie")
_MAX_LABEL = 40
_UNKNOWN_LABEL = 0.04
_CHANCES = {"type": 1 / len(CHART_TYPES), "trend": 0.5, "entries": 0.2, "title": _UNKNOWN_LABEL}
_CLOSE, _ROUGH = 0.06, 0.15

_QUOTED = re.compile(r"“([^”]*)”")
_STRAIGHT_QUOTED = re.compile(r'"([^"]*)"')
_NOT_IN_LABELS = re.compile(r"[\\{}“”\"<>]")
_WORD = re.compile(r"[a-z]+|@|[-+]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?")
_HIGHEST = frozenset(
    ["highest", "largest", "biggest", "maximum", "tallest", "peak", "peaks", "top", "most", "greatest"]
)
_LOWEST = frozenset(["lowest", "smallest", "minimum", "least", "shortest", "bottom"])
_HIGHER = frozenset(["higher", "greater", "larger", "more", "above", "beats", "exceeds", "over", "bigger", "taller"])
_LOWER = frozenset(["lower", "less", "smaller", "below", "under", "fewer", "behind", "shorter"])
_RISING = frozenset(["rise", "rises", "rising", "increase", "increases", "increasing", "grow", "grows", "upward"])
_FALLING = frozenset(["fall", "falls", "falling", "decrease", "decreases", "decreasing", "decline", "declines", "drop"])
_ENTRIES = frozenset(
    ["value", "values", "bars", "slices", "points", "categories", "labels", "entries", "columns", "segments"]
)
_NUMBER_WORDS = {word: n for n, word in enumerate(("two", "three", "four", "five", "six", "seven", "eight", "nine"), 2)}


def clean_label(label: object) -> str:
    """A label as players say it: one line, at most 40 characters, without quotes, brackets and LaTeX.

    Args:
        label: Any label.

    Returns:
        The text; `"?"` where nothing is left.
    """
    text = " ".join(_NOT_IN_LABELS.sub(" ", str(label)).split())
    text = "".join(char for char in text if char.isprintable())[:_MAX_LABEL].strip()
    return text or "?"


def rounded(value: float) -> float:
    """A value with two significant digits, as people say it."""
    short = float(f"{value:.1e}")
    return short if math.isfinite(short) else math.copysign(1.7e308, value)


def _spoken(value: float) -> str:
    if value and not 1e-4 <= abs(value) < 1e15:
        return f"{value:g}"
    return f"{value:,.0f}" if value.is_integer() else f"{value:,.8f}".rstrip("0")


class ChartLanguage(Language):
    """Sentences about tables of labelled values; labels stand in typographic quotes.

    Claims: `("type", t)`, `("entries", n)`, `("title", words)`, `("label", a)`, `("highest", a)`, `("lowest", a)`,
    `("higher", a, b)`, `("about", a, v)`, `("above", a, v)`, `("below", a, v)`, `("trend", "up" | "down")`.
    """

    def say(self, claim: Claim) -> tuple[str, ...]:
        """Every wording of a claim."""
        kind, *rest = claim
        return tuple(text.format(*map(_worded, rest)) for text in _TEXTS[_text_key(kind, rest)])

    def read(self, text: str) -> tuple[Claim, ...]:
        """The claims in any text."""
        return _read(text)

    def listener(self, claims: Iterable[Claim] = ()) -> Listener:
        """Somebody who has heard `claims`."""
        return ChartListener(claims)


class ChartListener(Listener):
    """Somebody who knows of a chart what others told."""

    def __init__(self, claims: Iterable[Claim] = ()) -> None:
        self._labels: dict[str, None] = {}
        super().__init__(claims)

    def hear(self, claim: Claim) -> None:
        """Take note of one more claim."""
        self.said[claim] = None
        for label in _labels(claim):
            self._labels[label] = None

    def chance(self, claim: Claim) -> float:
        """How likely a listener would be to be right with a claim."""
        if claim in self.said:
            return KNOWN
        kind = claim[0]
        if kind in _CHANCES:
            return _CHANCES[kind]
        for label in _labels(claim):
            if label not in self._labels:
                return _UNKNOWN_LABEL
        if kind in ("highest", "lowest"):
            return 1 / max(4, len(self._labels))
        return KNOWN if kind == "label" else 0.15 if kind == "about" else 0.5

    def guess(self, dice: Dice) -> Claim:
        """A likely claim that fits what was heard."""
        order = _Order(self.said)
        for _ in range(6):
            claim = self._guess(order, dice)
            if claim not in self.said and not self._contradicts(claim):
                return claim
        return ("trend", dice.pick(("up", "down")))

    def _guess(self, order: _Order, dice: Dice) -> Claim:
        labels, levels = list(self._labels), list(order.levels.values())
        roll = dice.unit()
        if len(labels) >= 2 and roll < 0.6:
            first, second = dice.pick(labels), dice.pick(labels)
            if first != second:
                return ("higher", second, first) if order.above(second, first) else ("higher", first, second)
        if labels and levels and roll < 0.8:
            label = dice.pick(labels)
            level = order.levels.get(label, dice.pick(levels))
            return ("above", label, rounded(level * (0.4 + 0.4 * dice.unit())))
        if labels and roll < 0.88:
            return (dice.pick(("highest", "lowest")), dice.pick(labels))
        if roll < 0.95:
            return ("type", dice.pick(("bar", "bar", "line", "pie")))
        return ("trend", dice.pick(("up", "down")))

    def _contradicts(self, claim: Claim) -> bool:
        """Whether a guess is plainly at odds with what others said."""
        kind = claim[0]
        if kind == "higher":
            return ("higher", claim[2], claim[1]) in self.said
        if kind in ("type", "entries", "trend"):
            return any(other[0] == kind for other in self.said)
        if kind in ("highest", "lowest"):
            beaten = 2 if kind == "highest" else 1
            opposite = ("lowest" if kind == "highest" else "highest", claim[1])
            return opposite in self.said or any(
                other[0] == kind or (other[0] == "higher" and other[beaten] == claim[1]) for other in self.said
            )
        return False


class _Order:
    """What claims say about which values are above which.

    Attributes:
        levels: A value near each label's, where somebody named one.
    """

    def __init__(self, claims: Iterable[Claim]) -> None:
        self.levels: dict[str, float] = {}
        self._pairs: set[tuple[str, str]] = set()
        self._extremes: dict[str, str] = {}
        for claim in claims:
            if claim[0] == "about":
                self.levels[claim[1]] = claim[2]
            elif claim[0] == "higher":
                self._pairs.add((claim[1], claim[2]))
            elif claim[0] in ("highest", "lowest"):
                self._extremes[claim[0]] = claim[1]

    def above(self, high: str, low: str) -> bool:
        """Whether it follows from the claims that the value of `high` is above that of `low`."""
        if self._extremes.get("highest") == high or self._extremes.get("lowest") == low:
            return True
        if high in self.levels and low in self.levels:
            return self.levels[high] > self.levels[low]
        return any(a == high and (b, low) in self._pairs for a, b in self._pairs)


_TEXTS: dict[str, tuple[str, ...]] = {
    "type": ("It is a {} chart.", "The values are drawn as a {} chart."),
    "entries": ("There are exactly {} values.", "I count {} values in the chart."),
    "title": ("The title says “{}”.", "“{}” is written in the title."),
    "label": ("One of the labels is “{}”.", "There is a label “{}”."),
    "highest": ("“{}” has the highest value.", "The highest value belongs to “{}”."),
    "lowest": ("“{}” has the lowest value.", "The lowest value belongs to “{}”."),
    "higher": ("“{}” is higher than “{}”.", "The value of “{}” exceeds that of “{}”."),
    "about": ("“{}” is at about {}.", "The value of “{}” is roughly {}."),
    "above": ("“{}” is above {}.", "The value of “{}” is more than {}."),
    "below": ("“{}” is below {}.", "The value of “{}” is less than {}."),
    "trend up": ("The last value is higher than the first.", "From the first to the last the values rise."),
    "trend down": ("The last value is lower than the first.", "From the first to the last the values fall."),
}


def _text_key(kind: Any, rest: Sequence[Any]) -> str:
    return f"trend {rest[0]}" if kind == "trend" else kind


def _worded(part: Any) -> str:
    return _spoken(part) if isinstance(part, float) else str(part)


def _labels(claim: Claim) -> tuple[str, ...]:
    """The labels that a claim names."""
    kind = claim[0]
    if kind == "higher":
        return claim[1:]
    return (claim[1],) if kind in ("label", "highest", "lowest", "about", "above", "below") else ()


@lru_cache(maxsize=65_536)
def _read(text: str) -> tuple[Claim, ...]:
    text = _STRAIGHT_QUOTED.sub(r"“\1”", text)
    labels = [clean_label(label) for label in _QUOTED.findall(text)]
    words = _WORD.findall(_QUOTED.sub(" @ ", text).casefold())
    said = set(words)
    claims: list[Claim] = [("type", kind) for kind in CHART_TYPES if _names_type(words, kind)]
    numbers = [number for word in words if (number := _number(word)) is not None]
    if "title" in said or "titled" in said:
        return (*claims, *(("title", label) for label in labels))
    if not labels:
        return (*claims, *_overall(words, said))
    first = labels[0]
    if len(labels) >= 2 and said & (_HIGHER | _LOWER):
        high, low = labels[:2] if said & _HIGHER else labels[1::-1]
        claims.append(("higher", high, low))
    elif numbers and said & (_HIGHER | _LOWER):
        claims.append(("above" if said & _HIGHER else "below", first, numbers[0]))
    elif numbers:
        claims.append(("about", first, numbers[0]))
    elif said & _HIGHEST:
        claims.append(("highest", first))
    elif said & _LOWEST:
        claims.append(("lowest", first))
    else:
        claims.extend(("label", label) for label in labels)
    return tuple(dict.fromkeys(claims))


def _names_type(words: Sequence[str], kind: str) -> bool:
    return any(
        first.rstrip("s") == kind and second.rstrip("s") in ("chart", "graph", "plot", "diagram")
        for first, second in pairwise(words)
    )


def _overall(words: Sequence[str], said: set[str]) -> list[Claim]:
    """Claims without a label: how many entries there are, and where the values go."""
    for word, following in pairwise(words):
        number = _NUMBER_WORDS.get(word, _number(word))
        if number is not None and following in _ENTRIES and float(number).is_integer():
            return [("entries", int(number))]
    ends = {"first", "last"} <= said
    if said & _RISING or (ends and said & _HIGHER):
        return [("trend", "up")]
    if said & _FALLING or (ends and said & _LOWER):
        return [("trend", "down")]
    return []


def _number(word: str) -> float | None:
    return float(word.replace(",", "")) if word[-1].isdecimal() else None


class ChartSight(Sight):
    """A chart's table as a player sees it.

    Args:
        scene: `{"type", "title", "labels", "values"}`; entries whose value is no finite number are left out.
    """

    def __init__(self, scene: Mapping[str, Any]) -> None:
        super().__init__(scene, CHART_LANGUAGE)
        self._type = str(scene.get("type", "")).casefold()
        self._title = " ".join(str(scene.get("title") or "").split())
        rows = [
            (clean_label(label), number)
            for label, value in zip(scene["labels"], scene["values"], strict=False)
            if (number := _finite(value)) is not None
        ]
        self._sequence = [value for _, value in rows]
        # A label that stands for two values says nothing about either.
        times = Counter(label for label, _ in rows)
        self._values = {label: value for label, value in rows if times[label] == 1}
        self._spread = max(map(abs, self._sequence), default=0.0)
        self._own_labels = _label_pattern(self._values)
        self.facts = mixed_deck(self._groups())

    def claims(self, text: str) -> tuple[Claim, ...]:
        """What a clue claims; own labels are found without quotes."""
        if self._own_labels is not None and "“" not in text and '"' not in text:
            text = self._own_labels.sub(r"“\g<0>”", text)
        return self.language.read(text)

    def fits(self, claim: Claim) -> float:
        """How far a claim is true."""
        kind, *rest = claim
        if kind == "type":
            return float(rest[0] == self._type)
        if kind == "title":
            return float(clean_label(rest[0]).casefold() in clean_label_text(self._title).casefold())
        if kind == "entries":
            return float(rest[0] == len(self._sequence))
        if kind == "trend":
            return float(self._rise() > 0 if rest[0] == "up" else self._rise() < 0)
        value = self._value(rest[0])
        if value is None:
            return 0.0
        if kind == "highest":
            return float(value == max(self._sequence))
        if kind == "lowest":
            return float(value == min(self._sequence))
        if kind == "higher":
            other = self._value(rest[1])
            return 0.0 if other is None else float(value > other)
        if kind == "above":
            return float(value > rest[1])
        if kind == "below":
            return float(value < rest[1])
        if kind == "about":
            off = abs(value - rest[1])
            return 1.0 if off <= _CLOSE * self._spread else 0.5 if off <= _ROUGH * self._spread else 0.0
        return 1.0

    def _rise(self) -> float:
        """How far the last value is above the first."""
        return self._sequence[-1] - self._sequence[0] if self._sequence else 0.0

    def _value(self, label: Any) -> float | None:
        value = self._values.get(label)
        if value is None:
            folded = str(label).casefold()
            value = next((v for own, v in self._values.items() if own.casefold() == folded), None)
        return value

    def _groups(self) -> list[tuple[int, list[Claim]]]:
        values = self._values
        if not values:
            return []
        # Differences that cannot be seen in a drawing are not worth a clue.
        gap = _CLOSE * self._spread
        order = sorted(self._sequence)
        extremes: list[Claim] = []
        if len(order) > 1:
            extremes += [("highest", a) for a, v in values.items() if v == order[-1] and v - order[-2] > gap]
            extremes += [("lowest", a) for a, v in values.items() if v == order[0] and order[1] - v > gap]
        higher: list[Claim] = [("higher", a, b) for a, v in values.items() for b, w in values.items() if v - w > gap]
        levels: list[Claim] = [("about", a, rounded(v)) for a, v in values.items()]
        for a, v in values.items():
            step = rounded(0.8 * v)
            if v - step > gap:
                levels.append(("above", a, step))
            elif step - v > gap:
                levels.append(("below", a, step))
        overall: list[Claim] = [("entries", len(self._sequence))]
        if self._type in CHART_TYPES:
            overall.append(("type", self._type))
        if self._title:
            overall.append(("title", clean_label(" ".join(self._title.split()[:4]))))
        if self._type != "pie" and abs(self._rise()) > gap:
            overall.append(("trend", "up" if self._rise() > 0 else "down"))
        return [(2, extremes), (4, higher), (3, levels), (1, overall), (1, [("label", a) for a in values])]


def clean_label_text(text: str) -> str:
    """A longer text with the same clean-up as `clean_label`, uncut."""
    return " ".join(_NOT_IN_LABELS.sub(" ", text).split())


def _finite(value: Any) -> float | None:
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None


def _label_pattern(labels: Mapping[str, float]) -> re.Pattern[str] | None:
    """Finds labels that a free text names without quotes; the longest first."""
    words = sorted((label for label in labels if len(label) > 1), key=len, reverse=True)
    if not words:
        return None
    return re.compile(r"(?<!\w)(?:" + "|".join(map(re.escape, words)) + r")(?!\w)", re.IGNORECASE)


CHART_LANGUAGE = ChartLanguage()
