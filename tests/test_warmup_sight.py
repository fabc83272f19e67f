"""The vision tower is told what is where, truly, and learns it."""

import copy

import numpy as np
import pytest
from PIL import Image

from visionzero.images import ImagePair
from visionzero.images.clevr_layout import COLORS, MATERIALS, SHAPES, SIZES
from visionzero.images.source import ImageSource

torch = pytest.importorskip("torch")

from visionzero.tiny_vlm import TinyVLMShape, build_model, build_processor  # noqa: E402
from visionzero.warmup.optimizer import MuonWithAdamW  # noqa: E402
from visionzero.warmup.sight import (  # noqa: E402
    SightCollator,
    Sighting,
    Sightings,
    examine_sight,
    learn_to_see,
    mirrored,
    shifted,
)

SHAPE = TinyVLMShape(hidden_size=48, num_layers=1, vision_hidden_size=32, vision_heads=1, vision_depth=1,
                     image_pixels=64 * 48)  # fmt: skip


class Squares(ImageSource):
    """Coloured squares on white, two in a picture, their colours in the scene graph."""

    def __init__(self, count: int) -> None:
        self.name, self.kind, self.skipped = "squares", "clevr", []
        self._count = count

    def __len__(self) -> int:
        return self._count

    def pair(self, index: int) -> ImagePair:
        rng = np.random.default_rng(index)
        image, things = Image.new("RGB", (64, 48), "white"), []
        for left in (8, 40):
            color = list(COLORS)[rng.integers(8)]
            x, y = left + int(rng.integers(8)), 8 + int(rng.integers(24))
            image.paste(color, (x - 5, y - 5, x + 5, y + 5))
            things.append(
                {"color": color, "shape": "cube", "material": "metal", "size": "small", "pixel_coords": [x, y, 9.0]}
            )
        return ImagePair(image, kind="clevr", scene={"objects": things})


@pytest.fixture
def processor(tiny_vlm):
    return build_processor(tiny_vlm[1].tokenizer, SHAPE)


def color_at(pair: ImagePair, place: int) -> tuple[int, ...]:
    x, y = pair.scene["objects"][place]["pixel_coords"][:2]
    return pair.civilian.getpixel((x, y))


def test_objects_move_with_the_picture():
    for index in range(10):
        pair = Squares(10)[index]
        colors = [color_at(pair, place) for place in (0, 1)]
        assert [color_at(mirrored(pair), place) for place in (0, 1)] == colors
        moved = shifted(pair, 3, -4)
        assert [color_at(moved, place) for place in (0, 1)] == colors
        assert moved.scene["objects"][0]["pixel_coords"][:2] == [
            pair.scene["objects"][0]["pixel_coords"][0] + 3,
            pair.scene["objects"][0]["pixel_coords"][1] - 4,
        ]


def test_an_object_that_leaves_the_frame_is_no_longer_named():
    pair = Squares(1)[0]
    assert len(shifted(pair, -30, 0).scene["objects"]) == 1
    assert shifted(pair, 0, 0).civilian.tobytes() == pair.civilian.tobytes()


def test_the_label_is_in_the_cell_of_the_objects_centre(processor):
    thing = {"color": "red", "shape": "sphere", "material": "metal", "size": "large"}
    image = Image.new("RGB", (64, 48))
    batch = SightCollator(processor)([Sighting(image, ({**thing, "pixel_coords": [17, 47, 9]},)), Sighting(image, ())])
    assert batch["image_grid_thw"].tolist() == [[1, 6, 8]] * 2  # cells of 16 pixels: 3 rows, 4 columns
    assert batch["labels"].shape == (2 * 12, 4)
    assert (batch["labels"][:, 0] != -100).nonzero().flatten().tolist() == [2 * 4 + 1]
    names = (COLORS, SHAPES, MATERIALS, SIZES)
    named = [list(values)[label] for values, label in zip(names, batch["labels"][9].tolist(), strict=True)]
    assert named == ["red", "sphere", "metal", "large"]


def test_sightings_are_the_same_wherever_they_are_made():
    first, second, other = (Sightings(Squares(5), 30, seed=seed) for seed in (1, 1, 2))
    same = [first[i].things == second[i].things and first[i].image == second[i].image for i in range(30)]
    assert all(same)
    assert any(first[i].things != other[i].things for i in range(30))


def test_a_tower_learns_colours_and_goes_on_where_it_stopped(processor, tmp_path):
    source = Squares(64)

    def learn(steps, resume=False):
        model = build_model(processor.tokenizer, SHAPE)
        return learn_to_see(model, processor, source, tmp_path, steps=steps, batch_size=16, resume=resume)

    sight = learn(100)
    scores = examine_sight(sight, processor, Squares(40))
    assert scores["color"] > 0.3  # guessing gets 0.125, with a standard deviation of 0.04
    again = learn(100, resume=True)
    for name, weight in sight.state_dict().items():
        assert torch.equal(weight, again.state_dict()[name]), name


def test_every_weight_moves_and_the_state_is_carried_over():
    layer = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.LayerNorm(4))
    other = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.LayerNorm(4))
    other.load_state_dict(layer.state_dict())
    start = {name: weight.clone() for name, weight in layer.state_dict().items()}
    first, second = (MuonWithAdamW(part, 1e-2, 0.0) for part in (layer, other))

    def step(part, optimizer):
        part(torch.arange(8.0).view(2, 4)).pow(2)[:, 0].sum().backward()
        optimizer.step()
        optimizer.zero_grad()

    step(layer, first)
    assert all(not torch.equal(weight, start[name]) for name, weight in layer.state_dict().items())
    other.load_state_dict(layer.state_dict())
    second.load_state_dict(copy.deepcopy(first.state_dict()))
    second.param_groups[0]["lr"] = first.param_groups[0]["lr"] = 5e-3
    step(layer, first)
    step(other, second)
    for name, weight in layer.state_dict().items():
        assert torch.equal(weight, other.state_dict()[name]), name
