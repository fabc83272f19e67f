"""From played turns to an update: what every trainer of this package does the same way.

A `TurnTrainer` is TRL's `GRPOTrainer` with its first half exchanged. TRL samples completions for the rows of a data set
and computes advantages from rewards; here games are played, every turn that is to be trained becomes one row, and the
row brings its advantage along. From there on everything is TRL's: reference log-probabilities, importance sampling for
vLLM, the loss with its KL term, PEFT, DeepSpeed, FSDP, checkpoints, logging.
"""

from __future__ import annotations

import json
import math
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from torch.utils.data import DataLoader
from transformers import PreTrainedModel, Trainer
from transformers.trainer_utils import PREFIX_CHECKPOINT_DIR, rotate_checkpoints
from trl import GRPOTrainer
from trl.trainer.utils import split_pixel_values_by_grid, unsplit_pixel_values_by_grid

from visionzero.games.game import Message, Turn, derive_seed
from visionzero.players.base import Player, Reply, batches_by_length
from visionzero.players.chat import ChatEncoder
from visionzero.players.model import only_generation_config
from visionzero.training.run_files import STATE_FILE
from visionzero.training.weights import load_weights


def last_checkpoint(folder: str | Path) -> Path | None:
    """The newest checkpoint of a run that was written to its end; None if there is none.

    Args:
        folder: The run's output folder.
    """
    # The state file is the last one that is written, so a run that was killed while saving has none there.
    written = [path.parent for path in Path(folder).glob(f"{PREFIX_CHECKPOINT_DIR}-*/{STATE_FILE}")]
    return max(written, key=lambda path: int(path.name.rpartition("-")[2]), default=None)


@dataclass(frozen=True)
class TrainedTurn:
    """One row of an update.

    Attributes:
        turn: The question.
        chat: Its messages as the model read them, see `ChatEncoder.chat`.
        reply: What the policy sampled.
        reward: The game's reward, for the logs.
        advantage: What the loss is weighted with.
    """

    turn: Turn
    chat: list[Message]
    reply: Reply
    reward: float
    advantage: float


class PolicyPlayer(Player):
    """The policy in training as a player: samples with whatever engine the trainer uses (transformers or vLLM).

    Args:
        trainer: The trainer whose model answers.
    """

    name = "policy"

    def __init__(self, trainer: TurnTrainer) -> None:
        self._trainer = trainer
        self.chats: dict[Turn, list[Message]] = {}
        self.logprobs: dict[Turn, list[float]] = {}

    def reply(self, turns: Sequence[Turn]) -> list[Reply]:
        """Answer turns in batches of `args.generation_rows`, sorted by the length of their prompts."""
        trainer = self._trainer
        replies: dict[int, Reply] = {}
        for rows in batches_by_length(turns, trainer.args.generation_rows):
            chats = [trainer.encoder.chat(turns[i]) for i in rows]
            with trainer.image_cache():
                prompt_ids, images, fields = trainer._tokenize_prompts(chats)
            with trainer.sampling_law():
                completion_ids, logprobs = trainer._generate_single_turn(prompt_ids, images, fields, 1)
            texts = trainer._tokenizer.batch_decode(completion_ids, skip_special_tokens=True)
            for row, i in enumerate(rows):
                ids = tuple(completion_ids[row])
                truncated = not ids or ids[-1] not in trainer.eos_token_ids
                replies[i] = Reply(texts[row], tuple(prompt_ids[row]), ids, truncated)
                self.chats[turns[i]] = chats[row]
                if logprobs is not None:
                    self.logprobs[turns[i]] = logprobs[row]
        return [replies[i] for i in range(len(turns))]

    def forget(self) -> None:
        """Drop the chats and log-probabilities of finished games."""
        self.chats.clear()
        self.logprobs.clear()


def game_reward(completions: list[Any], game_reward: list[float], **_: Any) -> list[float]:
    """TRL's view of a row's reward: the game's, which the row carries."""
    return game_reward


class TurnTrainer(GRPOTrainer):
    """A `GRPOTrainer` whose batches are turns of games.

    Subclasses implement `play_update`, and `state_dict` and `load_state_dict` for what their checkpoints must hold
    besides TRL's.

    Attributes:
        encoder: Makes chats that the model can read.
        policy: The policy as a player.
    """

    def __init__(self, *args: Any, num_updates: int, **kwargs: Any) -> None:
        # TRL wants rows; ours come from games, so a placeholder counts the updates of one epoch.
        placeholder = Dataset.from_dict({"prompt": ["played by the trainer"] * num_updates})
        super().__init__(*args, reward_funcs=[game_reward], train_dataset=placeholder, **kwargs)
        processor: Any = self.processing_class  # type: ignore[has-type]
        if processor.tokenizer.padding_side != "left":
            raise ValueError(
                f"the processor must pad on the left, got padding_side={processor.tokenizer.padding_side!r}; load it "
                "with AutoProcessor.from_pretrained(..., padding_side='left')"
            )
        self.encoder = ChatEncoder(processor)
        self.policy = PolicyPlayer(self)
        self._rows: list[TrainedTurn] = []
        self.current_gradient_accumulation_steps = 1
        self.log_multimodal = False  # sends every image of an update to every process, for a table that is not logged
        if self.loss_type == "cispo":
            # Its clip is an upper bound of the ratio itself, and TRL's default, 0.2, lies below the ratio 1 of every batch.
            self.epsilon_high = math.inf

    @abstractmethod
    def play_update(self) -> list[TrainedTurn]:
        """Play the games of one update with the current policy, and return the turns to train on.

        Every process returns the same number of rows.
        """
        raise NotImplementedError

    @abstractmethod
    def state_dict(self) -> dict[str, Any]:
        """What a checkpoint must hold besides TRL's state, as JSON data."""
        raise NotImplementedError

    @abstractmethod
    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from a state that `state_dict` gave."""
        raise NotImplementedError

    @contextmanager
    def sampling_law(self) -> Iterator[None]:
        """Keeps dropout and the model's own generation config out of the sampling; other engines never see them."""
        if self.use_vllm:
            yield
            return
        model = self.accelerator.unwrap_model(self.model)
        was_training = model.training
        model.eval()
        try:
            with only_generation_config(model, self.generation_config):
                yield
        finally:
            model.train(was_training)

    @contextmanager
    def image_cache(self) -> Iterator[None]:
        """Lets TRL's code use the processor that preprocesses every image once; that one is never saved."""
        original: Any = self.processing_class  # type: ignore[has-type]
        self.processing_class = self.encoder.processor
        try:
            yield
        finally:
            self.processing_class = original

    def get_train_dataloader(self) -> DataLoader:
        """One item an update and process."""
        items: Any = range(self.train_dataset.num_rows * self.accelerator.num_processes)
        return self.accelerator.prepare(DataLoader(items, batch_size=1, collate_fn=list))

    def training_step(
        self, model: torch.nn.Module, inputs: Any, num_items_in_batch: torch.Tensor | int | None = None
    ) -> torch.Tensor:
        """Play one update's games, then run its turns forward and backward in micro-batches.

        Gradients are those of one batch with all rows: every micro-batch is weighted by its share of the rows.

        Args:
            model: The wrapped model.
            inputs: The placeholder item.
            num_items_in_batch: Not used; TRL's losses count for themselves.

        Returns:
            The loss of the update on this process, detached.
        """
        model.train()
        # What is sampled follows from the seed and the update's number, whatever has used torch's generator before.
        torch.manual_seed(derive_seed(self.args.seed, "update", self.state.global_step, self.accelerator.process_index))
        rows = self.play_update()
        micro_batches = self._micro_batches(self._score(rows))
        loss = torch.zeros((), device=self.accelerator.device)
        for index, batch in enumerate(micro_batches):
            last = index == len(micro_batches) - 1
            # As Trainer does for its own accumulation: gradients meet across processes in the last micro-batch only.
            self.accelerator.gradient_state._set_sync_gradients(last)
            with nullcontext() if last else self.accelerator.no_sync(model):
                loss += Trainer.training_step(self, model, batch, num_items_in_batch)
        self._step += 1
        return loss

    def _score(self, rows: list[TrainedTurn]) -> dict[str, Any]:
        """TRL's batch for the rows, with their own advantages."""
        self._rows = rows
        inputs = [{"prompt": row.chat, "game_reward": row.reward} for row in rows]
        with self.image_cache():
            output = self._generate_and_score_completions(inputs)
        self._metrics["train"].pop("frac_reward_zero_std", None)  # of groups that these rows do not form
        advantages = torch.tensor([row.advantage for row in rows], dtype=torch.float32)
        output["advantages"] = advantages.to(self.accelerator.device)
        return output

    def _generate(self, prompts: list[Any]) -> tuple[Any, ...]:
        """Give TRL the completions that were sampled while playing."""
        rows = self._rows
        prompt_ids = [list(row.reply.prompt_ids) for row in rows]
        completion_ids = [list(row.reply.completion_ids) for row in rows]
        completions = [[{"role": "assistant", "content": row.reply.text}] for row in rows]
        images = [
            [part["image"] for message in row.chat for part in message["content"] if part["type"] == "image"]
            for row in rows
        ]
        logprobs = [self.policy.logprobs[row.turn] for row in rows] if self.use_vllm else None
        tokens = torch.tensor(
            [sum(map(len, prompt_ids)), sum(map(len, completion_ids))], device=self.accelerator.device
        )
        self.state.num_input_tokens_seen += int(self.accelerator.gather(tokens).sum())
        self._metrics["train"]["num_tokens"] = [self.state.num_input_tokens_seen]
        return prompt_ids, completion_ids, None, completions, logprobs, {}, images if any(images) else None, []

    def _prepare_inputs(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """Micro-batches are ready as they are."""
        return inputs

    def _micro_batches(self, batch: dict[str, Any]) -> list[dict[str, Any]]:
        """Split a batch into micro-batches of at most `per_device_train_batch_size` rows and nearly equal size."""
        num_rows = len(batch["advantages"])
        count = math.ceil(num_rows / self.args.per_device_train_batch_size)
        bounds = [round(index * num_rows / count) for index in range(count + 1)]
        per_sample = split_pixel_values_by_grid(batch)
        micro_batches = []
        for start, end in pairwise(bounds):
            part = {
                key: value[start:end]
                if isinstance(value, list) or (isinstance(value, torch.Tensor) and value.ndim > 0)
                else value
                for key, value in per_sample.items()
            }
            part["loss_weight"] = (end - start) / num_rows
            micro_batches.append(unsplit_pixel_values_by_grid(part))
        return micro_batches

    def _compute_loss(self, model: torch.nn.Module, inputs: dict[str, Any]) -> torch.Tensor:
        weight = inputs["loss_weight"]
        if self.loss_type in ("grpo", "dr_grpo"):
            return super()._compute_loss(model, inputs) * weight
        # "dapo" and its like divide by the tokens of the whole update already; a mixture of experts' loss does not.
        coefficient: float = self.router_aux_loss_coef  # type: ignore[has-type]
        self.router_aux_loss_coef = coefficient * weight
        try:
            return super()._compute_loss(model, inputs)
        finally:
            self.router_aux_loss_coef = coefficient

    def log_games(self, metrics: dict[str, float | None]) -> None:
        """Add an update's figures to the next log line; None leaves a figure out of it."""
        for key, value in metrics.items():
            if value is not None:
                self._metrics["train"][key].append(float(value))

    def _load_from_checkpoint(self, resume_from_checkpoint: str, model: torch.nn.Module | None = None) -> None:
        """Load the weights of a checkpoint, see `load_weights`; adapters and sharded models are left to `Trainer`."""
        target = self.accelerator.unwrap_model(self.model if model is None else model)
        plain = isinstance(target, PreTrainedModel) and not self.is_deepspeed_enabled and not self.is_fsdp_enabled
        if plain:
            load_weights(target, resume_from_checkpoint)
        else:
            super()._load_from_checkpoint(resume_from_checkpoint, model)

    def _save_checkpoint(self, model: torch.nn.Module, trial: Any) -> None:
        # Older checkpoints go only when this one is whole, and the state file is what says so.
        limit, self.args.save_total_limit = self.args.save_total_limit, None
        try:
            super()._save_checkpoint(model, trial)
        finally:
            self.args.save_total_limit = limit
        if not self.args.should_save:
            return
        run_folder = Path(self._get_output_dir(trial=trial))
        if not self.args.save_only_model:
            folder = run_folder / f"{PREFIX_CHECKPOINT_DIR}-{self.state.global_step}"
            unfinished = folder / f"{STATE_FILE}.part"
            unfinished.write_text(json.dumps(self.state_dict(), indent=2) + "\n", encoding="utf-8")
            unfinished.replace(folder / STATE_FILE)
        rotate_checkpoints(str(run_folder), save_total_limit=limit, use_mtime=True)

    def _load_optimizer_and_scheduler(self, checkpoint: str | None) -> None:
        super()._load_optimizer_and_scheduler(checkpoint)
        if checkpoint is None:
            return
        path = Path(checkpoint) / STATE_FILE
        if not path.is_file():
            raise FileNotFoundError(
                f"{checkpoint} has no {STATE_FILE}: it is not a whole checkpoint of {type(self).__name__} (one of "
                "save_only_model=True is none)"
            )
        self.load_state_dict(json.loads(path.read_text(encoding="utf-8")))
