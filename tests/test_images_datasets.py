"""Data sets become boards; what cannot be read is counted and named."""

from __future__ import annotations

import tarfile
from pathlib import Path
from typing import Any

import pytest
from photo_examples import COLOURS, colour_of, paint
from PIL import Image

from visionzero.images.photos import PhotoSource

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
