"""CLEVR scenes: what they look like, that they repeat, and the disk cache."""

import copy
import hashlib
import itertools
import os
import subprocess
import sys

import numpy as np
import pytest
from clevr_examples import SMALL, scene_of, thing
from PIL import Image

from visionzero.images import clevr_render
from visionzero.images.clevr import (
    ClevrSource,
    edit_scene,
    read_scenes,
    render_scene,
    write_scenes,
)
from visionzero.images.clevr_layout import COLORS, MATERIALS
from visionzero.images.clevr_render import render_cached, render_key
from visionzero.images.clevr_scene import with_pixel_coords

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
