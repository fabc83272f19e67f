"""Scenes, tables, boards and turns for the tests of the scripted players."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from PIL import Image

from visionzero.games import Clue, SpyConfig, SpyTurn
from visionzero.images import EditedView, ImagePair
from visionzero.players.scripted_scene_words import VALUES

BOXED = re.compile(r"\\boxed\{([^{}]*)\}$")


def thing(shape: str, colour: str, size: str, material: str, x: float, y: float) -> dict[str, Any]:
    return {"shape": shape, "color": colour, "size": size, "material": material, "pixel_coords": [x, y, 9.0]}


SCENE = {
    "objects": [
        thing("cube", "red", "large", "metal", 40, 100),
        thing("sphere", "blue", "small", "rubber", 100, 60),
        thing("cylinder", "green", "large", "rubber", 200, 140),
        thing("sphere", "yellow", "small", "metal", 260, 90),
    ]
}
TABLE = {
    "type": "bar",
    "title": "Rain by city",
    "labels": ["Oslo", "Rome", "Cairo", "Lima"],
    "values": [80.0, 60.0, 2.0, 10.0],
}


def random_scene(rng: np.random.Generator) -> dict[str, Any]:
    sizes, colours, materials, shapes = VALUES
    return {
        "objects": [
            thing(*(str(rng.choice(v)) for v in (shapes, colours, sizes, materials)), *rng.uniform(20, 220, 2))
            for _ in range(rng.integers(4, 7))
        ]
    }


def random_table(rng: np.random.Generator) -> dict[str, Any]:
    names = ["Oslo", "Rome", "Cairo", "Lima", "Quito", "Delhi", "Seoul", "Accra"]
    count = int(rng.integers(4, 9))
    return {
        "type": str(rng.choice(["bar", "line", "pie"])),
        "title": "Rain by city",
        "labels": [names[i] for i in rng.permutation(8)[:count]],
        "values": [round(float(v), 1) for v in rng.uniform(5, 100, count)],
    }


def boards(kind: str, count: int) -> list[ImagePair]:
    make = random_scene if kind == "clevr" else random_table
    return [
        ImagePair(Image.new("RGB", (32, 24)), kind=kind, scene=make(np.random.default_rng([7, index])))  # type: ignore[arg-type]
        for index in range(count)
    ]


def photo(seed: int = 0, size: tuple[int, int] = (60, 40)) -> Image.Image:
    """Some colours in some places, with some noise."""
    rng = np.random.default_rng(seed)
    coarse = Image.fromarray(rng.integers(0, 256, (3, 4, 3), dtype=np.uint8)).resize(size)
    noisy = np.asarray(coarse, dtype=np.int16) + rng.integers(-20, 20, (size[1], size[0], 3))
    return Image.fromarray(noisy.clip(0, 255).astype(np.uint8))


def clue_turn(
    texts: list[str | None],
    view: EditedView,
    *,
    kind: str = "clevr",
    role: str = "civilian",
    blank: bool = False,
    stage: str = "clue",
    player: int = 1,
    seed: int = 0,
    config: SpyConfig | None = None,
) -> SpyTurn:
    config = config or SpyConfig(clue_rounds=1)
    clues = tuple(
        Clue(place % config.num_players + 1, place // config.num_players + 1, text) for place, text in enumerate(texts)
    )
    return SpyTurn(
        game_seed=seed,
        index=len(texts),
        seat=player - 1,
        role=role,
        stage=stage,
        player=player,
        round=1,
        clues=clues,
        view=view,
        blank=blank,
        kind=kind,  # type: ignore[arg-type]
        config=config,
        own_answers=(),
    )


def scene_view(scene: dict[str, Any] | None = None) -> EditedView:
    return EditedView(Image.new("RGB", (32, 24)), SCENE if scene is None else scene)


def answer_of(text: str) -> str:
    found = BOXED.search(text)
    assert found is not None, text
    return found.group(1)
