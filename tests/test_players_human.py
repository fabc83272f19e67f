"""A person at the terminal: what is shown, what is asked again, what is answered."""

from __future__ import annotations

import os
import re
import select
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from PIL import Image
from rich.console import Console

from visionzero.games import SpyConfig, SpyGame, Turn
from visionzero.games.answers import read_clue
from visionzero.players import HumanPlayer, ScriptedPlayer
from visionzero.players.human import preview
from visionzero.rollout import rollout


class Person:
    """Types prepared lines, and remembers what was asked."""

    def __init__(self, lines: Iterable[str]) -> None:
        self.lines = list(lines)
        self.asked: list[str] = []

    def __call__(self, prompt: str) -> str:
        self.asked.append(prompt)
        if not self.lines:
            raise EOFError
        return self.lines.pop(0)


def screen(**options: Any) -> tuple[Console, StringIO]:
    output = StringIO()
    return Console(file=output, width=100, **options), output


def photo(colour: str = "red") -> Image.Image:
    return Image.new("RGB", (40, 30), colour)


def seated(person: HumanPlayer, seat: int) -> Callable[..., Any]:
    others = ScriptedPlayer()
    return lambda game, turn: person if turn.seat == seat else others


def play(lines: Iterable[str], tmp_path: Path, *, seat: int = 1, **rules: Any) -> tuple[SpyGame, Person, str]:
    """A game in which seat 0 is the spy and a person has a seat."""
    console, output = screen()
    person = Person(lines)
    game = SpyGame(photo(), SpyConfig(**{"clue_rounds": 1, **rules}), seed=1, spy_seat=0)
    (episode,) = rollout([game], seated(HumanPlayer(console, person, folder=tmp_path), seat))
    assert episode.error is None
    return game, person, output.getvalue()


def test_a_person_plays_a_whole_game(tmp_path: Path) -> None:
    game, person, shown = play(["a plain red area", "still red", "n/a"], tmp_path, clue_rounds=2)
    assert [clue.text for clue in game.clues if clue.player == 2] == ["a plain red area", "still red"]
    assert [str(vote) for voter, vote in game.outcome.votes if voter == 2] == ["n/a"]
    assert person.asked == ["Your clue: ", "Your clue: ", "Your vote (1, 3, 4, 5 or n/a): "]
    for clue in game.clues:
        assert clue.text is not None
        assert clue.text in shown


def test_role_stage_and_seat_are_shown(tmp_path: Path) -> None:
    _, _, shown = play(["red", "3"], tmp_path)
    assert "player 2 of 5, clue round 1 of 1" in shown
    assert "You are a CIVILIAN." in shown
    assert "player 2 of 5, the vote" in shown
    assert "2 (you)" in shown


def test_the_image_is_saved_once_and_its_path_is_shown(tmp_path: Path) -> None:
    _, _, shown = play(["red", "3"], tmp_path)
    (path,) = tmp_path.iterdir()
    assert str(path) in shown.replace("\n", "")
    with Image.open(path) as saved:
        assert saved.convert("RGB").tobytes() == photo().tobytes()


def test_without_a_folder_images_go_with_the_player() -> None:
    console, output = screen()
    player = HumanPlayer(console, Person(["red", "3"]))
    rollout([SpyGame(photo(), SpyConfig(clue_rounds=1), seed=1, spy_seat=0)], seated(player, 1))
    found = re.search(r"Your image: (.*\.png)", output.getvalue())
    assert found is not None
    path = Path(found.group(1))
    assert path.exists()
    del player
    assert not path.exists()


def test_a_blind_spy_is_told_so_and_gets_no_file(tmp_path: Path) -> None:
    _, person, shown = play(["something red"], tmp_path, seat=0)
    assert "You are the SPY." in shown
    assert "Your image is blank." in shown
    assert not list(tmp_path.iterdir())
    assert person.asked == ["Your clue: "]


def test_a_spy_with_an_edited_view_is_warned(tmp_path: Path) -> None:
    _, _, shown = play(["something red"], tmp_path, seat=0, spy_view="edited")
    assert "may differ" in shown
    assert len(list(tmp_path.iterdir())) == 1


def test_an_observer_votes_for_anybody(tmp_path: Path) -> None:
    game, person, shown = play(["5"], tmp_path, seat=5, voters="observer", votes_per_game=1)
    assert "OBSERVER" in shown
    assert person.asked == ["Your vote (1, 2, 3, 4, 5 or n/a): "]
    assert game.outcome.votes[0][1].player == 5


@pytest.mark.parametrize(
    ("typed", "vote"),
    [("3", "3"), (" player 4 ", "4"), ("N/A", "n/a"), ("na", "n/a"), ("not sure", "n/a"), ("I think \\boxed{5}", "5")],
)
def test_votes_are_read_in_any_usual_spelling(typed: str, vote: str, tmp_path: Path) -> None:
    game, _, _ = play(["red", typed], tmp_path)
    assert {str(vote) for voter, vote in game.outcome.votes if voter == 2} == {vote}


@pytest.mark.parametrize(
    ("typed", "complaint"),
    [
        ("", "Name one player by number"),
        ("nine", "Name one player by number"),
        ("9", "Name one player by number"),
        ("3 or 4", "Name one player by number"),
        ("2", "You cannot vote for yourself."),
    ],
)
def test_votes_that_cannot_be_read_are_asked_for_again(typed: str, complaint: str, tmp_path: Path) -> None:
    game, person, shown = play(["red", typed, "3"], tmp_path)
    assert complaint in shown
    assert len(person.asked) == 3
    assert game.outcome.invalid_votes == 0


@pytest.mark.parametrize(
    ("typed", "complaint"),
    [
        ("", "nothing to read"),
        (" \t", "nothing to read"),
        ("\u200b", "nothing to read"),
        ("hm \\boxed{}", "nothing to read"),
        ("x" * 401, "first 400 characters"),
        ("<think>red</think> and blue", "Word it differently"),
    ],
)
def test_clues_that_others_could_not_read_are_asked_for_again(typed: str, complaint: str, tmp_path: Path) -> None:
    game, _, shown = play([typed, "it is red", "n/a"], tmp_path)
    assert complaint in shown
    assert game.clues[1].text == "it is red"


def test_whoever_types_a_box_has_private_reasoning(tmp_path: Path) -> None:
    game, _, _ = play(["They all say red. \\boxed{a red square}", "n/a"], tmp_path)
    assert game.clues[1].text == "a red square"
    assert game.history[1].text.startswith("They all say red.")


@given(st.text(st.characters(codec="utf-8", exclude_categories=["C"]), min_size=1, max_size=60))
@example("{0~0")
def test_what_is_typed_is_what_the_others_read(typed: str) -> None:
    console, _ = screen()
    game = SpyGame(photo(), SpyConfig(clue_rounds=1), seed=1, spy_seat=1)
    player = HumanPlayer(console, Person([typed, "a safe clue"]), folder="/nonexistent")
    player._show_image = lambda image: None  # type: ignore[method-assign]
    clue = read_clue(player.answer(game.pending()[0]))
    assert clue in (" ".join(typed.split()), "a safe clue", read_clue(typed))
    if not set(typed) & set("\\<") and typed.strip():
        assert clue == " ".join(typed.split()) or not any(char.isalnum() for char in typed)


def test_what_players_say_cannot_control_the_terminal(tmp_path: Path) -> None:
    console, output = screen(force_terminal=True, color_system="truecolor")
    game = SpyGame(photo(), SpyConfig(clue_rounds=1), seed=1, spy_seat=0)
    game.submit(game.pending()[0], "\\boxed{[bold red]hi[/] \x1b]0;owned\x07 \x1b[2J [link=x]}")
    HumanPlayer(console, Person(["red"]), folder=tmp_path).answer(game.pending()[0])
    shown = output.getvalue()
    assert "[bold red]hi[/]" in shown
    assert "\x1b]" not in shown
    assert "\x1b[2J" not in shown


def test_the_end_of_the_input_ends_the_game(tmp_path: Path) -> None:
    with pytest.raises(EOFError):
        play(["red"], tmp_path)


class OtherTurn(Turn):
    """A turn of a game that the player does not know."""

    @property
    def messages(self) -> tuple[dict[str, Any], ...]:
        image = {"type": "image", "image": photo()}
        return ({"role": "user", "content": [{"type": "text", "text": "What is [bold]2 + 2[/]?"}, image]},)


def test_turns_of_any_game_can_be_answered(tmp_path: Path) -> None:
    console, output = screen()
    player = HumanPlayer(console, Person(["\\boxed{4}"]), folder=tmp_path)
    turn = OtherTurn(game_seed=1, index=0, seat=0, role="solver", stage="solve")
    assert player.answer(turn) == "\\boxed{4}"
    assert "What is [bold]2 + 2[/]?" in output.getvalue()
    assert "image-1.png" in output.getvalue()


@pytest.mark.parametrize(
    ("size", "cells"),
    [((1, 1), (1, 1)), ((640, 480), (64, 24)), ((20_000, 30), (64, 1)), ((3, 9_000), (1, 24)), ((10, 10), (10, 5))],
)
def test_a_preview_keeps_the_proportions(size: tuple[int, int], cells: tuple[int, int]) -> None:
    lines = preview(Image.new("RGB", size, "navy")).plain.split("\n")
    assert (len(lines[0]), len(lines)) == cells
    assert {len(line) for line in lines} == {cells[0]}


def test_a_preview_shows_the_colours() -> None:
    image = Image.new("RGB", (8, 8), "red")
    image.paste((0, 0, 255), (0, 4, 8, 8))
    console, output = screen(force_terminal=True, color_system="truecolor")
    console.print(preview(image))
    assert "38;2;255;0;0;48;2;255;0;0" in output.getvalue()
    assert "38;2;0;0;255;48;2;0;0;255" in output.getvalue()


def test_without_colours_there_is_no_preview(tmp_path: Path) -> None:
    assert "▀" not in play(["red", "3"], tmp_path)[2]


SCRIPT = """
from PIL import Image
from visionzero.games import SpyConfig, SpyGame
from visionzero.players import HumanPlayer, ScriptedPlayer
from visionzero.rollout import rollout

game = SpyGame(Image.new("RGB", (40, 30), "teal"), SpyConfig(clue_rounds=1), seed=1, spy_seat=0)
person, others = HumanPlayer(), ScriptedPlayer()
rollout([game], lambda game, turn: person if turn.seat == 1 else others)
print("clue:", game.clues[1].text, "| vote:", game.history[-4].answer, "| done:", game.done)
"""


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="this system has no pseudo-terminals")
def test_a_person_plays_in_a_real_terminal() -> None:
    parent, child = os.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "90", "LINES": "40", "PYTHONIOENCODING": "utf-8"}
    environment.pop("NO_COLOR", None)
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT], stdin=child, stdout=child, stderr=child, env=environment, close_fds=True
    )
    os.close(child)
    seen = b""

    def wait_for(text: str) -> None:
        nonlocal seen
        end = time.monotonic() + 60
        while text.encode() not in seen:
            ready, _, _ = select.select([parent], [], [], max(0.0, end - time.monotonic()))
            assert ready, f"{text!r} did not appear in {seen[-2000:]!r}"
            try:
                seen += os.read(parent, 65536)
            except OSError:  # the other side is closed
                assert text.encode() in seen, seen[-2000:]

    try:
        wait_for("Your clue: ")
        assert "▀".encode() in seen
        os.write(parent, "grün und blau\n".encode())
        wait_for("n/a): ")
        os.write(parent, b"2\n")
        wait_for("You cannot vote for yourself.")
        os.write(parent, b"n/a\n")
        wait_for("clue: grün und blau | vote: n/a | done: True")
        assert process.wait(30) == 0
    finally:
        process.kill()
        process.wait()
        os.close(parent)
