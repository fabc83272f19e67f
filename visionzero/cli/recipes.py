"""YAML recipes for `visionzero train`."""

from __future__ import annotations

import types
from collections.abc import Sequence
from dataclasses import fields
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import typer
import yaml


def recipe_names() -> list[str]:
    """Names of the recipes that ship with the package."""
    return sorted(
        entry.name.removesuffix(".yaml")
        for entry in files("visionzero.configs").iterdir()
        if entry.name.endswith(".yaml")
    )


def recipe(name: str) -> Path:
    """The recipe file that is meant by a path or by the name of one of the package's own.

    Raises:
        typer.BadParameter: There is no such recipe.
    """
    if Path(name).is_file():
        return Path(name)
    if name in recipe_names():
        return Path(str(files("visionzero.configs").joinpath(f"{name}.yaml")))
    raise typer.BadParameter(f"no recipe {name!r}: neither a file nor one of {', '.join(recipe_names())}")


def split_recipe(arguments: Sequence[str]) -> tuple[Path | None, list[str]]:
    """Take `--config NAME` or `--config=NAME` out of a command line.

    Args:
        arguments: The command line.

    Returns:
        The recipe's file, None if none is named, and the other arguments.

    Raises:
        typer.BadParameter: There is no such recipe, or more than one is named.
    """
    names: list[str] = []
    others: list[str] = []
    rest = iter(arguments)
    for argument in rest:
        if argument == "--config":
            names.append(next(rest, ""))
        elif argument.startswith("--config="):
            names.append(argument.removeprefix("--config="))
        else:
            others.append(argument)
    if len(names) > 1:
        raise typer.BadParameter(f"--config is given {len(names)} times, once is right")
    if names == [""]:
        raise typer.BadParameter(f"--config needs a file or one of {', '.join(recipe_names())}")
    return (recipe(names[0]) if names else None), others


def read_recipe(path: Path, kinds: Sequence[type]) -> dict[str, Any]:
    """Read a recipe.

    Args:
        path: A YAML file.
        kinds: The dataclasses whose fields are the options that there are.

    Returns:
        Options by name. A single value of an option that takes a list has become one.

    Raises:
        typer.BadParameter: The file is no YAML mapping, or an option is unknown or of the wrong type.
    """
    try:
        options = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise typer.BadParameter(f"{path} is not YAML: {error}") from error
    if not isinstance(options, dict):
        raise typer.BadParameter(f"{path} must hold options, one `name: value` a line, got {options!r}")
    hints = {field.name: get_type_hints(kind)[field.name] for kind in kinds for field in fields(kind)}
    unknown = [str(name) for name in options if name not in hints]
    if unknown:
        raise typer.BadParameter(f"{path}: there is no option {', '.join(unknown)}; see visionzero train --help")
    for name, value in options.items():
        hint = hints[name]
        if isinstance(value, str) and not _fits(value, hint) and _fits([value], hint):
            options[name] = [value]
        # Other texts are read like those of the command line.
        elif not isinstance(value, str) and not _fits(value, hint):
            readable = getattr(hint, "__name__", hint) if get_origin(hint) is None else hint
            raise typer.BadParameter(f"{path}: {name} must be {readable}, got {value!r}")
    return options


def _fits(value: Any, hint: Any) -> bool:
    """Whether a value read from YAML is one of a field's type."""
    origin = get_origin(hint)
    if origin in (Union, types.UnionType):
        return any(_fits(value, option) for option in get_args(hint))
    if origin is Literal:
        return value in get_args(hint)
    if origin is list:
        return isinstance(value, list) and all(_fits(item, get_args(hint)[0]) for item in value)
    if hint is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool)
    kind = origin or hint
    return not isinstance(kind, type) or kind is Any or isinstance(value, kind)
