"""CLEVR scene files: what is written comes back, what is malformed is named."""

import json
import os

import pytest
from clevr_examples import SMALL, make_folder, thing
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from visionzero.images.clevr import (
    SceneError,
    read_scenes,
    write_scenes,
)
from visionzero.images.clevr_geometry import visibility
from visionzero.images.clevr_layout import COLORS, MATERIALS, SHAPES, SIZES, check_scene
from visionzero.images.clevr_render import render_key
from visionzero.images.clevr_scene import scene_camera

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
