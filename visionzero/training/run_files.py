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

RUN_FORMAT, RUN_VERSION = "visionzero-run", 1


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
    path = Path(path)
    path = path / METRICS_FILE if path.is_dir() else path
    # Not splitlines: it also splits at characters that JSON allows within texts.
    lines = path.read_bytes().removesuffix(b"\n").split(b"\n")
    metrics: list[dict[str, Any]] = []
    if lines == [b""]:
        return metrics
    for number, line in enumerate(lines, start=1):
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError) as error:
            if number < len(lines):
                raise ValueError(f"{path}, line {number}: {error}") from error
            continue
        step = entry.get("step") if isinstance(entry, dict) else None
        if not isinstance(step, int) or isinstance(step, bool) or step < 0:
            raise ValueError(
                f"{path}, line {number}: must be an object with a whole number step >= 0, got {entry!r:.60}"
            )
        metrics.append(entry)
    return metrics
