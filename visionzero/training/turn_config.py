"""Options of a trainer that plays its own batches: TRL's, without those that only make sense for data sets of prompts."""

from __future__ import annotations

from dataclasses import MISSING, dataclass, field, fields
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
    "average_tokens_across_devices": "losses count their tokens over all processes",
    "include_num_input_tokens_seen": "tokens are counted always, as num_tokens",
    "do_train": "training is all that this does",
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
        "greater_is_better", "prediction_loss_only", "batch_eval_metrics", "bf16_full_eval", "fp16_full_eval",
        "eval_do_concat_batches", "eval_use_gather_object", "include_for_metrics",
    ),
    _NO_EVALUATION,
)  # fmt: skip
_REPLACED |= dict.fromkeys(
    (
        "remove_unused_columns", "dataloader_drop_last", "dataloader_num_workers", "dataloader_persistent_workers",
        "dataloader_prefetch_factor", "dataloader_pin_memory", "train_sampling_strategy", "length_column_name",
        "ignore_data_skip", "dataloader_multiprocessing_context", "dataloader_in_order",
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
_FROZEN = "the reference policy is the frozen start, and a checkpoint holds no other"
_TEXT_ONLY = "it cannot generate for images; use vLLM"
_UNSUPPORTED = {
    "sync_ref_model": _FROZEN,
    "ref_model_mixup_alpha": _FROZEN,
    "ref_model_sync_steps": _FROZEN,
    "use_transformers_continuous_batching": _TEXT_ONLY,
    "transformers_continuous_batching_config": _TEXT_ONLY,
    "use_transformers_paged": _TEXT_ONLY,
}
_NEEDS: dict[str, tuple[str, Any]] = {
    **dict.fromkeys(
        ("vllm_server_base_url", "vllm_server_host", "vllm_server_port", "vllm_server_timeout", "vllm_group_port"),
        ("vllm_mode", "server"),
    ),
    **dict.fromkeys(
        (
            "vllm_gpu_memory_utilization", "vllm_max_model_length", "vllm_tensor_parallel_size",
            "vllm_enable_sleep_mode", "vllm_model_impl",
        ),
        ("vllm_mode", "colocate"),
    ),
    **dict.fromkeys(
        (
            "vllm_importance_sampling_mode", "vllm_importance_sampling_clip_max", "vllm_importance_sampling_clip_min",
            "vllm_importance_sampling_cap",
        ),
        ("vllm_importance_sampling_correction", True),
    ),
    **dict.fromkeys(
        ("entropy_coef_min", "entropy_coef_max", "entropy_coef_delta", "entropy_target"),
        ("use_adaptive_entropy", True),
    ),
    **dict.fromkeys(
        ("hub_model_id", "hub_strategy", "hub_private_repo", "hub_always_push", "hub_revision"),
        ("push_to_hub", True),
    ),
    "liger_kernel_config": ("use_liger_kernel", True),
}  # fmt: skip
"""What only counts beside a certain value of another option."""
_COUNTERS = ("gradient_accumulation_steps", "num_iterations", "num_generations", "steps_per_generation")
_SUPPORTED_LOSSES = ("grpo", "dr_grpo", "dapo", "cispo")


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
        self._refuse_options_without_effect()
        if self.loss_type not in _SUPPORTED_LOSSES:
            raise ValueError(f"loss_type must be one of {', '.join(_SUPPORTED_LOSSES)}, got {self.loss_type!r}")
        if self.loss_type in ("dapo", "cispo") and (self.entropy_coef or self.use_adaptive_entropy):
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

    def _refuse_options_without_effect(self) -> None:
        defaults = {
            f.name: f.default_factory() if f.default is MISSING and f.default_factory is not MISSING else f.default
            for f in fields(GRPOConfig)
        }
        changed = {name: getattr(self, name) for name, default in defaults.items() if getattr(self, name) != default}
        # What this class and its parents leave behind, so that a config can be made from the values of another.
        left_behind = {name for name in _COUNTERS if changed.get(name) == 1}
        if "steps_per_generation" in left_behind:
            left_behind.add("generation_batch_size")
        if self.use_cpu:
            left_behind.add("dataloader_pin_memory")
        if self.include_num_input_tokens_seen is False:  # what the command line's parser makes of the default
            left_behind.add("include_num_input_tokens_seen")
        for name, value in changed.items():
            if name in _REPLACED and name not in left_behind:
                raise ValueError(f"{name}={value!r} would have no effect: {_REPLACED[name]}")
            if name in _UNSUPPORTED:
                raise ValueError(f"{name}={value!r} is not possible: {_UNSUPPORTED[name]}")
            if name.startswith("vllm_") and not self.use_vllm:
                raise ValueError(f"{name}={value!r} would have no effect without use_vllm=True")
            needed, needed_value = _NEEDS.get(name, (name, value))
            if getattr(self, needed) != needed_value:
                raise ValueError(f"{name}={value!r} would have no effect without {needed}={needed_value!r}")
        if self.save_strategy == "best":
            raise ValueError(f"save_strategy='best' is not possible: {_NO_EVALUATION}")
        if self.max_steps > 0 and "num_train_epochs" in changed:
            raise ValueError(f"num_train_epochs={self.num_train_epochs} would have no effect: max_steps is given")
        if self.parallelism_config is not None and self.parallelism_config.tp_enabled:
            raise ValueError("tensor parallelism is not possible: every process plays its own games")
