"""CLEVR scenes: sampling, geometry, editing."""

import copy
import itertools
import random

import numpy as np
import pytest
from clevr_examples import red_in, scene_of, seeds, thing
from hypothesis import given, settings

from visionzero.images.clevr import (
    SceneError,
    edit_scene,
)
from visionzero.images.clevr_geometry import RADII, Camera, visibility
from visionzero.images.clevr_layout import COLORS, MATERIALS, SHAPES, SIZES, check_scene
from visionzero.images.clevr_scene import MIN_VISIBLE_SHARE, scene_camera

# Sampling


@settings(max_examples=25, deadline=None)
@given(seeds)
def test_sampled_scenes_have_as_many_objects_as_asked_all_in_the_frame_and_visible(seed):
    scene = scene_of(seed, num_objects=(3, 7))
    check_scene(scene)
    assert 3 <= len(scene["objects"]) <= 7
    seen = visibility(scene_camera(scene), scene["objects"])
    assert seen.framed.all()
    assert seen.shares.min() >= MIN_VISIBLE_SHARE


@settings(max_examples=25, deadline=None)
@given(seeds)
def test_sampled_objects_stand_on_the_ground_and_apart_even_as_cubes_of_any_rotation(seed):
    objects = scene_of(seed)["objects"]
    assert all(thing["3d_coords"][2] == RADII[thing["size"]] for thing in objects)
    for one, other in itertools.combinations(objects, 2):
        distance = np.hypot(*np.subtract(one["3d_coords"], other["3d_coords"])[:2])
        assert distance > 2**0.5 * (RADII[one["size"]] + RADII[other["size"]])


@settings(max_examples=25, deadline=None)
@given(seeds)
def test_left_of_is_left_of_in_the_picture_and_the_opposite_of_right_of(seed):
    scene = scene_of(seed)
    count = len(scene["objects"])
    related = scene["relationships"]
    for one, other in itertools.permutations(range(count), 2):
        assert (other in related["left"][one]) == (one in related["right"][other])
        assert (other in related["front"][one]) == (one in related["behind"][other])
        # Margins leave no pair undecided.
        assert (other in related["left"][one]) != (other in related["right"][one])
        if other in related["front"][one]:
            along = np.dot(
                np.subtract(scene["objects"][other]["3d_coords"], scene["objects"][one]["3d_coords"])[:2],
                scene["directions"]["front"][:2],
            )
            assert along > 0
    assert all(index not in related[name][index] for name in related for index in range(count))


def test_every_word_of_clevr_turns_up_in_sampled_scenes():
    objects = [thing for seed in range(40) for thing in scene_of(seed)["objects"]]
    for key, words in {"shape": SHAPES, "size": SIZES, "material": MATERIALS, "color": COLORS}.items():
        assert {thing[key] for thing in objects} == set(words)
    assert {len(scene_of(seed)["objects"]) for seed in range(40)} == {4, 5, 6}


def test_camera_and_lights_differ_from_scene_to_scene_and_are_recorded():
    one, other = scene_of(1), scene_of(2)
    assert one["camera"] != other["camera"]
    assert one["lights"] != other["lights"]


def test_sampling_repeats_with_the_generator_and_leaves_global_ones_alone():
    random.seed(0)
    before = random.getstate(), np.random.get_state()[1].tolist()  # noqa: NPY002
    assert scene_of(5) == scene_of(5) != scene_of(6)
    edit_scene(scene_of(5), np.random.default_rng(0))
    assert before == (random.getstate(), np.random.get_state()[1].tolist())  # noqa: NPY002


def test_the_size_of_the_picture_changes_pixel_coords_only():
    wide, square = scene_of(3), scene_of(3, size=(112, 112))
    for one, other in zip(wide["objects"], square["objects"], strict=True):
        x, y, depth = one.pop("pixel_coords")
        assert other["pixel_coords"] == pytest.approx([56 + (x - 160) * 0.35, 56 + (y - 120) * 0.35, depth], abs=0.7)
        del other["pixel_coords"]
    assert wide == square


@pytest.mark.parametrize("num_objects", [(0, 3), (5, 4), (4, 11), (4,), (4.0, 6)])
def test_an_impossible_number_of_objects_is_an_error(num_objects):
    with pytest.raises(ValueError, match="num_objects"):
        scene_of(0, num_objects=num_objects)


@pytest.mark.parametrize("size", [(0, 10), (112,), (240, 320), (320.0, 240)])
def test_an_impossible_size_is_an_error(size):
    with pytest.raises(ValueError, match="size must"):
        scene_of(0, size=size)


# Geometry


def test_the_camera_sees_its_target_in_the_middle_and_its_directions_are_perpendicular():
    camera = Camera((3.0, -4.0, 12.0))
    assert camera.project([[0, 0, 0]], (320, 240)) == pytest.approx(np.array([[160, 120, 13]]))
    directions = {name: np.array(vector) for name, vector in camera.directions().items()}
    assert directions["behind"] == pytest.approx([-0.6, 0.8, 0.0])
    assert directions["right"] == pytest.approx([0.8, 0.6, 0.0])
    assert directions["above"] == pytest.approx([0, 0, 1])
    for one, other in (("left", "right"), ("front", "behind"), ("above", "below")):
        assert directions[one] == pytest.approx(-directions[other])


def test_an_object_alone_is_seen_whole_and_a_ball_as_a_disk_of_its_size():
    camera = Camera((10.0, 0.0, 0.7), (0.0, 0.0, 0.7))
    seen = visibility(camera, [thing()])
    assert seen.shares == pytest.approx([1.0])
    # A ball of radius 0.7 at distance 10 and focal length 350.
    assert seen.visible[0] == pytest.approx(np.pi * (350 * 0.7) ** 2 / (10**2 - 0.7**2), rel=0.03)


def test_an_object_behind_a_larger_one_is_hidden():
    camera = Camera((10.0, 0.0, 0.7), (0.0, 0.0, 0.7))
    front, back = thing(shape="cube"), thing(size="small", **{"3d_coords": [-2.0, 0.0, 0.7]})
    assert visibility(camera, [front, back]).shares == pytest.approx([1.0, 0.0])
    assert visibility(camera, [back, front]).shares == pytest.approx([0.0, 1.0])


@pytest.mark.parametrize("shape", SHAPES)
def test_the_visibility_check_sees_as_much_of_an_object_as_is_rendered(shape):
    scene = {"objects": [thing(shape=shape, rotation=20.0)]}
    # Rounded edges and dark sides cost the rendered cube a little.
    assert visibility(scene_camera(scene), scene["objects"]).whole[0] == pytest.approx(red_in(scene).sum(), rel=0.1)


@pytest.mark.parametrize("rotation", [10.0, 35.0, 60.0])
def test_cubes_turn_counterclockwise_seen_from_above(rotation):
    scene = {"objects": [thing(shape="cube", rotation=rotation)]}
    camera = scene_camera(scene)
    around = np.deg2rad(rotation + 45 + 90 * np.arange(4))
    corners = np.stack([0.7 * 2**0.5 * np.cos(around), 0.7 * 2**0.5 * np.sin(around), np.zeros(4)], axis=1)
    nearest = camera.project(corners)[np.argmin(camera.project(corners)[:, 2])]
    rows, columns = np.nonzero(red_in(scene))
    assert columns[rows == rows.max()].mean() == pytest.approx(nearest[0], abs=5)


# Editing


@settings(max_examples=25, deadline=None)
@given(seeds, seeds)
def test_an_edit_changes_shape_and_colour_of_two_objects_and_nothing_else(seed, edit_seed):
    scene = scene_of(seed)
    untouched = copy.deepcopy(scene)
    edited = edit_scene(scene, np.random.default_rng(edit_seed))
    assert scene == untouched
    check_scene(edited)
    changed = [i for i, (a, b) in enumerate(zip(scene["objects"], edited["objects"], strict=True)) if a != b]
    replaced = edited.pop("modification")["replaced_objects"]
    assert [change["index"] for change in replaced] == changed
    assert len(changed) == 2
    looks = {(thing["shape"], thing["color"]) for thing in scene["objects"]}
    for change in replaced:
        old, new = scene["objects"][change["index"]], edited["objects"][change["index"]]
        assert (change["original"], change["replacement"]) == (old, new)
        assert old["shape"] != new["shape"]
        assert old["color"] != new["color"]
        assert (new["shape"], new["color"]) not in looks
        assert {key for key in old if old[key] != new[key]} == {"shape", "color"}
    assert {**edited, "objects": scene["objects"]} == scene
    assert visibility(scene_camera(edited), edited["objects"]).shares.min() >= MIN_VISIBLE_SHARE / 2


def test_a_scene_of_one_object_cannot_be_edited():
    with pytest.raises(SceneError, match="two objects must change, but the scene has 1"):
        edit_scene(scene_of(0, num_objects=(1, 1)), np.random.default_rng(0))
