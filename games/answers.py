r"""Reading what a player answered: the last `\\boxed{...}`, as a clue or as a vote.

Every reader takes any text, never raises, and needs time linear in its length.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import Literal

_BRACES = re.compile(r"\\boxed\s{0,8}\{|\\[{}]|[{}]")
_THINK_CLOSE = re.compile(r"</think(?:ing)?>", re.IGNORECASE)
_THINK_OPEN = re.compile(r"<think(?:ing)?>", re.IGNORECASE)
_LATEX_STYLE = re.compile(
    r"\\(?:text|textbf|textit|texttt|textrm|mathrm|mathbf|mathit|mathsf|operatorname|boxed)\s{0,8}\{"
)
_LATEX_SPACE = re.compile(r"\\[,;:!> ]|~")
_NUMBER = re.compile(r"[-+]?\d+(?:[.,]\d+)*")
_ABSTENTION = re.compile(
    r"\b(?:n\s?[/\\.]\s?a\b\.?|na|not\s(?:sure|certain|applicable|available)|unsure|uncertain|unknown|undecided|abstain(?:ed|s)?"
    r"|no\s(?:idea|vote|answer)|none|(?:do\snot|don'?t|cannot|can'?t)\s(?:know|tell|decide|say))\b",
    re.IGNORECASE,
)
_NUMBER_WORDS = {
    word: number
    for number, word in enumerate(
        ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
    )
}
_WORD = re.compile(r"[a-z]+")
_MAX_VOTE_CHARS = 200


def without_reasoning(text: str) -> str:
    """Drop what stands in `<think>` tags.

    Args:
        text: A raw answer.

    Returns:
        What follows the last `</think>`. An opened tag that is never closed hides everything after it: the answer was
        cut off before it began.
    """
    end = 0
    for match in _THINK_CLOSE.finditer(text):
        end = match.end()
    text = text[end:]
    opened = _THINK_OPEN.search(text)
    return text[: opened.start()] if opened else text


def read_boxed(text: str) -> str | None:
    r"""The content of the last `\\boxed{...}` outside `<think>` tags.

    Braces may nest. Of several boxes the last counts; a box inside another belongs to the outer one. A last box whose
    closing brace is missing ends with its line.

    Args:
        text: Any text.

    Returns:
        The content without surrounding white space, possibly empty; None where there is no box.
    """
    text = without_reasoning(text)
    opened: list[int] = []  # content starts of open boxes; -1 for a plain brace
    closed: tuple[int, int] | None = None
    for match in _BRACES.finditer(text):
        token = match.group()
        if token.startswith("\\boxed"):
            opened.append(match.end())
        elif token == "{":
            opened.append(-1)
        elif token == "}" and opened:
            start = opened.pop()
            if start >= 0:
                closed = (start, match.start())
    unclosed = max(opened, default=-1)
    if unclosed >= 0 and (closed is None or unclosed > closed[1]):
        return text[unclosed:].split("\n", 1)[0].strip()
    return None if closed is None else text[closed[0] : closed[1]].strip()


def plain_text(latex: str) -> str:
    r"""Unwrap LaTeX styling such as `\\text{...}` and fold all white space and control characters to single spaces."""
    if "\\" in latex:
        kept: list[str] = []
        position, styles = 0, [False]  # whether each open brace belongs to a styling command
        for match in re.finditer(_LATEX_STYLE.pattern + r"|[{}]", latex):
            token = match.group()
            kept.append(latex[position : match.start()])
            position = match.end()
            if token == "}":
                styled = styles.pop() if len(styles) > 1 else False
                kept.append("" if styled else token)
            else:
                styles.append(token != "{")
                kept.append("" if token != "{" else token)
        kept.append(latex[position:])
        latex = _LATEX_SPACE.sub(" ", "".join(kept))
    printable = "".join(" " if unicodedata.category(char) in ("Cc", "Zl", "Zp") else char for char in latex)
    return " ".join(printable.split())


def read_clue(text: str, max_chars: int = 400) -> str | None:
    """The clue in an answer, on one line.

    A clue is data that other players read: it comes out as a single line, so that it cannot pass itself off as another
    player's, and no longer than `max_chars`.

    Args:
        text: Any text.
        max_chars: Longer clues are cut there.

    Returns:
        The clue, or None where no box with anything in it was found.
    """
    content = read_boxed(text)
    if content is None:
        return None
    return plain_text(content[: 8 * max_chars])[:max_chars].strip() or None


@dataclass(frozen=True)
class Vote:
    """What a voter said.

    Attributes:
        kind: `"player"` for a player number, `"n/a"` for an abstention, `"invalid"` for anything else.
        player: The number, from 1, where `kind` is `"player"`; else None.
    """

    kind: Literal["player", "n/a", "invalid"]
    player: int | None = None

    def __str__(self) -> str:
        return str(self.player) if self.kind == "player" else self.kind


ABSTENTION = Vote("n/a")
INVALID = Vote("invalid")


def read_vote(text: str, num_players: int, voter: int | None = None) -> Vote:
    r"""The vote in an answer.

    Read are `\\boxed{3}`, "Player 3", "#3", digits of any script, number words, and the usual spellings of "n/a". A box
    that names two different numbers, a number and an abstention, a number out of range, or the voter itself is invalid.

    Args:
        text: Any text.
        num_players: Players are numbered 1 to `num_players`.
        voter: The voter's own number; None for a voter that is not a player.

    Returns:
        The vote; `INVALID` where it cannot be read.
    """
    content = read_boxed(text)
    if content is None or len(content) > _MAX_VOTE_CHARS:
        return INVALID
    content = unicodedata.normalize("NFKC", plain_text(content)).casefold().replace("\u2019", "'")
    abstains = _ABSTENTION.search(content) is not None
    named = {_vote_number(number) for number in _NUMBER.findall(content)}
    if not named and not abstains:
        named = {_NUMBER_WORDS[word] for word in _WORD.findall(content) if word in _NUMBER_WORDS}
    if abstains:
        return INVALID if named else ABSTENTION
    if len(named) != 1:
        return INVALID
    player = named.pop()
    if player is None or not 1 <= player <= num_players or player == voter:
        return INVALID
    return Vote("player", player)


def _vote_number(token: str) -> int | None:
    """A plain whole number of at most three digits, else None."""
    return int(token) if token.isdecimal() and len(token) <= 3 else None
