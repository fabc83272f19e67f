"""One JSON line a log step, in the run's folder, and beside it what the run is."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from visionzero.training.run_files import METRICS_FILE, RUN_FILE, RUN_FORMAT, RUN_VERSION, read_metrics

__all__ = ["METRICS_FILE", "MetricsFileCallback", "read_metrics"]


class MetricsFileCallback(TrainerCallback):
    """Writes what is logged to `metrics.jsonl` in the output folder, and what the run is to `run.json`.

    A resumed run drops the lines past its checkpoint, so that the file reads like that of a run that was never killed.

    Args:
        about: JSON data for `run.json`: model, images, rules, phases and options. The callback adds the planned number
            of `updates` and `starts`, the updates that training was started from: 0, and those it was resumed at.
    """

    def __init__(self, about: Mapping[str, Any]) -> None:
        self.about = dict(about)

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        """Cut the metrics back to the step that training starts from, and write what the run is."""
        if not state.is_world_process_zero:
            return
        path = Path(args.output_dir) / METRICS_FILE
        kept = [line for line in read_metrics(path) if line["step"] <= state.global_step] if path.is_file() else []
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(line) + "\n" for line in kept), encoding="utf-8")
        self._write_about(path.parent / RUN_FILE, state)

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

    def _write_about(self, path: Path, state: TrainerState) -> None:
        earlier = json.loads(path.read_text(encoding="utf-8")).get("starts", []) if path.is_file() else []
        starts = [start for start in earlier if start < state.global_step] + [state.global_step]
        about = {
            "format": RUN_FORMAT,
            "version": RUN_VERSION,
            **self.about,
            "updates": state.max_steps,
            "starts": starts,
        }
        # Exchanged as a whole: a run that is killed here must still be able to resume.
        whole = path.with_suffix(".json.new")
        whole.write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")
        whole.replace(path)
