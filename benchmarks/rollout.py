"""Batched rollout against a loop over games, and against the raw speed of `model.generate`.

Run: python benchmarks/rollout.py [--games 64] [--model PATH]

Both baselines are measured in the same run, on the same games, with the same model. The last column replays the very
batches that the rollout generated (same inputs, same number of new tokens) with nothing but `model.generate`.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import torch
from tqdm import tqdm
from transformers import AutoModelForImageTextToText, AutoProcessor, GenerationConfig

from visionzero.games import SpyConfig, SpyGame
from visionzero.images import load_images
from visionzero.players.model import ModelPlayer
from visionzero.rollout import rollout
from visionzero.tiny_vlm import tiny_vlm_path

RULES = SpyConfig(prompts="compact", own_reasoning_memory=False)


def deal(count: int) -> list[SpyGame]:
    boards = load_images("photos")
    return [SpyGame(boards[i % len(boards)], RULES, seed=i) for i in range(count)]


class Recorder:
    """Stands in for `model.generate`, and keeps what it was called with."""

    def __init__(self, model: Any) -> None:
        self.generate = model.generate
        self.calls: list[tuple[dict[str, torch.Tensor], int]] = []

    def __call__(self, **kwargs: Any) -> torch.Tensor:
        """Generate, and remember inputs and number of new tokens."""
        output = self.generate(**kwargs)
        inputs = {key: value for key, value in kwargs.items() if isinstance(value, torch.Tensor)}
        self.calls.append((inputs, output.shape[1] - inputs["input_ids"].shape[1]))
        return output


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--games", type=int, default=64, help="games in the batched rollout")
    parser.add_argument("--loop-games", type=int, default=8, help="games in the loop, which is slow")
    parser.add_argument("--max-new-tokens", type=int, default=32)
    parser.add_argument("--model", default=None, help="folder or hub id; the package's small model by default")
    args = parser.parse_args()

    path = args.model or tiny_vlm_path()
    model = AutoModelForImageTextToText.from_pretrained(path, dtype="auto").eval()
    processor = AutoProcessor.from_pretrained(path, padding_side="left")
    player = ModelPlayer(model, processor, max_new_tokens=args.max_new_tokens, batch_size=max(64, args.games))
    rollout(deal(2), player)  # first calls pay for lazy initialisation

    start = time.perf_counter()
    for game in tqdm(deal(args.loop_games), desc="one game at a time"):
        while not game.done:
            for turn in game.pending():
                game.submit(turn, player.answer(turn))
    loop_rate = args.loop_games / (time.perf_counter() - start)

    recorder = Recorder(model)
    model.generate = recorder
    games = deal(args.games)
    start = time.perf_counter()
    rollout(games, player)
    rollout_seconds = time.perf_counter() - start
    model.generate = recorder.generate

    start = time.perf_counter()
    tokens = 0
    for inputs, steps in tqdm(recorder.calls, desc="raw generate"):
        config = GenerationConfig(
            max_new_tokens=steps, min_new_tokens=steps, do_sample=True, pad_token_id=processor.tokenizer.pad_token_id
        )
        with torch.no_grad():
            model.generate(**inputs, generation_config=config)
        tokens += steps * len(inputs["input_ids"])
    raw_seconds = time.perf_counter() - start

    rollout_rate = args.games / rollout_seconds
    print(
        f"\n{torch.get_num_threads()} threads, {args.games} games of {RULES.num_players} seats, {len(recorder.calls)} batches"
    )
    print("| | games per minute | against the loop | share of raw generate |")
    print("| --- | ---: | ---: | ---: |")
    print(f"| one turn at a time | {60 * loop_rate:.0f} | 1.0 | |")
    print(
        f"| rollout | {60 * rollout_rate:.0f} | {rollout_rate / loop_rate:.1f} | {raw_seconds / rollout_seconds:.0%} |"
    )
    print(f"| raw generate, {tokens / raw_seconds:.0f} tokens/s | {60 * args.games / raw_seconds:.0f} | | 100% |")


if __name__ == "__main__":
    main()
