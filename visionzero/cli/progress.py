"""What a run says while it trains: a progress bar, and one line an update instead of every metric."""

from __future__ import annotations

from typing import Any

from tqdm import tqdm
from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments


class UpdateLines(TrainerCallback):
    """A progress bar over the updates with a line for every log step; all metrics are in the metrics file."""

    def __init__(self) -> None:
        self._bar: tqdm[Any] | None = None

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        """Open the bar."""
        if state.is_world_process_zero:
            self._bar = tqdm(
                total=state.max_steps,
                initial=state.global_step,
                desc="training",
                unit="update",
                disable=args.disable_tqdm,
            )

    def on_step_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        """Move the bar."""
        if self._bar is not None:
            self._bar.update()

    def on_log(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        logs: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Print the line."""
        if self._bar is not None and logs and "phase/clue" in logs:
            self._bar.write(update_line(state.global_step, logs))

    def on_train_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        """Close the bar."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None


def update_line(step: int, logs: dict[str, Any]) -> str:
    """One line about an update.

    Args:
        step: Number of updates so far.
        logs: Its metrics.

    Returns:
        Phase, share of games that convict the spy, n/a and unreadable shares, loss and KL.
    """
    trained = [stage for stage in ("clue", "decision") if logs[f"phase/{stage}"] > 0]
    unreadable = f"{logs['game/unreadable_clue_rate']:.0%} of clues, {logs['game/invalid_vote_rate']:.0%} of votes"
    kl = f"  kl {logs['kl']:.3f}" if logs.get("kl") is not None else ""
    return (
        f"update {step:4d}  {'+'.join(trained):8s}  spy convicted {logs['game/civilian_win_rate']:4.0%}  "
        f"n/a {logs['game/na_rate']:4.0%}  unreadable {unreadable}  loss {logs.get('loss', float('nan')):.4f}{kl}"
    )
