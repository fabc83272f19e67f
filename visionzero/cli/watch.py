"""Games and matches in the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from tqdm import tqdm

from visionzero.arena import MatchResult, play_match
from visionzero.games import SpyConfig, SpyGame, Turn
from visionzero.games.game import Game
from visionzero.images import ImageSource
from visionzero.players.base import Player
from visionzero.rollout import Episode, rollout


def play_and_watch(
    games: Sequence[SpyGame], spy: Player, civilians: Player, human_seat: int | None, console: Console
) -> list[Episode[SpyGame]]:
    """Play games one after the other and show them.

    Args:
        games: Fresh games.
        spy: Who plays the spy.
        civilians: Who plays the civilians, and the observer.
        human_seat: A seat that a person plays, whatever its role.
        console: Where to show them.

    Returns:
        The episodes.
    """
    person: Player | None = None
    if human_seat is not None:
        from visionzero.players.human import HumanPlayer

        person = HumanPlayer()

    def choose(game: Game, turn: Turn) -> Player:
        if person is not None and turn.seat == human_seat:
            return person
        return spy if turn.role == "spy" else civilians

    episodes = []
    for number, game in enumerate(games, start=1):
        console.rule(f"game {number} of {len(games)}: {game.pair.name}")
        (episode,) = rollout([game], choose)
        if episode.error is not None:
            raise episode.error
        show_game(episode, console)
        episodes.append(episode)
    return episodes


def show_game(episode: Episode[SpyGame], console: Console) -> None:
    """Print a finished game: clues, votes, who won."""
    game = episode.game
    outcome = game.outcome
    for clue in game.clues:
        role = "spy" if clue.player == outcome.spy else "civilian"
        console.print(
            f"round {clue.round}  player {clue.player} ({role}): {clue.text or '(no clue)'}",
            markup=False,
            highlight=False,
        )
    for voter, vote in outcome.votes:
        name = "observer" if voter > game.config.num_players else f"player {voter}"
        console.print(f"{name} votes: {vote}", markup=False, highlight=False)
    console.print(f"[bold]{outcome.winner} win[/bold]; the spy was player {outcome.spy}", highlight=False)


def play_match_with_progress(
    player: Player, opponent: Player, source: ImageSource, config: SpyConfig, *, rounds: int, seed: int
) -> MatchResult:
    """`play_match` with a progress bar of finished answers."""
    turns = rounds * (config.num_clues + config.num_votes)
    with tqdm(total=turns, desc=f"{player.name} vs {opponent.name}", unit="turn") as bar:

        def advance(count: int) -> None:
            bar.update(count)

        return play_match(player, opponent, source, config, rounds=rounds, seed=seed, on_turns=advance)


def match_data(result: MatchResult) -> dict[str, Any]:
    """A match result as JSON data."""
    low, high = result.interval
    return {
        "player": result.player,
        "opponent": result.opponent,
        "rounds": result.rounds,
        "win_rate": result.win_rate,
        "interval_95": [low, high],
        "wins_as_spy": result.wins_as_spy,
        "rounds_as_spy": result.rounds_as_spy,
        "wins_as_civilians": result.wins_as_civilians,
        "rounds_as_civilians": result.rounds_as_civilians,
        **result.figures,
    }


def match_table(result: MatchResult) -> Table:
    """A match result as a table."""
    low, high = result.interval
    table = Table(title=f"{result.player} against {result.opponent}", show_header=False)
    table.add_row("win rate", f"{100 * result.win_rate:.1f} %  (95 %: {100 * low:.1f} to {100 * high:.1f})")
    table.add_row("as the spy", f"{result.wins_as_spy} of {result.rounds_as_spy}")
    table.add_row("as civilians", f"{result.wins_as_civilians} of {result.rounds_as_civilians}")
    for name, value in result.figures.items():
        length = name.startswith("length/")
        table.add_row(name.replace("_", " "), f"{value:.1f}" if length else f"{100 * value:.1f} %")
    return table
