"""Tables are drawn alike everywhere, and the edited view of a chart has two values swapped."""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from chart_examples import FRUIT, changed, finite, tables
from hypothesis import given, settings
from hypothesis import strategies as st

from visionzero.images.chart_style import ChartStyle, sample_style
from visionzero.images.chart_text import exact, number, ticks
from visionzero.images.charts import ChartSource
from visionzero.images.drawing import draw_chart
from visionzero.images.sample_tables import sample_table
from visionzero.images.source import EmptySource
from visionzero.images.table_files import read_tables
from visionzero.images.tables import ChartTable


class TestDrawing:
    @settings(max_examples=30, deadline=None)
    @given(tables(), st.integers(0, 10**6), st.sampled_from([(448, 336), (112, 112), (300, 700)]))
    def test_any_table_is_drawn_without_an_error_or_a_warning(
        self, table: ChartTable, seed: int, size: tuple[int, int]
    ) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            image = draw_chart(table, sample_style(np.random.default_rng(seed)), size)
        assert (image.mode, image.size) == ("RGB", size)
        assert len(image.getcolors(maxcolors=2**24) or ()) > 1

    @pytest.mark.parametrize("kind", ["line", "bar", "pie"])
    @pytest.mark.parametrize("horizontal", [False, True])
    @pytest.mark.parametrize(
        "text",
        [
            "$\\frac{1}{2}$ a_b^c",
            "$",
            "\\",
            "{}%s",
            "日本語 العربية हिन्दी 🎉 \ud83d",
            "\x00\x07\n\t",
            "W" * 5000,
            "a " * 3000,
            "",
        ],
    )
    def test_any_title_and_label_can_be_drawn(self, kind: Any, horizontal: bool, text: str) -> None:
        table = ChartTable(text, (text, text + "x", "ok"), ((3, 1, 2),), kind, series=(text,), unit=text)
        draw_chart(table, ChartStyle(horizontal=horizontal, legend=horizontal))

    def test_mathtext_is_not_interpreted(self) -> None:
        plain = draw_chart(ChartTable("a $x$", ("a", "b"), ((1, 2),)))
        assert changed(plain, draw_chart(ChartTable("a x", ("a", "b"), ((1, 2),)))) > 0

    def test_global_settings_of_matplotlib_change_nothing_and_are_not_changed(self) -> None:
        import matplotlib as mpl

        tables_ = [sample_table(np.random.default_rng(seed)) for seed in range(4)]
        before = [draw_chart(table).tobytes() for table in tables_]
        strange: Any = {
            "font.size": 40, "font.family": "serif", "axes.facecolor": "red", "figure.facecolor": "black", "lines.linewidth": 9,
            "text.color": "blue", "path.sketch": (5, 50, 2), "text.parse_math": False, "patch.edgecolor": "green",
            "patch.force_edgecolor": True, "text.antialiased": False, "figure.dpi": 30, "figure.autolayout": True,
            "path.snap": False, "lines.scale_dashes": False, "hatch.linewidth": 9, "path.simplify_threshold": 1.0,
        }  # fmt: skip
        with mpl.rc_context(strange):
            settings_ = dict(mpl.rcParams)
            assert [draw_chart(table).tobytes() for table in tables_] == before
            assert dict(mpl.rcParams) == settings_

    def test_pyplot_stays_out(self) -> None:
        code = "import sys; from visionzero.images.charts import ChartSource; ChartSource(1)[0].edited; print('matplotlib.pyplot' in sys.modules)"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert done.stdout.strip() == "False"

    def test_sizes_out_of_range_are_refused(self) -> None:
        with pytest.raises(ValueError, match="112 to 4096 pixels"):
            draw_chart(FRUIT, size=(10, 300))

    @given(finite, finite, st.integers(3, 9))
    def test_ticks_cover_the_range_and_are_not_too_many(self, first: float, second: float, most: int) -> None:
        low, high = sorted((first, second))
        marks = ticks(low, high, most)
        assert 2 <= len(marks) <= most + 1
        assert marks == sorted(set(marks))
        slack = (marks[1] - marks[0]) * 1e-6
        assert marks[1] - marks[0] > 1e-300
        assert marks[0] <= low + slack
        assert marks[-1] >= high - slack

    def test_numbers_are_written_as_people_do(self) -> None:
        assert [number(2_500_000, 500_000), number(1500, 500), number(0.25, 0.25), number(-0.0, 0.5)] == [
            "2.5M",
            "1,500",
            "0.25",
            "0.0",
        ]
        assert [exact(321.0), exact(7.25), exact(1_234_567), exact(-3.0), exact(0.0)] == [
            "321",
            "7.25",
            "1.235M",
            "\u22123",
            "0",
        ]


class TestSource:
    def test_boards_are_charts_with_scenes_and_visibly_edited_views(self) -> None:
        source = ChartSource(30, seed=3)
        assert (len(source), source.kind, source.name) == (30, "charts", "charts")
        for board in source:
            edited = board.edited
            assert board.kind == "charts"
            assert board.civilian.size == edited.image.size == (448, 336)
            assert board.scene is not None
            assert edited.scene is not None
            before, after = board.scene["values"], edited.scene["values"]
            assert board.scene["labels"] == edited.scene["labels"]
            assert sorted(before) == sorted(after)
            assert board.scene != edited.scene
            assert 0.001 < changed(board.civilian, edited.image) < 0.5

    def test_types_seed_and_size_are_options(self) -> None:
        source = ChartSource(9, types=["pie"], size=(200, 150))
        assert {board.scene["type"] for board in source if board.scene} == {"pie"}
        assert source[0].civilian.size == (200, 150)
        assert ChartSource(2, seed=1)[0].civilian.tobytes() != ChartSource(2, seed=2)[0].civilian.tobytes()
        for options, message in [
            ({"num_charts": 0}, "num_charts"), ({"seed": -1}, "seed"), ({"size": (10, 10)}, "size"), ({"types": ["radar"]}, "types"),
            ({"types": []}, "types"), ({"cache_size": -1}, "cache_size"),
        ]:  # fmt: skip
            with pytest.raises(ValueError, match=message):
                ChartSource(**options)  # type: ignore[arg-type]

    def test_the_same_seed_gives_the_same_pixels_in_any_process(self) -> None:
        code = (
            "import hashlib; from visionzero.images.charts import ChartSource; "
            "print([hashlib.sha1(b.civilian.tobytes() + b.edited.image.tobytes()).hexdigest() for b in ChartSource(3, seed=5)])"
        )
        outputs = {
            subprocess.run(
                [sys.executable, "-c", code],
                env={**os.environ, "PYTHONHASHSEED": seed},
                capture_output=True, text=True, check=True,
            ).stdout.strip()
            for seed in ("1", "2")
        }  # fmt: skip
        here = str([
            hashlib.sha1(board.civilian.tobytes() + board.edited.image.tobytes()).hexdigest()
            for board in ChartSource(3, seed=5)
        ])  # fmt: skip
        assert outputs == {here}

    def test_threads_draw_the_same_charts(self) -> None:
        alone = [board.civilian.tobytes() for board in ChartSource(6, seed=8)]
        shared, results = ChartSource(6, seed=8, cache_size=2), {}

        def work(offset: int) -> None:
            for step in range(6):
                index = (offset + step) % 6
                results[offset, index] = shared[index].civilian.tobytes()

        threads = [threading.Thread(target=work, args=(offset,)) for offset in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(results) == 36
        assert all(pixels == alone[index] for (_, index), pixels in results.items())

    def test_a_cached_chart_takes_microseconds_and_sources_can_be_pickled(self) -> None:
        source = ChartSource(3)
        first = source[1]
        start = time.perf_counter()
        for _ in range(10_000):
            source[1]
        assert (time.perf_counter() - start) / 10_000 < 50e-6
        copy = pickle.loads(pickle.dumps(source))
        assert copy[1].civilian.tobytes() == first.civilian.tobytes()
        assert pickle.loads(pickle.dumps(first)).edited.image.tobytes() == first.edited.image.tobytes()

    def test_tables_come_from_folders_files_and_objects(self, tmp_path: Path) -> None:
        (tmp_path / "sub").mkdir()
        (tmp_path / "b.csv").write_text("a,b\nx,1\ny,5\n")
        (tmp_path / "sub" / "a.json").write_text(json.dumps([FRUIT.scene, FRUIT.scene]))
        (tmp_path / "bad.csv").write_text("a,b\nx,one\n")
        (tmp_path / "flat.csv").write_text("a,b\nx,1\ny,1\n")
        (tmp_path / "notes.txt").write_text("no table")
        source = ChartSource.from_tables(tmp_path)
        assert [board.name for board in source] == ["b.csv", "sub/a.json, table 0", "sub/a.json, table 1"]
        assert source[0].scene == read_tables(tmp_path / "b.csv")[0].scene
        assert {skip.name: skip.reason for skip in source.skipped} == {
            "bad.csv": "row 2, column 'b': 'one' is not a number",
            "flat.csv": "no two values differ enough for a swap to be seen",
        }
        assert len(ChartSource.from_tables([FRUIT, tmp_path / "b.csv"])) == 2
        assert ChartSource.from_tables(FRUIT)[0].name == "table 0"
        assert pickle.loads(pickle.dumps(source))[0].name == "b.csv"

    def test_a_chartqa_folder_is_read_from_its_tables(self, tmp_path: Path) -> None:
        for folder in ("png", "tables", "annotations"):
            (tmp_path / folder).mkdir()
        (tmp_path / "tables" / "7.csv").write_text("C,V\nx,1\ny,5\n")
        (tmp_path / "annotations" / "7.json").write_text('{"type": "v_bar"}')
        source = ChartSource.from_tables(tmp_path)
        assert [board.name for board in source] == ["7.csv"]
        assert source.skipped == []

    def test_nothing_to_draw_is_an_error(self, tmp_path: Path) -> None:
        (tmp_path / "bad.csv").write_text("a,b\nx,one\n")
        with pytest.raises(EmptySource, match=r"skipped 1: bad\.csv: row 2"):
            ChartSource.from_tables(tmp_path)
        with pytest.raises(EmptySource):
            ChartSource.from_tables([])
        with pytest.raises(FileNotFoundError):
            ChartSource.from_tables(tmp_path / "none")
