"""The options of the spy game."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from visionzero.games.spy.prompts import PROMPT_SETS, check_prompts
from visionzero.games.spy.scoring import RewardScheme

SpyView = Literal["blank", "edited", "mixed"]
Voters = Literal["civilians", "observer"]


@dataclass(frozen=True, kw_only=True)
class SpyConfig:
    """Rules of a spy game.

    Attributes:
        num_civilians: n_c, seats that see the image, 2 to 8. One more seat is the spy's.
        clue_rounds: How often every seat gives a clue, 1 to 4.
        spy_view: What the spy sees: `"blank"` (a white image), `"edited"` (the picture with something changed), or
            `"mixed"` (10 % blank, 10 % the civilians' own image, else edited).
        voters: `"civilians"`: every civilian votes. `"observer"`: one outsider who sees the image and the clues, and
            has no role, votes `votes_per_game` times, as in the paper's released code.
        votes_per_civilian: Votes sampled from each civilian; the clue reward uses their mean. 1 if None; only with
            `voters="civilians"`.
        votes_per_game: Votes sampled from the observer. 8 if None; only with `voters="observer"`.
        clue_beta: beta, weight of the spy term of the clue reward (eq. 1).
        clue_lambda: lambda, weight of the civilians' own term of the clue reward (eq. 1).
        format_penalty: Subtracted from the reward of a clue turn whose clue cannot be read. It comes on top of the
            zero-sum reward of the seat.
        rewards: Scheme of the decision reward, `"paper"` or `"released"`; see `scoring.decision_reward`.
        own_reasoning_memory: Whether a player sees its own earlier answers, private reasoning included.
        prompts: `"paper"` (long), `"compact"` (for small models), or a folder of your own Jinja templates: `clue.j2`,
            and `vote.j2` or `observer.j2` as `voters` needs.
        max_clue_chars: Longer clues are cut for the other players.

    Raises:
        ValueError: A value is out of range, or an option would have no effect.
    """

    num_civilians: int = 4
    clue_rounds: int = 2
    spy_view: SpyView = "blank"
    voters: Voters = "civilians"
    votes_per_civilian: int | None = None
    votes_per_game: int | None = None
    clue_beta: float = 0.1
    clue_lambda: float = 0.1
    format_penalty: float = 0.1
    rewards: RewardScheme = "paper"
    own_reasoning_memory: bool = True
    prompts: str = "paper"
    max_clue_chars: int = 400

    def __post_init__(self) -> None:
        for name, low, high in (("num_civilians", 2, 8), ("clue_rounds", 1, 4), ("max_clue_chars", 1, 100_000)):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
                raise ValueError(f"{name} must be a whole number from {low} to {high}, got {value!r}")
        for name, choices in (
            ("spy_view", get_args(SpyView)),
            ("voters", get_args(Voters)),
            ("rewards", get_args(RewardScheme)),
        ):
            if getattr(self, name) not in choices:
                raise ValueError(f"{name} must be one of {', '.join(choices)}, got {getattr(self, name)!r}")
        for name in ("clue_beta", "clue_lambda", "format_penalty"):
            value = getattr(self, name)
            if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value < float("inf"):
                raise ValueError(f"{name} must be a number >= 0, got {value!r}")
        for name, voters in (("votes_per_civilian", "civilians"), ("votes_per_game", "observer")):
            value = getattr(self, name)
            if value is None:
                continue
            if self.voters != voters:
                raise ValueError(f"{name}={value} has no effect with voters={self.voters!r}; leave it out")
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise ValueError(f"{name} must be a whole number >= 1, got {value!r}")
        if not isinstance(self.own_reasoning_memory, bool):
            raise ValueError(f"own_reasoning_memory must be True or False, got {self.own_reasoning_memory!r}")
        if not self.own_reasoning_memory and self.voters == "observer" and self.clue_rounds == 1:
            raise ValueError(
                "own_reasoning_memory=False has no effect with voters='observer' and clue_rounds=1: no player is asked "
                "twice; leave it out"
            )
        if self.prompts not in PROMPT_SETS:
            check_prompts(self.prompts, ("clue.j2", "vote.j2" if self.voters == "civilians" else "observer.j2"))

    @property
    def num_players(self) -> int:
        """Seats at the table: the civilians and the spy."""
        return self.num_civilians + 1

    @property
    def votes_per_voter(self) -> int:
        """Votes sampled from each voter."""
        if self.voters == "civilians":
            return 1 if self.votes_per_civilian is None else self.votes_per_civilian
        return 8 if self.votes_per_game is None else self.votes_per_game

    @property
    def num_votes(self) -> int:
        """Votes in one game; they form one group of eq. 5."""
        return self.votes_per_voter * (self.num_civilians if self.voters == "civilians" else 1)

    @property
    def num_clues(self) -> int:
        """Clue turns in one game."""
        return self.num_players * self.clue_rounds
