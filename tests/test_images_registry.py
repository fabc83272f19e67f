"""Sources are found by name, path or what is given; the guide to them is right."""

from __future__ import annotations

import json
import logging
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from photo_examples import paint
from PIL import Image
from source_examples import Numbers

from visionzero import images as images_package
from visionzero.images import ChartSource, PhotoSource, image_names, load_images, register_images
from visionzero.images import registry as registry_module


@pytest.fixture
def names() -> Iterator[None]:
    """Names registered in a test are gone after it."""
    before = dict(registry_module._registered)
    yield
    registry_module._registered.clear()
    registry_module._registered.update(before)


class TestPackage:
    def test_importing_it_imports_no_heavy_library_and_neither_does_loading_photos_or_charts(self) -> None:
        code = (
            "import sys; from visionzero.images import load_images, read_image, PhotoSource, ChartSource; "
            "load_images('photos'); load_images('charts'); "
            "print([name for name in ('matplotlib', 'mitsuba', 'datasets', 'torch') if name in sys.modules])"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert done.stdout.strip() == "[]"

    def test_every_exported_name_exists(self) -> None:
        assert all(getattr(images_package, name) is not None for name in images_package.__all__)
        assert set(images_package.__all__) <= set(dir(images_package))
        with pytest.raises(AttributeError, match="no attribute 'Photos'"):
            images_package.Photos  # noqa: B018 - asking for it is the test


class TestSamplePhotos:
    def test_they_are_real_small_and_complete(self) -> None:
        source = load_images("photos")
        assert 8 <= len(source) <= 12
        assert source.skipped == []
        assert source.name == "photos"
        for board in source:
            assert max(board.civilian.size) <= 512
            assert len(board.civilian.convert("L").getcolors() or ()) > 100

    def test_each_is_listed_with_its_licence_and_together_they_are_small(self) -> None:
        folder = Path(__file__).parent.parent / "assets" / "photos"
        files = sorted(folder.glob("*.jpg"))
        licences = (folder / "LICENSES.md").read_text()
        rows = {line.split("|")[1].strip(" `"): line for line in licences.splitlines() if line.startswith("| `")}
        assert sorted(rows) == [file.name for file in files]
        assert all("CC0" in row or "CC BY 2.0" in row or "public domain" in row for row in rows.values())
        assert sum(file.stat().st_size for file in files) < 600_000


class TestLoading:
    def test_a_source_passes_through_and_takes_no_options(self) -> None:
        source = Numbers(3)
        assert load_images(source) is source
        with pytest.raises(ValueError, match="takes no options, got seed"):
            load_images(source, seed=1)

    def test_built_in_names_take_their_options(self) -> None:
        charts = load_images("charts", num_charts=5, seed=2, types=["bar"])
        assert isinstance(charts, ChartSource)
        assert len(charts) == 5
        assert len(load_images("photos", limit=2)) == 2
        assert load_images("photos", max_side=64)[0].civilian.size == (64, 64)

    def test_clevr_is_a_name(self) -> None:
        source = load_images("clevr", num_scenes=3, seed=1)
        assert (len(source), source.kind) == (3, "clevr")

    @pytest.mark.parametrize(
        ("spec", "options", "message"),
        [
            (
                "charts",
                {"num_chart": 5},
                "charts has no option num_chart: it takes num_charts, .* did you mean num_charts?",
            ),
            ("clevr", {"colour": 5}, "clevr has no option colour: it takes num_scenes"),
            ("photos", {"seed": 5}, "photos has no option seed: it takes limit"),
            ([Image.new("RGB", (2, 2))], {"num_charts": 5}, "a source of photos has no option num_charts"),
            ("charts", {"tables": "x", "num_charts": 5}, "charts from tables has no option num_charts"),
        ],
    )
    def test_an_option_that_the_source_does_not_take_is_an_error(
        self, spec: Any, options: dict[str, Any], message: str
    ) -> None:
        with pytest.raises(ValueError, match=message):
            load_images(spec, **options)

    def test_an_unknown_name_lists_the_names_and_close_ones(self) -> None:
        with pytest.raises(
            ValueError, match=r"unknown images 'chart': did you mean 'charts'\?.*names are charts, clevr, photos"
        ):
            load_images("chart")
        with pytest.raises(ValueError, match=r"no such file or folder"):
            load_images("holiday.jpg")

    @pytest.mark.parametrize("spec", ["./nowhere", "/no/where", "a/b/c", Path("nowhere"), "~/nowhere-at-all"])
    def test_a_path_that_does_not_exist_says_so(self, spec: Any) -> None:
        with pytest.raises(FileNotFoundError, match="no such file or folder"):
            load_images(spec)

    def test_folders_files_manifests_lists_and_arrays(self, tmp_path: Path) -> None:
        path = paint(tmp_path / "folder" / "a.png")
        (tmp_path / "m.csv").write_text(f"civilian\n{path}\n")
        for spec in (
            tmp_path / "folder",
            str(tmp_path / "folder"),
            path,
            str(tmp_path / "m.csv"),
            [path],
            np.zeros((4, 4)),
        ):
            source = load_images(spec)
            assert isinstance(source, PhotoSource)
            assert len(source) == 1
        assert load_images([path], kind="charts")[0].kind == "charts"

    def test_table_files_and_chartqa_folders_are_charts(self, tmp_path: Path) -> None:
        table = tmp_path / "qa" / "tables" / "1.csv"
        table.parent.mkdir(parents=True)
        (tmp_path / "qa" / "png").mkdir()
        table.write_text("a,b\nx,1\ny,2\n")
        (tmp_path / "t.json").write_text(json.dumps({"labels": ["a", "b"], "values": [1, 2]}))
        for spec in (table, tmp_path / "qa", tmp_path / "t.json"):
            assert isinstance(load_images(spec), ChartSource)
        assert isinstance(load_images("charts", tables=tmp_path / "qa" / "tables", size=(200, 200)), ChartSource)

    def test_a_folder_of_clevr_pairs_is_clevr(self, tmp_path: Path) -> None:
        for end in ("original", "modified"):
            paint(tmp_path / "output" / "replacement_images" / f"CLEVR_000001_{end}.png")
        source = load_images(tmp_path)
        assert (len(source), source.kind) == (1, "clevr")
        with pytest.raises(ValueError, match=r"the CLEVR folder .* has no option seed: it takes none"):
            load_images(tmp_path, seed=1)

    def test_a_folder_of_the_name_of_a_source_needs_a_path(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        paint(tmp_path / "photos" / "mine.png")
        monkeypatch.chdir(tmp_path)
        with caplog.at_level(logging.WARNING):
            assert len(load_images("photos")) > 1
        assert "write './photos'" in caplog.text
        assert load_images("./photos")[0].name == "mine.png"


@pytest.mark.usefixtures("names")
class TestRegistering:
    def test_a_function_becomes_a_source(self) -> None:
        @register_images("my-maps")
        def maps(region: str = "north", count: int = 2) -> list[Image.Image]:
            return [Image.new("RGB", (len(region), 1))] * count

        source = load_images("my-maps", region="southwest")
        assert (len(source), source.name, source[0].civilian.width) == (2, "my-maps", 9)
        assert "my-maps" in image_names()
        assert maps() != []
        with pytest.raises(
            ValueError, match=r"my-maps has no option regoin: it takes region, count; did you mean region\?"
        ):
            load_images("my-maps", regoin="x")

    def test_a_function_may_return_a_source(self) -> None:
        register_images("numbers")(lambda: Numbers(4))
        assert isinstance(load_images("numbers"), Numbers)
        register_images("none")(lambda: Numbers(0))
        with pytest.raises(ValueError, match="'none' is empty"):
            load_images("none")

    def test_names_are_not_taken_twice_unless_by_the_same_function(self) -> None:
        def define() -> Any:
            @register_images("twice")
            def make() -> list[Any]:
                return []

            return make

        define()
        define()
        with pytest.raises(ValueError, match="'twice' is taken by"):
            register_images("twice")(lambda: [])

    @pytest.mark.parametrize("name", ["photos", "clevr", "charts", "", " x", "a/b"])
    def test_names_of_the_package_and_paths_cannot_be_registered(self, name: str) -> None:
        with pytest.raises(ValueError, match="name"):
            register_images(name)

    def test_an_installed_package_registers_by_entry_point(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        info = tmp_path / "fakemaps-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: fakemaps\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text("[visionzero.images]\nfake-maps = fakemaps:make\n")
        (tmp_path / "fakemaps.py").write_text(
            "from PIL import Image\ndef make(count=1):\n    return [Image.new('RGB', (3, 3))] * count\n"
        )
        monkeypatch.syspath_prepend(str(tmp_path))
        assert "fake-maps" in image_names()
        assert len(load_images("fake-maps", count=3)) == 3


class TestGuide:
    def test_every_example_in_the_guide_runs(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, names: None
    ) -> None:
        pytest.importorskip("datasets")
        guide = (Path(__file__).parent.parent / "docs" / "images.md").read_text(encoding="utf-8")
        examples = re.findall(r"^```python\n(.*?)^```", guide, re.DOTALL | re.MULTILINE)
        paint(tmp_path / "holiday" / "beach.png")
        paint(tmp_path / "holiday" / "forest.png")
        monkeypatch.chdir(tmp_path)
        variables: dict[str, Any] = {}
        for example in examples:
            if not example.startswith("# needs the network"):
                exec(compile(example, "docs/images.md", "exec"), variables)
        assert len(examples) >= 8
        assert len(variables["source"]) > 0

    def test_the_figures_of_the_guide_are_those_of_the_code(self) -> None:
        from visionzero.images.edits import MAX_CHANGED, MIN_CHANGED
        from visionzero.images.reading import DEFAULT_MAX_PIXELS

        guide = (Path(__file__).parent.parent / "docs" / "images.md").read_text(encoding="utf-8")
        assert f"between {100 * MIN_CHANGED:g} % and {100 * MAX_CHANGED:g} %" in guide
        assert f"{DEFAULT_MAX_PIXELS // 10**6} million by default" in guide
        assert f"{len(load_images('photos'))} sample photos" in guide
