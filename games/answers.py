r"""Reading what a player answered: the last `\\boxed{...}`, as a clue or as a vote.

Every reader takes any text, never raises, and needs time linear in its length.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import Literal

# "\x08oxed" is what "\boxed" becomes in a Python or JSON string whose backslash was not doubled.
_BRACES = re.compile(r"(?:\\b|\x08)oxed\s{0,8}\{|\\[{}]|[{}]")
_THINK = re.compile(r"<(/?)think(?:ing)?>", re.IGNORECASE)
_LATEX = re.compile(
    r"\\(?:text|textbf|textit|texttt|textrm|mathrm|mathbf|mathit|mathsf|operatorname|boxed)\s{0,8}\{"
    r"|\\[{}%#&_$/~]|[{}]"
)
_LATEX_SPACE = re.compile(r"\\[,;:!> ]|\\\\|\\q?quad\b|(?<=\w)~(?=\w)")
# Stands for an escaped tilde while bare ones, LaTeX's spaces, are replaced; no character of any text.
_TILDE = "\ufdd0"
_NUMBER = re.compile(r"(?:(?<!\w)[-+.]{1,2})?\d+(?:[.,]\d+)*")
_ABSTENTION = re.compile(
    r"""\b(?:
      n\s?[/\\.-]\s?a | na | none | null | nobody | idk | dunno | skip | pass
    | no(?:\s|-)?one | no\s(?:idea|vote|answer|opinion|decision|player|spy)
    | not\s(?:sure|certain|clear|known|applicable|available) | unsure | uncertain | unclear | unknown
    | undecided | undetermined | inconclusive | abstain(?:s|ed|ing)? | abstention
    | (?:do\snot|don'?t|can\s?not|can'?t|could\snot|couldn'?t|unable\sto)
      \s(?:know|tell|decide|say|determine|identify|be\ssure)
    )\b""",
    re.VERBOSE,
)
_NEGATION = re.compile(r"\b(?:not|cannot|isnt|never|except|neither|nor)\b|n't\b|(?:one|body|all)\sbut\b")
_NUMBER_WORDS = {
    word: number
    for number, word in enumerate(
        ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
    )
}
_WORDS_AROUND_A_NUMBER = frozenset(
    ["player", "number", "seat", "the", "spy", "is", "i", "my", "vote", "for", "suspect", "answer"]
)
_WORD = re.compile(r"[^\W\d_]+")
_LOOKALIKES = str.maketrans({"\u2019": "'", "\u2215": "/", "\u2044": "/", "\u2212": "-"})
_MAX_VOTE_CHARS = 200


def without_reasoning(text: str) -> str:
    """Drop what stands in `<think>` tags.

    Args:
        text: A raw answer.

    Returns:
        What stands outside. A closing tag without an opening one hides everything before it (chat templates often open
        the tag in the prompt); an opening tag without a closing one hides everything after it (the answer was cut off
        before it began). Tags do not nest.
    """
    if "<" not in text:
        return text
    kept: list[str] = []
    position, thinking = 0, False
    for match in _THINK.finditer(text):
        if match.group(1):
            if not thinking:
                kept.clear()
            position, thinking = match.end(), False
        elif not thinking:
            kept.append(text[position : match.start()])
            thinking = True
    if not thinking:
        kept.append(text[position:])
    return "\n".join(kept)


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
        if len(token) > 2:
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
    r"""Unwrap LaTeX styling such as `\\text{...}`, undo escapes such as `\\%`, and put everything on one line.

    All white space, line separators and control characters become single spaces; lone surrogates, which no file or
    tokenizer can take, become U+FFFD.
    """
    if "\\" in latex:
        kept: list[str] = []
        position, styles = 0, [False]  # whether each open brace belongs to a styling command
        for match in _LATEX.finditer(latex):
            token = match.group()
            kept.append(latex[position : match.start()])
            position = match.end()
            if token == "}":
                styled = len(styles) > 1 and styles.pop()
                kept.append("" if styled else token)
            elif token == "{":
                styles.append(False)
                kept.append(token)
            elif len(token) == 2:
                kept.append(_TILDE if token[1] == "~" else token[1])
            else:
                styles.append(True)
        kept.append(latex[position:])
        latex = _LATEX_SPACE.sub(" ", "".join(kept)).replace(_TILDE, "~")
    if not latex.isprintable():
        latex = "".join(_printable(char) for char in latex)
    return " ".join(latex.split())


def _printable(char: str) -> str:
    category = unicodedata.category(char)
    return "\ufffd" if category == "Cs" else " " if category in ("Cc", "Zl", "Zp") else char


def read_clue(text: str, max_chars: int = 400) -> str | None:
    """The clue in an answer, on one line.

    A clue is data that other players read: it comes out as a single line, so that it cannot pass itself off as another
    player's, and no longer than `max_chars`.

    Args:
        text: Any text.
        max_chars: Longer clues are cut there.

    Returns:
        The clue, or None where no box with anything visible in it was found.
    """
    content = read_boxed(text)
    if content is None:
        return None
    clue = plain_text(content[: 8 * max_chars])[:max_chars].strip()
    visible = any(unicodedata.category(char)[0] not in "CZ" for char in clue)
    return clue if visible else None


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

    Read are `\\boxed{3}`, "Player 3", "#3", "P3" with digits of any script and any words around them, English number
    words up to twelve that stand alone or with a few words such as "player", and the usual spellings of "n/a". A box
    with two different numbers, a number and an abstention, a negated number ("not 3"), a fraction or a sign, a number
    out of range, the voter itself, or more than 200 characters is invalid.

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
    content = unicodedata.normalize("NFKC", plain_text(content)).casefold().translate(_LOOKALIKES)
    named = {_vote_number(number) for number in _NUMBER.findall(content)}
    if _ABSTENTION.search(content):
        return INVALID if named else ABSTENTION
    if not named:
        named = _spelled_out(content)
    if len(named) != 1 or _NEGATION.search(content):
        return INVALID
    player = named.pop()
    if player is None or not 1 <= player <= num_players or player == voter:
        return INVALID
    return Vote("player", player)


def _spelled_out(content: str) -> set[int | None]:
    """The number words in a vote; none where other words make it prose, as in "two red cubes"."""
    words = set(_WORD.findall(content))
    numbers = words & _NUMBER_WORDS.keys()
    return {_NUMBER_WORDS[word] for word in numbers} if words - numbers <= _WORDS_AROUND_A_NUMBER else set()


def _vote_number(token: str) -> int | None:
    """A plain whole number of at most three digits, else None."""
    return int(token) if token.isdecimal() and len(token) <= 3 else None
