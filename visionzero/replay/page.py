"""Recorded games as one self-contained web page."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import jinja2

from visionzero.replay.record import Record
from visionzero.replay.schema import problem_of

_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")
_CARDS = {
    "blank": "a blank image",
    "edited": "an altered image",
    "identical": "the same image",
    None: "nothing yet",
}


@dataclass(frozen=True)
class _Turn:
    """One thing that somebody said.

    Attributes:
        number: Player number, from 1.
        role: spy, civilian or observer.
        name: Who played.
        round: Clue round, from 1.
        clue: The clue; None for a vote and for a clue that could not be read.
        vote: `"player"`, `"n/a"`, `"invalid"`; None for a clue.
        target: Whom the vote names.
        right: Whether it names the spy.
        reward: What it was worth; None in an unfinished game.
        reasoning: Everything that was answered; empty where that is no more than the clue or vote.
        tokens: Number of tokens that were answered; 0 for players without tokens.
        truncated: Whether the answer was cut off.
    """

    number: int
    role: str
    name: str
    round: int
    clue: str | None
    vote: str | None
    target: int | None
    right: bool
    reward: float | None
    reasoning: str
    tokens: int
    truncated: bool


@dataclass
class _Seat:
    """One row of the score table."""

    number: int
    role: str
    name: str
    votes: float = 0.0
    clue_reward: float | None = None
    vote_reward: float | None = None
    share: float = 0.0


@dataclass
class _Page:
    """One game, as the template shows it."""

    number: int
    board: str
    source: str
    kind: str
    seed: int
    winner: str | None
    error: str | None
    spy: int
    card: str
    civilian_image: Mapping[str, Any]
    spy_image: Mapping[str, Any] | None
    blank: bool
    rules: list[tuple[str, Any]]
    rounds: list[tuple[int, list[_Turn]]] = field(default_factory=list)
    votes: list[_Turn] = field(default_factory=list)
    seats: list[_Seat] = field(default_factory=list)
    abstentions: float = 0.0
    abstention_share: float = 0.0
    spy_votes: int = 0
    num_votes: int = 0


def write_page(records: Record | Sequence[Record], path: str | Path, *, title: str | None = None) -> None:
    """Write one web page that shows recorded games.

    The page needs nothing but itself: no script, no font, no network. Whatever players said is text on it.

    Args:
        records: One record or several, as `record_episode` and `read_replays` give them; several get an index.
        path: The HTML file; folders above it are made.
        title: Title of the page; made from the games if None.

    Raises:
        ValueError: There is no record, or one of them has not the layout of a record.
        OSError: The file cannot be written.
    """
    if isinstance(records, Mapping):
        records = [records]
    if not records:
        raise ValueError("a page needs at least one recorded game")
    for number, record in enumerate(records, start=1):
        problem = problem_of(record)
        if problem is not None:
            raise ValueError(f"game {number} is no record of a game: {problem}")
    games = game_pages(records)
    if title is None:
        title = f"Who Is the Spy? {games[0].board}" if len(games) == 1 else f"Who Is the Spy? {len(games)} games"
    write_html(_template().render(title=title, games=games), path)


def game_pages(records: Sequence[Record], numbers: Sequence[int] | None = None) -> list[_Page]:
    """Recorded games as `games.html.j2` shows them.

    Args:
        records: Records that have the layout of one, as `record_episode` and `read_replays` give them.
        numbers: The number that each game is called by; from 1 if None.
    """
    numbers = range(1, len(records) + 1) if numbers is None else numbers
    return [_page(record, number) for record, number in zip(records, numbers, strict=True)]


def template_environment(*folders: Path) -> jinja2.Environment:
    """Templates of this package's pages: their frame and look, and the games.

    Args:
        folders: Further folders with templates.
    """
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader([*folders, Path(__file__).parent]),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["signed"] = signed
    environment.filters["count"] = lambda value: f"{value:.2f}".rstrip("0").rstrip(".")
    return environment


def write_html(html: str, path: str | Path) -> None:
    """Write a page; what HTML and UTF-8 cannot hold becomes U+FFFD.

    Args:
        html: The page.
        path: Where to; folders above it are made.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(_UNPRINTABLE.sub("\ufffd", html), encoding="utf-8", newline="\n")


def _page(record: Record, number: int) -> _Page:
    spy, outcome = record["spy"]["player"], record["outcome"]
    turns = [_turn(entry, spy) for entry in record["turns"]]
    clues = [turn for turn in turns if turn.vote is None]
    rounds = sorted({turn.round for turn in clues})
    page = _Page(
        number=number,
        board=last_part(record["board"]["name"]),
        source=record["board"]["name"],
        kind=record["board"]["kind"],
        seed=record["seed"],
        winner=None if outcome is None else outcome["winner"],
        error=record["error"],
        spy=spy,
        card=_CARDS[record["spy"]["card"]],
        civilian_image=record["images"]["civilian"],
        spy_image=record["images"]["spy"],
        blank=record["spy"]["card"] == "blank",
        rules=[(name.replace("_", " "), value) for name, value in record["config"].items() if value is not None],
        rounds=[(round_, [turn for turn in clues if turn.round == round_]) for round_ in rounds],
        votes=[turn for turn in turns if turn.vote is not None],
    )
    page.seats = _seats(record, turns)
    page.spy_votes, page.num_votes = sum(turn.right for turn in page.votes), len(page.votes)
    if outcome is not None:
        most = max([*outcome["vote_counts"], outcome["abstentions"], 1.0])
        page.abstentions, page.abstention_share = outcome["abstentions"], outcome["abstentions"] / most
        for seat in page.seats:
            if seat.number <= len(outcome["vote_counts"]):
                seat.votes = outcome["vote_counts"][seat.number - 1]
                seat.share = seat.votes / most
    return page


def _turn(entry: Mapping[str, Any], spy: int) -> _Turn:
    clue = entry["stage"] == "clue"
    answer = entry["answer"]
    said = answer if clue else str(answer["player"] or answer["kind"])
    return _Turn(
        number=entry["player"],
        role=entry["role"],
        name=entry["name"] or "",
        round=entry["round"],
        clue=answer if clue else None,
        vote=None if clue else answer["kind"],
        target=None if clue else answer["player"],
        right=not clue and answer["player"] == spy,
        reward=entry["reward"],
        reasoning="" if said is not None and entry["text"].strip() == f"\\boxed{{{said}}}" else entry["text"],
        tokens=entry["completion_tokens"],
        truncated=entry["truncated"],
    )


def _seats(record: Record, turns: Sequence[_Turn]) -> list[_Seat]:
    """One row for everybody who played, in the order of the seats."""
    seats: dict[int, _Seat] = {}
    for turn in turns:
        seat = seats.setdefault(turn.number, _Seat(turn.number, turn.role, turn.name))
        if turn.reward is None:
            continue
        if turn.vote is not None:
            seat.vote_reward = (seat.vote_reward or 0.0) + turn.reward
        else:
            seat.clue_reward = (seat.clue_reward or 0.0) + turn.reward
    return [seats[number] for number in sorted(seats)]


def last_part(name: str) -> str:
    """The last part of a path, or of any other name."""
    return re.split(r"[/\\]", name.rstrip("/\\"))[-1] or name


@lru_cache(maxsize=1)
def _template() -> jinja2.Template:
    return template_environment().get_template("page.html.j2")


def signed(value: float) -> str:
    """A reward with its sign, in at most three decimals; the minus is a real one."""
    text = f"{value:+.3f}".rstrip("0").rstrip(".")
    return "0" if text in ("+0", "-0") else text.replace("-", "\u2212")
