"""Options that several commands share: the rules of the game, players, images."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Callable
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from visionzero.games import SpyConfig

if TYPE_CHECKING:
    from visionzero.images import ImageSource
    from visionzero.players.base import Player
    from visionzero.players.withheld import Withholding

PLAYER_HELP = "scripted, random, human, or a model: a folder, a hub id, or tiny for the package's own"
IMAGES_HELP = (
    "photos (samples that ship with the package), clevr, charts, a folder, a hub id, or your own registered source; "
    "with options: clevr:num_scenes=50,size=112x112"
)


def attribute_docs(cls: type) -> dict[str, str]:
    """The `Attributes:` section of a class's docstring, by attribute, each on one line."""
    doc = inspect.cleandoc(cls.__doc__ or "")
    section = re.search(r"^Attributes:\n((?:[ \t]+.*\n?|\n)+)", doc, re.MULTILINE)
    if section is None:
        return {}
    docs: dict[str, list[str]] = {}
    name = None
    for line in section.group(1).splitlines():
        start = re.match(r"^ {4}(\w+): (.*)", line)
        if start:
            name = start.group(1)
            docs[name] = [start.group(2)]
        elif name and line.strip():
            docs[name].append(line.strip())
    return {name: " ".join(lines) for name, lines in docs.items()}


def with_field_help(cls: type) -> type:
    """Give a dataclass's fields the texts of its docstring as help, for `argparse`, which formats `%` in them."""
    docs = attribute_docs(cls)
    for field in dataclasses.fields(cls):
        if "help" not in field.metadata and field.name in docs:
            field.metadata = MappingProxyType({**field.metadata, "help": docs[field.name].replace("%", "%%")})
    return cls


def game_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add one option for every rule of the game to a Typer command, which gets them as its `config` argument."""
    docs, hints = attribute_docs(SpyConfig), get_type_hints(SpyConfig)
    signature = inspect.signature(command, eval_str=True)
    parameters = [p for name, p in signature.parameters.items() if name != "config"]
    for field in dataclasses.fields(SpyConfig):
        help_text = docs[field.name].replace("[", "\\[")
        option = typer.Option(help=help_text, rich_help_panel="Rules of the game")
        parameters.append(
            inspect.Parameter(
                field.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=field.default,
                annotation=Annotated[hints[field.name], option],
            )
        )

    def wrapper(**values: Any) -> Any:
        rules = {field.name: values.pop(field.name) for field in dataclasses.fields(SpyConfig)}
        try:
            config = SpyConfig(**rules)
        except ValueError as error:
            raise typer.BadParameter(str(error)) from error
        return command(config=config, **values)

    wrapper.__doc__ = command.__doc__
    wrapper.__name__ = command.__name__
    wrapper.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    wrapper.__annotations__ = {p.name: p.annotation for p in parameters}
    return wrapper


def is_model(spec: str) -> bool:
    """Whether a player on the command line is a model."""
    return spec not in ("scripted", "random", "human")


def model_path(name: str) -> str:
    """What `from_pretrained` is given for a model on the command line; `tiny` is the package's own."""
    if name != "tiny":
        return name
    from visionzero.tiny_vlm import tiny_vlm_path

    return str(tiny_vlm_path())


def make_player(spec: str, **model_options: Any) -> Player:
    """A player from what stands on the command line.

    Args:
        spec: See `PLAYER_HELP`.
        **model_options: Options of `ModelPlayer`, used where the player is a model; None for the default.

    Returns:
        The player.

    Raises:
        typer.BadParameter: The model cannot be loaded.
    """
    if spec == "scripted":
        from visionzero.players.scripted import ScriptedPlayer

        return ScriptedPlayer()
    if spec == "random":
        from visionzero.players.scripted import RandomPlayer

        return RandomPlayer()
    if spec == "human":
        from visionzero.players.human import HumanPlayer

        return HumanPlayer()
    from visionzero.players.model import ModelPlayer

    options = {name: value for name, value in model_options.items() if value is not None}
    try:
        return ModelPlayer.from_pretrained(model_path(spec), **options)
    except OSError as error:
        raise typer.BadParameter(
            f"{spec!r} is none of scripted, random, human, and no model could be loaded from it: {error}"
        ) from error


def parse_withholding(specs: list[str]) -> dict[str, Withholding]:
    """What `--withhold` says, as options of `WithheldPlayer`.

    Args:
        specs: `votes=WAY` or `clues=WAY`, each at most once.

    Returns:
        The ways by option.

    Raises:
        typer.BadParameter: One of them reads otherwise, or an option is given twice.
    """
    from visionzero.players.withheld import WITHHOLDINGS

    ways: dict[str, Any] = {}
    for spec in specs:
        option, _, way = spec.partition("=")
        if option not in ("votes", "clues") or way not in WITHHOLDINGS:
            raise typer.BadParameter(
                f"--withhold must be votes=WAY or clues=WAY with {' or '.join(WITHHOLDINGS)} as the way, got {spec!r}"
            )
        if option in ways:
            raise typer.BadParameter(f"--withhold {option} is given twice")
        ways[option] = way
    return ways


def parse_images(specs: list[str], weights: list[float] | None = None) -> ImageSource:
    """A source from what stands on the command line; several are mixed.

    Args:
        specs: See `IMAGES_HELP`.
        weights: How often each of several sources is drawn; equally often if None.

    Returns:
        The source.

    Raises:
        typer.BadParameter: A source cannot be made.
    """
    from visionzero.images import load_images, mix_images

    if weights is not None and len(weights) != len(specs):
        raise typer.BadParameter(f"{len(weights)} weights for {len(specs)} image sources")
    if weights is not None and len(specs) == 1:
        raise typer.BadParameter("weights have no effect on a single image source")
    sources = []
    for spec in specs:
        name, options = _split_spec(spec)
        try:
            sources.append(load_images(name, **options))
        except (ValueError, TypeError, OSError) as error:
            raise typer.BadParameter(f"images {spec!r}: {error}") from error
    return sources[0] if len(sources) == 1 else mix_images(sources, weights)


def _split_spec(spec: str) -> tuple[str, dict[str, Any]]:
    """`name:key=value,...` as name and options; a colon without a `key=value` after it belongs to the name."""
    match = re.fullmatch(r"(.+?):(\w+=[^,=]*(?:,\w+=[^,=]*)*)", spec)
    if match is None:
        return spec, {}
    options = dict(item.split("=", 1) for item in match.group(2).split(","))
    return match.group(1), {key: _value(text) for key, text in options.items()}


def _value(text: str) -> Any:
    """Read a number, a size such as `112x112`, true, false, none, or a text."""
    if size := re.fullmatch(r"(\d+)x(\d+)", text):
        return int(size.group(1)), int(size.group(2))
    if text.lower() in ("true", "false", "none"):
        return {"true": True, "false": False, "none": None}[text.lower()]
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    return text
