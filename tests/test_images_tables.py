"""Tables are read or refused with a reason, and swapped where it can be seen."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from chart_examples import FRUIT, finite, tables
from hypothesis import given, settings
from hypothesis import strategies as st

from visionzero.images.sample_tables import sample_table
from visionzero.images.table_files import parse_number, read_tables, table_from_scene
from visionzero.images.tables import ChartTable, TableError


class TestTables:
    def test_a_flat_list_is_one_series(self) -> None:
        table = ChartTable("t", ["a", "b"], [1, 2])  # type: ignore[arg-type]
        assert table.values == ((1.0, 2.0),)
        assert table.labels == ("a", "b")

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"values": ((1, 2),)}, "has 2 values for 3 labels"),
            ({"values": ((1, float("nan"), 2),)}, "value of 'pears' must lie within -1e15 and 1e15, got nan"),
            ({"values": ((1, float("inf"), 2),)}, "got inf"),
            ({"values": ((1, 1e16, 2),)}, "within -1e15"),
            ({"values": ((1, None, 2),)}, "value of 'pears' must be a number, got None"),
            ({"values": ((1, True, 2),)}, "must be a number, got True"),
            ({"values": ((1, "2", 2),)}, "must be a number, got '2'"),
            ({"values": ((1, 10**400, 2),)}, "must be a number"),
            ({"values": ((1, -2, 2),), "type": "pie"}, "a pie cannot show the negative value -2 of 'pears'"),
            ({"values": ((0, 0, 0),), "type": "pie"}, "a value above 0"),
            ({"values": ((1, 2, 3),) * 2, "type": "pie", "series": ("a", "b")}, "exactly one series, got 2"),
            ({"values": ((1, 2, 3),) * 13, "series": ("",) * 13}, "1 to 12 series, got 13"),
            ({"values": ((1, 2, 3),) * 2}, "2 series of values but 1 names"),
            ({"values": ()}, "got 0"),
            ({"labels": ()}, "1 to 120 labels, got 0"),
            ({"labels": ("a", 5, "c")}, "must be strings, got 5"),
            ({"type": "radar"}, "type must be one of line, bar, pie, got 'radar'"),
        ],
    )
    def test_a_table_that_cannot_be_drawn_is_refused(self, changes: dict[str, Any], message: str) -> None:
        with pytest.raises(TableError, match=message):
            ChartTable(**{"title": "t", "labels": FRUIT.labels, "values": FRUIT.values, **changes})

    def test_a_swap_exchanges_the_values_of_two_labels_in_every_series(self) -> None:
        table = ChartTable("t", ("a", "b", "c"), ((1, 5, 9), (2, 2, 7)), series=("x", "y"))
        for seed in range(5):
            swapped = table.swapped(np.random.default_rng(seed))
            columns, before = list(zip(*swapped.values, strict=True)), list(zip(*table.values, strict=True))
            assert sorted(columns) == sorted(before)
            assert sum(a != b for a, b in zip(columns, before, strict=True)) == 2
            assert (swapped.labels, swapped.title, swapped.series) == (table.labels, table.title, table.series)

    @pytest.mark.parametrize(
        "table",
        [
            ChartTable("t", ("a", "b"), ((5, 5),)),
            ChartTable("t", ("a",), ((5,),)),
            ChartTable("t", ("a", "b"), ((1000, 1001),)),
            ChartTable("t", ("a", "b", "c"), ((50, 50.5, 51),), "pie"),
            ChartTable("t", ("a", "b"), ((0, 0),), "line"),
        ],
    )
    def test_a_swap_that_nobody_would_see_is_refused(self, table: ChartTable) -> None:
        with pytest.raises(TableError, match="no two values differ"):
            table.swapped(np.random.default_rng(0))

    def test_a_line_shows_small_differences_because_its_axis_does(self) -> None:
        table = ChartTable("t", ("a", "b"), ((1000, 1001),), "line")
        assert table.swapped(np.random.default_rng(0)).values == ((1001.0, 1000.0),)

    def test_the_scene_is_plain_data_with_one_value_a_label(self) -> None:
        assert FRUIT.scene == {
            "type": "bar", "title": "Fruit", "labels": ["apples", "pears", "plums"], "values": [10.0, 40.0, 25.0], "unit": "kg"
        }  # fmt: skip
        both = ChartTable("t", ("a",), ((1,), (2,)), series=("x", "y")).scene
        assert both["values"] == [1.0]
        assert both["series"] == [{"name": "x", "values": [1.0]}, {"name": "y", "values": [2.0]}]

    @given(tables())
    def test_scenes_survive_json(self, table: ChartTable) -> None:
        assert table_from_scene(json.loads(json.dumps(table.scene))) == table


class TestSampledTables:
    def test_they_vary_and_can_be_swapped(self) -> None:
        sampled = [sample_table(np.random.default_rng(seed)) for seed in range(300)]
        assert {table.type for table in sampled} == {"line", "bar", "pie"}
        assert len({table.title for table in sampled}) > 60
        assert len({table.labels for table in sampled}) > 200
        assert any(len(table.values) > 1 for table in sampled)
        for table in sampled:
            assert table.swapped(np.random.default_rng(0)) != table
            if table.type == "pie":
                assert sum(table.values[0]) == 100
            assert len(set(table.labels)) == len(table.labels)
            assert "{" not in table.title

    @pytest.mark.parametrize("kind", ["line", "bar", "pie"])
    def test_the_type_can_be_chosen(self, kind: Any) -> None:
        assert all(sample_table(np.random.default_rng(seed), kind).type == kind for seed in range(20))


class TestFiles:
    def write(self, folder: Path, name: str, text: str) -> Path:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def test_a_csv_has_labels_and_one_column_a_series(self, tmp_path: Path) -> None:
        path = self.write(tmp_path, "bread_sales.csv", "Year,Rye,Oat\n2020,1,2\n2021,3,4\n2022,5,6\n")
        (table,) = read_tables(path)
        assert table == ChartTable(
            "bread sales", ("2020", "2021", "2022"), ((1, 3, 5), (2, 4, 6)), "line", series=("Rye", "Oat")
        )

    @pytest.mark.parametrize(
        "text", ["a;b\nx;1,5\ny;2", "\ufeffa,b\r\nx,1.5\r\ny,2\r\n\r\n", "a\tb\nx\t1.5\ny\t2", 'a,b\n"x",1.5\ny,"2"']
    )
    def test_the_usual_dialects_are_read(self, tmp_path: Path, text: str) -> None:
        (table,) = read_tables(self.write(tmp_path, "t.csv", text))
        assert (table.labels, table.values) == (("x", "y"), ((1.5, 2.0),))

    @pytest.mark.parametrize(
        ("text", "value"),
        [
            ("1,234,567", 1234567),
            ("12%", 12),
            (" $3.50 ", 3.5),
            ("\u22127", -7),
            ("-.5", -0.5),
            ("1e3", 1000),
            ("1 234", 1234),
            ("€5", 5),
            ("+4.", 4),
        ],
    )
    def test_numbers_are_read_as_people_write_them(self, text: str, value: float) -> None:
        assert parse_number(text) == value

    @pytest.mark.parametrize(
        "text", ["", "n/a", "nan", "inf", "-", "1_000", "12,34", "1.2.3", "٣", "0x10", "1e", "--5", "1%%"]
    )
    def test_other_cells_are_refused(self, text: str) -> None:
        with pytest.raises(TableError, match="is not a number"):
            parse_number(text)

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("", "is empty"),
            ("a,b\n", "needs a header and at least one row"),
            ("a\n1\n2\n", "a column of labels and at least one of numbers"),
            ("a,b\nx,1\ny,many\n", "row 3, column 'b': 'many' is not a number"),
            ("a,b,c\nx,1,2\ny,3\n", "row 3 has 2 cells, the header has 3"),
            ("a,b\nx,\n", "row 2, column 'b' is empty"),
            ("a,b\n" + "x,1\n" * 121, "has 121 rows"),
            ("a,b\nx,1e300\n", "within -1e15"),
        ],
    )
    def test_a_bad_csv_says_where_it_is_bad(self, tmp_path: Path, text: str, message: str) -> None:
        with pytest.raises(TableError, match=message) as caught:
            read_tables(self.write(tmp_path, "bad.csv", text))
        assert "bad.csv" in str(caught.value)

    def test_shares_make_a_pie_and_years_a_line(self, tmp_path: Path) -> None:
        for text, kind in [
            ("a,b\nx,60%\ny,40%", "pie"),
            ("a,b\n2001,60\n2002,40\n2003,1", "line"),
            ("a,b\nx,60\ny,70", "bar"),
        ]:
            assert read_tables(self.write(tmp_path, "t.csv", text))[0].type == kind

    def test_chartqa_annotations_give_type_and_title(self, tmp_path: Path) -> None:
        path = self.write(tmp_path, "tables/123.csv", "Characteristic,Value\nA,60\nB,40\n")
        assert read_tables(path)[0].title == ""
        note = {"type": "h_bar", "general_figure_info": {"title": {"text": "A & B"}}}
        self.write(tmp_path, "annotations/123.json", json.dumps(note))
        assert (read_tables(path)[0].type, read_tables(path)[0].title) == ("bar", "A & B")
        for broken in ("{", "[]", '{"general_figure_info": 5}', '{"type": null, "general_figure_info": {"title": []}}'):
            self.write(tmp_path, "annotations/123.json", broken)
            assert (read_tables(path)[0].type, read_tables(path)[0].title) == ("pie", "")

    def test_json_holds_one_table_or_several(self, tmp_path: Path) -> None:
        one = {
            "title": "T",
            "type": "line",
            "labels": [2020, 2021],
            "series": [{"name": "x", "values": [1, 2]}],
            "unit": "%",
        }
        path = self.write(tmp_path, "t.json", json.dumps([one, {"labels": ["a", "b"], "values": [1, 2]}]))
        first, second = read_tables(path)
        assert first == ChartTable("T", ("2020", "2021"), ((1, 2),), "line", series=("x",), unit="%")
        assert second == ChartTable("", ("a", "b"), ((1, 2),), "bar")

    @pytest.mark.parametrize(
        ("data", "message"),
        [
            ([], "holds no table"),
            (5, "must be an object with labels and values, got int"),
            ({"labels": ["a"]}, "values must be a list of numbers, got None"),
            ({"labels": "ab", "values": [1, 2]}, "labels must be a list"),
            ({"labels": ["a"], "values": [1], "colour": "red"}, "unknown keys colour; known ones are"),
            ({"labels": ["a"], "values": [1], "type": ["bar"]}, "type must be one of"),
            ({"labels": ["a"], "series": {"x": [1]}}, "series must be a list of"),
            ({"labels": ["a"], "values": [2], "series": [{"name": "x", "values": [1]}]}, "differ; leave values out"),
            ([{"labels": ["a"], "values": [1]}, {"labels": ["a"], "values": [None]}], "table 1: the value of 'a'"),
            ({"labels": ["a"], "values": [1], "title": None}, "must be strings, got None"),
        ],
    )
    def test_bad_json_says_what_is_wrong(self, tmp_path: Path, data: Any, message: str) -> None:
        with pytest.raises(TableError, match=message):
            read_tables(self.write(tmp_path, "t.json", json.dumps(data)))

    def test_other_files_are_refused(self, tmp_path: Path) -> None:
        (tmp_path / "latin.csv").write_bytes("a,b\nß,1".encode("latin-1"))
        with pytest.raises(TableError, match="not UTF-8"):
            read_tables(tmp_path / "latin.csv")
        with pytest.raises(TableError, match=r"must be a \.csv or \.json"):
            read_tables(tmp_path / "t.xlsx")

    @settings(max_examples=200, deadline=None)
    @given(
        st.binary(max_size=200)
        | st.text(alphabet="ab,;\t\n\"'.%-019{}[]:", max_size=200).map(str.encode)
        | st.recursive(
            st.none() | st.booleans() | st.floats() | st.text(max_size=5),
            lambda inner: (
                st.lists(inner, max_size=4)
                | st.dictionaries(st.sampled_from(["labels", "values", "series", "type", "name"]), inner)
            ),
        ).map(lambda data: json.dumps(data).encode()),
        st.sampled_from(["csv", "json"]),
    )
    def test_arbitrary_files_only_ever_raise_table_error(
        self, tmp_path_factory: pytest.TempPathFactory, data: bytes, extension: str
    ) -> None:
        path = tmp_path_factory.getbasetemp() / f"fuzz.{extension}"
        path.write_bytes(data)
        with contextlib.suppress(TableError):
            assert all(isinstance(table, ChartTable) for table in read_tables(path))

    @given(
        st.lists(
            st.tuples(st.text("abc xyz", min_size=1, max_size=9).map(str.strip).filter(bool), finite),
            min_size=1,
            max_size=20,
        )
    )
    def test_a_written_csv_is_read_back(
        self, tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, float]]
    ) -> None:
        path = tmp_path_factory.getbasetemp() / "written.csv"
        path.write_text("name,value\n" + "".join(f"{label},{value!r}\n" for label, value in rows))
        (table,) = read_tables(path)
        assert (table.labels, table.values[0]) == tuple(zip(*rows, strict=True))
