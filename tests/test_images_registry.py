"""Sources are found by name, path or what is given; mixtures are even; sampling has a small, checked state."""

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
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from visionzero import images as images_package
from visionzero.images import (
    BoardSampler,
    ChartSource,
    ImagePair,
    ImageSource,
    MixedSource,
    PhotoSource,
    image_names,
    load_images,
    mix_images,
    register_images,
)
from visionzero.images import registry as registry_module
from visionzero.images.source import SkippedImage


class Numbers(ImageSource):
    """Boards that are told apart by their names."""

    def __init__(self, count: int, name: str = "numbers", kind: Any = "photos") -> None:
        self.name, self.kind, self.skipped = name, kind, [SkippedImage(name, "for the test")]
        self.boards = [ImagePair(Image.new("RGB", (1, 1)), kind=kind, name=f"{name} {index}") for index in range(count)]

    def __len__(self) -> int:
        return len(self.boards)

    def pair(self, index: int) -> ImagePair:
        return self.boards[index]


@pytest.fixture
def names() -> Iterator[None]:
    """Names registered in a test are gone after it."""
    before = dict(registry_module._registered)
    yield
    registry_module._registered.clear()
    registry_module._registered.update(before)


def paint(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (8, 8), (200, 0, 0)).save(path)
    return path


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


class TestMixing:
    def test_boards_keep_their_kinds_and_each_source_its_turn(self) -> None:
        mixture = mix_images([Numbers(4, "a", "clevr"), Numbers(2, "b", "charts")])
        assert [board.name for board in mixture] == ["a 0", "b 0", "a 1", "b 1", "a 2", "b 0", "a 3", "b 1"]
        assert {(board.name[0], board.kind) for board in mixture} == {("a", "clevr"), ("b", "charts")}
        assert mixture.kind == "photos"
        assert mix_images([Numbers(2, "a", "charts"), Numbers(2, "b", "charts")]).kind == "charts"
        assert [skip.name for skip in mixture.skipped] == ["a", "b"]

    def test_lengths_as_weights_give_every_board_once(self) -> None:
        mixture = mix_images([Numbers(7, "a"), Numbers(3, "b"), Numbers(1, "c")], weights=[7, 3, 1])
        assert len({board.name for board in mixture}) == len(mixture) == 11

    @settings(max_examples=60, deadline=None)
    @given(st.lists(st.tuples(st.integers(1, 20), st.floats(0.05, 10)), min_size=1, max_size=5))
    def test_every_start_of_the_order_has_about_the_right_shares_and_the_whole_has_every_board(
        self, parts: list[tuple[int, float]]
    ) -> None:
        sources = [Numbers(length, f"s{place}") for place, (length, _) in enumerate(parts)]
        mixture = MixedSource(sources, [weight for _, weight in parts])
        shares = np.array([weight for _, weight in parts]) / sum(weight for _, weight in parts)
        counts = np.zeros(len(parts))
        for done, turn in enumerate(mixture._turns, 1):
            counts[turn] += 1
            assert np.all(np.abs(counts - done * shares) <= max(1.0, len(parts) / 2))
        assert {board.name for board in mixture} == {board.name for source in sources for board in source}

    def test_one_and_the_same_index_is_always_the_same_board(self) -> None:
        first, second = (mix_images([Numbers(5, "a"), Numbers(9, "b")], [0.3, 0.7]) for _ in range(2))
        assert [board.name for board in first] == [board.name for board in second]
        assert first[-1].name == first[len(first) - 1].name

    def test_a_mixture_can_be_mixed_and_specs_are_loaded(self) -> None:
        inner = mix_images(["photos", Numbers(3, "a")])
        assert len(mix_images([inner, Numbers(3, "b")])) == 2 * len(inner)

    @pytest.mark.parametrize(
        ("sources", "weights", "message"),
        [
            ([], None, "at least one source"),
            ([Numbers(0)], None, "empty source"),
            ([Numbers(1)], [1, 2], "2 weights for 1 sources"),
            ([Numbers(1), Numbers(1)], [1, 0], "leave out a source of weight 0"),
            ([Numbers(1), Numbers(1)], [1, float("nan")], "positive and finite"),
            ([Numbers(1), Numbers(1)], [1, 1e-9], "make them more even"),
        ],
    )
    def test_unusable_mixtures_are_errors(self, sources: list[Any], weights: Any, message: str) -> None:
        with pytest.raises(ValueError, match=message):
            mix_images(sources, weights)

    def test_one_source_instead_of_a_list_is_an_error(self) -> None:
        with pytest.raises(TypeError, match="needs a list of sources, got 'photos'"):
            mix_images("photos")


class TestSampler:
    def test_every_epoch_has_every_board_once_in_an_order_of_its_own(self) -> None:
        sampler = BoardSampler(Numbers(6), seed=3)
        epochs = [[sampler.draw().name for _ in range(6)] for _ in range(4)]
        assert all(len(set(epoch)) == 6 for epoch in epochs)
        assert len({tuple(epoch) for epoch in epochs}) > 1
        assert (sampler.position, sampler.epoch) == (24, 4)

    def test_the_seed_decides(self) -> None:
        def order(seed: int) -> list[str]:
            sampler = BoardSampler(Numbers(20), seed)
            return [sampler.draw().name for _ in range(20)]

        assert order(1) == order(1) != order(2)

    @given(st.integers(1, 12), st.integers(0, 40), st.integers(1, 3))
    def test_a_restored_sampler_goes_on_as_the_one_that_was_saved(self, size: int, drawn: int, processes: int) -> None:
        processes = min(processes, size)
        source = Numbers(size)
        sampler = BoardSampler(source, seed=5).shard(processes - 1, processes)
        for _ in range(drawn):
            sampler.draw()
        restored = BoardSampler(source, seed=99).shard(processes - 1, processes)
        restored.load_state_dict(json.loads(json.dumps(sampler.state_dict())))
        if drawn:
            assert restored.current is sampler.current
        assert [restored.draw().name for _ in range(15)] == [sampler.draw().name for _ in range(15)]

    @given(st.integers(1, 30), st.integers(1, 6), st.integers(0, 100))
    def test_processes_never_draw_the_same_board_in_the_same_round(self, size: int, processes: int, seed: int) -> None:
        processes = min(processes, size)
        samplers = [BoardSampler(Numbers(size), seed).shard(index, processes) for index in range(processes)]
        rounds = samplers[0].rounds_per_epoch
        for _ in range(3):
            epoch = [[sampler.draw().name for sampler in samplers] for _ in range(rounds)]
            assert all(len(set(names_)) == processes for names_ in epoch)
            assert len({name for names_ in epoch for name in names_}) == rounds * processes

    def test_boards_that_sit_out_change_from_epoch_to_epoch(self) -> None:
        samplers = [BoardSampler(Numbers(5), 0).shard(index, 2) for index in range(2)]
        seen = {sampler.draw().name for _ in range(20) for sampler in samplers}
        assert len(seen) == 5

    def test_a_state_of_something_else_is_refused(self) -> None:
        state = BoardSampler(Numbers(5), 1).state_dict()
        with pytest.raises(ValueError, match="saved with 5 boards, but numbers has 6"):
            BoardSampler(Numbers(6)).load_state_dict(state)
        with pytest.raises(ValueError, match=r"saved by 1 processes, now there are 2"):
            BoardSampler(Numbers(5)).shard(0, 2).load_state_dict(state)
        with pytest.raises(ValueError, match=r"position, .* missing"):
            BoardSampler(Numbers(5)).load_state_dict({"seed": 1})
        with pytest.raises(ValueError, match="must be 0 or more"):
            BoardSampler(Numbers(5)).load_state_dict({**state, "position": -1})

    def test_impossible_shards_and_sources_are_errors(self) -> None:
        with pytest.raises(ValueError, match="4 processes cannot each draw a board of their own from the 3"):
            BoardSampler(Numbers(3)).shard(0, 4)
        with pytest.raises(ValueError, match="process_index must be 0 to 1, got 2"):
            BoardSampler(Numbers(3)).shard(2, 2)
        with pytest.raises(ValueError, match="no boards"):
            BoardSampler(Numbers(0))
        with pytest.raises(ValueError, match="seed"):
            BoardSampler(Numbers(3), seed=-1)
        sampler = BoardSampler(Numbers(3))
        with pytest.raises(RuntimeError, match="no board"):
            _ = sampler.current
        assert sampler.draw() is sampler.current
        with pytest.raises(ValueError, match="before the first draw"):
            sampler.shard(0, 2)


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
