"""CLEVR boards: the source, generated folders, the released layouts."""

import json
import os
import pickle

import pytest
from clevr_examples import SMALL, make_folder, thing
from PIL import Image

from visionzero.images.clevr import (
    ClevrSource,
    SceneError,
    generate_clevr,
    read_clevr_pairs,
    read_scenes,
    render_scene,
    write_scenes,
)
from visionzero.images.source import EmptySource

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
