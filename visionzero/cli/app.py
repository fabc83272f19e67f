"""The `visionzero` command."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.logging import RichHandler

from visionzero.cli.options import (
    IMAGES_HELP,
    PLAYER_HELP,
    game_options,
    is_model,
    make_player,
    parse_images,
    parse_withholding,
)
from visionzero.games import SpyConfig, SpyGame, derive_seed

app = typer.Typer(
    name="visionzero",
    help="Self-play for vision-language models: any images become games of Who Is the Spy?",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
console = Console()

_TRAIN_EXTRA = ("datasets", "peft", "torch", "torchvision", "transformers", "trl")

Images = Annotated[
    list[str] | None, typer.Option("--images", "-i", help=f"Repeatable. {IMAGES_HELP}. [default: photos]")
]
Seed = Annotated[int, typer.Option(help="The same seed gives the same games.")]
MaxNewTokens = Annotated[
    int | None, typer.Option(help="Longest answer of model players, in tokens.", show_default="256")
]
Temperature = Annotated[
    float | None, typer.Option(help="Sampling temperature of model players, 0 for greedy.", show_default="1.0")
]


@app.callback()
def _configure(
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Say more about what is going on.")] = False,
) -> None:
    logging.basicConfig(
        level=logging.INFO if verbose else logging.WARNING,
        format="%(message)s",
        handlers=[RichHandler(console=Console(stderr=True), show_path=False, show_time=False)],
    )


@app.command()
@game_options
def play(
    config: SpyConfig,
    images: Images = None,
    spy: Annotated[str, typer.Option(help=f"Who plays the spy: {PLAYER_HELP}.")] = "scripted",
    civilians: Annotated[str, typer.Option(help=f"Who plays the civilians: {PLAYER_HELP}.")] = "scripted",
    seat: Annotated[
        int | None, typer.Option(help="A seat that you play yourself, from 0; you do not know its role before.")
    ] = None,
    games: Annotated[int, typer.Option(help="Number of games.", min=1)] = 1,
    seed: Seed = 0,
    max_new_tokens: MaxNewTokens = None,
    temperature: Temperature = None,
    replay: Annotated[Path | None, typer.Option(help="Write the games to this HTML page.")] = None,
    record: Annotated[Path | None, typer.Option(help="Write the games to this JSON lines file.")] = None,
) -> None:
    """Play games in the terminal: watch scripted players or models, or take a seat.

    Watch:          visionzero play
    Take a seat:    visionzero play --seat 2 --images path/to/photos
    Against models: visionzero play --spy human --civilians Qwen/Qwen2.5-VL-3B-Instruct
    """
    from visionzero.cli.watch import play_and_watch

    if seat is not None and not 0 <= seat < config.num_players:
        raise typer.BadParameter(f"--seat must be from 0 to {config.num_players - 1}, got {seat}")
    if not (is_model(spy) or is_model(civilians)):
        _refuse("no player is a model", max_new_tokens=max_new_tokens, temperature=temperature)
    source = parse_images(images or ["photos"])
    options = {"max_new_tokens": max_new_tokens, "temperature": temperature, "seed": seed}
    spy_player = make_player(spy, **options)
    civilian_player = spy_player if civilians == spy else make_player(civilians, **options)
    order = derive_seed(seed, "boards") % len(source)
    dealt = [
        SpyGame(source[(order + number) % len(source)], config, seed=derive_seed(seed, "game", number))
        for number in range(games)
    ]
    episodes = play_and_watch(dealt, spy_player, civilian_player, seat, console)
    _write(episodes, replay, record)


@app.command(
    "train",
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []},
    add_help_option=False,
)
def train(context: typer.Context) -> None:
    """Train a vision-language model with Iterative-SPO: a YAML recipe, flags, or both.

    Smallest run, on a laptop:  visionzero train --config tiny
    All options:                visionzero train --help
    """
    from visionzero.cli.train import run

    run(context.args)


@app.command("eval")
@game_options
def evaluate(
    config: SpyConfig,
    player: Annotated[str, typer.Argument(help=f"A: {PLAYER_HELP}.")],
    opponent: Annotated[str, typer.Argument(help=f"B: {PLAYER_HELP}.")],
    images: Images = None,
    rounds: Annotated[int, typer.Option(help="Number of games, even; in half of them A is the spy.", min=2)] = 100,
    seed: Seed = 0,
    max_new_tokens: MaxNewTokens = None,
    temperature: Temperature = None,
    withhold: Annotated[
        list[str] | None,
        typer.Option(
            metavar="STAGE=WAY",
            help="Repeatable. Let A vote (votes) or give clues (clues) without seeing: blank for a white image, removed "
            "for no image at all. votes=blank is a blind voter, votes=removed a text-only one. [default: A sees]",
        ),
    ] = None,
    output: Annotated[Path | None, typer.Option(help="Write the result to this JSON file.")] = None,
    replay: Annotated[Path | None, typer.Option(help="Write the first games to this HTML page.")] = None,
) -> None:
    """Play A against B: win rate with its 95 % interval, lengths of answers.

    Example:        visionzero eval runs/tiny scripted --images clevr --rounds 100
    A blind voter:  visionzero eval runs/tiny tiny --images clevr --withhold votes=blank
    """
    import json

    from visionzero.cli.watch import match_table, play_match_with_progress

    if rounds % 2:
        raise typer.BadParameter(f"--rounds must be even, got {rounds}")
    if not (is_model(player) or is_model(opponent)):
        _refuse("no player is a model", max_new_tokens=max_new_tokens, temperature=temperature)
    ways = parse_withholding(withhold or [])
    if ways and not is_model(player):
        raise typer.BadParameter(f"--withhold needs a model as A, which reads its chat and nothing else; got {player}")
    source = parse_images(images or ["photos"])
    options = {"max_new_tokens": max_new_tokens, "temperature": temperature}
    a, b = make_player(player, seed=2 * seed, **options), make_player(opponent, seed=2 * seed + 1, **options)
    if ways:
        from visionzero.players.withheld import WithheldPlayer

        a = WithheldPlayer(a, **ways)
    result = play_match_with_progress(a, b, source, config, rounds=rounds, seed=seed)
    console.print(match_table(result))
    if output is not None:
        from visionzero.cli.watch import match_data

        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_text(json.dumps(match_data(result), indent=2) + "\n", encoding="utf-8")
    _write(result.episodes[:10], replay, None)


@app.command()
def replay(
    record: Annotated[Path, typer.Argument(help="A JSON lines file that play, eval or train wrote.", exists=True)],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The HTML page. [default: beside the record]")
    ] = None,
    game: Annotated[int | None, typer.Option(help="Only this game, from 0.", min=0)] = None,
) -> None:
    """Make one self-contained HTML page of recorded games."""
    from visionzero.replay import read_replays, write_page

    try:
        records = read_replays(record)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    if game is not None:
        if game >= len(records):
            raise typer.BadParameter(f"{record} has {len(records)} games, so --game is at most {len(records) - 1}")
        records = [records[game]]
    page = output or record.with_suffix(".html")
    write_page(records, page)
    console.print(f"wrote {page}")


@app.command()
def report(
    folder: Annotated[Path, typer.Argument(help="Output folder of a training run, finished or not.")],
    output: Annotated[Path | None, typer.Option(help="The HTML page. [default: report.html in the folder]")] = None,
) -> None:
    """Make one web page about a training run: win rate, phases, rates, lengths, rewards, sample games.

    Example: visionzero report runs/tiny
    """
    from visionzero.report import write_report

    try:
        page = write_report(folder, output)
    except (ValueError, OSError) as error:
        raise typer.BadParameter(str(error)) from error
    console.print(f"wrote {page}")


@app.command()
def warmup(
    out: Annotated[Path, typer.Option(help="Folder for model, processor and checkpoints.")],
    scenes: Annotated[
        list[str] | None,
        typer.Option(
            help="Scenes to learn from: any image source with CLEVR scene graphs; again for more. "
            "By default clevr:num_scenes=5000,size=160x128,seed=1."
        ),
    ] = None,
    exam: Annotated[
        str, typer.Option(help="Other scenes, for the examination at the end.")
    ] = "clevr:num_scenes=500,size=160x128,seed=2",
    sight_steps: Annotated[int, typer.Option(help="Optimiser steps of the vision tower alone.", min=1)] = 1400,
    steps: Annotated[int, typer.Option(help="Optimiser steps of the lessons after that.", min=1)] = 1300,
    seed: Seed = 0,
    resume: Annotated[bool, typer.Option(help="Go on from the newest checkpoint in --out.")] = False,
) -> None:
    """Train a small vision-language model from scratch: to see rendered scenes, and to know the forms of the game.

    How the package's own small model was made. Render the scenes once, on two cores in two folders with two seeds:
    visionzero images clevr --no-edited ...
    """
    from tqdm import tqdm

    from visionzero.warmup.train import examine, warm_up, write_examination

    source, unseen = parse_images(scenes or ["clevr:num_scenes=5000,size=160x128,seed=1"]), parse_images([exam])
    model, processor = warm_up(source, out, steps=steps, sight_steps=sight_steps, seed=seed, resume=resume)
    with tqdm(total=6 * len(unseen), desc="examination", unit="answer") as bar:

        def advance(count: int) -> None:
            bar.update(count)

        scores = examine(model, processor, unseen, on_answers=advance)
    for name, score in scores.items():
        console.print(f"{name}: {100 * score:.1f} %", highlight=False)
    write_examination(scores, out / "examination.json")


images_app = typer.Typer(help="Make and look at image sources.", no_args_is_help=True)
app.add_typer(images_app, name="images")


@images_app.command("clevr")
def images_clevr(
    out: Annotated[Path, typer.Option(help="Folder to write to; scenes that are there already are kept.")],
    num_scenes: Annotated[int, typer.Option("-n", "--num-scenes", help="Number of scenes.", min=1)] = 200,
    seed: Seed = 0,
    width: Annotated[int, typer.Option(help="Pixels.", min=16)] = 320,
    height: Annotated[int, typer.Option(help="Pixels.", min=16)] = 240,
    samples: Annotated[int, typer.Option(help="Light paths a pixel.", min=1)] = 16,
    edited: Annotated[bool, typer.Option(help="Also render each scene with two objects exchanged.")] = True,
    workers: Annotated[int | None, typer.Option(help="Processes. [default: all cores]", min=1)] = None,
) -> None:
    """Render CLEVR-like scenes, in the layout of the released Vision-Zero set."""
    from visionzero.images.clevr import generate_clevr

    generate_clevr(
        out, num_scenes, seed=seed, size=(width, height), samples=samples, edited=edited, workers=workers, progress=True
    )
    console.print(f"wrote {num_scenes} scenes to {out}")


@images_app.command("check")
def images_check(
    images: Annotated[list[str], typer.Argument(help=IMAGES_HELP)],
) -> None:
    """Decode every image of a source, and list what is skipped."""
    from tqdm import tqdm

    source = parse_images(images)
    sizes = [pair.civilian.size for pair in tqdm(source, total=len(source), desc="decoding", unit="image")]
    console.print(f"{source.name}: {len(sizes)} boards, {min(sizes)} to {max(sizes)} pixels")
    for skipped in source.skipped:
        console.print(f"skipped {skipped.name}: {skipped.reason}", markup=False)


def _refuse(why: str, **options: Any) -> None:
    """An option that would have no effect is an error."""
    for name, value in options.items():
        if value is not None:
            raise typer.BadParameter(f"--{name.replace('_', '-')} has no effect: {why}")


def _write(episodes: list[Any], page: Path | None, record: Path | None) -> None:
    if page is None and record is None:
        return
    from visionzero.replay import record_episode, write_page, write_replays

    if record is not None:
        write_replays(record, episodes)
        console.print(f"wrote {record}")
    if page is not None:
        write_page([record_episode(episode) for episode in episodes], page)
        console.print(f"wrote {page}")


def main() -> None:
    """Run the command line."""
    try:
        app()
    except ModuleNotFoundError as error:
        if error.name not in _TRAIN_EXTRA:
            raise
        console.print(
            f"this needs {error.name}, which comes with the train extra: pip install 'visionzero\\[train]'", style="red"
        )
        raise SystemExit(1) from error
