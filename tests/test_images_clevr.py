"""CLEVR scenes: sampling, editing, rendering, the disk cache and the folders."""

import copy
import hashlib
import itertools
import json
import os
import pickle
import random
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from visionzero.images import clevr_render
from visionzero.images.clevr import (
    ClevrSource,
    SceneError,
    edit_scene,
    generate_clevr,
    read_clevr_pairs,
    read_scenes,
    render_scene,
    sample_scene,
    write_scenes,
)
from visionzero.images.clevr_geometry import RADII, Camera, visibility
from visionzero.images.clevr_layout import COLORS, MATERIALS, SHAPES, SIZES, check_scene
from visionzero.images.clevr_render import render_cached, render_key
from visionzero.images.clevr_scene import MIN_VISIBLE_SHARE, scene_camera, with_pixel_coords
from visionzero.images.photos import EmptySource

SMALL = (48, 36)
seeds = st.integers(0, 2**32 - 1)


def scene_of(seed=0, **options):
    return sample_scene(np.random.default_rng(seed), **options)


def thing(**changes):
    return {
        "shape": "sphere",
        "size": "large",
        "material": "rubber",
        "color": "red",
        "rotation": 0.0,
        "3d_coords": [0.0, 0.0, 0.7],
        "pixel_coords": [160, 120, 11.0],
        **changes,
    }


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


def red_in(scene):
    pixels = np.asarray(render_scene(scene, (320, 240), 16)).astype(int)
    return pixels[..., 0] > 1.6 * pixels[..., 1]


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


# Files

numbers = st.floats(-1e5, 1e5) | st.integers(-1000, 1000)
points = st.lists(numbers, min_size=3, max_size=3)
objects = st.fixed_dictionaries(
    {
        "shape": st.sampled_from(SHAPES),
        "size": st.sampled_from(SIZES),
        "material": st.sampled_from(MATERIALS),
        "color": st.sampled_from(list(COLORS)),
        "rotation": numbers,
        "3d_coords": points,
    },
    optional={"pixel_coords": points, "note": st.text()},
)
scenes = st.fixed_dictionaries(
    {"objects": st.lists(objects, min_size=1, max_size=3)},
    optional={"split": st.text(), "image_filename": st.text(), "image_index": st.integers(), "mask": st.none()},
)
anything = st.recursive(
    st.none() | st.booleans() | numbers | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["scenes", "objects", "shape", "color", "material", "size", "rotation", "3d_coords", "camera"]
            )
            | st.text(max_size=3),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)
many = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@many
@given(st.lists(scenes, min_size=1, max_size=3))
def test_scenes_that_are_written_come_back(tmp_path, written):
    write_scenes(written, tmp_path / "scenes.json", info={"split": "new"})
    assert read_scenes(tmp_path / "scenes.json") == (written, [])
    assert json.loads((tmp_path / "scenes.json").read_text())["info"] == {"split": "new"}


@many
@given(scenes)
def test_a_file_of_one_scene_is_read_too(tmp_path, scene):
    (tmp_path / "scene.json").write_text(json.dumps(scene))
    assert read_scenes(tmp_path / "scene.json").scenes == [scene]


@many
@given(anything)
def test_any_json_gives_scenes_or_says_what_is_wrong(tmp_path, content):
    path = tmp_path / "any.json"
    path.write_text(json.dumps(content))
    try:
        found, skipped = read_scenes(path)
    except SceneError:
        return
    assert found
    assert all("any.json: scene" in skip.name for skip in skipped)
    for scene in found:
        render_key(scene, SMALL, 4)
        visibility(scene_camera(scene), scene["objects"])


@many
@given(st.binary(max_size=40))
def test_any_bytes_give_a_scene_error(tmp_path, content):
    (tmp_path / "junk.json").write_bytes(content)
    with pytest.raises(SceneError):
        read_scenes(tmp_path / "junk.json")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"shape": "cone"}, r"objects\[1\].shape must be one of cube, sphere, cylinder, got 'cone'"),
        ({"color": None}, r"objects\[1\].color must be one of gray, .*, got nothing"),
        ({"size": 0.7}, r"objects\[1\].size must be one of large, small, got 0.7"),
        ({"material": ["metal"]}, r"objects\[1\].material must be one of rubber, metal, got \['metal'\]"),
        ({"3d_coords": [1, 2]}, r"objects\[1\].3d_coords must be 3 numbers, got \[1, 2\]"),
        ({"3d_coords": [1, 2, float("nan")]}, r"objects\[1\].3d_coords\[2\] must be a number .*, got nan"),
        ({"rotation": True}, r"objects\[1\].rotation must be a number .*, got True"),
        ({"pixel_coords": "here"}, r"objects\[1\].pixel_coords must be 3 numbers, got 'here'"),
    ],
)
def test_a_bad_scene_is_skipped_by_name_with_the_key_and_what_would_be_right(tmp_path, change, message):
    bad = {"objects": [thing(), thing(**change)]}
    (tmp_path / "s.json").write_text(json.dumps({"info": {}, "scenes": [bad, {"objects": [thing()]}, 7]}))
    found, skipped = read_scenes(tmp_path / "s.json")
    assert len(found) == 1
    assert [skip.name.rpartition(": ")[2] for skip in skipped] == ["scene 0", "scene 2"]
    with pytest.raises(SceneError, match=message):
        check_scene(bad)
    with pytest.raises(SceneError, match="scene 1: " + message):
        write_scenes([{"objects": [thing()]}, bad], tmp_path / "never.json")
    assert not (tmp_path / "never.json").exists()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"camera": []}, "camera must be a JSON object"),
        ({"camera": {"location": [1, 2, 3]}}, "camera.target must be 3 numbers, got nothing"),
        ({"camera": {"location": [0, 0, 9], "target": [0, 0, 0]}}, "straight above"),
        ({"lights": {"key": [1, 2, 3]}}, "lights must have exactly the keys key, fill, back"),
        ({"objects": []}, "objects must be a list of at least one object"),
    ],
)
def test_a_bad_camera_or_light_is_an_error(change, message):
    with pytest.raises(SceneError, match=message):
        check_scene({"objects": [thing()], **change})


def test_a_folder_of_scene_files_is_read_in_the_order_of_names(tmp_path):
    for name, color in (("b", "blue"), ("a", "red")):
        (tmp_path / f"{name}.json").write_text(json.dumps({"objects": [thing(color=color)]}))
    (tmp_path / "other.json").write_text("[")
    found, skipped = read_scenes(tmp_path)
    assert [scene["objects"][0]["color"] for scene in found] == ["red", "blue"]
    assert [os.path.basename(skip.name) for skip in skipped] == ["other.json"]


def test_a_file_without_scenes_says_so(tmp_path):
    (tmp_path / "s.json").write_text('{"scenes": [{"objects": 3}]}')
    with pytest.raises(
        SceneError, match=r"no usable scene in .*s.json, 1 skipped; the first: .*objects must be a list"
    ):
        read_scenes(tmp_path / "s.json")
    with pytest.raises(SceneError, match=r"no \.json files"):
        read_scenes(make_folder(tmp_path / "empty"))


def make_folder(path):
    path.mkdir(parents=True)
    return path


# Rendering

_OTHER_PROCESS = """
import hashlib, sys
import numpy as np
import visionzero.images.clevr as clevr
assert "mitsuba" not in sys.modules, "importing must not load the renderer"
from visionzero.images.clevr_render import set_threads
import mitsuba
mitsuba.set_variant("scalar_spectral")
set_threads(int(sys.argv[1]))
scene = clevr.sample_scene(np.random.default_rng(9))
print(hashlib.sha256(clevr.render_scene(scene, (48, 36), 4).tobytes()).hexdigest())
assert mitsuba.variant() == "scalar_spectral", "the caller's variant must come back"
"""


def test_the_same_scene_gives_the_same_pixels_in_any_process_with_any_number_of_threads():
    own = hashlib.sha256(render_scene(scene_of(9), SMALL, 4).tobytes()).hexdigest()
    for threads in ("1", "3"):
        environment = {**os.environ, "PYTHONHASHSEED": threads}
        command = [sys.executable, "-c", _OTHER_PROCESS, threads]
        run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert run.stdout.strip() == own, run.stderr


def test_rendering_repeats_exactly():
    # Loading in parallel used to give the lights another order once in twenty times.
    assert len({render_scene(scene_of(4), (20, 15), 4).tobytes() for _ in range(100)}) == 1


def test_a_written_and_read_scene_renders_to_the_same_pixels(tmp_path):
    scene = scene_of(2)
    write_scenes([scene], tmp_path / "s.json")
    again = read_scenes(tmp_path / "s.json").scenes[0]
    assert render_scene(again, SMALL, 4).tobytes() == render_scene(scene, SMALL, 4).tobytes()


def color_at(image, x, y):
    patch = np.asarray(image).astype(float)[y - 1 : y + 2, x - 1 : x + 2]
    return patch.reshape(-1, 3).mean(axis=0)


def test_each_colour_is_told_from_the_others():
    shown = {}
    for color in COLORS:
        image = render_scene({"objects": [thing(color=color)]}, (80, 60), 8)
        assert image.mode == "RGB"
        assert image.size == (80, 60)
        shown[color] = color_at(image, 40, 27)
    for one, other in itertools.combinations(COLORS, 2):
        assert np.linalg.norm(shown[one] - shown[other]) > 35, (one, other)
    red, green, blue = (int(np.argmax(shown[color])) for color in ("red", "green", "blue"))
    assert (red, green, blue) == (0, 1, 2)


def test_metal_reflects_the_lights_and_rubber_does_not():
    bright = {}
    for material in MATERIALS:
        image = render_scene({"objects": [thing(color="blue", material=material)]}, (160, 120), 8)
        pixels = np.asarray(image)[40:80, 60:100].reshape(-1, 3)
        bright[material] = (pixels.min(axis=1) > 200).sum()
    assert bright["metal"] >= 4
    # The ground is in this part of the picture too, and darker.
    assert bright["rubber"] == 0


def test_objects_appear_at_their_pixel_coords_on_a_gray_ground():
    scene = {"objects": [thing(color="red", **{"3d_coords": [1.0, -2.0, 0.7]}), thing(color="green")]}
    scene = with_pixel_coords(scene, (160, 120))
    image = render_scene(scene, (160, 120), 8)
    for index, channel in ((0, 0), (1, 1)):
        x, y, _ = scene["objects"][index]["pixel_coords"]
        assert np.argmax(color_at(image, x, y)) == channel
    ground = color_at(image, 80, 112)
    assert np.ptp(ground) < 4
    assert 100 < ground.mean() < 220


def test_objects_cast_soft_shadows():
    scenes = [{"objects": [thing(color="gray", **{"3d_coords": place})]} for place in ([0, 50, 0.7], [0, 0, 0.7])]
    empty, shaded = (np.asarray(render_scene(scene, (160, 120), 16)).mean(axis=2) for scene in scenes)
    ratio = (shaded / empty).reshape(24, 5, 32, 5).mean(axis=(1, 3))
    beside = ratio[10:13, 11:14]
    assert beside.min() < 0.8
    assert ((beside > 0.8) & (beside < 0.97)).any()
    assert ratio[18:].min() > 0.97


def test_the_edited_view_differs_where_objects_were_replaced_and_little_elsewhere():
    scene = scene_of(8, size=(160, 120))
    edited = edit_scene(scene, np.random.default_rng(1))
    one, other = render_scene(scene, (160, 120), 8), render_scene(edited, (160, 120), 8)
    difference = np.abs(np.asarray(one).astype(int) - np.asarray(other)).max(axis=2)
    for change in edited["modification"]["replaced_objects"]:
        x, y, _ = change["original"]["pixel_coords"]
        assert difference[y - 3 : y + 4, x - 3 : x + 4].max() > 40
    assert (difference > 40).mean() < 0.15
    assert (difference == 0).mean() > 0.3


@pytest.mark.parametrize("samples", [0, 3, 5, 28, -4])
def test_samples_that_do_not_spread_evenly_are_an_error(samples):
    with pytest.raises(ValueError, match=f"samples must be .* got {samples}"):
        render_scene(scene_of(), SMALL, samples)


# The cache


@pytest.fixture
def rendered(monkeypatch):
    """Counts what is rendered."""
    calls = []
    original = clevr_render.render_scene

    def counting(scene, *arguments):
        calls.append(scene)
        return original(scene, *arguments)

    monkeypatch.setattr(clevr_render, "render_scene", counting)
    return calls


def test_an_image_is_rendered_once_and_then_read_from_disk(tmp_path, rendered):
    scene = scene_of(1)
    first = render_cached(scene, SMALL, 4, tmp_path)
    second = render_cached(scene, SMALL, 4, tmp_path)
    assert len(rendered) == 1
    assert first.tobytes() == second.tobytes() == render_scene(scene, SMALL, 4).tobytes()
    assert [path.suffix for path in tmp_path.rglob("*") if path.is_file()] == [".png"]


@pytest.mark.parametrize("damage", [b"", b"junk", "half", "other size"])
def test_a_damaged_cache_file_is_rendered_again(tmp_path, rendered, damage):
    scene = scene_of(1)
    first = render_cached(scene, SMALL, 4, tmp_path)
    (file,) = tmp_path.rglob("*.png")
    if damage == "half":
        damage = file.read_bytes()[: file.stat().st_size // 2]
    if damage == "other size":
        Image.new("RGB", (5, 5)).save(file)
    else:
        file.write_bytes(damage)
    assert render_cached(scene, SMALL, 4, tmp_path).tobytes() == first.tobytes()
    assert len(rendered) == 2
    assert render_cached(scene, SMALL, 4, tmp_path).tobytes() == first.tobytes()
    assert len(rendered) == 2


def test_the_cache_key_depends_on_what_decides_the_pixels_and_on_nothing_else(monkeypatch):
    scene = scene_of(1)
    key = render_key(scene, SMALL, 4)
    same = {**copy.deepcopy(scene), "image_filename": "other.png", "split": "val", "modification": {}}
    same["objects"][0]["pixel_coords"] = [0, 0, 0]
    assert render_key(same, SMALL, 4) == key
    keys = {key, render_key(scene, (36, 36), 4), render_key(scene, SMALL, 8)}
    for field, value in {
        "shape": "other",
        "color": "other",
        "material": "other",
        "size": "other",
        "rotation": 1.5,
    }.items():
        changed = copy.deepcopy(scene)
        changed["objects"][1][field] = value
        keys.add(render_key(changed, SMALL, 4))
    moved = copy.deepcopy(scene)
    moved["camera"]["location"][0] += 1e-9
    lit = copy.deepcopy(scene)
    lit["lights"]["key"][2] += 1e-9
    keys |= {render_key(moved, SMALL, 4), render_key(lit, SMALL, 4)}
    monkeypatch.setattr(clevr_render, "RENDERER_VERSION", clevr_render.RENDERER_VERSION + 1)
    keys.add(render_key(scene, SMALL, 4))
    assert len(keys) == 11


def test_the_cache_lies_where_the_environment_says(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.delenv("VISIONZERO_CACHE", raising=False)
    assert clevr_render.cache_folder() == tmp_path / "xdg" / "visionzero"
    monkeypatch.setenv("VISIONZERO_CACHE", str(tmp_path / "own"))
    assert clevr_render.cache_folder() == tmp_path / "own"
    ClevrSource(1, size=SMALL, samples=4)[0]
    assert len(list((tmp_path / "own").rglob("*.png"))) == 1


# The source


def test_board_i_is_the_same_whatever_the_number_of_scenes_and_only_it_is_rendered(tmp_path, rendered):
    few = ClevrSource(3, seed=7, size=SMALL, samples=4, cache_dir=tmp_path / "few")
    many = ClevrSource(1000, seed=7, size=SMALL, samples=4, cache_dir=tmp_path / "many")
    assert len(many) == 1000
    one, other = few[2], many[2]
    assert len(rendered) == 2
    assert one.civilian.tobytes() == other.civilian.tobytes()
    assert one.scene == other.scene == many.scene(2)
    assert one.edited.scene == other.edited.scene
    assert one.name == other.name == "clevr-7-000002"
    assert one.kind == "clevr"
    assert many[-1].scene == many.scene(999)
    assert few[0].scene != few[1].scene
    assert few[0].scene != ClevrSource(3, seed=8, size=SMALL).scene(0)
    with pytest.raises(IndexError):
        few[3]


def test_the_edited_view_is_rendered_when_it_is_asked_for(tmp_path, rendered):
    source = ClevrSource(2, size=SMALL, samples=4, cache_dir=tmp_path)
    board = source[0]
    assert len(rendered) == 1
    view = board.edited
    assert len(rendered) == 2
    assert view.scene == rendered[1]
    assert view.image.tobytes() != board.civilian.tobytes()
    assert source[0] is board


def test_a_source_survives_pickling(tmp_path):
    source = ClevrSource(2, size=SMALL, samples=4, cache_dir=tmp_path)
    board = source[1]
    again = pickle.loads(pickle.dumps(source))[1]
    assert again.civilian.tobytes() == board.civilian.tobytes()
    assert pickle.loads(pickle.dumps(board)).edited.scene == board.edited.scene


@pytest.mark.parametrize("options", [{"num_scenes": 0}, {"num_objects": (1, 4)}, {"samples": 6}, {"size": (10, 20)}])
def test_a_source_with_impossible_settings_is_an_error(options):
    with pytest.raises(ValueError, match=f"{next(iter(options))} must"):
        ClevrSource(**options)


# Folders


def generate(folder, num_scenes, **options):
    return generate_clevr(folder, num_scenes, **{"size": SMALL, "samples": 4, "progress": False, "seed": 5, **options})


def contents(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_generated_folder_does_not_depend_on_the_number_of_workers_and_holds_the_sources_boards(tmp_path):
    assert generate(tmp_path / "one", 3, workers=1).rendered == 3
    generate(tmp_path / "two", 3, workers=2)
    assert contents(tmp_path / "one") == contents(tmp_path / "two")
    source = ClevrSource(3, seed=5, size=SMALL, samples=4, cache_dir=tmp_path / "cache")
    folder = ClevrSource.from_folder(tmp_path / "one")
    assert len(folder) == 3
    assert not folder.skipped
    for mine, stored in zip(source, folder, strict=True):
        assert mine.civilian.tobytes() == stored.civilian.tobytes()
        assert mine.edited.image.tobytes() == stored.edited.image.tobytes()
        assert mine.scene["objects"] == stored.scene["objects"]
        assert mine.edited.scene["objects"] == stored.edited.scene["objects"]
    names = [scene["image_filename"] for scene in read_scenes(tmp_path / "one" / "scenes.json").scenes]
    assert names == [f"CLEVR_REPLACEMENT_replacement_{index:06d}_original.png" for index in range(3)]


def test_generation_goes_on_where_it_stopped_and_renders_only_what_is_missing(tmp_path):
    generate(tmp_path / "whole", 3, workers=1)
    generate(tmp_path / "part", 2, workers=1)
    (tmp_path / "part" / "replacement_images" / "CLEVR_REPLACEMENT_replacement_000001_modified.png").write_bytes(b"cut")
    done = generate(tmp_path / "part", 3, workers=1)
    assert (done.rendered, done.kept) == (2, 1)
    assert contents(tmp_path / "part") == contents(tmp_path / "whole")
    assert generate(tmp_path / "part", 3, workers=1).kept == 3


def test_a_folder_made_otherwise_is_left_alone(tmp_path):
    generate(tmp_path / "mine", 1, workers=1)
    before = contents(tmp_path / "mine")
    with pytest.raises(ValueError, match=r"was made with seed 5 instead of 6, edited True instead of False"):
        generate(tmp_path / "mine", 1, seed=6, edited=False)
    assert contents(tmp_path / "mine") == before
    make_folder(tmp_path / "foreign" / "images")
    with pytest.raises(ValueError, match="holds images from elsewhere"):
        generate(tmp_path / "foreign", 1)


@pytest.mark.parametrize("options", [{"num_scenes": 0}, {"workers": 0}, {"samples": 7}])
def test_impossible_settings_of_a_generation_are_errors(tmp_path, options):
    with pytest.raises(ValueError, match=f"{next(iter(options))} must"):
        generate(tmp_path / "new", **{"num_scenes": 1, **options})
    assert not (tmp_path / "new").exists()


def test_without_edited_views_a_folder_is_in_clevrs_layout_and_edits_are_rendered_on_demand(
    tmp_path, monkeypatch, rendered
):
    monkeypatch.setenv("VISIONZERO_CACHE", str(tmp_path / "cache"))
    generate(tmp_path / "plain", 2, workers=1, edited=False)
    source = ClevrSource.from_folder(tmp_path / "plain")
    board = source[1]
    assert [len(source), board.name, source.skipped] == [2, "CLEVR_new_000001.png", []]
    assert not rendered
    edited = board.edited
    assert edited.image.size == SMALL
    assert len(edited.scene["modification"]["replaced_objects"]) == 2
    assert edited.image.tobytes() == render_scene(edited.scene, SMALL, 16).tobytes()


def test_a_folder_in_the_layout_of_the_clevr_release_is_read_and_what_does_not_match_is_named(tmp_path):
    images = make_folder(tmp_path / "images" / "val")
    for name in ("CLEVR_val_000000.png", "CLEVR_val_000001.png", "stray.png"):
        Image.new("RGB", (48, 32)).save(images / name)
    (images / "CLEVR_val_000002.png").write_bytes(b"no image")
    make_folder(tmp_path / "scenes")
    found = [{"image_filename": f"CLEVR_val_{index:06d}.png", "objects": [thing(), thing()]} for index in range(4)]
    nameless = {"objects": [thing(), thing()]}
    single = {"image_filename": "CLEVR_val_000001.png", "objects": [thing()]}
    write_scenes([found[0], found[2], found[3], nameless, single], tmp_path / "scenes" / "CLEVR_val_scenes.json")
    source = ClevrSource.from_folder(tmp_path)
    assert [board.name for board in source] == ["CLEVR_val_000000.png"]
    assert source[0].scene == found[0]
    assert {os.path.basename(skip.name): skip.reason for skip in source.skipped} == {
        "CLEVR_val_000002.png": "not an image in any format that Pillow knows",
        "CLEVR_val_000003.png": "there is no image of that name",
        "scene 3": "there is no image of that name",
        "CLEVR_val_000001.png": "two objects must change for the edited view, but the scene has one",
        "stray.png": "there is no scene for this image",
    }


def released(tmp_path, names, prefix="output"):
    images = make_folder(tmp_path / prefix / "replacement_images")
    for name in names:
        Image.new("RGB", (32, 24), (len(name), 0, 0)).save(images / name)
    return images, make_folder(tmp_path / prefix / "replacement_scenes")


def test_the_released_layout_is_read_with_and_without_its_output_folder(tmp_path):
    images, scenes_folder = released(tmp_path, ["N_000001_original.png", "N_000001_modified.png"])
    new = thing(color="cyan", shape="cube")
    comparison = {
        "original_scene": {"objects": [thing(), thing(color="blue")]},
        "modification": {"replaced_objects": [{"index": 1, "original": thing(color="blue"), "replacement": new}]},
    }
    (scenes_folder / "N_000001_comparison.json").write_text(json.dumps(comparison))
    for path in (tmp_path, tmp_path / "output"):
        source = read_clevr_pairs(path)
        board = source[0]
        assert (len(source), source.skipped, board.name, board.kind) == (1, [], "N_000001", "clevr")
        assert board.civilian.tobytes() == Image.open(images / "N_000001_original.png").tobytes()
        assert board.edited.image.tobytes() == Image.open(images / "N_000001_modified.png").tobytes()
        assert board.scene["objects"] == [thing(), thing(color="blue")]
        assert board.edited.scene["objects"] == [thing(), new]


def test_names_without_partner_and_broken_files_are_counted_and_named(tmp_path):
    names = [f"{n}_{end}.png" for n in "ABC" for end in ("original", "modified")]
    images, _ = released(tmp_path, [*names, "D_original.png", "E_modified.png"])
    (images / "A_modified.png").write_bytes(b"junk")
    whole = (images / "B_original.png").read_bytes()
    (images / "B_original.png").write_bytes(whole[:-30])
    source = read_clevr_pairs(tmp_path)
    assert source[0].name == source[1].name == "C"
    assert sorted(os.path.basename(skip.name) for skip in source.skipped) == [
        "A_modified.png",
        "B_original.png",
        "D_original.png",
        "E_modified.png",
    ]
    assert all("is missing" in skip.reason for skip in source.skipped if skip.name[-14] in "DE")


@pytest.mark.parametrize(
    "comparison",
    [
        "{",
        "[]",
        '{"original_scene": {"objects": 3}}',
        json.dumps({"original_scene": {"objects": [thing()]}, "modification": {}}),
        json.dumps({"original_scene": {"objects": [thing()]}, "modification": {"replaced_objects": [{"index": 4}]}}),
        json.dumps(
            {
                "original_scene": {"objects": [thing()]},
                "modification": {"replaced_objects": [{"index": 4, "replacement": thing()}]},
            }
        ),
        json.dumps(
            {
                "original_scene": {"objects": [thing()]},
                "modification": {"replaced_objects": [{"index": 0, "replacement": {"color": "pink"}}]},
            }
        ),
    ],
)
def test_a_malformed_comparison_is_a_named_skip_and_its_images_stay_a_board(tmp_path, comparison):
    _, scenes_folder = released(tmp_path, ["A_original.png", "A_modified.png"])
    (scenes_folder / "A_comparison.json").write_text(comparison)
    source = read_clevr_pairs(tmp_path)
    assert [os.path.basename(skip.name) for skip in source.skipped] == ["A_comparison.json"]
    assert len(source) == 1
    assert source[0].edited.scene is None


@pytest.mark.parametrize("comparison", [None, "{}", '{"original_scene": null, "modification": null}'])
def test_every_key_of_a_comparison_may_be_missing(tmp_path, comparison):
    _, scenes_folder = released(tmp_path, ["A_original.png", "A_modified.png"])
    if comparison is not None:
        (scenes_folder / "A_comparison.json").write_text(comparison)
    source = read_clevr_pairs(tmp_path)
    assert (source.skipped, source[0].scene, source[0].edited.scene) == ([], None, None)


def test_a_folder_without_boards_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError, match="no such folder"):
        read_clevr_pairs(tmp_path / "nowhere")
    with pytest.raises(FileNotFoundError, match="no folder replacement_images"):
        read_clevr_pairs(tmp_path)
    with pytest.raises(SceneError, match=r"no \.json files"):
        ClevrSource.from_folder(tmp_path)
    released(tmp_path, ["A_original.png"])
    with pytest.raises(EmptySource, match=r"no board that can be used; skipped 1: .*A_original.png: its partner"):
        read_clevr_pairs(tmp_path)
