"""The first lessons: what is where. The vision tower learns to name the object in each cell of the image, no words needed.

A language model's loss reaches the vision tower through a few words a picture; here every image token is told what it
should know. The heads that answer are thrown away afterwards.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image, ImageOps
from transformers import (
    PreTrainedModel,
    ProcessorMixin,
    Trainer,
    TrainingArguments,
    get_cosine_schedule_with_warmup,
)

from visionzero.games import derive_seed
from visionzero.images import ImagePair, ImageSource
from visionzero.images.clevr_layout import COLORS, MATERIALS, SHAPES, SIZES
from visionzero.warmup.optimizer import MuonWithAdamW

_NAMES = {"color": COLORS, "shape": SHAPES, "material": MATERIALS, "size": SIZES}
_EMPTY = -100
_MAX_SHIFT = 12
# Cells with an object are rare, and all that the other answers are about.
_PRESENCE_WEIGHT = 4.0


@dataclass(frozen=True)
class Sighting:
    """An image, and what is where in it.

    Attributes:
        image: The image.
        things: Objects with `pixel_coords` and attributes, the nearest last.
    """

    image: Image.Image
    things: tuple[Mapping[str, Any], ...]


def mirrored(pair: ImagePair) -> ImagePair:
    """The scene seen in a mirror."""
    image, scene = pair.civilian, pair.scene
    assert scene is not None
    things = [
        {**thing, "pixel_coords": [image.width - 1 - thing["pixel_coords"][0], *thing["pixel_coords"][1:]]}
        for thing in scene["objects"]
    ]
    return replace(pair, civilian=ImageOps.mirror(image), scene={"objects": things}, edit=None)


def shifted(pair: ImagePair, right: int, down: int) -> ImagePair:
    """The scene moved by some pixels within its frame; the border's pixels fill the gap, and objects can get lost."""
    image, scene = pair.civilian, pair.scene
    assert scene is not None
    margin = max(abs(right), abs(down))
    padded = np.pad(np.asarray(image), ((margin, margin), (margin, margin), (0, 0)), mode="edge")
    top, left = margin - down, margin - right
    moved = Image.fromarray(padded[top : top + image.height, left : left + image.width])
    things = []
    for thing in scene["objects"]:
        x, y, *depth = thing["pixel_coords"]
        if 0 <= x + right < image.width and 0 <= y + down < image.height:
            things.append({**thing, "pixel_coords": [x + right, y + down, *depth]})
    return replace(pair, civilian=moved, scene={"objects": things}, edit=None)


class Sightings(torch.utils.data.Dataset):
    """Scenes, mirrored and shifted at random. Item i is the same in every process.

    Args:
        source: Scenes with scene graphs.
        size: Number of items.
        seed: Decides everything about them.
    """

    def __init__(self, source: ImageSource, size: int, seed: int = 0) -> None:
        self._source = source
        self._size = size
        self._seed = seed

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, index: int) -> Sighting:
        rng = np.random.default_rng(derive_seed(self._seed, "sighting", index))
        pair = self._source[int(rng.integers(len(self._source)))]
        if pair.scene is None:
            raise ValueError(f"{pair.name} has no scene graph to learn from")
        if rng.integers(2):
            pair = mirrored(pair)
        right, down = rng.integers(-_MAX_SHIFT, _MAX_SHIFT + 1, size=2)
        pair = shifted(pair, int(right), int(down))
        assert pair.scene is not None
        things = sorted(pair.scene["objects"], key=lambda thing: -thing["pixel_coords"][2])
        return Sighting(pair.civilian, tuple(things))


class SightCollator:
    """Sightings as a batch: pixels, and for every image token the attributes of the object whose centre is in its cell.

    Args:
        processor: The model's processor.
    """

    def __init__(self, processor: ProcessorMixin) -> None:
        self._image_processor = processor.image_processor

    def __call__(self, sightings: Sequence[Sighting]) -> dict[str, torch.Tensor]:
        """Return `pixel_values`, `image_grid_thw` and `labels`, shape (image tokens, attributes), -100 for no object."""
        inputs = self._image_processor([sighting.image for sighting in sightings], return_tensors="pt")
        labels = []
        for sighting, (_, rows, columns) in zip(sightings, inputs["image_grid_thw"].tolist(), strict=True):
            merge = self._image_processor.merge_size
            cells = torch.full((rows // merge, columns // merge, len(_NAMES)), _EMPTY)
            for thing in sighting.things:
                x, y = thing["pixel_coords"][:2]
                row = int(y * cells.shape[0] / sighting.image.height)
                column = int(x * cells.shape[1] / sighting.image.width)
                cells[row, column] = torch.tensor([list(names).index(thing[key]) for key, names in _NAMES.items()])
            labels.append(cells.flatten(0, 1))
        return {**inputs, "labels": torch.cat(labels)}


class Sight(torch.nn.Module):
    """A vision tower with heads that say, for every image token, whether an object is there and what it is like.

    Args:
        model: The vision-language model that the tower belongs to.
    """

    def __init__(self, model: PreTrainedModel) -> None:
        super().__init__()
        self.visual = model.model.visual
        self.heads = torch.nn.Linear(
            model.config.get_text_config().hidden_size, 1 + sum(len(names) for names in _NAMES.values())
        )

    def forward(
        self, pixel_values: torch.Tensor, image_grid_thw: torch.Tensor, labels: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the loss, and for every object which attributes were named right, shape (objects, attributes)."""
        presence, *logits = self.heads(self.visual(pixel_values, grid_thw=image_grid_thw).pooler_output).split(
            [1, *(len(names) for names in _NAMES.values())], dim=-1
        )
        there = labels[:, 0] != _EMPTY
        loss = _PRESENCE_WEIGHT * torch.nn.functional.binary_cross_entropy_with_logits(presence[:, 0], there.float())
        right = []
        for column, scores in enumerate(logits):
            loss = loss + torch.nn.functional.cross_entropy(scores[there], labels[there, column])
            right.append(scores[there].argmax(-1) == labels[there, column])
        return loss, torch.stack(right, dim=-1)


class InOrderTrainer(Trainer):
    """Takes the items of its data set in their order."""

    def _get_train_sampler(self, train_dataset: Any = None) -> torch.utils.data.Sampler:
        return torch.utils.data.SequentialSampler(self.train_dataset)


def learn_to_see(
    model: PreTrainedModel,
    processor: ProcessorMixin,
    source: ImageSource,
    out: Path,
    *,
    steps: int,
    batch_size: int = 32,
    learning_rate: float = 3e-3,
    seed: int = 0,
    resume: bool = False,
) -> Sight:
    """Train a model's vision tower, in place.

    Args:
        model: A Qwen2.5-VL or a relative with its vision tower.
        processor: Its processor.
        source: Scenes with scene graphs.
        out: Folder for checkpoints, every 100 steps.
        steps: Optimiser steps.
        batch_size: Images a step.
        learning_rate: Peak of the cosine schedule.
        seed: Decides the heads' weights and the images.
        resume: Go on from the newest checkpoint in `out`.

    Returns:
        The tower with its heads, to be examined or thrown away.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        sight = Sight(model)
    args = TrainingArguments(
        output_dir=str(out),
        max_steps=steps,
        per_device_train_batch_size=batch_size,
        logging_steps=25,
        save_steps=100,
        save_total_limit=1,
        report_to="none",
        remove_unused_columns=False,
        seed=seed,
    )
    optimizer = MuonWithAdamW(sight, learning_rate, weight_decay=0.05)
    trainer = InOrderTrainer(
        model=sight.train(),
        args=args,
        train_dataset=Sightings(source, steps * batch_size, seed),
        data_collator=SightCollator(processor),
        optimizers=(optimizer, get_cosine_schedule_with_warmup(optimizer, min(50, steps // 10), steps)),
    )
    trainer.train(resume_from_checkpoint=resume)
    model.eval()
    return sight.eval()


@torch.no_grad()
def examine_sight(
    sight: Sight, processor: ProcessorMixin, source: ImageSource, batch_size: int = 50
) -> dict[str, float]:
    """Share of the objects of unseen scenes that are named right, for every attribute.

    Args:
        sight: From `learn_to_see`.
        processor: The model's processor.
        source: Scenes that were not trained on.
        batch_size: Images in one pass.
    """
    collate = SightCollator(processor)
    right = []
    for start in range(0, len(source), batch_size):
        pairs = [source[index] for index in range(start, min(start + batch_size, len(source)))]
        batch = collate([Sighting(pair.civilian, tuple((pair.scene or {})["objects"])) for pair in pairs])
        right.append(sight(**batch)[1])
    return dict(zip(_NAMES, torch.cat(right).float().mean(0).tolist(), strict=True))
