"""Folders, pairs and manifests become boards; what cannot be read is counted and named."""

from __future__ import annotations

import contextlib
import json
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from photo_examples import colour_of, names, paint, truncate
from PIL import Image

from visionzero.images import photos
from visionzero.images.folders import list_folder, read_manifest
from visionzero.images.photos import PhotoSource
from visionzero.images.reading import read_image


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


def test_listing_a_folder_counts_without_decoding(tmp_path: Path) -> None:
    truncate(tmp_path / "half.png")
    assert [entry.name for entry in list_folder(tmp_path).entries] == ["half.png"]
