"""The command line, as a person or a script uses it."""

import dataclasses
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Literal

import pytest
import typer
from PIL import Image
from typer.testing import CliRunner

from visionzero.cli.app import app
from visionzero.cli.options import parse_images
from visionzero.cli.recipes import read_recipe, split_recipe

VISIONZERO = str(Path(sys.executable).with_name("visionzero"))


@pytest.fixture
def photos(tmp_path, photo):
    folder = tmp_path / "photos"
    folder.mkdir()
    for number in range(3):
        photo.rotate(90 * number, expand=True).save(folder / f"{number}.png")
    return folder


def run(*arguments, code=0):
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == code, result.output
    return result.output


def unboxed(message):
    """A message without the box around it, whose lines break where they must."""
    return " ".join(message.replace("│", " ").split())


@pytest.mark.parametrize(
    "command", [[], ["play"], ["train"], ["eval"], ["replay"], ["report"], ["warmup"], ["images"], ["images", "clevr"]]
)
def test_every_command_explains_itself(command):
    done = subprocess.run([VISIONZERO, *command, "--help"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) > 5


def test_the_help_of_train_names_rules_phases_and_trls_options():
    done = subprocess.run([VISIONZERO, "train", "--help"], capture_output=True, text=True)
    for option in (
        "--num_civilians",
        "--phase_patience",
        "--games_per_update",
        "--learning_rate",
        "--use_peft",
        "--images",
    ):
        assert option in done.stdout


def test_play_shows_a_game_and_writes_it(photos, tmp_path):
    page, record = tmp_path / "game.html", tmp_path / "game.jsonl"
    shown = run(
        "play",
        "--images",
        photos,
        "--num-civilians",
        2,
        "--clue-rounds",
        1,
        "--seed",
        3,
        "--replay",
        page,
        "--record",
        record,
    )
    assert "the spy was player" in shown
    assert shown.count("votes:") == 2
    assert page.read_text().startswith("<!")
    assert len(record.read_text().splitlines()) == 1


def test_play_with_the_same_seed_plays_the_same_game(photos):
    assert run("play", "--images", photos, "--seed", 5) == run("play", "--images", photos, "--seed", 5)


def test_eval_prints_the_win_rate_and_writes_it(photos, tmp_path):
    out = tmp_path / "result.json"
    shown = run("eval", "scripted", "random", "--images", photos, "--rounds", 8, "--output", out)
    result = json.loads(out.read_text())
    assert "win rate" in shown
    assert result["rounds_as_spy"] == result["rounds_as_civilians"] == 4
    assert result["interval_95"][0] <= result["win_rate"] <= result["interval_95"][1]


def test_a_record_becomes_a_page(photos, tmp_path):
    record = tmp_path / "games.jsonl"
    run("play", "--images", photos, "--games", 2, "--record", record)
    run("replay", record)
    assert record.with_suffix(".html").is_file()
    assert "2 games" in unboxed(run("replay", record, "--game", 2, code=2))


def test_images_of_a_source_are_checked(photos):
    (photos / "broken.png").write_bytes(b"\x89PNG\r\n\x1a\nnothing")
    shown = run("images", "check", photos)
    assert "3 boards" in shown
    assert "broken.png" in shown


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["play", "--seat", "9"], "--seat must be from 0 to 4"),
        (["play", "--temperature", "0.5"], "no effect"),
        (["play", "--votes-per-game", "4"], "no effect"),
        (["play", "--num-civilians", "1"], "num_civilians"),
        (["play", "--images", "no-such-folder"], "no-such-folder"),
        (["eval", "scripted", "random", "--rounds", "7"], "even"),
        (["eval", "scripted", "no-such-model"], "no-such-model"),
        (["replay", "no-such-file"], "no-such-file"),
    ],
)
def test_what_cannot_be_is_said(arguments, message):
    output = run(*arguments, code=2)
    assert message in " ".join(output.replace("│", " ").split())


def test_image_sources_take_options_and_are_mixed(photos):
    source = parse_images([str(photos), "clevr:num_scenes=5,size=64x48"], [1.0, 1.0])
    assert {pair.kind for pair in (source[i] for i in range(4))} == {"photos", "clevr"}


def train_command(tiny_vlm_path, photos, out, *more):
    config = {
        "model_name_or_path": str(tiny_vlm_path),
        "output_dir": str(out),
        "images": [str(photos)],
        "eval_rounds": 2,
        "num_civilians": 2,
        "clue_rounds": 1,
        "prompts": "compact",
        "own_reasoning_memory": False,
        "phase_schedule": "cycle",
        "cycle_updates": 1,
        "max_steps": 6,
        "games_per_update": 2,
        "per_device_train_batch_size": 8,
        "learning_rate": 0.01,
        "max_completion_length": 8,
        "gradient_checkpointing": False,
        "bf16": False,
        "use_cpu": True,
        "save_steps": 2,
        "replay_steps": 4,
        "report_to": "none",
    }
    recipe = out.with_suffix(".json")
    recipe.write_text(json.dumps(config))  # JSON is YAML
    return [VISIONZERO, "train", "--config", str(recipe), *more]


def test_a_killed_run_resumes_to_the_same_end(tiny_vlm_path, photos, tmp_path):
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    done = subprocess.run(train_command(tiny_vlm_path, photos, whole), env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    assert "win rate" in done.stdout
    lines = [line for line in done.stdout.splitlines() if line.startswith("update")]
    assert [line.split()[2] for line in lines] == ["decision", "clue"] * 3
    for name in (
        "model.safetensors",
        "metrics.jsonl",
        "evaluation.json",
        "replays.jsonl",
        "replay.html",
        "report.html",
        "replays/update-000001.jsonl",
        "replays/update-000004.jsonl",
        "replays/update-000006.jsonl",
        "checkpoint-6",
    ):
        assert (whole / name).exists(), name

    process = subprocess.Popen(
        train_command(tiny_vlm_path, photos, killed),
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    state = killed / "checkpoint-2" / "self_play_state.json"
    while not state.exists():
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not (killed / "model.safetensors").exists()
    resume = train_command(tiny_vlm_path, photos, killed, "--resume_from_checkpoint", "last")
    done = subprocess.run(resume, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    assert (killed / "model.safetensors").read_bytes() == (whole / "model.safetensors").read_bytes()
    assert (killed / "evaluation.json").read_text() == (whole / "evaluation.json").read_text()


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--config", "no-such-recipe"], "no recipe"),
        (["--output_dir", "x"], "model_name_or_path"),
        (["--model_name_or_path", "tiny", "--output_dir", "x", "--lora_r", "4"], "no effect without --use_peft"),
        (["--model_name_or_path", "tiny", "--output_dir", "x", "--num_generations", "4"], "no effect"),
        (["--model_name_or_path", "tiny", "--output_dir", "x", "--eval_rounds", "3"], "even"),
        (
            ["--model_name_or_path", "tiny", "--output_dir", "x", "--generation_kwargs", '{"typical_p": 0.9}'],
            "eval_rounds=0",
        ),
        (["--resume_from_checkpoint", "last", "--model_name_or_path", "tiny", "--output_dir", "x"], "no checkpoint"),
    ],
)
def test_a_run_that_cannot_be_is_said(flags, message, tmp_path):
    done = subprocess.run(
        [VISIONZERO, "train", *flags, "--use_cpu", "True", "--bf16", "False"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert done.returncode == 2, done.stderr[-2000:]
    assert message in unboxed(done.stderr)


@dataclasses.dataclass
class Recipe:
    steps: int = 1
    rate: float | None = None
    pictures: list[str] = dataclasses.field(default_factory=list)
    schedule: Literal["cycle", "clue"] = "cycle"


def test_a_recipe_gives_options_and_a_single_value_may_stand_for_a_list(tmp_path):
    file = tmp_path / "my.yaml"
    file.write_text("steps: 3\nrate: 1e-4\npictures: photos\nschedule: clue\n")
    # YAML reads 1e-4 as a text; the command line's reader makes a number of it
    assert read_recipe(file, [Recipe]) == {"steps": 3, "rate": "1e-4", "pictures": ["photos"], "schedule": "clue"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("stepz: 3", "there is no option stepz"),
        ("steps: [3]", r"steps must be int, got \[3\]"),
        ("steps: 2.5", "steps must be int, got 2.5"),
        ("rate: true", "rate must be .*got True"),
        ("pictures: {a: 1}", "pictures must be"),
        ("steps: [3", "is not YAML"),
        ("- steps", "must hold options"),
        ("", "must hold options"),
    ],
)
def test_what_is_wrong_with_a_recipe_is_said(tmp_path, text, message):
    file = tmp_path / "my.yaml"
    file.write_text(text)
    with pytest.raises(typer.BadParameter, match=message):
        read_recipe(file, [Recipe])


@pytest.mark.parametrize("flags", [["--config", "tiny"], ["--config=tiny"]])
def test_a_recipe_is_named_in_either_way(flags):
    path, others = split_recipe(["--seed", "1", *flags, "--use_cpu"])
    assert path.name == "tiny.yaml"
    assert others == ["--seed", "1", "--use_cpu"]


@pytest.mark.parametrize("flags", [["--config"], ["--config="], ["--config", "tiny", "--config=tiny"]])
def test_no_recipe_and_two_recipes_are_errors(flags):
    with pytest.raises(typer.BadParameter, match="--config"):
        split_recipe(flags)


def test_an_image_that_is_no_image_is_named(tmp_path):
    (tmp_path / "notes.png").write_text("not an image")
    Image.new("RGB", (8, 8)).save(tmp_path / "fine.png")
    assert "notes.png" in run("images", "check", tmp_path)


def test_without_the_train_extra_a_model_says_what_to_install(monkeypatch, capsys):
    from visionzero.cli.app import main

    monkeypatch.setitem(sys.modules, "transformers", None)
    monkeypatch.delitem(sys.modules, "visionzero.players.model", raising=False)
    monkeypatch.setattr(sys, "argv", ["visionzero", "eval", "tiny", "scripted"])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 1
    assert "pip install 'visionzero[train]'" in " ".join(capsys.readouterr().out.split())
