"""What the small model is taught: to name every object of a scene, to answer questions about it, and to play plainly.

All lessons come from scene graphs. Self-play is left to find out what wins: the teacher's spy now repeats and now
invents, and its voters trust every clue that is true.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from PIL import Image

from visionzero.games import SpyConfig, SpyGame, SpyTurn, derive_seed
from visionzero.games.game import Message
from visionzero.images import ImagePair
from visionzero.images.clevr_layout import COLORS, MATERIALS, SHAPES, SIZES

GAME_RULES = SpyConfig(prompts="compact", own_reasoning_memory=False)
"""Rules of the games in the lessons: the paper's seats and rounds, short prompts."""

DESCRIBE = "Name every object."
_ATTRIBUTES = ("size", "color", "material", "shape")


@dataclass(frozen=True)
class Lesson:
    """One question and its answer.

    Attributes:
        messages: The chat, with an image.
        target: What to answer.
        task: `"describe"`, `"ask"`, `"clue"` or `"vote"`.
    """

    messages: tuple[Message, ...]
    target: str
    task: str


def phrase(thing: Mapping[str, Any], attributes: Sequence[str] = _ATTRIBUTES) -> str:
    """An object in words: "small red metal cube"; "object" where the shape is left out."""
    words = [str(thing[name]) for name in _ATTRIBUTES if name in attributes]
    return " ".join(words if "shape" in attributes else [*words, "object"])


def holds(words: str, scene: Mapping[str, Any]) -> bool:
    """Whether some object of the scene has every attribute that the words name."""
    named = set(words.lower().replace(".", " ").split())
    known = set(COLORS) | set(MATERIALS) | set(SHAPES) | set(SIZES)
    wanted = named & known
    return any(wanted <= {str(thing[name]) for name in _ATTRIBUTES} for thing in scene["objects"])


def describe_lesson(image: Image.Image, scene: Mapping[str, Any]) -> Lesson:
    """Name every object, colour by colour in a fixed order.

    The order is one that can be found by looking for one colour after the other: a model learns to see far sooner than
    with objects named from left to right, for which it has to place them all first.
    """
    rank = {color: place for place, color in enumerate(COLORS)}
    things = sorted(
        scene["objects"], key=lambda thing: (rank[thing["color"]], thing["shape"], thing["pixel_coords"][0])
    )
    named = (f"{thing['color']} {thing['shape']} {thing['material']} {thing['size']}" for thing in things)
    return Lesson(_ask(image, DESCRIBE), ", ".join(named), "describe")


def question_lesson(image: Image.Image, scene: Mapping[str, Any], rng: np.random.Generator) -> Lesson:
    """Is there such an object? As often yes as no."""
    attributes = (("color",), ("color", "shape"), ("color", "shape"), _ATTRIBUTES)[rng.integers(4)]
    wanted = bool(rng.integers(2))
    return presence_lesson(image, scene, attributes, wanted, rng)


def presence_lesson(
    image: Image.Image, scene: Mapping[str, Any], attributes: Sequence[str], present: bool, rng: np.random.Generator
) -> Lesson:
    """A question about an object with these attributes that is, or is not, in the scene."""
    if present:
        words = phrase(scene["objects"][rng.integers(len(scene["objects"]))], attributes)
    else:
        words = phrase(invented(scene, attributes, rng), attributes)
    return Lesson(_ask(image, f"Is there a {words}?"), "yes" if present else "no", "ask")


def invented(scene: Mapping[str, Any], attributes: Sequence[str], rng: np.random.Generator) -> dict[str, str]:
    """An object that the scene does not hold, as far as `attributes` tell; half of them differ in one attribute only."""
    while True:
        if rng.integers(2):
            thing = {name: str(scene["objects"][rng.integers(len(scene["objects"]))][name]) for name in _ATTRIBUTES}
            name = attributes[int(rng.integers(len(attributes)))]
            thing[name] = _random_object(rng)[name]
        else:
            thing = _random_object(rng)
        if not holds(phrase(thing, attributes), scene):
            return thing


def game_lessons(pair: ImagePair, seed: int) -> Iterator[Lesson]:
    """Every turn of one game on a scene, with the teacher's answers."""
    if pair.scene is None:
        raise ValueError(f"{pair.name} has no scene graph to teach from")
    rng = np.random.default_rng(derive_seed(seed, "teacher"))
    game = SpyGame(pair, GAME_RULES, seed=seed)
    while not game.done:
        for turn in game.pending():
            target = _clue(turn, rng) if turn.stage == "clue" else _vote(turn, pair.scene)
            yield Lesson(turn.messages, target, "clue" if turn.stage == "clue" else "vote")
            game.submit(turn, target)


def _clue(turn: SpyTurn, rng: np.random.Generator) -> str:
    said = [clue.text or "" for clue in turn.clues]
    attributes = (("color", "shape"), ("color", "material", "shape"), _ATTRIBUTES)[rng.integers(3)]
    if turn.role == "civilian":
        scene = turn.view.scene
        assert scene is not None
        things = scene["objects"]
        new = [thing for thing in things if not any(holds(text, {"objects": [thing]}) for text in said)]
        thing = (new or things)[rng.integers(len(new or things))]
    elif said and rng.integers(2):
        words = said[rng.integers(len(said))].removeprefix("There is a ").split()
        return _box(f"There is a {' '.join(words)}")
    else:
        thing = _random_object(rng)
    return _box(f"There is a {phrase(thing, attributes)}")


def _vote(turn: SpyTurn, scene: Mapping[str, Any]) -> str:
    """Check every player's clues, one after the other, then name the one whose clues are wrong."""
    wrong = {
        player: any(not holds(clue.text or "", scene) for clue in turn.clues if clue.player == player)
        for player in range(1, turn.config.num_players + 1)
    }
    checks = " ".join(f"{player} {'no' if bad else 'yes'}" for player, bad in wrong.items())
    suspects = [player for player, bad in wrong.items() if bad and player != turn.player]
    return f"{checks} \\boxed{{{suspects[0] if suspects else 'n/a'}}}"


def _random_object(rng: np.random.Generator) -> dict[str, str]:
    choices = {"size": list(SIZES), "color": list(COLORS), "material": list(MATERIALS), "shape": list(SHAPES)}
    return {name: values[rng.integers(len(values))] for name, values in choices.items()}


def _ask(image: Image.Image, text: str) -> tuple[Message, ...]:
    return ({"role": "user", "content": [{"type": "image", "image": image}, {"type": "text", "text": text}]},)


def _box(text: str) -> str:
    return f"\\boxed{{{text}}}"
