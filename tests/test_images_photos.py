"""Folders, pairs, manifests, lists and data sets become boards; what cannot be read is counted and named."""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import subprocess
import sys
import tarfile
import time
import unicodedata
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from visionzero.images import photos
from visionzero.images.cache import BoardCache
from visionzero.images.folders import list_folder, read_manifest
from visionzero.images.photos import EmptySource, PhotoSource
from visionzero.images.reading import read_image
from visionzero.images.source import EditedView, ImagePair

COLOURS = {"red": (255, 0, 0), "green": (0, 128, 0), "blue": (0, 0, 255), "white": (255, 255, 255), "black": (0, 0, 0)}


def paint(path: Path, colour: str = "red", size: tuple[int, int] = (20, 10)) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", size, COLOURS[colour]).save(path)
    return path


def truncate(path: Path) -> Path:
    """A file whose header is fine and whose pixels are not there."""
    pixels = np.random.default_rng(0).integers(0, 256, (200, 200, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(path)
    path.write_bytes(path.read_bytes()[:2000])
    return path


def colour_of(image: Image.Image) -> str:
    pixel = np.asarray(image)[0, 0].astype(int)
    return min(COLOURS, key=lambda name: int(np.abs(pixel - COLOURS[name]).sum()))


def names(source: PhotoSource) -> list[str]:
    return [board.name for board in source]


class TestFolders:
    def test_a_folder_of_mixed_formats_is_read_at_any_depth_in_the_order_of_names(self, tmp_path: Path) -> None:
        files = ["a.png", "b.jpg", "c/d.webp", "c/e/f.gif", "g.tiff", "h.bmp", "Z.png"]
        for file in reversed(files):
            paint(tmp_path / file)
        source = PhotoSource(tmp_path)
        assert names(source) == ["Z.png", *files[:-1]]
        assert all(board.civilian.mode == "RGB" and colour_of(board.civilian) == "red" for board in source)
        assert (source.kind, source.skipped, source.ignored) == ("photos", [], 0)

    def test_names_count_as_people_see_them_whatever_the_file_system_stores(self, tmp_path: Path) -> None:
        for form in ("NFC", "NFD"):
            folder = tmp_path / form
            for name in ("öl.png", "zebra.png", "oz.png"):
                paint(folder / unicodedata.normalize(form, name))
        orders = [
            [unicodedata.normalize("NFC", name) for name in names(PhotoSource(tmp_path / form))]
            for form in ("NFC", "NFD")
        ]
        assert orders[0] == orders[1] == ["oz.png", "zebra.png", "öl.png"]

    def test_hidden_files_are_left_alone_and_other_files_counted(self, tmp_path: Path) -> None:
        paint(tmp_path / "a.png")
        paint(tmp_path / ".hidden.png")
        paint(tmp_path / ".git" / "b.png")
        (tmp_path / "notes.txt").write_text("buy milk")
        (tmp_path / "data.json").write_text("{}")
        source = PhotoSource(tmp_path)
        assert (names(source), source.ignored, source.skipped) == (["a.png"], 2, [])

    def test_contents_count_and_not_extensions(self, tmp_path: Path) -> None:
        paint(tmp_path / "a.png").rename(tmp_path / "without_extension")
        paint(tmp_path / "b.png").rename(tmp_path / "wrong.txt")
        (tmp_path / "c.jpg").write_text("no image")
        source = PhotoSource(tmp_path)
        assert names(source) == ["without_extension", "wrong.txt"]
        assert [(skip.name, "not an image" in skip.reason) for skip in source.skipped] == [("c.jpg", True)]

    def test_links_to_folders_are_followed_but_not_in_circles(self, tmp_path: Path) -> None:
        paint(tmp_path / "real" / "a.png")
        (tmp_path / "set").mkdir()
        (tmp_path / "set" / "link").symlink_to(tmp_path / "real")
        (tmp_path / "set" / "link2").symlink_to(tmp_path / "set")
        assert names(PhotoSource(tmp_path / "set")) == ["link/a.png"]

    def test_a_single_file_and_a_home_path_work(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        paint(tmp_path / "a.png", "green")
        monkeypatch.setenv("HOME", str(tmp_path))
        assert colour_of(PhotoSource("~/a.png")[0].civilian) == "green"

    def test_a_missing_path_says_so(self, tmp_path: Path) -> None:
        with pytest.raises(FileNotFoundError, match="no such file or folder"):
            PhotoSource(tmp_path / "none")
        with pytest.raises(FileNotFoundError, match=r"\./none"):
            PhotoSource("./none/of/these")

    def test_construction_reads_headers_and_decodes_one_image(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for index in range(20):
            paint(tmp_path / f"{index:02}.png")
        decoded = []

        def read(*args: Any, **options: Any) -> Image.Image:
            decoded.append(options["name"])
            return read_image(*args, **options)

        monkeypatch.setattr(photos, "read_image", read)
        source = PhotoSource(tmp_path)
        assert (len(source), len(decoded)) == (20, 1)


class TestBrokenFiles:
    def test_a_broken_file_is_recorded_once_and_its_index_gives_the_next_board(self, tmp_path: Path) -> None:
        for name, colour in [("a", "red"), ("c", "green"), ("d", "blue")]:
            paint(tmp_path / f"{name}.png", colour)
        truncate(tmp_path / "b.png")
        truncate(tmp_path / "e.png")
        forwards, backwards = PhotoSource(tmp_path), PhotoSource(tmp_path)
        seen = [colour_of(forwards[index].civilian) for index in range(5)]
        seen_backwards = [colour_of(backwards[index].civilian) for index in (4, 3, 2, 1, 0)]
        assert seen == ["red", "green", "green", "blue", "red"] == seen_backwards[::-1]
        assert sorted(skip.name for skip in forwards.skipped) == ["b.png", "e.png"]
        assert len(backwards.skipped) == 2
        assert [colour_of(board.civilian) for board in forwards] == seen
        assert len(forwards.skipped) == 2

    def test_an_empty_source_is_an_error_that_names_what_was_skipped(self, tmp_path: Path) -> None:
        with pytest.raises(EmptySource, match="no image that can be used"):
            PhotoSource(tmp_path)
        truncate(tmp_path / "half.png")
        (tmp_path / "fake.jpg").write_text("no")
        (tmp_path / "a.txt").write_text("no")
        with pytest.raises(EmptySource, match=r"1 other files.*skipped 2: fake\.jpg: not an image.*; half\.png"):
            PhotoSource(tmp_path)
        with pytest.raises(EmptySource):
            PhotoSource([])

    def test_too_large_images_are_skipped(self, tmp_path: Path) -> None:
        paint(tmp_path / "a.png")
        paint(tmp_path / "b.png", size=(100, 100))
        source = PhotoSource(tmp_path, max_pixels=5000)
        assert names(source) == ["a.png"]
        assert "more than max_pixels" in source.skipped[0].reason

    def test_files_that_vanish_later_are_skipped_too(self, tmp_path: Path) -> None:
        paint(tmp_path / "a.png")
        paint(tmp_path / "b.png")
        source = PhotoSource(tmp_path)
        (tmp_path / "b.png").unlink()
        assert source[1].name == "a.png"
        assert "No such file" in source.skipped[0].reason


class TestPairs:
    @pytest.mark.parametrize(
        ("civilian", "spy"),
        [
            ("x_original.png", "x_modified.jpg"),
            ("sub/x_a.png", "sub/x_b.png"),
            ("X_Civilian.png", "X_Spy.png"),
            ("original/x.png", "modified/x.jpg"),
            ("set/Original/deep/x.png", "set/Modified/deep/x.png"),
            ("civilian/x.png", "spy/x.png"),
        ],
    )
    def test_two_names_that_belong_together_are_one_board(self, tmp_path: Path, civilian: str, spy: str) -> None:
        paint(tmp_path / civilian, "red")
        paint(tmp_path / spy, "blue")
        paint(tmp_path / "zz.png", "green")
        source = PhotoSource(tmp_path)
        assert sorted(names(source)) == sorted([civilian, "zz.png"])
        pair = next(board for board in source if board.name == civilian)
        assert (colour_of(pair.civilian), colour_of(pair.edited.image)) == ("red", "blue")

    def test_a_name_without_its_partner_is_a_named_skip(self, tmp_path: Path) -> None:
        for name in ("1_original", "1_modified", "2_original", "3_modified"):
            paint(tmp_path / f"{name}.png")
        source = PhotoSource(tmp_path)
        assert names(source) == ["1_original.png"]
        assert [(skip.name, skip.reason) for skip in source.skipped] == [
            ("2_original.png", "has no readable partner named 2_modified"),
            ("3_modified.png", "has no readable partner named 3_original"),
        ]

    def test_endings_mean_nothing_where_no_pair_is_complete(self, tmp_path: Path) -> None:
        for name in ("plan_a", "holiday_original", "original/x", "b"):
            paint(tmp_path / f"{name}.png")
        source = PhotoSource(tmp_path)
        assert len(source) == 4
        assert source.skipped == []

    def test_pairs_can_be_demanded_or_switched_off(self, tmp_path: Path) -> None:
        for name in ("1_a", "1_b", "2"):
            paint(tmp_path / f"{name}.png")
        assert names(PhotoSource(tmp_path, pairs=False)) == ["1_a.png", "1_b.png", "2.png"]
        demanded = PhotoSource(tmp_path, pairs=True)
        assert names(demanded) == ["1_a.png"]
        assert [skip.name for skip in demanded.skipped] == ["2.png"]

    def test_two_files_for_one_place_in_a_pair(self, tmp_path: Path) -> None:
        for name in ("1_a.jpg", "1_a.png", "1_b.png"):
            paint(tmp_path / name)
        source = PhotoSource(tmp_path)
        assert names(source) == ["1_a.jpg"]
        assert [(skip.name, skip.reason) for skip in source.skipped] == [
            ("1_a.png", "1_a.jpg has the same place in the pair")
        ]

    def test_a_pair_with_a_broken_half_is_no_board(self, tmp_path: Path) -> None:
        for name in ("1_a", "1_b", "2_a"):
            paint(tmp_path / f"{name}.png")
        truncate(tmp_path / "2_b.png")
        source = PhotoSource(tmp_path)
        assert source[1].name == "1_a.png"
        assert [skip.name for skip in source.skipped] == ["2_b.png"]

    def test_plain_images_get_an_edited_view_of_their_own(self, tmp_path: Path) -> None:
        paint(tmp_path / "a.png", size=(60, 60))
        board = PhotoSource(tmp_path)[0]
        assert board.edited.image.size == (60, 60)
        assert board.edited.image.tobytes() != board.civilian.tobytes()
        assert board.edited is board.edited


class TestManifests:
    def test_a_manifest_in_the_folder_overrides_discovery(self, tmp_path: Path) -> None:
        paint(tmp_path / "in" / "1.png", "red")
        paint(tmp_path / "out" / "other.png", "blue")
        paint(tmp_path / "in" / "unlisted.png")
        rows = [{"civilian": "in/1.png", "spy": "out/other.png", "note": "x"}, {"civilian": "out/other.png"}]
        (tmp_path / "manifest.jsonl").write_text("\n".join(map(json.dumps, rows)))
        source = PhotoSource(tmp_path)
        assert names(source) == ["in/1.png", "out/other.png"]
        assert colour_of(source[0].edited.image) == "blue"
        assert source[1].edit is None
        assert len(PhotoSource(tmp_path, pairs=True)) == 1
        assert len(PhotoSource(tmp_path, pairs=False)) == 3

    def test_a_csv_manifest_works_by_itself(self, tmp_path: Path) -> None:
        paint(tmp_path / "1.png", "red")
        paint(tmp_path / "ä, b.png", "blue")
        (tmp_path / "pairs.csv").write_text('\ufeffid,civilian,spy\n7,1.png,"ä, b.png"\n8,1.png,\n', encoding="utf-8")
        source = PhotoSource(tmp_path / "pairs.csv")
        assert [board.edit is not None for board in source] == [True, False]

    def test_bad_rows_are_named_by_line(self, tmp_path: Path) -> None:
        paint(tmp_path / "1.png")
        lines = [
            '{"civilian": "1.png"}',
            "",
            "not json",
            "[1]",
            '{"spy": "1.png"}',
            '{"civilian": "none.png"}',
            '{"civilian": 5}',
        ]
        path = tmp_path / "m.jsonl"
        path.write_text("\n".join(lines))
        listing = read_manifest(path)
        assert len(listing.entries) == 1
        assert [skip.name for skip in listing.skipped] == [
            "m.jsonl line 3", "m.jsonl line 4", "m.jsonl line 5", "m.jsonl line 6, none.png", "m.jsonl line 7"
        ]  # fmt: skip

    def test_a_csv_without_the_column_is_an_error(self, tmp_path: Path) -> None:
        (tmp_path / "m.csv").write_text("image,edited\na,b\n")
        with pytest.raises(ValueError, match=r"no 'civilian' column, its header is \['image', 'edited'\]"):
            read_manifest(tmp_path / "m.csv")

    @settings(max_examples=100, deadline=None)
    @given(
        data=st.binary(max_size=300) | st.text(max_size=200).map(lambda text: b'{"civilian":' + text.encode()),
        ext=st.sampled_from(["jsonl", "csv"]),
    )
    def test_arbitrary_files_are_skips_or_a_value_error(
        self, tmp_path_factory: pytest.TempPathFactory, data: bytes, ext: str
    ) -> None:
        path = tmp_path_factory.getbasetemp() / f"fuzz.{ext}"
        path.write_bytes(b"civilian\n" * (ext == "csv") + data)
        with contextlib.suppress(ValueError):
            assert read_manifest(path).entries == []


class TestSequences:
    def test_paths_images_arrays_bytes_files_and_pairs_can_be_mixed(self, tmp_path: Path) -> None:
        path = paint(tmp_path / "a.png", "red")
        blue, green = Image.new("RGB", (4, 4), COLOURS["blue"]), np.full((3, 3, 3), COLOURS["green"], np.uint8)
        ready = ImagePair(blue, kind="charts", name="ready", edit=lambda: EditedView(blue))
        with path.open("rb") as stream:
            source = PhotoSource(
                [path, str(path), blue, green, path.read_bytes(), stream, (path, blue), ready], cache_size=0
            )
        for _ in range(2):
            colours = [colour_of(board.civilian) for board in source]
            assert colours == ["red", "red", "blue", "green", "red", "red", "red", "blue"]
        assert colour_of(source[6].edited.image) == "blue"
        assert source[7] is ready
        assert [board.name for board in source][2:6] == ["image 2", "image 3", "image 4", str(path)]

    def test_a_single_image_and_a_batch_array_work(self) -> None:
        assert len(PhotoSource(Image.new("L", (3, 3)))) == 1
        assert len(PhotoSource(np.zeros((5, 4), np.uint8))) == 1
        assert len(PhotoSource(np.zeros((7, 5, 4, 3), np.uint8))) == 7

    def test_bad_contents_are_skipped_and_wrong_types_are_errors(self, tmp_path: Path) -> None:
        good = paint(tmp_path / "a.png")
        source = PhotoSource([tmp_path / "none.png", b"junk", good, np.zeros((2, 2), np.int64)])
        assert {board.name for board in source} == {str(good)}
        assert [skip.name for skip in source.skipped] == [str(tmp_path / "none.png"), "image 1", "image 3"]
        with pytest.raises(TypeError, match=r"image 1 must be an image that read_image takes.*got int"):
            PhotoSource([good, 5])
        with pytest.raises(TypeError, match="a folder, a sequence of images or a data set, got generator"):
            PhotoSource(good for _ in range(2))

    def test_limit_and_max_side(self, tmp_path: Path) -> None:
        for index in range(5):
            paint(tmp_path / f"{index}.png", size=(2000, 3))
        source = PhotoSource(tmp_path, limit=3, max_side=100)
        assert len(source) == 3
        assert source[0].civilian.size == (100, 1)

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"column": "image"}, "column='image' has no effect on a folder"),
            ({"split": "train"}, "split='train' has no effect"),
            ({"limit": 0}, "limit must be at least 1"),
            ({"max_side": -1}, "max_side must be"),
            ({"cache_size": -1}, "cache_size must be"),
        ],
    )
    def test_options_without_effect_are_errors(self, tmp_path: Path, options: dict[str, Any], message: str) -> None:
        paint(tmp_path / "a.png")
        with pytest.raises(ValueError, match=message):
            PhotoSource(tmp_path, **options)

    def test_pairs_mean_nothing_for_a_list(self) -> None:
        with pytest.raises(ValueError, match="pairs=True has no effect on images that are given directly"):
            PhotoSource([Image.new("RGB", (2, 2))], pairs=True)


class TestCache:
    def test_a_cached_board_is_the_same_object_within_microseconds(self, tmp_path: Path) -> None:
        for index in range(4):
            paint(tmp_path / f"{index}.png")
        source = PhotoSource(tmp_path)
        first = source[2]
        start = time.perf_counter()
        for _ in range(10_000):
            board = source[2]
        assert board is first
        assert (time.perf_counter() - start) / 10_000 < 50e-6

    def test_the_cache_holds_as_many_images_as_it_says(self) -> None:
        cache = BoardCache(3)
        boards = [ImagePair(Image.new("RGB", (1, 1))) for _ in range(4)]
        cache.keep(0, boards[0])
        cache.keep(1, boards[1], images=2)
        assert (len(cache), cache.get(0)) == (3, boards[0])
        cache.keep(2, boards[2])
        assert (len(cache), cache.get(1)) == (2, None)
        assert cache.keep(2, boards[3]) is boards[2]
        cache.keep(9, boards[3], images=9)
        assert cache.get(9) is None

    def test_a_source_can_be_pickled(self, tmp_path: Path) -> None:
        paint(tmp_path / "1_a.png", "red")
        paint(tmp_path / "1_b.png", "blue")
        source = pickle.loads(pickle.dumps(PhotoSource(tmp_path)))
        board = pickle.loads(pickle.dumps(source[0]))
        assert (colour_of(board.civilian), colour_of(board.edited.image)) == ("red", "blue")

    def test_the_same_boards_in_any_process(self, tmp_path: Path) -> None:
        for name in ("b", "a", "Ä", "c/d"):
            paint(tmp_path / f"{name}.png", "green", size=(50, 50))
        code = (
            "import sys, hashlib; from visionzero.images.photos import PhotoSource; "
            "s = PhotoSource(sys.argv[1]); "
            "print([(b.name, hashlib.sha1(b.edited.image.tobytes()).hexdigest()) for b in s])"
        )
        outputs = {
            subprocess.run(
                [sys.executable, "-c", code, str(tmp_path)],
                env={**os.environ, "PYTHONHASHSEED": seed},
                capture_output=True,
                text=True,
                check=True,
            ).stdout
            for seed in ("1", "2")
        }
        assert len(outputs) == 1


datasets = pytest.importorskip("datasets")


def rows(count: int = 4) -> dict[str, list[Any]]:
    shades = [Image.new("RGB", (6, 4), (40 * index, 0, 0)) for index in range(count)]
    return {"id": list(range(count)), "image": shades, "after": [Image.new("RGB", (6, 4), COLOURS["blue"])] * count}


def one_image_column() -> Any:
    return datasets.Dataset.from_dict(rows()).cast_column("image", datasets.Image()).remove_columns("after")


def two_image_columns() -> Any:
    dataset = datasets.Dataset.from_dict(rows())
    return dataset.cast_column("image", datasets.Image()).cast_column("after", datasets.Image())


class TestDatasets:
    def test_the_image_column_is_found_by_its_type(self) -> None:
        source = PhotoSource(one_image_column())
        assert [board.civilian.getpixel((0, 0)) for board in source] == [(40 * index, 0, 0) for index in range(4)]
        assert source[3].name == "row 3"

    def test_two_columns_make_pairs_when_they_are_named(self) -> None:
        source = PhotoSource(two_image_columns(), column="image", edited_column="after")
        assert colour_of(source[2].edited.image) == "blue"
        assert colour_of(PhotoSource(two_image_columns(), edited_column="image")[0].civilian) == "blue"

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({}, r"several image columns \(image, after\); name one"),
            ({"column": "photo"}, "no column 'photo'; it has 'id', 'image', 'after'"),
            ({"column": "image", "edited_column": "image"}, "both 'image'"),
            ({"column": "image", "split": "train"}, "split='train' has no effect"),
            ({"column": "image", "pairs": True}, "pairs=True has no effect"),
        ],
    )
    def test_unclear_columns_and_useless_options_are_errors(self, options: dict[str, Any], message: str) -> None:
        with pytest.raises(ValueError, match=message):
            PhotoSource(two_image_columns(), **options)

    def test_without_an_image_column_the_columns_are_named(self) -> None:
        with pytest.raises(ValueError, match=r"no image column among \['id'\]"):
            PhotoSource(datasets.Dataset.from_dict({"id": [1]}))

    def test_columns_of_bytes_and_paths_can_be_named(self, tmp_path: Path) -> None:
        path = paint(tmp_path / "a.png", "green")
        dataset = datasets.Dataset.from_dict({"raw": [path.read_bytes()], "path": [str(path)]})
        for column in ("raw", "path"):
            assert colour_of(PhotoSource(dataset, column=column)[0].civilian) == "green"

    def test_broken_and_missing_rows_are_skipped(self) -> None:
        good = rows(1)["image"][0]
        dataset = datasets.Dataset.from_dict(
            {"image": [None, {"bytes": b"junk", "path": None}, good, {"bytes": None, "path": "gone.png"}]},
            features=datasets.Features({"image": datasets.Image()}),
        )
        source = PhotoSource(dataset)
        assert {board.name for board in source} == {"row 2"}
        assert [skip.name for skip in source.skipped] == ["row 0", "row 1", "row 3"]
        assert "gone.png" in source.skipped[2].reason

    def test_a_stream_gives_its_first_rows(self) -> None:
        stream = two_image_columns().to_iterable_dataset()
        source = PhotoSource(stream, column="image", edited_column="after", limit=3)
        assert len(source) == 3
        assert (source[2].civilian.getpixel((0, 0)), colour_of(source[2].edited.image)) == ((80, 0, 0), "blue")

    def test_a_stream_without_known_columns_is_looked_into(self) -> None:
        def generate() -> Any:
            for index, image in enumerate(rows(3)["image"]):
                yield {"n": index, "picture": None if index == 1 else image}

        source = PhotoSource(datasets.IterableDataset.from_generator(generate))
        assert [board.civilian.getpixel((0, 0)) for board in source] == [(0, 0, 0), (80, 0, 0)]
        assert [skip.name for skip in source.skipped] == ["row 1"]

    def test_data_sets_on_disk_and_their_splits(self, tmp_path: Path) -> None:
        one_image_column().save_to_disk(str(tmp_path / "single"))
        assert len(PhotoSource(tmp_path / "single")) == 4
        splits = datasets.DatasetDict({"train": one_image_column(), "test": one_image_column().select([1])})
        splits.save_to_disk(str(tmp_path / "splits"))
        assert len(PhotoSource(tmp_path / "splits", split="test")) == 1
        assert len(PhotoSource(splits, split="train")) == 4
        with pytest.raises(ValueError, match="split must be one of 'train', 'test', got None"):
            PhotoSource(splits)

    def test_a_folder_of_parquet_files_is_a_data_set(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", str(tmp_path / "cache"))
        (tmp_path / "set" / "data").mkdir(parents=True)
        one_image_column().to_parquet(str(tmp_path / "set" / "data" / "train-00000.parquet"))
        assert len(PhotoSource(tmp_path / "set")) == 4

    def test_a_folder_of_webdataset_shards_is_a_data_set(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", str(tmp_path / "cache"))
        paint(tmp_path / "0.png", "blue")
        (tmp_path / "set").mkdir()
        with tarfile.open(tmp_path / "set" / "shard-000.tar", "w") as shard:
            shard.add(tmp_path / "0.png", "0.png")
        assert [colour_of(board.civilian) for board in PhotoSource(tmp_path / "set")] == ["blue"]

    def test_a_hub_data_set_is_loaded_or_the_reason_told(self, monkeypatch: pytest.MonkeyPatch) -> None:
        asked = []

        def load(name: str, split: str) -> Any:
            asked.append((name, split))
            return one_image_column()

        monkeypatch.setattr(datasets, "load_dataset", load)
        assert len(PhotoSource("owner/photos")) == 4
        assert asked == [("owner/photos", "train")]

        def fail(name: str, split: str) -> None:
            raise ConnectionError("no route to the hub")

        monkeypatch.setattr(datasets, "load_dataset", fail)
        with pytest.raises(
            ValueError, match=r"no file or folder of that name.*'owner/photos': ConnectionError: no route"
        ):
            PhotoSource("owner/photos", split="test")


def test_listing_a_folder_counts_without_decoding(tmp_path: Path) -> None:
    truncate(tmp_path / "half.png")
    assert [entry.name for entry in list_folder(tmp_path).entries] == ["half.png"]
