"""Scripted players understand what is said: each other's wordings as they were meant, and free text."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scripted_examples import SCENE, TABLE, photo

from visionzero.games.answers import read_clue
from visionzero.players.scripted_chart import CHART_LANGUAGE, ChartSight, clean_label, rounded
from visionzero.players.scripted_language import Dice, Language
from visionzero.players.scripted_pixels import COLOURS, PIXEL_LANGUAGE, REGIONS, WHOLE, PixelSight
from visionzero.players.scripted_scene import SCENE_LANGUAGE, SceneSight
from visionzero.players.scripted_scene_words import ANYTHING, VALUES

descriptions = st.tuples(*(st.sampled_from((None, *values)) for values in VALUES))
named_descriptions = descriptions.filter(lambda d: d != ANYTHING)
sides = st.sampled_from(["left", "right", "front", "behind"])
scene_claims = st.one_of(
    st.tuples(st.just("some"), named_descriptions),
    st.tuples(st.just("count"), descriptions, st.integers(0, 12)),
    st.tuples(st.just("relation"), named_descriptions, sides, named_descriptions),
    st.tuples(st.just("end"), sides, named_descriptions),
    st.tuples(st.just("more"), named_descriptions, named_descriptions),
)
labels = st.text(min_size=1, max_size=60).map(clean_label)
levels = st.floats(allow_nan=False, allow_infinity=False).map(rounded)
chart_claims = st.one_of(
    st.tuples(st.just("type"), st.sampled_from(["bar", "line", "pie"])),
    st.tuples(st.just("entries"), st.integers(1, 99)),
    st.tuples(st.sampled_from(["title", "label", "highest", "lowest"]), labels),
    st.tuples(st.just("higher"), labels, labels),
    st.tuples(st.sampled_from(["about", "above", "below"]), labels, levels),
    st.tuples(st.just("trend"), st.sampled_from(["up", "down"])),
)
regions, colours = st.sampled_from(REGIONS), st.sampled_from(COLOURS)
parts = regions.filter(lambda region: region != WHOLE)
pixel_claims = st.one_of(
    st.tuples(st.sampled_from(["mostly", "some"]), regions, colours),
    st.tuples(st.just("none"), colours),
    st.tuples(st.sampled_from(["brighter", "finer"]), parts, parts),
    st.tuples(st.just("format"), st.sampled_from(["wide", "tall", "square"])),
    st.tuples(st.just("tone"), st.sampled_from(["dark", "bright"])),
    st.tuples(st.just("colours"), st.sampled_from(["strong", "muted"])),
)


CLAIMS = {SCENE_LANGUAGE: scene_claims, CHART_LANGUAGE: chart_claims, PIXEL_LANGUAGE: pixel_claims}


@pytest.mark.parametrize("language", CLAIMS, ids=lambda language: type(language).__name__)
@given(data=st.data())
def test_every_wording_of_a_claim_is_read_as_that_claim(language: Language, data: st.DataObject) -> None:
    claim = data.draw(CLAIMS[language])
    for text in language.say(claim):
        assert language.read(text) == (claim,)
        assert language.read(text.upper() if language is not CHART_LANGUAGE else f" {text} ") == (claim,)
        assert read_clue(f"A thought. \\boxed{{{text}}}") == text


@pytest.mark.parametrize("claim", [("about", "a bar chart of 7 values", 3.0), ("highest", "lower than the title")])
def test_labels_are_not_read_as_words_of_the_clue(claim: tuple[Any, ...]) -> None:
    assert {CHART_LANGUAGE.read(text) for text in CHART_LANGUAGE.say(claim)} == {(claim,)}


@pytest.mark.parametrize(
    ("text", "claims"),
    [
        ("I see a shiny red ball next to two blue blocks", [("some", (None, "red", "metal", "sphere")), ("count", (None, "blue", None, "cube"), 2)]),
        ("The cube is red and big.", [("some", (None, "red", None, "cube")), ("some", ("large", None, None, None))]),
        ("To the left of the blue sphere there is a green cylinder", [("relation", (None, "green", None, "cylinder"), "left", (None, "blue", None, "sphere"))]),
        ("There are no yellow things", [("count", (None, "yellow", None, None), 0)]),
        ("Exactly 5 objects!", [("count", ANYTHING, 5)]),
        ("The rightmost thing is the small purple one", [("end", "right", ("small", "purple", None, None))]),
        ("More spheres than cubes", [("more", (None, None, None, "sphere"), (None, None, None, "cube"))]),
        ("I am a civilian, trust me", []),
        ("", []),
    ],
)  # fmt: skip
def test_free_text_about_scenes_is_understood(text: str, claims: list[Any]) -> None:
    assert list(SCENE_LANGUAGE.read(text)) == claims


@pytest.mark.parametrize(
    ("text", "fits"),
    [
        ("Oslo has the highest bar", 1.0),
        ("Rome is higher than Oslo", 0.0),
        ("cairo is below 5", 1.0),
        ("Lima is around 60", 0.0),
        ("It's a pie chart", 0.0),
        ("There are four values", 1.0),
        ('"Quito" has the lowest value', 0.0),
        ("The title mentions “rain”", 1.0),
        ("I like charts", 0.5),
    ],
)
def test_free_text_about_charts_is_compared_with_the_table(text: str, fits: float) -> None:
    assert ChartSight(TABLE).judge(text).fits == fits


@pytest.mark.parametrize(
    ("text", "claims"),
    [
        ("a lot of blue at the top left", [("some", "top left", "blue")]),
        ("A person in a reddish coat", [("some", "picture", "red")]),
        ("the bottom is darker than the top", [("brighter", "upper half", "lower half")]),
        ("the whole picture is almost black", [("mostly", "picture", "black")]),
        ("a cat", []),
    ],
)
def test_free_text_about_photos_is_understood(text: str, claims: list[Any]) -> None:
    assert list(PIXEL_LANGUAGE.read(text)) == claims


@given(st.text(max_size=300))
@settings(max_examples=200)
def test_any_text_can_be_heard_and_judged(text: str) -> None:
    for seen in (SceneSight(SCENE), ChartSight(TABLE), PixelSight(photo())):
        judgement = seen.judge(text)
        assert 0 <= judgement.fits <= 1
        listener = seen.language.listener(judgement.claims)
        for claim in judgement.claims:
            assert 0 < listener.chance(claim) < 1
        assert seen.language.read(seen.language.say(listener.guess(Dice(1)))[0])
