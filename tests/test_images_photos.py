"""Images of all kinds become boards; what cannot be read is counted and named."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from photo_examples import COLOURS, colour_of, names, paint, truncate
from PIL import Image

from visionzero.images.cache import BoardCache
from visionzero.images.photos import PhotoSource
from visionzero.images.source import EditedView, EmptySource, ImagePair


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
