"""Players without a model: they look, listen, reason about chances, and play sensibly."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from PIL import Image

from visionzero.games.game import Turn
from visionzero.games.spy.config import SpyConfig
from visionzero.games.spy.rules import Clue, SpyTurn
from visionzero.games.spy.scoring import vote_points
from visionzero.images import EditedView, ImageKind
from visionzero.images.per_image import PerImage
from visionzero.players.base import Player, Reply
from visionzero.players.scripted_chart import CHART_LANGUAGE, ChartSight
from visionzero.players.scripted_language import Claim, Dice, Language, Sight
from visionzero.players.scripted_pixels import PIXEL_LANGUAGE, PixelSight
from visionzero.players.scripted_scene import SCENE_LANGUAGE, SceneSight

# A speaker considers so many facts, and takes the first that a listener would guess with at most this chance.
_PROBES, _TELLING = 8, 0.35
_TRUE_OF_CIVILIANS = 0.97
# A spy who sees an edited picture says something true at least this often, whatever it talks about.
_TRUE_OF_EDITED = 0.75
# Suspicion is a log-likelihood ratio of spy against civilian. One clue cannot clear or convict its speaker beyond these
# bounds, so that a lucky guess does not end the game; silence and clues about nothing are a little suspicious.
_LEAST_SUSPICION, _MOST_SUSPICION = -0.8, 3.2
_NO_CLUE, _NOTHING_CHECKABLE = 0.7, 0.25
# Above this, the clue of a suspect counts as one that anybody could have guessed.
_VAGUE = -0.2
# Voters who know the same still weigh it differently: twice the standard deviation of what each adds to a suspicion.
_TEMPER = 0.9
# A suspect must be this much likelier than an even chance.
_LEAD_TO_VOTE = 1.3

# A module's cache, not a player's: it is keyed by identity, which does not survive a player being pickled.
_SIGHTS: PerImage[Sight] = PerImage()


def sight(view: EditedView, kind: ImageKind) -> Sight:
    """What a player makes of its view; computed once an image.

    Args:
        view: What the seat looks at.
        kind: What the game's image shows.

    Returns:
        Its scene graph or chart table where one is known, else statistics of its pixels.
    """
    scene = view.scene

    def look(image: Image.Image) -> Sight:
        if kind == "clevr" and scene and "objects" in scene:
            return SceneSight(scene)
        if kind == "charts" and scene and "labels" in scene and "values" in scene:
            return ChartSight(scene)
        return PixelSight(image, scene)

    seen = _SIGHTS.get(view.image, look)
    # One image may be shown with and without its scene.
    return seen if seen.scene is scene else look(view.image)


class _Evidence(NamedTuple):
    """What one clue says about its speaker.

    Attributes:
        player: Who gave it.
        weight: Log-likelihood ratio of spy against civilian.
        text: The clue.
        fits: How far it is true.
    """

    player: int
    weight: float
    text: str | None
    fits: float


class _Case(NamedTuple):
    """What all clues say.

    Attributes:
        evidence: One entry a clue.
        suspicion: Sum of the weights of every player's clues.
        strongest: The most suspicious clue of every player that gave one.
    """

    evidence: list[_Evidence]
    suspicion: dict[int, float]
    strongest: dict[int, _Evidence]


def _sum_up(evidence: list[_Evidence], num_players: int) -> _Case:
    suspicion = dict.fromkeys(range(1, num_players + 1), 0.0)
    strongest: dict[int, _Evidence] = {}
    for entry in evidence:
        player, weight, _, _ = entry
        suspicion[player] += weight
        if player not in strongest or weight > strongest[player].weight:
            strongest[player] = entry
    return _Case(evidence, suspicion, strongest)


class ScriptedPlayer(Player):
    r"""Plays from the scene graph or chart table where one is known, else from statistics of the pixels.

    A civilian says something true that a listener would hardly have guessed. A spy with a blank image guesses from the
    earlier clues; with an edited one it says what it sees, preferably about what the others confirm. A voter weighs, for
    every clue, how likely a spy and a civilian were to give it, and votes where that is worth more than n/a.
    The answer depends on the turn alone, and on nothing that its seat cannot see.

    Args:
        skill: From 0 to 1. With chance `(1 - skill) / 2` a civilian speaks without looking, a spy guesses without having
            listened, and a voter overlooks a clue.
        name: Short name for tables and replays.

    Raises:
        ValueError: `skill` is not from 0 to 1.
    """

    def __init__(self, skill: float = 1.0, *, name: str = "scripted") -> None:
        if not 0 <= skill <= 1:
            raise ValueError(f"skill must be from 0 to 1, got {skill}")
        self.skill = float(skill)
        self.name = name
        self._lapse = (1 - self.skill) / 2
        self._last: tuple[tuple[Clue, ...], Sight, SpyConfig, _Case] | None = None

    def reply(self, turns: Sequence[Turn]) -> list[Reply]:
        """Answer several turns of spy games.

        Raises:
            TypeError: A turn is not one of a spy game.
        """
        return [Reply(self.answer(turn)) for turn in turns]

    def answer(self, turn: Turn) -> str:
        """Answer one turn with a text; see `reply`."""
        if not isinstance(turn, SpyTurn):
            raise TypeError(f"{type(self).__name__} plays Who Is the Spy? only, got a {type(turn).__name__}")
        dice = Dice(turn.seed)
        if turn.stage == "decision":
            return self._vote(turn, dice)
        return self._guess(turn, dice) if turn.blank else self._describe(turn, dice)

    def _describe(self, turn: SpyTurn, dice: Dice) -> str:
        """A clue of somebody who sees a picture."""
        seen = sight(turn.view, turn.kind)
        if not seen.facts or dice.unit() < self._lapse:
            return self._guess(turn, dice)
        judged = [seen.judge(text) for text in _texts(turn)]
        heard = [claim for judgement in judged for claim in judgement.claims]
        listener = seen.language.listener(heard)
        wrong = [claim for judgement in judged if judgement.fits < 0.5 for claim in judgement.claims]
        as_spy = turn.role == "spy" and bool(judged)
        best, best_score = None, math.inf
        for _ in range(_PROBES):
            claim = dice.pick(seen.facts)
            if claim in heard:
                continue
            score = listener.chance(claim)
            if as_spy:
                # Neither an echo nor something that nobody else has seen, and nothing like what does not fit here.
                score = abs(score - 0.5) + sum(_overlap(claim, other) for other in wrong)
            if score < best_score:
                best, best_score = claim, score
                if score < _TELLING:
                    break
        if best is None:
            best = next((fact for fact in seen.facts if fact not in heard), seen.facts[0])
        text = dice.pick(seen.wordings(best))
        thought = dice.pick(_SEEN if turn.role == "civilian" else _SEEN_AS_SPY)
        return f"{thought} \\boxed{{{text}}}"

    def _guess(self, turn: SpyTurn, dice: Dice) -> str:
        """A clue of somebody who sees nothing, or did not look."""
        texts = _texts(turn)
        if turn.role == "spy" and dice.unit() < self._lapse:
            texts = []
        language, heard = _listen(turn.kind, texts)
        claim = language.listener(heard).guess(dice)
        text = dice.pick(language.say(claim))
        thought = dice.pick(_HASTY if turn.role == "civilian" else _GUESSED if heard else _GUESSED_BLINDLY)
        return f"{thought} \\boxed{{{text}}}"

    def _vote(self, turn: SpyTurn, dice: Dice) -> str:
        case = self._weigh(turn)
        if self._lapse:
            case = _sum_up(
                [evidence for evidence in case.evidence if dice.unit() >= self._lapse], turn.config.num_players
            )
        odds = {
            player: math.exp(weight + _TEMPER * dice.bell())
            for player, weight in case.suspicion.items()
            if player != turn.player
        }
        suspect = max(odds, key=odds.__getitem__)
        sure = odds[suspect] / sum(odds.values())
        points = _POINTS[turn.config.rewards]
        worth = sure * points["spy"] + (1 - sure) * points["civilian"]
        if worth <= points["unsure"] or sure * len(odds) < _LEAD_TO_VOTE:
            return f"{dice.pick(_UNDECIDED)} \\boxed{{n/a}}"
        return f"{_reason(suspect, case.strongest.get(suspect))} \\boxed{{{suspect}}}"

    def _weigh(self, turn: SpyTurn) -> _Case:
        """What the clues say about their speakers; the same for all voters of a game, so the last result is kept."""
        seen = sight(turn.view, turn.kind)
        last = self._last
        if last is not None and last[0] is turn.clues and last[1] is seen and last[2] is turn.config:
            return last[3]
        evidence: list[_Evidence] = []
        listener = seen.language.listener()
        least = 0.0 if turn.config.spy_view == "blank" else _TRUE_OF_EDITED
        for player, text in ((clue.player, clue.text) for clue in turn.clues):
            if text is None:
                evidence.append(_Evidence(player, _NO_CLUE, None, 0.5))
                continue
            claims, fits = seen.judge(text)
            if not claims:
                evidence.append(_Evidence(player, _NOTHING_CHECKABLE, text, fits))
                continue
            chance = max(least, min(map(listener.chance, claims)))
            of_spy = fits * chance + (1 - fits) * (1 - chance)
            of_civilian = fits * _TRUE_OF_CIVILIANS + (1 - fits) * (1 - _TRUE_OF_CIVILIANS)
            weight = min(_MOST_SUSPICION, max(_LEAST_SUSPICION, math.log(of_spy / of_civilian)))
            evidence.append(_Evidence(player, weight, text, fits))
            for claim in claims:
                listener.hear(claim)
        case = _sum_up(evidence, turn.config.num_players)
        self._last = (turn.clues, seen, turn.config, case)
        return case

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_last": None}


class RandomPlayer(Player):
    r"""Gives a random clue and a random vote without looking or listening: the baseline.

    Args:
        name: Short name for tables and replays.
    """

    def __init__(self, *, name: str = "random") -> None:
        self.name = name

    def reply(self, turns: Sequence[Turn]) -> list[Reply]:
        """Answer several turns of spy games.

        Raises:
            TypeError: A turn is not one of a spy game.
        """
        replies = []
        for turn in turns:
            if not isinstance(turn, SpyTurn):
                raise TypeError(f"{type(self).__name__} plays Who Is the Spy? only, got a {type(turn).__name__}")
            dice = Dice(turn.seed)
            if turn.stage == "clue":
                language = _LANGUAGES[turn.kind]
                answer = dice.pick(language.say(language.listener().guess(dice)))
            else:
                answer = str(dice.pick([p for p in range(1, turn.config.num_players + 1) if p != turn.player]))
            replies.append(Reply(f"\\boxed{{{answer}}}"))
        return replies


_LANGUAGES: dict[str, Language] = {"clevr": SCENE_LANGUAGE, "charts": CHART_LANGUAGE, "photos": PIXEL_LANGUAGE}
_POINTS = {"paper": vote_points("paper"), "released": vote_points("released")}

_SEEN = (
    "Nobody has said this yet, and it is plain to see.",
    "This is hard to know for somebody who cannot see it.",
    "I look for something that the others left out.",
    "This should show the others that I see what they see.",
)
_SEEN_AS_SPY = (
    "My image may be wrong in places, so I stay with what seems to fit the others.",
    "I am the spy. This is in my image and agrees with the clues.",
    "Careful: only some of what I see is what they see.",
)
_GUESSED = (
    "I see nothing, so I build on what the others said.",
    "My image is blank. From the clues, this is likely.",
    "This fits the clues so far and sounds like something that one could see.",
)
_GUESSED_BLINDLY = (
    "My image is blank and I have little to go on. This is true of many images.",
    "I am the spy and have to guess: something common.",
)
_HASTY = ("I only had a quick look.", "Something like this is surely there.")
_UNDECIDED = (
    "Every clue could be true, and nobody stands out.",
    "I cannot tell who made theirs up.",
)


def _texts(turn: SpyTurn) -> list[str]:
    return [clue.text for clue in turn.clues if clue.text is not None]


def _listen(kind: ImageKind, texts: Sequence[str]) -> tuple[Language, list[Claim]]:
    """The language that a game is played in, and what was said in it."""
    language = _LANGUAGES[kind]
    heard = [claim for text in texts for claim in language.read(text)]
    if texts and not heard and language is not PIXEL_LANGUAGE:
        # Where no scene is known, players speak of colours and light, whatever the image shows.
        other = [claim for text in texts for claim in PIXEL_LANGUAGE.read(text)]
        if other:
            return PIXEL_LANGUAGE, other
    return language, heard


def _overlap(claim: Claim, other: Claim) -> bool:
    return any(part in other for part in claim[1:])


def _reason(suspect: int, evidence: _Evidence | None) -> str:
    if evidence is None or evidence.text is None:
        return f"Player {suspect} said the least."
    said = evidence.text.translate(_NO_BRACES)
    if evidence.fits < 0.5:
        return f"Player {suspect} said: {said} That is not what I see."
    if evidence.weight > _VAGUE:
        return f"Player {suspect} said nothing that could not be guessed from the others."
    return f"Only a feeling: player {suspect} seems to know the least."


_NO_BRACES = str.maketrans({"{": "(", "}": ")", "\\": "/", "<": "(", ">": ")"})
