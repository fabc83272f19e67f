"""Options of a trainer that plays its own batches: TRL's, without those that only make sense for data sets of prompts."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

from trl import GRPOConfig

_GAMES = "every update plays its own games"
_NO_ROWS = "there is no data set of prompts"
_NO_CLIPPING = "every batch of games makes one step, so its probability ratio is 1 and nothing is clipped"
_NO_EVALUATION = "training is not interrupted for evaluation; compare checkpoints with `visionzero eval`"
_REPLAYS = "games are written as replays"
_REPLACED = {
    "gradient_accumulation_steps": "an update is counted in games_per_update; per_device_train_batch_size alone decides "
    "how many turns go through the model at once",
    "generation_batch_size": "an update is counted in games_per_update",
    "steps_per_generation": _GAMES,
    "num_iterations": _GAMES,
    "num_generations": "groups are formed by the games",
    "scale_rewards": "advantages come from the games",
    "reward_weights": "rewards come from the games",
    "multi_objective_aggregation": "rewards come from the games",
    "shuffle_dataset": "boards are drawn in an order that the seed decides",
    "data_seed": "boards are drawn in an order that the seed decides",
    "epsilon": _NO_CLIPPING,
    "epsilon_high": _NO_CLIPPING,
    "delta": _NO_CLIPPING,
    "off_policy_mask_threshold": _NO_CLIPPING,
    "max_tool_calling_iterations": "players have no tools",
    "label_smoothing_factor": "there are no labels",
    "label_names": "there are no labels",
}
_REPLACED |= dict.fromkeys(
    ("log_completions", "log_multimodal", "log_unique_prompts", "num_completions_to_print", "log_completions_hub_repo"),
    _REPLAYS,
)
_REPLACED |= dict.fromkeys(
    (
        "eval_strategy", "eval_steps", "eval_delay", "eval_on_start", "eval_accumulation_steps", "do_eval", "do_predict",
        "per_device_eval_batch_size", "num_generations_eval", "load_best_model_at_end", "metric_for_best_model",
        "greater_is_better", "prediction_loss_only", "batch_eval_metrics",
    ),
    _NO_EVALUATION,
)  # fmt: skip
_REPLACED |= dict.fromkeys(
    (
        "remove_unused_columns", "dataloader_drop_last", "dataloader_num_workers", "dataloader_persistent_workers",
        "dataloader_prefetch_factor", "dataloader_pin_memory", "train_sampling_strategy", "length_column_name",
        "ignore_data_skip",
    ),
    _NO_ROWS,
)  # fmt: skip
_REPLACED |= dict.fromkeys(
    (
        "sapo_temperature_neg", "sapo_temperature_pos", "vespo_k_pos", "vespo_lambda_pos", "vespo_k_neg",
        "vespo_lambda_neg",
    ),
    "its loss is not among those supported here",
)  # fmt: skip
_COUNTERS = ("gradient_accumulation_steps", "num_iterations", "num_generations", "steps_per_generation")
# "cispo" is weighted by its clipping bound, which has no meaning for a ratio of 1.
_SUPPORTED_LOSSES = ("grpo", "dr_grpo", "dapo")


def option(default: Any, help_text: str) -> Any:
    """A config field with a help text for the command line."""
    return field(default=default, metadata={"help": help_text})


@dataclass
class TurnConfig(GRPOConfig):
    """`GRPOConfig` for a `TurnTrainer`.

    TRL's own options keep their meaning (learning rate, KL weight `beta`, LoRA through `peft_config`, `report_to`,
    vLLM, DeepSpeed, ...), except that a batch is counted in games, and `per_device_train_batch_size` is the largest
    number of turns in one forward and backward pass. Options of TRL that would have no effect here are errors.

    Raises:
        ValueError: A value is out of range, or an option would have no effect.
    """

    loss_type: str = option(
        "grpo", "Loss of TRL: mean over a turn's tokens, then over turns (`grpo`), or another of TRL's."
    )
    learning_rate: float = option(1e-5, "Initial learning rate of AdamW.")
    lr_scheduler_type: str = option("cosine", "Learning-rate schedule.")
    warmup_steps: float = option(0.1, "Warm-up: updates, or their share of the run if below 1.")
    beta: float = option(0.04, "Weight of the KL divergence from the frozen start of the policy.")
    max_completion_length: int = option(512, "Longest answer, in tokens.")
    logging_steps: float = option(1, "Log every that many updates.")
    games_per_update: int = option(16, "Games played for one update, over all processes.")
    generation_rows: int = option(64, "Most turns in one generation batch of a process.")

    def __post_init__(self) -> None:
        defaults = {f.name: f.default for f in fields(GRPOConfig)}
        for name, reason in _REPLACED.items():
            value = getattr(self, name, None)
            # 1 is what this class itself leaves in the counters, so a config can be read back from its own dictionary.
            counted_once = name in _COUNTERS and value == 1
            if name in defaults and value != defaults[name] and not counted_once:
                raise ValueError(f"{name}={value!r} would have no effect: {reason}")
        if self.loss_type not in _SUPPORTED_LOSSES:
            raise ValueError(f"loss_type must be one of {', '.join(_SUPPORTED_LOSSES)}, got {self.loss_type!r}")
        if self.loss_type == "dapo" and (self.entropy_coef or self.use_adaptive_entropy):
            raise ValueError(f"an entropy bonus needs loss_type grpo or dr_grpo, got {self.loss_type!r}")
        if self.games_per_update < 1 or self.generation_rows < 1:
            raise ValueError("games_per_update and generation_rows must be >= 1")
        # TRL checks that its batches hold whole groups. Ours do not come from its sampler: satisfy the check, then say
        # what is true, one batch an update and no groups.
        self.gradient_accumulation_steps = 1
        self.num_iterations = 1
        self.num_generations = 2
        self.steps_per_generation = 2
        self.generation_batch_size = None
        super().__post_init__()
        self.num_generations = 1
        self.steps_per_generation = 1
        self.generation_batch_size = self.per_device_train_batch_size * self.world_size
        if self.games_per_update % self.world_size:
            raise ValueError(
                f"games_per_update ({self.games_per_update}) must be a multiple of the number of processes "
                f"({self.world_size})"
            )
