"""A person at the terminal."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from PIL import Image
from rich.console import Console
from rich.panel import Panel
from rich.style import Style
from rich.table import Table
from rich.text import Text

from visionzero.games.answers import read_boxed, read_clue, read_vote
from visionzero.games.game import Turn
from visionzero.games.spy.rules import SpyTurn
from visionzero.images.per_image import PerImage
from visionzero.players.base import Player, Reply

MAX_PREVIEW_COLUMNS, MAX_PREVIEW_ROWS = 64, 24
"""Size of the preview in the terminal, in characters; a character shows two pixels, one above the other."""

_SEES = {
    "spy": "You are the SPY.",
    "civilian": "You are a CIVILIAN.",
    "observer": "You are an OBSERVER and do not play.",
}


class HumanPlayer(Player):
    r"""Shows each turn to a person and asks for the answer, again and again until it can be read.

    Images appear as a coarse preview and as the path of a PNG file; nothing is opened. What the person types becomes the
    boxed answer; somebody who types `\\boxed{...}` answers exactly as a model would, with the rest as private reasoning.

    Args:
        console: Where to show things; the standard output if None.
        ask: Gets a prompt and returns a line; asks at `console` if None. What it raises at the end of the input
            (`EOFError`, `KeyboardInterrupt`) ends the game.
        folder: Where to put the PNG files; a temporary folder, gone with the player, if None.
        name: Short name for tables and replays.
    """

    def __init__(
        self,
        console: Console | None = None,
        ask: Callable[[str], str] | None = None,
        *,
        folder: str | Path | None = None,
        name: str = "human",
    ) -> None:
        self.console = console or Console()
        self.name = name
        self._ask = ask or self._ask_at_console
        if folder is None:
            # Kept, because it takes the folder with it when it goes.
            self._temporary = tempfile.TemporaryDirectory(prefix="visionzero-")
            folder = self._temporary.name
        self._folder = Path(folder)
        self._paths: PerImage[Path] = PerImage()
        self._num_saved = 0
        self._last_shown: Image.Image | None = None

    def reply(self, turns: Sequence[Turn]) -> list[Reply]:
        """Ask the person about one turn after the other.

        Raises:
            OSError: An image cannot be written to the folder.
        """
        return [Reply(self._spy_turn(turn) if isinstance(turn, SpyTurn) else self._any_turn(turn)) for turn in turns]

    def _spy_turn(self, turn: SpyTurn) -> str:
        stage = f"clue round {turn.round} of {turn.config.clue_rounds}" if turn.stage == "clue" else "the vote"
        observer = turn.role == "observer"
        title = f"observer, {stage}" if observer else f"player {turn.player} of {turn.config.num_players}, {stage}"
        self.console.print(Panel(self._briefing(turn), title=title, title_align="left", expand=False))
        if turn.blank:
            self.console.print("Your image is blank.", style="italic")
        else:
            self._show_image(turn.view.image)
        if turn.clues:
            self.console.print(_clue_table(turn))
        return self._clue(turn) if turn.stage == "clue" else self._vote(turn)

    def _any_turn(self, turn: Turn) -> str:
        """A turn of a game that is not known here: the chat is shown, and the line is the answer."""
        self.console.print(Panel(Text(_printable(turn.prompt)), title=f"{turn.role}, {turn.stage}", title_align="left"))
        for image in turn.images:
            self._show_image(image)
        return self._ask("Your answer: ")

    def _briefing(self, turn: SpyTurn) -> Text:
        config = turn.config
        lines = [_SEES[turn.role]]
        if turn.role == "spy" and config.spy_view != "blank" and not turn.blank:
            lines.append("Your image may differ from what the civilians see.")
        if turn.stage == "decision":
            lines.append("Who is the spy? Nobody sees your vote.")
        elif turn.role == "spy":
            lines.append("Give a clue that a civilian could have given: one sentence that everybody reads.")
        else:
            lines.append("Give a clue that proves you can see the image: one sentence that everybody reads.")
        return Text("\n".join(lines))

    def _clue(self, turn: SpyTurn) -> str:
        limit = turn.config.max_clue_chars
        while True:
            typed = self._ask("Your clue: ")
            answer = _boxed(typed)
            clue = read_clue(answer, limit)
            wanted = " ".join(typed.split())
            if clue is None:
                self._complain("There is nothing to read in that. Write one sentence.")
            elif len(_whole_clue(answer)) > limit:
                self._complain(f"The others would read only the first {limit} characters. Be shorter.")
            elif read_boxed(typed) is None and clue != wanted:
                self._complain(f"The others would read: {clue} Word it differently, without backslashes and tags.")
            else:
                return answer

    def _vote(self, turn: SpyTurn) -> str:
        players = turn.config.num_players
        others = [str(player) for player in range(1, players + 1) if player != turn.player]
        while True:
            answer = _boxed(self._ask(f"Your vote ({', '.join(others)} or n/a): "))
            voter = turn.player if turn.role == "civilian" else None
            if read_vote(answer, players, voter).kind != "invalid":
                return answer
            if read_vote(answer, players).player == voter and voter is not None:
                self._complain("You cannot vote for yourself.")
            else:
                self._complain(f"Name one player by number, {', '.join(others)}, or n/a if you are not sure.")

    def _complain(self, text: str) -> None:
        self.console.print(Text(text), style="yellow")

    def _show_image(self, image: Image.Image) -> None:
        path = self._paths.get(image, self._save)
        if image is not self._last_shown and self.console.color_system is not None and self._has_half_blocks():
            self.console.print(preview(image, min(MAX_PREVIEW_COLUMNS, self.console.width)))
        self._last_shown = image
        self.console.print(Text.assemble("Your image: ", (str(path), "bold")), soft_wrap=True)

    def _save(self, image: Image.Image) -> Path:
        self._folder.mkdir(parents=True, exist_ok=True)
        self._num_saved += 1
        path = self._folder / f"image-{self._num_saved}.png"
        image.save(path)
        return path

    def _has_half_blocks(self) -> bool:
        try:
            "▀".encode(self.console.encoding)
        except (LookupError, UnicodeEncodeError):
            return False
        return True

    def _ask_at_console(self, prompt: str) -> str:
        return self.console.input(Text(prompt, style="bold"))


def preview(image: Image.Image, columns: int = MAX_PREVIEW_COLUMNS, rows: int = MAX_PREVIEW_ROWS) -> Text:
    """An image as coloured half blocks.

    Args:
        image: RGB image of any size.
        columns: Most characters in a line, >= 1.
        rows: Most lines, >= 1.

    Returns:
        The text, as large as fits while keeping the proportions, and never larger than the image.
    """
    scale = min(columns / image.width, 2 * rows / image.height, 1.0)
    width, height = max(1, round(image.width * scale)), max(1, round(image.height * scale))
    small = image.convert("RGB").resize((width, height + height % 2), Image.Resampling.BOX)
    text = Text(no_wrap=True)
    for top in range(0, small.height, 2):
        for left in range(width):
            upper, lower = ("#{:02x}{:02x}{:02x}".format(*_pixel(small, left, top + half)) for half in (0, 1))
            text.append("▀", Style(color=upper, bgcolor=lower))
        if top + 2 < small.height:
            text.append("\n")
    return text


def _pixel(image: Image.Image, x: int, y: int) -> tuple[int, ...]:
    pixel = image.getpixel((x, y))
    assert isinstance(pixel, tuple)
    return tuple(map(int, pixel))


def _clue_table(turn: SpyTurn) -> Table:
    table = Table(title="Clues so far", title_justify="left", show_edge=False)
    for heading in ("round", "player", "clue"):
        table.add_column(heading, justify="left" if heading == "clue" else "right")
    for clue in turn.clues:
        own = clue.player == turn.player
        text = Text("(no clue)", style="italic") if clue.text is None else Text(_printable(clue.text))
        table.add_row(str(clue.round), f"{clue.player}{' (you)' if own else ''}", text, style="bold" if own else "")
    return table


def _boxed(typed: str) -> str:
    r"""What was typed as an answer: unchanged where it has a box, else in one, with braces and tildes escaped."""
    if read_boxed(typed) is not None:
        return typed
    escaped = re.sub(r"[{}~]", r"\\\g<0>", typed)
    return f"\\boxed{{{escaped}}}"


def _whole_clue(answer: str) -> str:
    return read_clue(answer, max(1, len(answer))) or ""


def _printable(text: str) -> str:
    """A text without control characters, which could do anything to a terminal."""
    return "".join(char if char.isprintable() or char == "\n" else "\ufffd" for char in text)
