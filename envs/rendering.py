"""Showing a game of Who Is the Spy?: as a text, or as a frame of constant size."""

from __future__ import annotations

import importlib.util
import unicodedata
from functools import lru_cache
from pathlib import Path, PurePath

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from visionzero.envs.observation import count_clue_round, letterbox
from visionzero.envs.results import game_result
from visionzero.games import Clue, SpyGame

RENDER_MODES: tuple[str, ...] = ("ansi", "rgb_array")
RENDER_FPS = 1
FRAME_SIZE = (600, 960)
"""Height and width of a frame, in pixels."""

_MARGIN = 20
_PICTURE_SIZE = (256, 400)
_TEXT_LEFT = _PICTURE_SIZE[1] + 2 * _MARGIN
_TEXT_WIDTH = FRAME_SIZE[1] - _TEXT_LEFT - _MARGIN
_CLUES_TOP = 84
_VOTES_TOP = 486
_LINE = 18
_MAX_LINES = 4

_PAPER, _INK, _FAINT, _EMPTY = (250, 250, 247), (32, 34, 38), (120, 124, 130), (228, 228, 224)
_SPY, _CIVILIAN, _UNKNOWN = (196, 48, 43), (45, 104, 168), (110, 114, 120)


def check_render_mode(render_mode: str | None) -> str | None:
    """Return a known render mode as it is.

    Raises:
        ValueError: It is not one of `RENDER_MODES`, and not None.
    """
    if render_mode is not None and render_mode not in RENDER_MODES:
        raise ValueError(f"render_mode must be one of {', '.join(RENDER_MODES)} or None, got {render_mode!r}")
    return render_mode


def render_game(game: SpyGame, render_mode: str, viewer: int | None = None) -> str | NDArray[np.uint8]:
    """Show a game so far.

    Args:
        game: The game.
        render_mode: `"ansi"` or `"rgb_array"`.
        viewer: The seat that looks on: it sees its own image and role, and everything once the game is over. None is
            the audience, which sees images and roles from the start. Votes are shown when all are in, to everybody.

    Returns:
        A text, or a uint8 array of shape (*FRAME_SIZE, 3).
    """
    return render_text(game, viewer) if render_mode == "ansi" else render_frame(game, viewer)


def render_text(game: SpyGame, viewer: int | None = None) -> str:
    """A game so far as lines of text; see `render_game`."""
    lines = [_title(game), _status(game, viewer)]
    for round_ in range(1, game.config.clue_rounds + 1):
        clues = [clue for clue in game.clues if clue.round == round_]
        if clues:
            lines += ["", f"Round {round_}"]
            lines += [f"  {_player(game, clue.player - 1, viewer)}: {_clue_text(clue)}" for clue in clues]
    if game.done:
        result = game_result(game)
        lines += ["", "Votes"]
        lines += [f"  {_voter(game, voter)} -> {vote}" for voter, vote in result["votes"]]
        counts = ", ".join(f"{player}: {count:g}" for player, count in enumerate(result["vote_counts"], start=1))
        returns = ", ".join(f"{value:+.3f}" for value in result["seat_returns"])
        lines += ["", f"Votes received  {counts}", f"Returns by seat  {returns}"]
    return "\n".join(map(_printable, lines)) + "\n"


def render_frame(game: SpyGame, viewer: int | None = None) -> NDArray[np.uint8]:
    """A game so far as a picture: images on the left, clues and votes on the right; see `render_game`."""
    frame = Image.new("RGB", (FRAME_SIZE[1], FRAME_SIZE[0]), _PAPER)
    draw = ImageDraw.Draw(frame)
    everything = viewer is None or game.done
    _draw_picture(
        frame, draw, 0, "What the civilians see", game, spy=False, shown=everything or viewer != game.spy_seat
    )
    _draw_picture(frame, draw, 1, "What the spy sees", game, spy=True, shown=everything or viewer == game.spy_seat)
    draw.text((_TEXT_LEFT, _MARGIN), _fit(_title(game), _font(18, True), _TEXT_WIDTH), _INK, _font(18, True))
    draw.text((_TEXT_LEFT, _MARGIN + 30), _fit(_status(game, viewer), _font(14), _TEXT_WIDTH), _FAINT, _font(14))
    _draw_clues(draw, game, viewer)
    _draw_votes(draw, game, viewer)
    return np.array(frame)


def _title(game: SpyGame) -> str:
    return f"Who Is the Spy?  {PurePath(game.pair.name).name}"


def _status(game: SpyGame, viewer: int | None) -> str:
    if game.done:
        winner = "The civilians win" if game.outcome.winner == "civilians" else "The spy wins"
        status = f"{winner}: player {game.outcome.spy} was the spy"
    elif len(game.clues) < game.config.num_clues:
        status = f"Clue round {count_clue_round(game)} of {game.config.clue_rounds}, {game.config.num_players} players"
    else:
        cast = game.config.num_votes - len(game.pending())
        status = f"Vote: {cast} of {game.config.num_votes} are in"
    if viewer is None:
        return status
    return f"{status}. You are player {viewer + 1}, {'the spy' if viewer == game.spy_seat else 'a civilian'}"


def _knows_role(game: SpyGame, seat: int, viewer: int | None) -> bool:
    return viewer is None or game.done or seat == viewer or viewer == game.spy_seat


def _player(game: SpyGame, seat: int, viewer: int | None) -> str:
    spy = seat == game.spy_seat and _knows_role(game, seat, viewer)
    return f"Player {seat + 1}{' (spy)' if spy else ''}"


def _voter(game: SpyGame, player: int) -> str:
    return "Observer" if player > game.config.num_players else f"Player {player}"


def _clue_text(clue: Clue) -> str:
    return "(no clue)" if clue.text is None else clue.text


def _printable(text: str) -> str:
    """The text without characters that cannot be encoded or that would move the cursor."""
    return "".join(
        "\ufffd" if unicodedata.category(char) == "Cs" else " " if unicodedata.category(char) == "Cc" else char
        for char in text
    )


def _draw_picture(
    frame: Image.Image, draw: ImageDraw.ImageDraw, slot: int, caption: str, game: SpyGame, *, spy: bool, shown: bool
) -> None:
    height, width = _PICTURE_SIZE
    top = _MARGIN + slot * (height + 32)
    draw.text((_MARGIN, top), caption, _SPY if spy else _CIVILIAN, _font(13, True))
    top += 20
    if shown:
        image = game.spy_view.image if spy else game.pair.civilian
        frame.paste(Image.fromarray(letterbox(image, _PICTURE_SIZE)), (_MARGIN, top))
    else:
        draw.rectangle((_MARGIN, top, _MARGIN + width - 1, top + height - 1), _EMPTY)
        draw.text(
            (_MARGIN + width // 2, top + height // 2), "shown when the game is over", _FAINT, _font(13), anchor="mm"
        )
    draw.rectangle((_MARGIN, top, _MARGIN + width - 1, top + height - 1), outline=_FAINT)


def _draw_clues(draw: ImageDraw.ImageDraw, game: SpyGame, viewer: int | None) -> None:
    """The clues, the latest ones where not all of them fit."""
    font = _font(14)
    room = (_VOTES_TOP - _CLUES_TOP) // _LINE - 1
    max_lines = max(1, min(_MAX_LINES, room // max(1, game.config.num_clues)))
    indent = 96
    blocks = [_wrap(_clue_text(clue), font, _TEXT_WIDTH - indent, max_lines) for clue in game.clues]
    first = len(blocks)
    while first > 0 and sum(map(len, blocks[first - 1 :])) <= room:
        first -= 1
    y = _CLUES_TOP
    if first:
        draw.text((_TEXT_LEFT, y), f"({first} earlier {'clue' if first == 1 else 'clues'})", _FAINT, _font(13))
        y += _LINE
    if not blocks:
        draw.text((_TEXT_LEFT, y), "No clues yet", _FAINT, font)
    for clue, block in zip(game.clues[first:], blocks[first:], strict=True):
        seat = clue.player - 1
        color = _UNKNOWN
        if _knows_role(game, seat, viewer):
            color = _SPY if seat == game.spy_seat else _CIVILIAN
        draw.text((_TEXT_LEFT, y), f"{clue.round}  Player {clue.player}", color, _font(13, True))
        for line in block:
            draw.text((_TEXT_LEFT + indent, y), line, _INK, font)
            y += _LINE


def _draw_votes(draw: ImageDraw.ImageDraw, game: SpyGame, viewer: int | None) -> None:
    """How many votes every player received, as bars, or why there are none to see."""
    draw.line((_TEXT_LEFT, _VOTES_TOP - 6, _TEXT_LEFT + _TEXT_WIDTH, _VOTES_TOP - 6), _EMPTY, 1)
    draw.text((_TEXT_LEFT, _VOTES_TOP), "Votes received", _INK, _font(13, True))
    if not game.done:
        draw.text((_TEXT_LEFT, _VOTES_TOP + 24), "secret until all of them are in", _FAINT, _font(13))
        return
    outcome = game.outcome
    scale = game.config.num_civilians / game.config.num_votes
    columns: list[tuple[str, float, tuple[int, int, int]]] = [
        (f"{player}", count, _SPY if player == outcome.spy else _CIVILIAN)
        for player, count in enumerate(outcome.vote_counts, start=1)
    ]
    columns += [("n/a", outcome.abstentions, _UNKNOWN), ("invalid", outcome.invalid_votes * scale, _UNKNOWN)]
    width, base, tallest = _TEXT_WIDTH // len(columns), FRAME_SIZE[0] - 38, 40
    for index, (label, count, color) in enumerate(columns):
        left = _TEXT_LEFT + index * width
        bar = round(tallest * count / game.config.num_civilians)
        draw.rectangle((left + 6, base - bar, left + width - 7, base), color if count else _EMPTY)
        draw.text((left + width // 2, base - bar - 2), f"{count:.3g}", _INK, _font(13), anchor="mb")
        draw.text((left + width // 2, base + 4), label, color, _font(13, True), anchor="mt")


def _wrap(text: str, font: ImageFont.FreeTypeFont, width: int, max_lines: int) -> list[str]:
    """Break a text into at most `max_lines` lines of at most `width` pixels, between words where possible."""
    # No glyph of a line is narrower than a pixel, so what lies beyond cannot be shown.
    words = _printable(text[: width * max_lines]).split(" ")
    lines = [""]
    for word in words:
        joined = f"{lines[-1]} {word}" if lines[-1] else word
        if font.getlength(joined) <= width:
            lines[-1] = joined
            continue
        if lines[-1]:
            lines.append("")
        while font.getlength(word) > width and len(lines) <= max_lines:
            end = len(word)
            while end > 1 and font.getlength(word[:end]) > width:
                end -= max(1, end // 8)
            lines[-1], word = word[:end], word[end:]
            lines.append("")
        lines[-1] = word
    if len(lines) > max_lines:
        lines = [*lines[: max_lines - 1], _fit(f"{lines[max_lines - 1]} …", font, width)]
    return lines


def _fit(text: str, font: ImageFont.FreeTypeFont, width: int) -> str:
    """The text, cut with an ellipsis where it is wider than `width` pixels."""
    text = _printable(text[:width])
    if font.getlength(text) <= width:
        return text
    text = text.removesuffix("…")
    while text and font.getlength(f"{text}…") > width:
        text = text[:-1]
    return f"{text.rstrip()}…"


@lru_cache(maxsize=16)
def _font(size: int, bold: bool = False) -> ImageFont.FreeTypeFont:
    """DejaVu Sans, which Matplotlib brings along; found without importing Matplotlib."""
    spec = importlib.util.find_spec("matplotlib")
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError("rendering needs Matplotlib's fonts: pip install matplotlib")
    fonts = Path(spec.submodule_search_locations[0], "mpl-data", "fonts", "ttf")
    name = "DejaVuSans-Bold.ttf" if bold else "DejaVuSans.ttf"
    return ImageFont.truetype(str(fonts / name), size, layout_engine=ImageFont.Layout.BASIC)
