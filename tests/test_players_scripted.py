"""Scripted players: what they say is true, they name who says what is not, and they see nothing that their seat cannot."""

from __future__ import annotations

import pickle
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
from scripted_examples import SCENE, answer_of, boards, clue_turn, photo, random_scene, scene_view, thing

from visionzero.games import SpyConfig, SpyGame, Turn
from visionzero.images import EditedView, ImagePair
from visionzero.players import Player, RandomPlayer, ScriptedPlayer
from visionzero.players.scripted import sight
from visionzero.players.scripted_pixels import PIXEL_LANGUAGE, PixelSight
from visionzero.players.scripted_scene import SCENE_LANGUAGE, SceneSight
from visionzero.rollout import rollout

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


def civilians_win_rate(kind: str, player: Player, games: int = 300, **rules: Any) -> float:
    pairs = boards(kind, 60)
    episodes = rollout(
        [SpyGame(pairs[i % len(pairs)], SpyConfig(**rules), seed=i) for i in range(games)],
        player,
    )
    assert not [episode.error for episode in episodes if episode.error]
    assert all(e.game.outcome.invalid_votes == 0 and e.game.outcome.unreadable_clues == 0 for e in episodes)
    return sum(episode.game.outcome.winner == "civilians" for episode in episodes) / games


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
