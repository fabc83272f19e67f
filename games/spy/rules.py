"""Who Is the Spy?: the rules, as a state machine.

1. One of `n_c + 1` seats is dealt the spy's card. Civilians see the image; the spy sees a blank or an edited one.
2. `clue_rounds` times, every seat in order gives one clue that all who speak later can read.
3. Every civilian votes, in secret and at the same time, for the player it takes for the spy, or for nobody (n/a).
4. The civilians win if the spy has strictly more votes than any of them, and no fewer than there are n/a votes.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal
from weakref import WeakValueDictionary

from PIL import Image

from visionzero.games.answers import Vote, read_clue, read_vote
from visionzero.games.game import Game, Message, Outcome, PlayedTurn, Turn, derive_seed
from visionzero.games.spy.config import SpyConfig
from visionzero.games.spy.prompts import render_messages
from visionzero.games.spy.scoring import civilians_win, clue_rewards, count_votes, decision_reward, vote_points
from visionzero.images import EditedView, ImageKind, ImagePair
from visionzero.images.edits import blank_image
from visionzero.images.reading import read_image

SpyRole = Literal["spy", "civilian", "observer"]

# Games on boards of one size share a blank image, for as long as one of them needs it: filling a large one takes longer
# than playing a game.
_BLANK_VIEWS: WeakValueDictionary[tuple[int, int], EditedView] = WeakValueDictionary()


def blank_view(size: tuple[int, int]) -> EditedView:
    """A white view of `size` (width, height), shared by all who need one at the same time."""
    view = _BLANK_VIEWS.get(size)
    if view is None:
        view = _BLANK_VIEWS[size] = EditedView(blank_image(size))
    return view


@dataclass(frozen=True, slots=True)
class Clue:
    """What a player said in public.

    Attributes:
        player: Player number, from 1.
        round: Clue round, from 1.
        text: One line of text; None where the answer held no readable clue.
    """

    player: int
    round: int
    text: str | None


@dataclass(frozen=True)
class SpyTurn(Turn):
    """A turn of the spy game. What it adds to `Turn` is what the seat can see, as data.

    Attributes:
        player: Player number, `seat + 1`; the observer's is one past the last player's.
        round: Clue round, from 1; the number of rounds in the decision stage.
        clues: Every public clue so far, in the order of speaking.
        view: What this seat looks at; `scene` is None where nothing is known about the picture or it is blank.
        blank: Whether the seat's image is the blank one.
        kind: What the civilians' image shows.
        config: The rules.
        own_answers: The seat's own earlier answers, if the rules let it remember them.
    """

    player: int = field(compare=False)
    round: int = field(compare=False)
    clues: tuple[Clue, ...] = field(compare=False, repr=False)
    view: EditedView = field(compare=False, repr=False)
    blank: bool = field(compare=False, repr=False)
    kind: ImageKind = field(compare=False, repr=False)
    config: SpyConfig = field(compare=False, repr=False)
    own_answers: tuple[str, ...] = field(compare=False, repr=False)

    @cached_property
    def messages(self) -> tuple[Message, ...]:
        """The chat that the seat sees; rendered when first asked for."""
        template = "clue.j2" if self.stage == "clue" else "observer.j2" if self.role == "observer" else "vote.j2"
        return render_messages(
            self.config.prompts,
            template,
            self.view.image,
            kind=self.kind,
            role=self.role,
            player=self.player,
            round=self.round,
            num_rounds=self.config.clue_rounds,
            num_players=self.config.num_players,
            spy_view=self.config.spy_view,
            points=vote_points(self.config.rewards),
            clues=self.clues,
            own=self.own_answers,
        )


@dataclass(frozen=True)
class SpyOutcome(Outcome):
    """How a spy game ended.

    Attributes:
        spy: The spy's player number, from 1.
        votes: Every vote as `(voter's player number, vote)`, in the order of the turns.
        vote_counts: v, votes received by each player; player k's is at index k - 1. Several votes of one voter count as
            their mean, and the observer's votes are scaled to `n_c` voters.
        abstentions: Number of n/a votes, in the unit of `vote_counts`.
        seat_rewards: Zero-sum clue rewards of all seats (eq. 1), by seat, before any format penalty.
        unreadable_clues: Number of clue turns without a readable clue.
        invalid_votes: Number of votes that could not be read or were not allowed.
    """

    spy: int = 0
    votes: tuple[tuple[int, Vote], ...] = ()
    vote_counts: tuple[float, ...] = ()
    abstentions: float = 0.0
    seat_rewards: tuple[float, ...] = ()
    unreadable_clues: int = 0
    invalid_votes: int = 0


class SpyGame(Game[SpyTurn, SpyOutcome]):
    """One game of Who Is the Spy?

    Args:
        image: The board: an `ImagePair`, or a PIL image of any mode (then a photo).
        config: The rules; the paper's if None.
        seed: Deals the spy's seat and the spy's view, and seeds every turn.
        spy_seat: Deal the spy's card to this seat, from 0, instead of a random one.

    Raises:
        TypeError: `image` is neither, `config` is no `SpyConfig`, or `seed` or `spy_seat` is no integer.
        ValueError: `spy_seat` is no seat, or the image cannot be read.
    """

    def __init__(
        self,
        image: ImagePair | Image.Image,
        config: SpyConfig | None = None,
        seed: int = 0,
        *,
        spy_seat: int | None = None,
    ) -> None:
        if isinstance(image, Image.Image):
            image = ImagePair(read_image(image))
        elif not isinstance(image, ImagePair):
            raise TypeError(f"image must be an ImagePair or a PIL image, got {type(image).__name__}")
        if config is not None and not isinstance(config, SpyConfig):
            raise TypeError(f"config must be a SpyConfig or None, got {type(config).__name__}")
        self.pair = image
        self.config = config or SpyConfig()
        self.seed = operator.index(seed)
        players = self.config.num_players
        if spy_seat is None:
            spy_seat = derive_seed(self.seed, "spy seat") % players
        elif not 0 <= operator.index(spy_seat) < players:
            raise ValueError(f"spy_seat must be from 0 to {players - 1}, got {spy_seat}")
        self.spy_seat = operator.index(spy_seat)
        self._clues: tuple[Clue, ...] = ()
        self._history: dict[int, PlayedTurn[SpyTurn]] = {}
        self._own_answers: list[tuple[str, ...]] = [()] * players
        self._pending: dict[int, SpyTurn] = {}
        self._outcome: SpyOutcome | None = None
        self._ask_for_clue()

    @property
    def clues(self) -> tuple[Clue, ...]:
        """The public clues so far, in the order of speaking."""
        return self._clues

    @property
    def history(self) -> Sequence[PlayedTurn[SpyTurn]]:
        """The turns answered so far, in the order of `Turn.index`."""
        return [self._history[index] for index in sorted(self._history)]

    @property
    def done(self) -> bool:
        """Whether the last vote is in."""
        return self._outcome is not None

    @property
    def outcome(self) -> SpyOutcome:
        """How the game ended.

        Raises:
            RuntimeError: The game is not done.
        """
        if self._outcome is None:
            raise RuntimeError(f"the game is not done: {len(self._pending)} turns are pending")
        return self._outcome

    def pending(self) -> Sequence[SpyTurn]:
        """The next speaker's turn in the clue stage, every outstanding vote in the decision stage."""
        return list(self._pending.values())

    def submit(self, turn: SpyTurn, text: str) -> None:
        """Answer a pending turn; see `Game.submit`."""
        if not isinstance(text, str):
            raise TypeError(f"an answer must be a string, got {type(text).__name__}")
        if not isinstance(turn, SpyTurn):
            raise TypeError(f"turn must be one of pending(), got {type(turn).__name__}")
        pending = self._pending.get(turn.index)
        if pending is not turn and pending != turn:
            raise ValueError(f"turn {turn.index} (seat {turn.seat}, {turn.stage}) is not pending in this game")
        # The game's own object, because an equal turn may come from a pickle or from a game on another board.
        turn = self._pending.pop(turn.index)
        if turn.stage == "clue":
            clue = read_clue(text, self.config.max_clue_chars)
            self._history[turn.index] = PlayedTurn(turn, text, clue)
            self._clues = (*self._clues, Clue(turn.player, turn.round, clue))
            if self.config.own_reasoning_memory:
                self._own_answers[turn.seat] = (*self._own_answers[turn.seat], text)
            if len(self._clues) < self.config.num_clues:
                self._ask_for_clue()
            else:
                self._ask_for_votes()
        else:
            voter = turn.player if turn.role == "civilian" else None
            vote = read_vote(text, self.config.num_players, voter)
            self._history[turn.index] = PlayedTurn(turn, text, vote)
            if not self._pending:
                self._outcome = self._score()

    @cached_property
    def spy_view(self) -> EditedView:
        """What the spy sees."""
        if self._spy_card == "blank":
            return blank_view(self.pair.civilian.size)
        return self._civilian_view if self._spy_card == "identical" else self.pair.edited

    @cached_property
    def _civilian_view(self) -> EditedView:
        return EditedView(self.pair.civilian, self.pair.scene)

    @cached_property
    def _spy_card(self) -> Literal["blank", "identical", "edited"]:
        if self.config.spy_view != "mixed":
            return self.config.spy_view
        draw = derive_seed(self.seed, "spy view") % 10
        return "blank" if draw == 0 else "identical" if draw == 1 else "edited"

    def _turn(self, index: int, seat: int, role: SpyRole, stage: str, round_: int, position: int) -> SpyTurn:
        spy = role == "spy"
        return SpyTurn(
            game_seed=self.seed,
            index=index,
            seat=seat,
            role=role,
            stage=stage,
            position=position,
            player=seat + 1,
            round=round_,
            clues=self._clues,
            view=self.spy_view if spy else self._civilian_view,
            blank=spy and self._spy_card == "blank",
            kind=self.pair.kind,
            config=self.config,
            own_answers=() if role == "observer" else self._own_answers[seat],
        )

    def _ask_for_clue(self) -> None:
        index = len(self._clues)
        round_, seat = divmod(index, self.config.num_players)
        role: SpyRole = "spy" if seat == self.spy_seat else "civilian"
        self._pending = {index: self._turn(index, seat, role, "clue", round_ + 1, round_)}

    def _ask_for_votes(self) -> None:
        config = self.config
        if config.voters == "civilians":
            voters = [seat for seat in range(config.num_players) if seat != self.spy_seat]
            role: SpyRole = "civilian"
        else:
            voters, role = [config.num_players], "observer"
        seats = [(seat, sample) for seat in voters for sample in range(config.votes_per_voter)]
        self._pending = {
            index: self._turn(index, seat, role, "decision", config.clue_rounds, sample)
            for index, (seat, sample) in enumerate(seats, start=config.num_clues)
        }

    def _score(self) -> SpyOutcome:
        config = self.config
        spy = self.spy_seat + 1
        history = self.history
        votes = [(played.turn, played.answer) for played in history if played.turn.stage == "decision"]
        scale = config.num_civilians / config.num_votes
        counts = count_votes((vote for _, vote in votes), config.num_players, scale)
        abstentions = scale * sum(vote.kind == "n/a" for _, vote in votes)
        civilian_counts = [count for player, count in enumerate(counts, start=1) if player != spy]
        spy_reward, civilian_rewards = clue_rewards(
            counts[spy - 1], civilian_counts, config.clue_beta, config.clue_lambda
        )
        seat_rewards = [*civilian_rewards[: self.spy_seat], spy_reward, *civilian_rewards[self.spy_seat :]]

        rewards: dict[Turn, float] = {}
        unreadable_clues = 0
        for played in history:
            if played.turn.stage == "decision":
                rewards[played.turn] = decision_reward(played.answer, spy, config.rewards)
            else:
                unreadable = played.answer is None
                unreadable_clues += unreadable
                rewards[played.turn] = seat_rewards[played.turn.seat] - config.format_penalty * unreadable
        invalid = sum(vote.kind == "invalid" for _, vote in votes)
        convicted = civilians_win(counts, spy, abstentions)
        metrics: Mapping[str, float] = {
            "civilians_win": float(convicted),
            "right_vote_rate": sum(vote.player == spy for _, vote in votes) / len(votes),
            "na_rate": sum(vote.kind == "n/a" for _, vote in votes) / len(votes),
            "invalid_vote_rate": invalid / len(votes),
            "unreadable_clue_rate": unreadable_clues / config.num_clues,
        }
        return SpyOutcome(
            winner="civilians" if convicted else "spy",
            rewards=rewards,
            metrics=metrics,
            spy=spy,
            votes=tuple((turn.seat + 1, vote) for turn, vote in votes),
            vote_counts=tuple(counts),
            abstentions=abstentions,
            seat_rewards=tuple(seat_rewards),
            unreadable_clues=unreadable_clues,
            invalid_votes=invalid,
        )

    def __copy__(self) -> SpyGame:
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__)
        twin._history = dict(self._history)
        twin._pending = dict(self._pending)
        twin._own_answers = list(self._own_answers)
        return twin

    def __deepcopy__(self, memo: dict[int, Any]) -> SpyGame:
        return self.__copy__()

    def __repr__(self) -> str:
        state: Any = self._outcome.winner if self._outcome else f"{len(self._pending)} pending"
        return f"SpyGame({self.pair.name!r}, seed={self.seed}, {state})"
