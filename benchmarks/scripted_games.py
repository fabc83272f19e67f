"""Spy games per second with scripted players on one core, and how often their civilians win.

Run: python benchmarks/scripted_games.py [--games 2000] [--wins]

The baseline is the rules alone: the same games in the same run, with one constant answer for every clue and vote. Images
are loaded before the clock starts; scripted players look at each of them for the first time while it runs ("new boards")
or have seen them ("seen boards"). Times are processor seconds of this process.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from PIL import Image
from tqdm import tqdm

import visionzero.assets
from visionzero.arena import wilson_interval
from visionzero.games import SpyConfig, SpyGame, Turn
from visionzero.images import EditedView, ImagePair
from visionzero.images.charts import ChartSource
from visionzero.images.clevr import ClevrSource
from visionzero.images.clevr_scene import numbered_edit
from visionzero.images.photos import PhotoSource
from visionzero.players import Player, RandomPlayer, Reply, ScriptedPlayer
from visionzero.rollout import rollout

CLUE, VOTE = "I look closely. \\boxed{There is a small red cube.}", "Player 3 knows nothing. \\boxed{3}"


class ConstantPlayer(Player):
    """Gives one and the same clue and vote."""

    name = "constant"

    def reply(self, turns: Sequence[Turn]) -> list[Reply]:
        """Answer without looking."""
        return [Reply(self.answer(turn)) for turn in turns]

    def answer(self, turn: Turn) -> str:
        """Answer without looking."""
        return CLUE if turn.stage == "clue" else VOTE


def clevr_boards(count: int) -> list[ImagePair]:
    """CLEVR scenes as boards; not rendered, because scripted players read the scene graph."""
    source = ClevrSource(count)
    plain = Image.new("RGB", source.size)
    boards = []
    for index in range(count):
        scene = source.scene(index)
        edited = EditedView(plain.copy(), numbered_edit(scene, source.seed, index))
        boards.append(ImagePair(plain.copy(), kind="clevr", scene=scene, edit=lambda edited=edited: edited))
    return boards


def load_boards(count: int) -> dict[str, list[ImagePair]]:
    """Boards of every kind, in memory."""
    photos = PhotoSource(Path(visionzero.assets.__file__).parent / "photos")
    return {
        "clevr": clevr_boards(count),
        "charts": list(tqdm(ChartSource(count), desc="drawing charts", leave=False)),
        "photos": list(photos),
    }


def deal(boards: Sequence[ImagePair], count: int, rules: SpyConfig, first: int = 0) -> list[SpyGame]:
    return [SpyGame(boards[i % len(boards)], rules, seed=first + i) for i in range(count)]


def play_loop(player: Player, boards: Sequence[ImagePair], count: int, rules: SpyConfig) -> None:
    for number in range(count):
        (game,) = deal([boards[number % len(boards)]], 1, rules, first=number)
        while not game.done:
            for turn in game.pending():
                game.submit(turn, player.answer(turn))


def play_rollout(player: Player, boards: Sequence[ImagePair], count: int, rules: SpyConfig) -> None:
    for first in range(0, count, 128):
        rollout(deal(boards, min(128, count - first), rules, first), player)


Mode = Callable[[Player, Sequence[ImagePair], int, SpyConfig], None]


def games_per_second(play: Mode, player: Player, boards: Sequence[ImagePair], count: int, rules: SpyConfig) -> float:
    start = time.process_time()
    play(player, boards, count, rules)
    return count / (time.process_time() - start)


def measure_speed(boards: dict[str, list[ImagePair]], count: int) -> None:
    rules = SpyConfig()
    baseline = max(games_per_second(play_loop, ConstantPlayer(), boards["clevr"], count, rules) for _ in range(3))
    print(f"rules alone, one game at a time (baseline): {baseline:6.0f} games/s  1.00")
    rate = max(games_per_second(play_rollout, ConstantPlayer(), boards["clevr"], count, rules) for _ in range(3))
    print(f"rules alone, rollout of 128:                {rate:6.0f} games/s  {rate / baseline:.2f}")
    for kind, pairs in boards.items():
        for name, play in (("one game at a time", play_loop), ("rollout of 128", play_rollout)):
            fresh = [ImagePair(p.civilian.copy(), kind=p.kind, scene=p.scene) for p in pairs]
            first = games_per_second(play, ScriptedPlayer(), fresh, len(fresh), rules)
            seen = max(games_per_second(play, ScriptedPlayer(), fresh, count, rules) for _ in range(3))
            label = f"{kind}, {name}:"
            print(f"{label:43s} {seen:6.0f} games/s  {seen / baseline:.2f}   ({first:.0f} games/s on new boards)")


def measure_wins(boards: dict[str, list[ImagePair]], count: int) -> None:
    print("\nshare of games that the civilians win (95 % interval), and share of n/a votes")
    players: list[Player] = [RandomPlayer(), *(ScriptedPlayer(skill) for skill in (0.0, 0.5, 1.0))]
    for kind, pairs in boards.items():
        for view in ("blank", "edited"):
            for player in players:
                rules = SpyConfig(spy_view=view)  # type: ignore[arg-type]
                episodes = rollout(deal(pairs, count, rules), player)
                outcomes = [episode.game.outcome for episode in episodes]
                wins = sum(outcome.winner == "civilians" for outcome in outcomes)
                low, high = wilson_interval(wins, count)
                abstained = sum(outcome.metrics["na_rate"] for outcome in outcomes) / count
                skill = f" {player.skill:g}" if isinstance(player, ScriptedPlayer) else ""
                print(
                    f"{kind:7s} {view:7s} {player.name + skill:13s} "
                    f"{wins / count:.2f} ({low:.2f} to {high:.2f})  n/a {abstained:.2f}"
                )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--games", type=int, default=2000, help="games of each measurement")
    parser.add_argument("--boards", type=int, default=200, help="CLEVR scenes and charts to play on")
    parser.add_argument("--wins", action="store_true", help="also measure how often civilians win")
    args = parser.parse_args()
    boards = load_boards(args.boards)
    measure_speed(boards, args.games)
    if args.wins:
        measure_wins(boards, args.games)


if __name__ == "__main__":
    main()
