"""One JSON line a log step, in the run's folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

METRICS_FILE = "metrics.jsonl"


class MetricsFileCallback(TrainerCallback):
    """Writes what is logged to `metrics.jsonl` in the output folder.

    A resumed run drops the lines past its checkpoint, so that the file reads like that of a run that was never killed.
    """

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        """Cut the file back to the step that training starts from."""
        if not state.is_world_process_zero:
            return
        path = Path(args.output_dir) / METRICS_FILE
        kept = [line for line in read_metrics(path) if line["step"] <= state.global_step] if path.is_file() else []
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(line) + "\n" for line in kept), encoding="utf-8")

    def on_log(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        logs: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Append a line."""
        if not state.is_world_process_zero or not logs:
            return
        with (Path(args.output_dir) / METRICS_FILE).open("a", encoding="utf-8") as file:
            file.write(json.dumps({"step": state.global_step, **logs}) + "\n")


def read_metrics(path: str | Path) -> list[dict[str, Any]]:
    """The lines of a metrics file.

    Args:
        path: The file, or the run's folder.

    Returns:
        One dictionary a line. A last line that was cut off by a crash is left out.

    Raises:
        FileNotFoundError: There is no such file.
        ValueError: A line before the last is not JSON.
    """
    path = Path(path)
    path = path / METRICS_FILE if path.is_dir() else path
    lines = path.read_text(encoding="utf-8").splitlines()
    metrics = []
    for number, line in enumerate(lines, start=1):
        try:
            metrics.append(json.loads(line))
        except json.JSONDecodeError as error:
            if number < len(lines):
                raise ValueError(f"{path}, line {number}: {error}") from error
    return metrics
