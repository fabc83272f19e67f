"""What a scripted player takes for true about a picture is true, whatever picture it is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from scripted_examples import SCENE, photo, random_scene, random_table

from visionzero.games import SpyConfig, SpyGame
from visionzero.images import EditedView, ImagePair
from visionzero.players import ScriptedPlayer
from visionzero.players.scripted_chart import ChartSight
from visionzero.players.scripted_pixels import COLOURS, PixelSight, colour_names
from visionzero.players.scripted_scene import SceneSight
from visionzero.rollout import rollout


@given(st.integers(0, 10_000))
@settings(max_examples=60)
def test_all_facts_of_scenes_and_charts_are_true(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for seen in (SceneSight(random_scene(rng)), ChartSight(random_table(rng))):
        assert seen.facts
        assert all(seen.fits(claim) == 1 for claim in seen.facts)


@given(st.integers(0, 10_000))
@settings(max_examples=30)
def test_facts_of_images_are_clearly_true(seed: int) -> None:
    seen = PixelSight(photo(seed))
    assert seen.facts
    assert all(seen.fits(claim) >= 0.95 for claim in seen.facts)


def test_a_scene_is_checked_object_by_object() -> None:
    seen = SceneSight(SCENE)
    red_cube, blue_sphere = (None, "red", None, "cube"), (None, "blue", None, "sphere")
    assert seen.fits(("some", ("large", "red", "metal", "cube"))) == 1
    assert seen.fits(("some", ("small", "red", None, None))) == 0
    assert seen.fits(("count", (None, None, None, "sphere"), 2)) == 1
    assert seen.fits(("count", (None, None, None, "sphere"), 3)) == 0
    assert seen.fits(("relation", red_cube, "left", blue_sphere)) == 1
    assert seen.fits(("relation", red_cube, "behind", blue_sphere)) == 0
    assert seen.fits(("end", "right", (None, "yellow", None, None))) == 1
    assert seen.fits(("end", "front", (None, None, None, "cube"))) == 0
    assert seen.fits(("more", (None, None, None, "sphere"), (None, None, None, "cube"))) == 1


def test_colours_are_named_as_people_name_them() -> None:
    samples = {
        (250, 250, 250): "white", (10, 10, 10): "black", (128, 128, 128): "gray", (220, 30, 30): "red",
        (250, 150, 20): "orange", (120, 75, 40): "brown", (240, 220, 40): "yellow", (40, 160, 60): "green",
        (50, 200, 200): "turquoise", (40, 80, 200): "blue", (130, 60, 200): "purple", (250, 120, 190): "pink",
    }  # fmt: skip
    named = colour_names(np.array(list(samples), dtype=np.float32))
    assert [COLOURS[index] for index in named] == list(samples.values())


@pytest.mark.parametrize("size", [(1, 1), (2, 1), (1, 400), (2000, 3), (48, 48)])
def test_images_of_any_size_can_be_played(size: tuple[int, int]) -> None:
    game = SpyGame(Image.new("RGB", size, (200, 30, 30)), SpyConfig(), seed=1)
    rollout([game], ScriptedPlayer())
    assert game.done
    assert game.outcome.unreadable_clues == 0


@pytest.mark.parametrize(
    ("kind", "scene"),
    [
        ("clevr", {"objects": []}),
        ("clevr", {"objects": [{"shape": "cone", "color": "beige"}, {"shape": "cube"}]}),
        ("clevr", {"objects": [{"shape": "cube", "color": "red", "size": "small", "material": "metal"}] * 3}),
        ("clevr", {"info": "no objects here"}),
        ("charts", {"type": "bar", "title": None, "labels": [], "values": []}),
        ("charts", {"type": "area", "labels": ["a", "a", "{b}\\", "", 7], "values": [1, 2, float("nan"), None, "3"]}),
        ("charts", {"type": "pie", "labels": ["only"], "values": [0]}),
        ("charts", None),
    ],
)
@pytest.mark.parametrize("spy_view", ["blank", "edited"])
def test_incomplete_scenes_can_be_played(kind: str, scene: Any, spy_view: str) -> None:
    image = photo()
    pair = ImagePair(image, kind=kind, scene=scene, edit=lambda: EditedView(photo(1), scene))  # type: ignore[arg-type]
    game = SpyGame(pair, SpyConfig(spy_view=spy_view), seed=3)  # type: ignore[arg-type]
    rollout([game], ScriptedPlayer(skill=0.5))
    assert game.done
    assert game.outcome.unreadable_clues == 0


def test_a_label_that_stands_for_two_values_is_not_spoken_of() -> None:
    seen = ChartSight({"type": "bar", "labels": ["a", "a", "b"], "values": [1.0, 9.0, 5.0]})
    assert not any("a" in claim[1:] for claim in seen.facts)
    assert ("entries", 3) in seen.facts
