"""Scripted players: what they say is true, what they hear is understood, and they see nothing that their seat cannot."""

from __future__ import annotations

import pickle
import re
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from PIL import Image

from visionzero.games import Clue, SpyConfig, SpyGame, SpyTurn, Turn
from visionzero.games.answers import read_clue
from visionzero.images import EditedView, ImagePair
from visionzero.players import Player, RandomPlayer, ScriptedPlayer
from visionzero.players.scripted import sight
from visionzero.players.scripted_chart import CHART_LANGUAGE, ChartSight, clean_label, rounded
from visionzero.players.scripted_language import Dice, Language
from visionzero.players.scripted_pixels import COLOURS, PIXEL_LANGUAGE, REGIONS, WHOLE, PixelSight, colour_names
from visionzero.players.scripted_scene import SCENE_LANGUAGE, SceneSight
from visionzero.players.scripted_scene_words import ANYTHING, VALUES
from visionzero.rollout import rollout

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


def civilians_win_rate(kind: str, player: Player, games: int = 300, **rules: Any) -> float:
    pairs = boards(kind, 60)
    episodes = rollout(
        [SpyGame(pairs[i % len(pairs)], SpyConfig(**rules), seed=i) for i in range(games)],
        player,
    )
    assert not [episode.error for episode in episodes if episode.error]
    assert all(e.game.outcome.invalid_votes == 0 and e.game.outcome.unreadable_clues == 0 for e in episodes)
    return sum(episode.game.outcome.winner == "civilians" for episode in episodes) / games


# What is said can be read again.

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


# What a sight takes for true is true.


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


# Speaking.


@pytest.mark.parametrize("kind", ["clevr", "charts"])
@given(seed=st.integers(0, 10_000))
@example(seed=47)
@settings(max_examples=25)
def test_what_civilians_say_is_true_and_new(kind: str, seed: int) -> None:
    pair = boards(kind, 5)[seed % 5]
    game = SpyGame(pair, SpyConfig(), seed=seed)
    rollout([game], ScriptedPlayer())
    seen = sight(EditedView(pair.civilian, pair.scene), pair.kind)
    said: list[Any] = []
    for clue in game.clues:
        assert clue.text is not None
        if clue.player != game.outcome.spy:
            judgement = seen.judge(clue.text)
            assert judgement.fits == 1
            assert len(judgement.claims) == 1
            assert judgement.claims[0] not in said
        said += seen.judge(clue.text).claims


def test_clues_of_a_table_are_varied() -> None:
    turns = [clue_turn([], scene_view(), seed=seed) for seed in range(200)]
    texts = {answer_of(ScriptedPlayer().answer(turn)) for turn in turns}
    assert len(texts) > 40


def test_answers_hold_a_thought_and_a_box() -> None:
    text = ScriptedPlayer().answer(clue_turn([], scene_view()))
    thought, _, _ = text.partition("\\boxed{")
    assert len(thought.split()) >= 4
    assert answer_of(text)


class Forbidden:
    """A view that must not be looked at."""

    def __init__(self, image: Image.Image) -> None:
        self.size = image.size

    @property
    def image(self) -> Image.Image:
        raise AssertionError("looked at the image")

    @property
    def scene(self) -> Any:
        raise AssertionError("looked at the scene")


@pytest.mark.parametrize("kind", ["clevr", "charts", "photos"])
def test_a_spy_with_a_blank_image_looks_at_nothing(kind: str) -> None:
    view: Any = Forbidden(photo())
    for seed in range(50):
        turn = clue_turn(
            ["A red cube is to the left of a blue sphere."], view, kind=kind, role="spy", blank=True, seed=seed
        )
        answer_of(ScriptedPlayer().answer(turn))


def test_what_a_blind_spy_says_depends_on_the_clues_alone() -> None:
    texts = ["There is a red cube.", "I count two spheres.", "A green cylinder is behind a red cube."]
    for seed in range(20):
        answers = set()
        for scene in (SCENE, random_scene(np.random.default_rng(seed))):
            pair = ImagePair(photo(seed), kind="clevr", scene=scene)
            game = SpyGame(pair, SpyConfig(clue_rounds=1), seed=seed, spy_seat=3)
            for text in texts:
                game.submit(game.pending()[0], f"\\boxed{{{text}}}")
            answers.add(ScriptedPlayer().answer(game.pending()[0]))
        assert len(answers) == 1


def test_a_blind_spy_builds_on_the_clues() -> None:
    heard = ["A purple cube is to the left of a cyan sphere.", "There is a small yellow cylinder."]
    mentioned = 0
    for seed in range(100):
        turn = clue_turn(heard, scene_view(), role="spy", blank=True, seed=seed)
        text = answer_of(ScriptedPlayer().answer(turn))
        assert text not in heard
        mentioned += any(colour in text for colour in ("purple", "cyan", "yellow"))
    assert mentioned > 60


def test_a_blind_spy_draws_conclusions_from_the_clues() -> None:
    a, b, c = "red cube", "blue sphere", "green cylinder"
    heard = [f"A {a} is to the left of a {b}.", f"A {b} is to the left of a {c}.", f"The leftmost object is a {a}."]
    told = [
        SCENE_LANGUAGE.read(answer_of(ScriptedPlayer().answer(clue_turn(heard, scene_view(), role="spy", blank=True, seed=s))))[0]
        for s in range(200)
    ]  # fmt: skip
    across = [claim for claim in told if claim[0] == "relation" and claim[2] in ("left", "right")]
    assert across
    order = [(None, "red", None, "cube"), (None, "blue", None, "sphere"), (None, "green", None, "cylinder")]
    for _, first, side, second in across:
        assert (order.index(first) < order.index(second)) == (side == "left")


@pytest.mark.parametrize(
    ("kind", "heard", "view"),
    [
        ("clevr", "The top left is mostly blue.", EditedView(photo())),
        ("charts", "There is some green in the centre.", EditedView(photo())),
    ],
)
def test_a_blind_spy_speaks_as_the_others_do(kind: str, heard: str, view: EditedView) -> None:
    turn = clue_turn([heard], view, kind=kind, role="spy", blank=True)
    assert PIXEL_LANGUAGE.read(answer_of(ScriptedPlayer().answer(turn)))


def test_a_spy_with_an_edited_view_avoids_what_the_others_contradict() -> None:
    edited = {"objects": [*SCENE["objects"][1:], thing("cube", "brown", "large", "metal", 40, 100)]}
    contradicted = ["The leftmost object is a red cube.", "A red cube is to the left of a blue sphere."]

    def texts(heard: list[str | None]) -> list[str]:
        rules = SpyConfig(spy_view="edited", clue_rounds=1)
        turns = [clue_turn(heard, scene_view(edited), role="spy", seed=seed, config=rules) for seed in range(100)]
        return [answer_of(ScriptedPlayer().answer(turn)) for turn in turns]

    assert any("left" in text for text in texts([]))
    assert not any("left" in text for text in texts([*contradicted]))
    assert all(SceneSight(edited).judge(text).fits == 1 for text in texts([*contradicted]))


# Voting.

TRUE_CLUES = [
    "A red cube is to the left of a blue sphere.",
    "The rightmost object is a yellow sphere.",
    "There is a large green rubber cylinder.",
    "A yellow sphere is behind a green cylinder.",
]


def ballot(texts: list[str | None], voter: int, **options: Any) -> str:
    turn = clue_turn(texts, scene_view(), stage="decision", player=voter, **options)
    return answer_of(ScriptedPlayer().answer(turn))


@pytest.mark.parametrize("liar", [1, 3, 5])
def test_voters_name_whoever_says_what_is_not_there(liar: int) -> None:
    texts: list[str | None] = list(TRUE_CLUES)
    texts.insert(liar - 1, "There is a small purple metal cylinder.")
    votes = {ballot(texts, voter, seed=seed) for voter in range(1, 6) if voter != liar for seed in range(10)}
    assert votes == {str(liar)}


def test_voters_rather_suspect_an_echo_than_somebody_with_news() -> None:
    texts: list[str | None] = [*TRUE_CLUES, "There is something red in the scene, a cube."]
    votes = [ballot(texts, 1 + seed % 4, seed=seed) for seed in range(100)]
    assert votes.count("5") > 50


def test_voters_rather_suspect_silence() -> None:
    votes = [ballot([*TRUE_CLUES, None], 1 + seed % 4, seed=seed) for seed in range(60)]
    assert votes.count("5") > 50


def test_voters_may_abstain_and_never_name_themselves() -> None:
    texts: list[str | None] = [TRUE_CLUES[0], *["I am a civilian."] * 4]
    votes = [ballot(texts, 2, seed=seed) for seed in range(300)]
    assert "n/a" in votes
    assert "2" not in votes


def test_an_observer_votes_too() -> None:
    config = SpyConfig(clue_rounds=1, voters="observer", votes_per_game=2)
    texts: list[str | None] = [*TRUE_CLUES, "There is a small purple metal cylinder."]
    assert ballot(texts, 6, config=config, role="observer") == "5"


def test_votes_quote_the_clue_they_are_based_on() -> None:
    texts: list[str | None] = [*TRUE_CLUES, "I see a {purple} \\boxed{3} cylinder."]
    turn = clue_turn(texts, scene_view(), stage="decision", player=1)
    assert answer_of(ScriptedPlayer().answer(turn)) == "5"


# The same turn, the same answer.


@given(st.sampled_from(["clevr", "charts"]), st.integers(0, 1000))
@settings(max_examples=20)
def test_an_answer_depends_on_the_turn_alone(kind: str, seed: int) -> None:
    pair = boards(kind, 3)[seed % 3]
    player = ScriptedPlayer(skill=0.8)
    (together,) = rollout([SpyGame(pair, SpyConfig(), seed=seed)], player)
    for turn, reply in reversed(together.replies.items()):
        fresh = ScriptedPlayer(skill=0.8)
        assert fresh.answer(pickle.loads(pickle.dumps(turn))) == reply.text
        assert player.answer(turn) == reply.text


def test_a_used_player_can_be_pickled() -> None:
    player = ScriptedPlayer(skill=0.9, name="Ada")
    (episode,) = rollout([SpyGame(boards("clevr", 1)[0], seed=4)], player)
    twin = pickle.loads(pickle.dumps(player))
    assert (twin.skill, twin.name) == (0.9, "Ada")
    assert all(twin.answer(turn) == reply.text for turn, reply in episode.replies.items())


def test_games_are_the_same_in_every_process() -> None:
    code = (
        "from PIL import Image; from visionzero.games import SpyGame; from visionzero.rollout import rollout;"
        "from visionzero.players import ScriptedPlayer; import sys;"
        "g = SpyGame(Image.linear_gradient('L').convert('RGB'), seed=5); rollout([g], ScriptedPlayer(0.7));"
        "print([p.text for p in g.history]); assert 'torch' not in sys.modules"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code], env={"PYTHONHASHSEED": hash_seed}, capture_output=True, text=True, check=True
        ).stdout
        for hash_seed in ("0", "17")
    }
    assert len(outputs) == 1


def test_an_image_is_looked_at_once_per_scene() -> None:
    image = photo()
    with_scene, without = EditedView(image, SCENE), EditedView(image)
    assert sight(with_scene, "clevr") is sight(with_scene, "clevr")
    assert isinstance(sight(without, "clevr"), PixelSight)
    assert isinstance(sight(with_scene, "clevr"), SceneSight)


# How strong they are.


@pytest.mark.parametrize("kind", ["clevr", "charts"])
def test_civilians_win_clearly_more_than_at_random_but_not_always(kind: str) -> None:
    random_rate = civilians_win_rate(kind, RandomPlayer())
    assert random_rate < 0.35
    assert random_rate + 0.3 < civilians_win_rate(kind, ScriptedPlayer()) < 0.95


def test_more_skill_wins_more() -> None:
    pairs = boards("clevr", 50)

    def rate(spy: float, civilians: float) -> float:
        seats = {"spy": ScriptedPlayer(spy), "civilian": ScriptedPlayer(civilians)}
        episodes = rollout([SpyGame(pairs[i % 50], seed=i) for i in range(300)], seats)
        return sum(episode.game.outcome.winner == "civilians" for episode in episodes) / 300

    rates = [rate(0.5, skill) for skill in (0.0, 0.4, 0.7, 1.0)]
    assert all(low < high for low, high in pairwise(rates)), rates
    assert rate(0.0, 1.0) > rate(1.0, 1.0)


@pytest.mark.parametrize("skill", [-0.1, 1.5, float("nan")])
def test_skill_is_from_0_to_1(skill: float) -> None:
    with pytest.raises(ValueError, match="skill must be from 0 to 1"):
        ScriptedPlayer(skill)


@pytest.mark.parametrize("player", [ScriptedPlayer(), RandomPlayer()])
def test_turns_of_other_games_are_refused(player: Player) -> None:
    turn = Turn(game_seed=1, index=0, seat=0, role="generator", stage="solve")
    with pytest.raises(TypeError, match="plays Who Is the Spy"):
        player.reply([turn])


def test_random_players_vote_for_anybody_but_themselves() -> None:
    turn = clue_turn(list(TRUE_CLUES), scene_view(), stage="decision", player=2)
    votes = {answer_of(RandomPlayer().answer(replace(turn, game_seed=seed))) for seed in range(200)}
    assert votes == {"1", "3", "4", "5"}
