"""The report of a run as one self-contained web page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from visionzero.replay.page import game_pages, template_environment, write_html
from visionzero.report.charts import Chart, color_of, draw, drawable, number
from visionzero.report.run import Run, read_run
from visionzero.training.run_files import REPORT_FILE


@dataclass(frozen=True)
class _Row:
    """A line of a chart, as legend and table show it."""

    name: str
    color: str
    first: str
    last: str
    low: str
    high: str


@dataclass(frozen=True)
class _Figure:
    """A chart, as the template shows it."""

    title: str
    note: str
    picture: Markup
    rows: list[_Row]


def write_report(folder: str | Path, path: str | Path | None = None) -> Path:
    """Write one web page about a training run.

    The page needs nothing but itself: no script, no font, no network.

    Args:
        folder: The run's output folder.
        path: The HTML file; `report.html` in the folder if None. Folders above it are made.

    Returns:
        The HTML file.

    Raises:
        FileNotFoundError: The folder has no `metrics.jsonl`.
        ValueError: No line of it can be read, or none has a figure.
        OSError: The page cannot be written.
    """
    run = read_run(folder)
    path = Path(folder) / REPORT_FILE if path is None else Path(path)
    html = _template().render(
        title=f"Training run {run.name}",
        run=run,
        tiles=_tiles(run),
        settings=_settings(run),
        main=[_figure(chart, run) for chart in run.charts],
        further=[_figure(chart, run) for chart in run.further],
        labels=[label for label, _ in run.games],
        games=game_pages([record for _, record in run.games]),
    )
    write_html(html, path)
    return path


def _figure(chart: Chart, run: Run) -> _Figure:
    rows = []
    for index, line in enumerate(chart.lines):
        values = [value for _, value in line.points]
        finite = [value for value in values if drawable(value)]
        ends = (values[0], values[-1], min(finite, default=values[0]), max(finite, default=values[0]))
        rows.append(_Row(line.name, color_of(index), *(number(value, share=chart.share) for value in ends)))
    picture = draw(chart, end=run.last, spans=run.spans, restarts=run.restarts)
    return _Figure(chart.title, chart.note, picture, rows)


def _tiles(run: Run) -> list[tuple[str, str, str]]:
    """The figures at the top: name, value, what is behind it."""
    tiles = []
    match = run.evaluation
    if match:
        low, high = (number(end, share=True) for end in match["interval_95"])
        tiles.append(
            ("Win rate against the start", number(match["win_rate"], share=True), f"95 %: {low} to {high}"),
        )
        for role in ("spy", "civilians"):
            tiles.append((f"Won as {role}", str(match[f"wins_as_{role}"]), f"of {match[f'rounds_as_{role}']} games"))
    planned = run.about.get("updates")
    of = f"of {planned} planned" if isinstance(planned, int) else ""
    tiles.append(("Updates", str(run.last), of))
    tiles.append(("Changes of phase", str(run.switches), "shaded: clue phases" if run.spans else ""))
    if run.failed:
        tiles.append(("Games that failed", str(run.failed), "dealt again"))
    if run.restarts:
        tiles.append(("Resumed", str(len(run.restarts)), "at update " + ", ".join(map(str, run.restarts))))
    return tiles


def _settings(run: Run) -> list[tuple[str, list[tuple[str, Any]]]]:
    """What `run.json` says, in groups."""
    plain = [(key, value) for key, value in run.about.items() if isinstance(value, str | int | float)]
    groups = [("Run", [(key, value) for key, value in plain if key not in ("format", "version", "updates")])]
    groups += [
        (key.capitalize(), list(value.items())) for key, value in run.about.items() if isinstance(value, Mapping)
    ]
    return [(name, rows) for name, rows in groups if rows]


@lru_cache(maxsize=1)
def _template() -> jinja2.Template:
    return template_environment(Path(__file__).parent).get_template("report.html.j2")
