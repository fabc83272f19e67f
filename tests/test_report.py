"""The report of a run: every figure is on it, damage is counted, and the picture says what the numbers say."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from browser_pages import CONTRASTS, visit
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from visionzero.games import SpyConfig, SpyGame
from visionzero.players import ScriptedPlayer
from visionzero.replay import write_replays
from visionzero.report import read_run, write_report
from visionzero.report.charts import Chart, Line, Span, draw, number
from visionzero.rollout import rollout
from visionzero.training.run_files import read_metrics, salvage_metrics, sample_file, sample_files

HOSTILE = "</title><script>document.title='owned'</script>{{ 7*7 }}"
MATCH = {
    "win_rate": 0.68,
    "rounds": 100,
    "interval_95": [0.583, 0.763],
    "wins_as_spy": 30,
    "rounds_as_spy": 50,
    "wins_as_civilians": 38,
    "rounds_as_civilians": 50,
}


def write_lines(folder: Path, *lines: Any) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    (folder / "metrics.jsonl").write_text("\n".join(texts) + "\n", encoding="utf-8", errors="surrogatepass")
    return folder


def update(step: int, *, clue: bool, **figures: float) -> dict[str, float]:
    return {
        "step": step,
        "phase/clue": float(clue),
        "phase/decision": float(not clue),
        "phase/accuracy_ema": 0.1 * step,
        "phase/na_ema": 0.5 - 0.05 * step,
        "game/civilian_win_rate": 0.25,
        "length/clue/spy": 20.0,
        "length/decision/civilian": 8.0 + step,
        "grad_norm": 2.0,
        "kl": 0.001 * step,
        **figures,
    }


def drawn(svg: str) -> ElementTree.Element:
    return ElementTree.fromstring(svg)


def test_a_point_is_where_its_numbers_say():
    # 5 of 10 updates is the middle of the axis from 52 to 548; a quarter is three quarters down from 12 to 210.
    root = drawn(draw(Chart("Rate", (Line("a", ((0, 0.0), (5, 0.25), (10, 1.0))),), share=True), end=10))
    (line,) = root.findall("polyline")
    assert line.get("points") == "52.0,210.0 300.0,160.5 548.0,12.0"


def test_phases_thresholds_restarts_and_intervals_are_where_they_belong():
    line = Line("rate", ((10, 0.5),), (0.25,), (0.75,))
    chart = Chart("Rate", (line,), share=True, thresholds=(("up", 0.75),))
    root = drawn(draw(chart, end=10, spans=[Span("clue", 5, 10)], restarts=[5]))
    (phase,) = root.findall("rect")
    assert (phase.get("x"), phase.get("width")) == ("300.0", "248.0")
    lines = {each.get("class", "").split()[0]: each for each in root.findall("line")}
    assert lines["threshold"].get("y1") == "61.5"
    assert lines["restart"].get("x1") == "300.0"
    assert (lines["interval"].get("y1"), lines["interval"].get("y2")) == ("160.5", "61.5")


def test_a_value_that_is_not_finite_leaves_a_gap():
    points = ((1, 1.0), (2, 2.0), (3, math.nan), (4, 2.0), (5, 1.0))
    root = drawn(draw(Chart("Loss", (Line("loss", points),)), end=5))
    assert len(root.findall("polyline")) == 2
    with pytest.raises(ValueError, match="finite"):
        draw(Chart("Loss", (Line("loss", ((1, math.inf),)),)), end=1)


@pytest.mark.parametrize(
    ("value", "share", "text"),
    [
        (0.6834, True, "68.3\u2009%"),
        (1.0, True, "100\u2009%"),
        (1234.5, False, "1234"),
        (20.93, False, "20.9"),
        (-0.0821, False, "\u22120.0821"),
        (1e-4, False, "1e\u22124"),
        (2.5e7, False, "2.5e7"),
        (0.0, False, "0"),
        (math.inf, False, "none"),
    ],
)
def test_numbers_read_as_people_write_them(value, share, text):
    assert number(value, share=share) == text


@given(
    values=st.lists(st.floats(allow_nan=True, allow_infinity=True), min_size=1, max_size=20),
    share=st.booleans(),
    end=st.integers(0, 10**7),
)
def test_any_values_are_drawn_inside_the_picture(values, share, end):
    chart = Chart("Any", (Line("x", tuple(enumerate(values))),), share=share)
    places = sum(abs(value) <= 1e100 for value in values)
    if not places:
        with pytest.raises(ValueError, match="finite"):
            draw(chart, end=end)
        return
    root = drawn(draw(chart, end=end))
    points = [point.split(",") for line in root.findall("polyline") for point in line.get("points", "").split()]
    points += [[dot.get("cx", ""), dot.get("cy", "")] for dot in root.findall("circle")]
    assert len(points) == places
    assert all(52 <= float(x) <= 548 and 12 <= float(y) <= 210 for x, y in points)


def test_charts_phases_and_restarts_of_a_run_worked_by_hand(tmp_path):
    steps = [
        update(step, clue=step in (3, 4, 6), **{"phase/switched": float(step in (2, 4, 5))}) for step in range(1, 7)
    ]
    folder = write_lines(tmp_path / "run", *steps, {"step": 6, "train_loss": 1.0, "epoch": 2.0})
    about = {"starts": [0, 4], "updates": 9, "phases": {"schedule": "adaptive", "to_decision_error": 0.4}}
    (folder / "run.json").write_text(json.dumps(about))
    run = read_run(folder)
    assert run.spans == [Span("clue", 2, 4), Span("clue", 5, 6)]
    assert (run.switches, run.restarts, run.last, run.problems) == (3, [4], 6, [])
    titles = [chart.title for chart in run.charts]
    assert titles == [
        "Averages that switch the phases",
        "Outcomes",
        "Length of answers",
        "KL divergence from the start",
        "Gradient norm",
    ]
    assert run.charts[0].thresholds == (("to decision: accuracy at most this", 0.6),)
    assert [line.name for line in run.charts[2].lines] == ["clue, spy", "decision, civilian"]
    assert run.charts[2].lines[1].points[-1] == (6.0, 14.0)
    assert run.further == []


def test_a_win_rate_brings_its_interval(tmp_path):
    lines = [{"step": 5, "eval_win_rate": 0.5, "eval_win_rate_low": 0.4, "eval_win_rate_high": 0.6, "eval_runtime": 3}]
    (chart,) = read_run(write_lines(tmp_path, *lines)).charts
    assert chart.lines == (Line("win rate", ((5.0, 0.5),), (0.4,), (0.6,)),)


names = st.sampled_from(
    [
        "loss",
        "kl",
        "kl/spy",
        "entropy/orchestrator",
        "reward/vote/worker",
        "length/plan/worker",
        "game/na_rate",
        "time/x",
    ]
) | st.text(min_size=1, max_size=12)


@given(figures=st.dictionaries(names, st.floats(-1e6, 1e6), min_size=1, max_size=12))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_figure_is_in_one_chart_whatever_it_is_called(tmp_path, figures):
    figures.pop("step", None)
    figures["always"] = 1.0
    run = read_run(write_lines(tmp_path, {"step": 1, **figures}))
    shown = sorted(value for chart in [*run.charts, *run.further] for line in chart.lines for _, value in line.points)
    assert shown == sorted(figures.values())


def test_damage_is_counted_named_and_does_not_hide_the_rest(tmp_path):
    folder = write_lines(tmp_path, update(1, clue=False), '{"step": 2', update(3, clue=False), '{"step": -1}', "[]")
    (folder / "run.json").write_text("{")
    (folder / "evaluation.json").write_text(json.dumps({**MATCH, "win_rate": None}))
    (folder / "replays.jsonl").write_text("nonsense\n")
    run = read_run(folder)
    assert run.last == 3
    assert len(run.problems) == 4
    assert "3 lines" in run.problems[0]
    assert "line 2" in run.problems[0]
    page = write_report(folder).read_text()
    assert page.count("<li>") >= 4
    assert "run.json could not be read" in page
    metrics, problems = salvage_metrics(folder)
    assert [line["step"] for line in metrics] == [1, 3]
    assert sorted(problems) == [2, 4, 5]
    with pytest.raises(ValueError, match="line 2"):
        read_metrics(folder)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
line_values = st.dictionaries(
    st.sampled_from(["step", "loss", "phase/clue", "phase/switched", "game/failed", "kl"]), json_values
)


def figures_of(line):
    return [value for name, value in line.items() if name != "step" and not isinstance(value, bool)]


@given(
    lines=st.lists(line_values.map(json.dumps) | st.text(max_size=20), max_size=6),
    about=json_values | st.fixed_dictionaries({"starts": json_values, "phases": json_values, "updates": json_values}),
    match=json_values,
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_any_folder_gives_a_page_or_a_named_problem(tmp_path, lines, about, match):
    folder = write_lines(tmp_path, *lines)
    (folder / "run.json").write_text(json.dumps(about))
    (folder / "evaluation.json").write_text(json.dumps(match))
    if any(isinstance(value, int | float) for line in salvage_metrics(folder)[0] for value in figures_of(line)):
        assert write_report(folder).read_text(encoding="utf-8").startswith("<!doctype html>")
    else:
        with pytest.raises(ValueError, match="no figure"):
            write_report(folder)


def test_a_folder_without_metrics_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError):
        write_report(tmp_path)


def test_names_are_only_text(tmp_path):
    folder = write_lines(tmp_path / "x", {"step": 1, HOSTILE: 1.0})
    (folder / "run.json").write_text(json.dumps({"model": HOSTILE, "rules": {HOSTILE: HOSTILE}}))
    page = write_report(folder).read_text()
    assert "<script" not in page
    assert "{{ 7*7 }}" in page


@pytest.fixture(scope="module")
def folder(tmp_path_factory, board):
    """A run of 40 updates with two changes of phase, one restart, and games of the first and last update."""
    path = tmp_path_factory.mktemp("runs") / "a-run-with-a-name-that-is-rather-long"
    lines = [update(step, clue=10 < step <= 25, **{"reward/clue/spy": math.sin(step)}) for step in range(1, 41)]
    lines[19] |= {"eval_win_rate": 0.55, "eval_win_rate_low": 0.45, "eval_win_rate_high": 0.65}
    write_lines(path, *lines, "damaged")
    (path / "run.json").write_text(json.dumps({"starts": [0, 20], "updates": 40, "rules": {"num_civilians": 4}}))
    (path / "evaluation.json").write_text(json.dumps(MATCH))
    episodes = rollout([SpyGame(board, SpyConfig(), seed=seed) for seed in range(3)], ScriptedPlayer(name="Ada"))
    write_replays(sample_file(path, 1), episodes[:2])
    write_replays(sample_file(path, 40), episodes[1:2])
    write_replays(path / "replays.jsonl", episodes[2:])
    write_report(path)
    return path


def test_sample_games_are_the_first_and_the_last(folder):
    assert list(sample_files(folder)) == [1, 40]
    labels = [label for label, _ in read_run(folder).games]
    assert labels == ["Update 1", "Update 40", "Against the start, after training"]


@pytest.mark.parametrize("width", [320, 820, 1280])
def test_nothing_sticks_out_at_any_width(browser, folder, width):
    visit(browser, folder / "report.html", width=width)
    browser.execute_script("document.querySelectorAll('details').forEach((fold) => { fold.open = true; })")
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width


def test_a_browser_shows_the_figures_and_has_nothing_to_complain_about(browser, folder):
    browser.get_log("browser")
    visit(browser, folder / "report.html", width=1280)
    assert browser.get_log("browser") == []
    assert browser.title == "Training run a-run-with-a-name-that-is-rather-long"
    tiles = browser.execute_script("return [...document.querySelectorAll('.tiles li')].map((tile) => tile.innerText)")
    assert tiles[0].splitlines() == ["Win rate against the start", "68\u2009%", "95 %: 58.3\u2009% to 76.3\u2009%"]
    charts = browser.execute_script(
        "return [...document.querySelectorAll('.chart h3')].map((title) => title.innerText)"
    )
    assert charts[0] == "Win rate against the start"
    sizes = browser.execute_script(
        "return [...document.querySelectorAll('.chart .line')].map((line) => line.getBoundingClientRect().width)"
    )
    assert all(size > 5 for size in sizes)
    assert len(sizes) >= 2 * len(charts)
    assert browser.execute_script("return document.querySelectorAll('article.game').length") == 3


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_texts_and_lines_stand_out_in_light_and_dark(browser, folder, scheme):
    visit(browser, folder / "report.html", width=1280, scheme=scheme)
    browser.execute_script("document.querySelectorAll('details').forEach((fold) => { fold.open = true; })")
    assert browser.execute_script(CONTRASTS) == []
    stroke = browser.execute_script("return getComputedStyle(document.querySelector('polyline.line')).stroke")
    brightness = sum(int(part) for part in re.findall(r"\d+", stroke)[:3]) / 3
    assert (brightness > 128) == (scheme == "dark")
