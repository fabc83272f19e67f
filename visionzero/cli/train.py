"""`visionzero train`: one run from recipe to replay page."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from transformers import AutoProcessor, PrinterCallback, ProgressCallback
from trl import ModelConfig, TrlParser, get_peft_config, get_quantization_config

from visionzero.arena import MatchResult
from visionzero.cli.options import IMAGES_HELP, model_path, parse_images, with_field_help
from visionzero.cli.progress import UpdateLines
from visionzero.cli.recipes import read_recipe, recipe_names, split_recipe
from visionzero.cli.watch import match_data, match_table, play_match_with_progress
from visionzero.games import SpyConfig
from visionzero.images import ImageSource
from visionzero.players.model import ModelPlayer
from visionzero.replay import record_episode, write_page, write_replays
from visionzero.report import write_report
from visionzero.training.iterative_spo import IterativeSPOConfig, IterativeSPOTrainer
from visionzero.training.opponents import sampling_options
from visionzero.training.run_files import EVALUATION_FILE, METRICS_FILE, REPLAYS_FILE
from visionzero.training.turn_trainer import last_checkpoint

console = Console()


@dataclass
class RunArguments:
    """What a run plays on, and what it does at the end.

    Attributes:
        images: Image sources to train on, several are mixed.
        image_weights: How often each of several sources is drawn; equally often by default.
        eval_images: Image sources for the evaluation at the end; those of the training by default.
        eval_rounds: Games of the trained model against its frozen start at the end, an even number; 0 for none.
    """

    images: list[str] = field(
        default_factory=lambda: ["photos"], metadata={"help": f"Image sources to train on. {IMAGES_HELP}."}
    )
    image_weights: list[float] | None = None
    eval_images: list[str] | None = None
    eval_rounds: int = 100

    def __post_init__(self) -> None:
        if self.eval_rounds < 0 or self.eval_rounds % 2:
            raise ValueError(f"eval_rounds must be 0 or an even number, got {self.eval_rounds}")
        if self.eval_images is not None and self.eval_rounds == 0:
            raise ValueError("eval_images has no effect with eval_rounds=0")


def run(arguments: Sequence[str]) -> None:
    """Train, evaluate against the start, and write a replay page.

    Args:
        arguments: The command line after `visionzero train`.
    """
    rules, run_args, train_args, model_args = parse(arguments)
    if model_args.model_name_or_path is None:
        raise typer.BadParameter("--model_name_or_path is missing: a folder, a hub id, or tiny")
    out = Path(train_args.output_dir)
    source = parse_images(run_args.images, run_args.image_weights)
    start = model_path(model_args.model_name_or_path)
    peft_config = _peft_config(model_args)
    try:
        processor = AutoProcessor.from_pretrained(
            start,
            revision=model_args.model_revision,
            trust_remote_code=train_args.trust_remote_code,
            padding_side="left",
        )
    except (OSError, ValueError) as error:
        raise typer.BadParameter(f"no processor could be loaded from {start!r}: {error}") from error
    train_args.model_init_kwargs = {
        "revision": model_args.model_revision,
        "attn_implementation": model_args.attn_implementation,
        "dtype": model_args.dtype,
        **(train_args.model_init_kwargs or {}),
    }
    quantization = get_quantization_config(model_args)
    if quantization is not None:
        train_args.model_init_kwargs["quantization_config"] = quantization
    trainer = IterativeSPOTrainer(
        start,
        args=train_args,
        images=source,
        game_config=rules,
        processing_class=processor,
        peft_config=peft_config,
    )
    if run_args.eval_rounds:
        try:
            sampling_options(trainer)
        except ValueError as error:
            raise typer.BadParameter(f"{error}; eval_rounds=0 trains without the match at the end") from error
    trainer.pop_callback(ProgressCallback if not train_args.disable_tqdm else PrinterCallback)
    trainer.add_callback(UpdateLines())
    trainer.train(resume_from_checkpoint=_resume(train_args))
    trainer.save_model()
    if not trainer.is_world_process_zero():
        return
    console.print(f"wrote the model and {METRICS_FILE} to {out}")
    if run_args.eval_rounds:
        eval_source = parse_images(run_args.eval_images) if run_args.eval_images else source
        result = evaluate_against_start(trainer, start, eval_source, rules, run_args.eval_rounds)
        console.print(match_table(result))
        (out / EVALUATION_FILE).write_text(json.dumps(match_data(result), indent=2) + "\n", encoding="utf-8")
        _write_replays(result, out)
    console.print(f"wrote {write_report(out)}")


def parse(arguments: Sequence[str]) -> tuple[SpyConfig, RunArguments, IterativeSPOConfig, ModelConfig]:
    """Read recipe and flags.

    Args:
        arguments: Flags, with `--config FILE` or `--config NAME` for a recipe of the package.

    Returns:
        The rules of the game, and the options of run, trainer and model.

    Raises:
        typer.BadParameter: An option is unknown, out of range, or would have no effect.
    """
    path, flags = split_recipe(arguments)
    kinds = (with_field_help(RunArguments), with_field_help(SpyConfig), IterativeSPOConfig, ModelConfig)
    parser = TrlParser(
        kinds,
        prog="visionzero train",
        description="Train a vision-language model with Iterative-SPO. Options come from a YAML recipe (--config FILE, or "
        f"--config with one of the package's own: {', '.join(recipe_names())}) and from flags, which go before it.",
    )
    try:
        if path is not None:
            parser.set_defaults_with_config(**read_recipe(path, kinds))
        run_args, rules, train_args, model_args = parser.parse_args_into_dataclasses(args=flags)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    return rules, run_args, train_args, model_args


def evaluate_against_start(
    trainer: IterativeSPOTrainer, start: str, source: ImageSource, rules: SpyConfig, rounds: int
) -> MatchResult:
    """Play the trained model against its frozen start.

    Args:
        trainer: After training.
        start: Where the start was loaded from.
        source: Boards.
        rules: Rules of the games.
        rounds: Number of games.

    Returns:
        The result, with the trained model as A.
    """
    args = trainer.args
    options = sampling_options(trainer)
    model = trainer.accelerator.unwrap_model(trainer.model).eval()
    trained = ModelPlayer(model, trainer.processing_class, name="trained", seed=1, **options)
    frozen = ModelPlayer.from_pretrained(start, device=str(model.device), name="start", seed=2, **options)
    return play_match_with_progress(trained, frozen, source, rules, rounds=rounds, seed=args.seed)


def _peft_config(model_args: ModelConfig) -> Any:
    """LoRA's config, or None; LoRA options without `use_peft` are an error."""
    if model_args.use_peft:
        return get_peft_config(model_args)
    for option in fields(ModelConfig):
        lora = option.name.startswith("lora_") or option.name in ("use_rslora", "use_dora")
        if lora and getattr(model_args, option.name) != option.default:
            raise typer.BadParameter(f"--{option.name} has no effect without --use_peft")
    return None


def _resume(args: IterativeSPOConfig) -> str | None:
    """The checkpoint to go on from; `last` means the newest whole one in the output folder."""
    if args.resume_from_checkpoint != "last":
        return args.resume_from_checkpoint
    checkpoint = last_checkpoint(args.output_dir)
    if checkpoint is None:
        raise typer.BadParameter(f"--resume_from_checkpoint last: there is no checkpoint in {args.output_dir}")
    return str(checkpoint)


def _write_replays(result: MatchResult, out: Path) -> None:
    half = result.rounds_as_spy
    shown = [*result.episodes[:5], *result.episodes[half : half + 5]]
    write_replays(out / REPLAYS_FILE, shown)
    write_page([record_episode(episode) for episode in shown], out / "replay.html")
    console.print(f"wrote {out / 'replay.html'}")
