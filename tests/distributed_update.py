"""One update, on as many processes as it is launched with: `torchrun distributed_update.py MODEL OUT`."""

import sys
import tempfile
from pathlib import Path

import torch
from PIL import Image
from transformers import AutoModelForImageTextToText, AutoProcessor

from visionzero.games import SpyConfig, SpyGame
from visionzero.images import load_images
from visionzero.players.model import ModelPlayer
from visionzero.rollout import rollout
from visionzero.training import IterativeSPOConfig, IterativeSPOTrainer
from visionzero.training.turn_trainer import TrainedTurn

RULES = SpyConfig(num_civilians=2, clue_rounds=1, prompts="compact", own_reasoning_memory=False)


def main(model_path: str, out: str) -> None:
    images = [Image.new("RGB", (60 + 30 * i, 80), (60 * i, 90, 30)) for i in range(4)]
    with tempfile.TemporaryDirectory() as folder:
        args = IterativeSPOConfig(
            output_dir=folder,
            per_device_train_batch_size=3,
            games_per_update=4,
            max_steps=1,
            learning_rate=0.1,
            lr_scheduler_type="constant",
            warmup_steps=0,
            max_completion_length=6,
            save_strategy="no",
            report_to="none",
            optim="sgd",
            max_grad_norm=0.0,
            gradient_checkpointing=False,
            bf16=False,
            use_cpu=True,
        )
        trainer = IterativeSPOTrainer(model_path, args, load_images(images), RULES)
        rank, size = trainer.accelerator.process_index, trainer.accelerator.num_processes
        # All processes know the same games; each trains its own share of their turns, of unequal lengths.
        model = AutoModelForImageTextToText.from_pretrained(model_path).eval()
        player = ModelPlayer(model, AutoProcessor.from_pretrained(model_path, padding_side="left"), max_new_tokens=6)
        episodes = rollout([SpyGame(image, RULES, seed=i) for i, image in enumerate(images)], player)
        rows = [
            TrainedTurn(turn, trainer.encoder.chat(turn), reply, 0.0, (-1) ** i * (1 + i / 10))
            for i, (turn, reply) in enumerate(
                (turn, reply) for episode in episodes for turn, reply in episode.replies.items()
            )
        ]
        trainer.play_update = lambda: rows[rank::size]
        trainer.train()
        if trainer.is_world_process_zero():
            torch.save(trainer.accelerator.unwrap_model(trainer.model).state_dict(), Path(out))


if __name__ == "__main__":
    main(*sys.argv[1:])
