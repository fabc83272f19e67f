"""Games as JSON: one object a game, one line an object.

A record is self-contained: rules, seed, what everybody saw, what everybody said and thought, what it was worth. Its layout
is `SCHEMA`; a layout that old readers would misunderstand gets another `VERSION`.
"""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from io import BytesIO
from pathlib import Path
from typing import Any

from PIL import Image

from visionzero.games.answers import Vote
from visionzero.games.game import PlayedTurn
from visionzero.games.spy.rules import SpyGame, SpyOutcome, SpyTurn
from visionzero.images import ImageKind
from visionzero.images.per_image import PerImage
from visionzero.replay.schema import FORMAT, VERSION, problem_of
from visionzero.rollout import Episode

Record = dict[str, Any]
"""One game as JSON data, in the layout of `schema.SCHEMA`."""

MAX_IMAGE_SIDE = 768
"""Larger images are scaled down to this longest side, in pixels, before they go into a record."""

_MAX_PROBLEMS_NAMED = 5
_encoded: dict[bool, PerImage[dict[str, Any]]] = {True: PerImage(), False: PerImage()}


class ReplayError(ValueError):
    """Lines of a replay file cannot be read.

    Attributes:
        problems: What is wrong, by line number from 1.
        records: The games of the lines that can be read.
    """

    def __init__(self, path: Path, problems: Mapping[int, str], records: Sequence[Record]) -> None:
        self.problems = dict(problems)
        self.records = list(records)
        named = [f"line {line}: {problem}" for line, problem in list(self.problems.items())[:_MAX_PROBLEMS_NAMED]]
        more = len(self.problems) - len(named)
        total = len(self.problems) + len(self.records)
        super().__init__(
            f"{path}: {len(self.problems)} of {total} lines cannot be read: {'; '.join(named)}"
            + (f"; and {more} more" if more else "")
        )


def record_episode(episode: Episode[SpyGame]) -> Record:
    """A played game as JSON data.

    Args:
        episode: A game with its replies, finished or stopped by an error.

    Returns:
        The record. Images are JPEG (charts: PNG) in base64, at most `MAX_IMAGE_SIDE` pixels wide and high; a blank image
        and one that nobody has seen are left out.

    Raises:
        TypeError: The episode's game is no spy game.
    """
    game = episode.game
    if not isinstance(game, SpyGame):
        raise TypeError(f"only spy games can be recorded, got a {type(game).__name__}")
    outcome = game.outcome if game.done else None
    return {
        "format": FORMAT,
        "version": VERSION,
        "board": {"name": game.pair.name, "kind": game.pair.kind},
        "seed": game.seed,
        "config": asdict(game.config),
        "images": _images(game),
        "spy": {"player": game.spy_seat + 1, "card": _spy_card(game)},
        "turns": [_turn(episode, played, outcome) for played in game.history],
        "outcome": None if outcome is None else _outcome(outcome),
        "error": None if episode.error is None else f"{type(episode.error).__name__}: {episode.error}",
    }


def write_replays(
    path: str | Path, episodes: Iterable[Episode[SpyGame] | Mapping[str, Any]], *, append: bool = False
) -> None:
    """Write games as JSON lines.

    Args:
        path: The file; folders above it are made.
        episodes: Episodes, or records of them.
        append: Whether to add to the file; else it is replaced, whole or not at all.

    Raises:
        ValueError: A record does not have the layout of a record.
        OSError: The file cannot be written.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    target = path if append else path.with_name(f".{path.name}.{os.getpid()}")
    try:
        # Surrogates and line separators are escaped, so that a line is a line and UTF-8 is UTF-8 for every reader.
        with target.open("a" if append else "w", encoding="ascii", newline="\n") as file:
            for episode in episodes:
                record = record_episode(episode) if isinstance(episode, Episode) else dict(episode)
                problem = problem_of(record)
                if problem is not None:
                    raise ValueError(f"this is no record of a game: {problem}")
                file.write(json.dumps(record, allow_nan=False) + "\n")
        if not append:
            target.replace(path)
    finally:
        if not append:
            target.unlink(missing_ok=True)


def read_replays(path: str | Path) -> list[Record]:
    """Read games from JSON lines.

    Args:
        path: A file that `write_replays` wrote; empty lines are allowed.

    Returns:
        The records, in the order of the lines.

    Raises:
        ReplayError: Lines cannot be read; it counts and names them, and holds the records of the others.
        OSError: The file cannot be read.
    """
    path = Path(path)
    records: list[Record] = []
    problems: dict[int, str] = {}
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            try:
                record = json.loads(line)
            except (ValueError, RecursionError) as error:
                problems[number] = f"no JSON ({error})"
                continue
            problem = problem_of(record)
            if problem is None:
                records.append(record)
            else:
                problems[number] = problem
    if problems:
        raise ReplayError(path, problems, records)
    return records


def _images(game: SpyGame) -> dict[str, Any]:
    spy_images = [
        played.turn.view.image for played in game.history if played.turn.role == "spy" and not played.turn.blank
    ]
    spy = next((image for image in spy_images if image is not game.pair.civilian), None)
    kind = game.pair.kind
    return {"civilian": _encode(game.pair.civilian, kind), "spy": None if spy is None else _encode(spy, kind)}


def _spy_card(game: SpyGame) -> str | None:
    """What the spy saw; None where it has not had a turn."""
    for played in game.history:
        if played.turn.role == "spy":
            if played.turn.blank:
                return "blank"
            return "identical" if played.turn.view.image is game.pair.civilian else "edited"
    return None


def _encode(image: Image.Image, kind: ImageKind) -> dict[str, Any]:
    """An image as JSON data; done once for each image, because many games may share it."""
    # JPEG blurs the thin lines and small letters of charts.
    lossless = kind == "charts"

    def encode(image: Image.Image) -> dict[str, Any]:
        image = image.convert("RGB")
        image.thumbnail((MAX_IMAGE_SIDE, MAX_IMAGE_SIDE), Image.Resampling.LANCZOS, reducing_gap=3.0)
        buffer = BytesIO()
        if lossless:
            image.save(buffer, "PNG", optimize=True)
        else:
            image.save(buffer, "JPEG", quality=90, subsampling=0, optimize=True)
        return {
            "media_type": "image/png" if lossless else "image/jpeg",
            "width": image.width,
            "height": image.height,
            "data": base64.b64encode(buffer.getvalue()).decode("ascii"),
        }

    return dict(_encoded[lossless].get(image, encode))


def _turn(episode: Episode[SpyGame], played: PlayedTurn[SpyTurn], outcome: SpyOutcome | None) -> dict[str, Any]:
    turn, answer = played.turn, played.answer
    reply, player = episode.replies.get(turn), episode.players.get(turn)
    return {
        "index": turn.index,
        "player": turn.player,
        "role": turn.role,
        "stage": turn.stage,
        "round": turn.round,
        "position": turn.position,
        "text": played.text,
        "answer": {"kind": answer.kind, "player": answer.player} if isinstance(answer, Vote) else answer,
        "reward": None if outcome is None else outcome.rewards[turn],
        "name": None if player is None else player.name,
        "prompt_tokens": 0 if reply is None else len(reply.prompt_ids),
        "completion_tokens": 0 if reply is None else len(reply.completion_ids),
        "truncated": reply is not None and reply.truncated,
    }


def _outcome(outcome: SpyOutcome) -> dict[str, Any]:
    return {
        "winner": outcome.winner,
        "votes": [{"voter": voter, "kind": vote.kind, "player": vote.player} for voter, vote in outcome.votes],
        "vote_counts": list(outcome.vote_counts),
        "abstentions": outcome.abstentions,
        "seat_rewards": list(outcome.seat_rewards),
        "unreadable_clues": outcome.unreadable_clues,
        "invalid_votes": outcome.invalid_votes,
        "metrics": dict(outcome.metrics),
    }
