"""Trains the small model on lessons, and examines it on scenes that it has not seen."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import (
    PreTrainedModel,
    ProcessorMixin,
    TrainerCallback,
    TrainerControl,
    TrainerState,
    TrainingArguments,
    get_cosine_schedule_with_warmup,
)
from transformers.trainer_utils import get_last_checkpoint

from visionzero.games import derive_seed
from visionzero.games.answers import read_boxed
from visionzero.images import ImagePair, ImageSource
from visionzero.players.chat import ChatEncoder
from visionzero.tiny_vlm import TinyVLMShape, build_model, build_processor, train_tokenizer
from visionzero.training.weights import load_weights
from visionzero.warmup.lessons import Lesson, describe_lesson, game_lessons, presence_lesson, question_lesson
from visionzero.warmup.optimizer import MuonWithAdamW
from visionzero.warmup.sight import InOrderTrainer, learn_to_see, mirrored

BATCH_SIZE = 32
# The language model first learns to read what the vision tower sees, while the tower stays as it is.
_TOWER_RESTS = 0.4
# Shares of the tasks up to that part of the course.
_COURSE = (
    (_TOWER_RESTS, {"describe": 0.7, "ask": 0.3}),
    (0.7, {"describe": 0.65, "ask": 0.35}),
    (1.0, {"describe": 0.35, "ask": 0.3, "game": 0.35}),
)


class Lessons(torch.utils.data.Dataset):
    """A course of lessons: first to say what is there, then to play as well. Lesson i is the same lesson in every process.

    The lessons of one batch are of one task, so that long prompts do not pad short ones.

    Args:
        source: Scenes with scene graphs.
        size: Number of lessons.
        seed: Decides everything about them.
    """

    def __init__(self, source: ImageSource, size: int, seed: int = 0) -> None:
        self._source = source
        self._size = size
        self._seed = seed

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, index: int) -> Lesson:
        shares = next(shares for end, shares in _COURSE if index < end * self._size)
        batch_rng = np.random.default_rng(derive_seed(self._seed, "batch", index // BATCH_SIZE))
        task = str(batch_rng.choice(list(shares), p=list(shares.values())))
        rng = np.random.default_rng(derive_seed(self._seed, "lesson", index))
        pair = self._source[int(rng.integers(len(self._source)))]
        return make_lesson(mirrored(pair) if rng.integers(2) else pair, task, rng)


def make_lesson(pair: ImagePair, task: str, rng: np.random.Generator) -> Lesson:
    """A lesson of one task on one scene."""
    if pair.scene is None:
        raise ValueError(f"{pair.name} has no scene graph to teach from")
    if task == "describe":
        return describe_lesson(pair.civilian, pair.scene)
    if task == "ask":
        return question_lesson(pair.civilian, pair.scene, rng)
    lessons = list(game_lessons(pair, int(rng.integers(2**31))))
    return lessons[rng.integers(len(lessons))]


class Collator:
    """Lessons as a training batch: prompts and targets, with loss on the targets and their end of turn only.

    Args:
        processor: The model's processor.
    """

    def __init__(self, processor: ProcessorMixin) -> None:
        self._encoder = ChatEncoder(processor)
        self._tokenizer = processor.tokenizer

    def __call__(self, lessons: Sequence[Lesson]) -> dict[str, torch.Tensor]:
        """Return the model's inputs and `labels`, right-padded, shape (lessons, tokens)."""
        prompts = self._encoder.encode([list(lesson.messages) for lesson in lessons])
        rows = []
        for lesson, ids, mask in zip(lessons, prompts["input_ids"], prompts["attention_mask"], strict=True):
            target = self._tokenizer(lesson.target, add_special_tokens=False)["input_ids"]
            rows.append((ids[mask.bool()].tolist(), [*target, self._tokenizer.eos_token_id]))
        width = max(len(prompt) + len(target) for prompt, target in rows)
        shape = (len(rows), width)
        batch = {
            "input_ids": torch.full(shape, self._tokenizer.pad_token_id),
            "attention_mask": torch.zeros(shape, dtype=torch.long),
            "labels": torch.full(shape, -100),
        }
        for row, (prompt, target) in enumerate(rows):
            end = len(prompt) + len(target)
            batch["input_ids"][row, :end] = torch.tensor(prompt + target)
            batch["attention_mask"][row, :end] = 1
            batch["labels"][row, len(prompt) : end] = torch.tensor(target)
        image_token = self._encoder.processor.image_token_id
        batch["mm_token_type_ids"] = (batch["input_ids"] == image_token).long()
        return {**batch, "pixel_values": prompts["pixel_values"], "image_grid_thw": prompts["image_grid_thw"]}


def corpus(source: ImageSource, size: int = 400) -> list[str]:
    """Texts for the tokenizer: prompts and answers of lessons."""
    texts = []
    for index in range(size):
        rng = np.random.default_rng(derive_seed(index, "corpus"))
        lesson = make_lesson(source[index % len(source)], ("describe", "ask", "game")[index % 3], rng)
        texts += [part["text"] for part in lesson.messages[0]["content"] if part["type"] == "text"]
        texts.append(lesson.target)
    return texts


class _CourseTrainer(InOrderTrainer):
    def _load_from_checkpoint(self, resume_from_checkpoint: str, model: Any = None) -> None:
        load_weights(self.model if model is None else model, resume_from_checkpoint)


class _RestingTower(TrainerCallback):
    """Keeps the vision tower as it is for the first part of the course."""

    def __init__(self, tower: torch.nn.Module) -> None:
        self._tower = tower

    def on_step_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        self._tower.requires_grad_(state.global_step >= _TOWER_RESTS * state.max_steps)


def warm_up(
    source: ImageSource,
    out: Path,
    *,
    steps: int,
    sight_steps: int,
    shape: TinyVLMShape | None = None,
    learning_rate: float = 1e-3,
    seed: int = 0,
    resume: bool = False,
) -> tuple[PreTrainedModel, ProcessorMixin]:
    """Train a model from scratch and save it: its vision tower to see first, see `learn_to_see`, then all of it to speak.

    Args:
        source: Scenes with scene graphs.
        out: Folder for model and processor, and for the checkpoints of both parts, every 100 steps.
        steps: Optimiser steps of `BATCH_SIZE` lessons.
        sight_steps: Optimiser steps of `BATCH_SIZE` images before that.
        shape: Sizes of the model.
        learning_rate: Peak of the lessons' cosine schedule.
        seed: Seed of weights and lessons.
        resume: Go on from the newest checkpoint in `out`.

    Returns:
        Model and processor.
    """
    tokenizer = train_tokenizer(corpus(source), (shape or TinyVLMShape()).vocab_size)
    processor = build_processor(tokenizer, shape)
    model = build_model(tokenizer, shape, seed)
    speaks = resume and get_last_checkpoint(out) is not None
    if not speaks:
        sight = out / "sight"
        sees = resume and sight.is_dir() and get_last_checkpoint(sight) is not None
        learn_to_see(model, processor, source, sight, steps=sight_steps, batch_size=BATCH_SIZE, seed=seed, resume=sees)
    args = TrainingArguments(
        output_dir=str(out),
        max_steps=steps,
        per_device_train_batch_size=BATCH_SIZE,
        logging_steps=25,
        save_steps=100,
        save_total_limit=1,
        report_to="none",
        remove_unused_columns=False,
        seed=seed,
    )
    optimizer = MuonWithAdamW(model, learning_rate, weight_decay=0.05)
    trainer = _CourseTrainer(
        model=model.train(),
        args=args,
        train_dataset=Lessons(source, steps * BATCH_SIZE, seed),
        data_collator=Collator(processor),
        processing_class=processor,
        optimizers=(optimizer, get_cosine_schedule_with_warmup(optimizer, min(50, steps // 10), steps)),
        callbacks=[_RestingTower(model.model.visual)],
    )
    trainer.train(resume_from_checkpoint=speaks)
    model.requires_grad_(True).eval().save_pretrained(out)
    processor.save_pretrained(out)
    return model, processor


def examine(
    model: PreTrainedModel,
    processor: ProcessorMixin,
    source: ImageSource,
    *,
    seed: int = 0,
    batch_size: int = 100,
    on_answers: Callable[[int], None] | None = None,
) -> dict[str, float]:
    """Ask about unseen scenes.

    Args:
        model: The model.
        processor: Its processor.
        source: Scenes that were not trained on; each is asked about once a task.
        seed: Decides the questions.
        batch_size: Questions in one `generate` call.
        on_answers: Called with the number of answers after each batch.

    Returns:
        Accuracies, each over `len(source)` scenes: `color` and `color and shape` presence (one present and one absent
        object a scene, so guessing gets 0.5), `described` attributes, and `readable` clues and votes.
    """
    questions: list[tuple[str, Lesson]] = []
    for index, pair in enumerate(source):
        rng = np.random.default_rng(derive_seed(seed, "examination", index))
        assert pair.scene is not None
        for name, attributes in (("color", ("color",)), ("color and shape", ("color", "shape"))):
            for present in (True, False):
                questions.append((name, presence_lesson(pair.civilian, pair.scene, attributes, present, rng)))
        questions.append(("described", describe_lesson(pair.civilian, pair.scene)))
        played = list(game_lessons(pair, index))
        questions.append(("readable", played[rng.integers(len(played))]))
    scores: dict[str, list[float]] = defaultdict(list)
    for start in range(0, len(questions), batch_size):
        batch = questions[start : start + batch_size]
        answers = _answer(model, processor, [lesson for _, lesson in batch])
        for (name, lesson), answer in zip(batch, answers, strict=True):
            scores[name].append(_score(name, lesson, answer))
        if on_answers is not None:
            on_answers(len(batch))
    return {name: float(np.mean(values)) for name, values in scores.items()}


def _score(name: str, lesson: Lesson, answer: str) -> float:
    if name == "readable":
        return float(bool(read_boxed(answer)))
    if name == "described":
        right, said = lesson.target.split(), answer.split()
        return sum(a == b for a, b in zip(right, said, strict=False)) / len(right)
    return float(answer.strip() == lesson.target)


@torch.no_grad()
def _answer(model: PreTrainedModel, processor: ProcessorMixin, lessons: Sequence[Lesson]) -> list[str]:
    inputs: dict[str, Any] = ChatEncoder(processor).encode([list(lesson.messages) for lesson in lessons])
    output = model.generate(**inputs, max_new_tokens=64, do_sample=False)
    texts = processor.tokenizer.batch_decode(output[:, inputs["input_ids"].shape[1] :], skip_special_tokens=True)
    return [str(text) for text in texts]


def write_examination(scores: dict[str, float], path: Path) -> None:
    """Write accuracies as JSON."""
    path.write_text(json.dumps(scores, indent=2) + "\n", encoding="utf-8")
