"""The files that a run leaves in its folder, for those who read them without torch."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

METRICS_FILE = "metrics.jsonl"
RUN_FILE = "run.json"
STATE_FILE = "self_play_state.json"
EVALUATION_FILE = "evaluation.json"
REPLAYS_FILE = "replays.jsonl"
REPORT_FILE = "report.html"
SAMPLES_FOLDER = "replays"

RUN_FORMAT, RUN_VERSION = "visionzero-run", 1


def sample_file(run_folder: str | Path, update: int) -> Path:
    """Where the games of an update of training are, if they were written."""
    return Path(run_folder) / SAMPLES_FOLDER / f"update-{update:06d}.jsonl"


def sample_files(run_folder: str | Path) -> dict[int, Path]:
    """The files with games of training that a run has, by their update, in order."""
    found = (Path(run_folder) / SAMPLES_FOLDER).glob("update-*.jsonl")
    return {int(path.stem.removeprefix("update-")): path for path in sorted(found) if path.stem[7:].isdecimal()}


def read_metrics(path: str | Path) -> list[dict[str, Any]]:
    """The lines of a metrics file.

    Args:
        path: The file, or the run's folder.

    Returns:
        One dictionary a line, each with its `step`. A last line that was cut off by a crash is left out.

    Raises:
        FileNotFoundError: There is no such file.
        ValueError: A line before the last is not JSON, or a line is no object with a whole number `step` >= 0.
    """
    metrics, problems, count = _read_lines(path)
    # Half a line at the end is what a crash leaves; a whole line that is wrong was written so.
    for number, (problem, parsed) in problems.items():
        if parsed or number < count:
            raise ValueError(f"{path}, line {number}: {problem}")
    return metrics


def salvage_metrics(path: str | Path) -> tuple[list[dict[str, Any]], dict[int, str]]:
    """The lines of a metrics file that can be read.

    Args:
        path: The file, or the run's folder.

    Returns:
        One dictionary a readable line, and what is wrong with each of the others, by their number from 1.

    Raises:
        FileNotFoundError: There is no such file.
    """
    metrics, problems, _ = _read_lines(path)
    return metrics, {number: problem for number, (problem, _) in problems.items()}


def _read_lines(path: str | Path) -> tuple[list[dict[str, Any]], dict[int, tuple[str, bool]], int]:
    """Good lines; what is wrong with the others, and whether they are JSON, by number; the number of lines."""
    path = Path(path)
    path = path / METRICS_FILE if path.is_dir() else path
    # Not splitlines: it also splits at characters that JSON allows within texts.
    lines = path.read_bytes().removesuffix(b"\n").split(b"\n")
    metrics: list[dict[str, Any]] = []
    problems: dict[int, tuple[str, bool]] = {}
    if lines == [b""]:
        return metrics, problems, 0
    for number, line in enumerate(lines, start=1):
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError) as error:
            problems[number] = (str(error), False)
            continue
        step = entry.get("step") if isinstance(entry, dict) else None
        if not isinstance(step, int) or isinstance(step, bool) or step < 0:
            problems[number] = (f"must be an object with a whole number step >= 0, got {entry!r:.60}", True)
        else:
            metrics.append(entry)
    return metrics, problems, len(lines)
