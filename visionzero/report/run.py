"""What a run's folder says about it: figures by chart, phases, restarts, the last match, sample games."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from visionzero.replay import Record, ReplayError, read_replays
from visionzero.report.charts import Chart, Line, Span, drawable
from visionzero.training.run_files import EVALUATION_FILE, REPLAYS_FILE, RUN_FILE, salvage_metrics, sample_files


@dataclass(frozen=True)
class _Plan:
    """Which figures share a chart; figures are shown once, in the first chart that wants them."""

    title: str
    wants: str
    note: str = ""
    share: bool = False


_PLANS = (
    _Plan("Win rate against the start", r"eval_win_rate(_as_\w+)?", "Bars are 95 % intervals.", share=True),
    _Plan(
        "Averages that switch the phases",
        r"phase/(\w+)_ema",
        "Dashed lines are the thresholds; a shaded stretch is a clue phase.",
        share=True,
    ),
    _Plan(
        "Outcomes", r"game/(civilian_win_rate|right_vote_rate|na_rate)", "Games and votes of each update.", share=True
    ),
    _Plan(
        "Answers that could not be read",
        r"(?:game/(invalid\w*|unreadable\w*)|(truncated/.+))",
        "Invalid votes, missing clues, and answers cut off at the token limit.",
        share=True,
    ),
    _Plan("Length of answers", r"length/(.+)", "Tokens, by stage and role."),
    _Plan("Rewards", r"reward/(.+)", "Means, by stage and role."),
    _Plan("Role baselines", r"(baseline/.+|seat_reward/.+)", "The moving baselines, and the rewards that they follow."),
    _Plan("KL divergence from the start", r"(kl)(?:/.+)?"),
    _Plan("Entropy", r"(entropy)(?:/.+)?", "Of the tokens that are trained, in nats."),
    _Plan("Gradient norm", r"(grad_norm)(?:/.+)?", "Before clipping."),
    _Plan("Loss", r"(loss)"),
    _Plan("Learning rate", r"(learning_rate)"),
    _Plan("Time of an update", r"(?:time/(.+)|(step_time))", "Seconds."),
)
# The phase itself is shaded in every chart, and the rest says nothing along training.
_NOT_CHARTED = re.compile(
    r"step|epoch|total_flos|phase/(clue|decision|switched)|train_.+|eval_(?!win_rate).+|eval_win_rate_(low|high)|game/failed"
)


@dataclass
class Run:
    """A training run, as far as its folder tells.

    Attributes:
        name: Name of the folder.
        about: Contents of `run.json`; empty if there is none.
        last: The last update that was logged.
        charts: The main charts, those that have figures.
        further: Charts of all other figures.
        spans: Clue phases.
        restarts: Updates at which training was resumed.
        switches: Number of changes of phase.
        failed: Games that failed and were dealt again.
        evaluation: Contents of `evaluation.json`: the match against the start at the end; empty if there is none.
        games: Sample games, with the label of each.
        problems: What could not be read, one sentence each.
    """

    name: str
    about: dict[str, Any] = field(default_factory=dict)
    last: int = 0
    charts: list[Chart] = field(default_factory=list)
    further: list[Chart] = field(default_factory=list)
    spans: list[Span] = field(default_factory=list)
    restarts: list[int] = field(default_factory=list)
    switches: int = 0
    failed: int = 0
    evaluation: dict[str, Any] = field(default_factory=dict)
    games: list[tuple[str, Record]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def read_run(folder: str | Path) -> Run:
    """Read what a run wrote; lines and files that are damaged are left out and named in `problems`.

    Args:
        folder: The run's output folder.

    Returns:
        The run.

    Raises:
        FileNotFoundError: The folder has no `metrics.jsonl`.
        ValueError: No line of it can be read, or none has a figure.
    """
    folder = Path(folder)
    entries, damaged = salvage_metrics(folder)
    run = Run(folder.resolve().name)
    if damaged:
        number, problem = next(iter(damaged.items()))
        lines = "1 line" if len(damaged) == 1 else f"{len(damaged)} lines"
        run.problems.append(f"Left out {lines} of the metrics, not readable; line {number}: {problem}")
    figures = _figures(entries)
    if not figures:
        raise ValueError(f"{folder}: the metrics file holds no figure that can be read")
    run.about = _read_object(folder / RUN_FILE, run.problems)
    run.evaluation = _checked_match(_read_object(folder / EVALUATION_FILE, run.problems), run.problems)
    run.last = max(int(step) for points in figures.values() for step, _ in points)
    run.restarts = _restarts(run.about)
    run.spans, run.switches = _phases(figures)
    run.failed = round(sum(value for _, value in figures.get("game/failed", ()) if drawable(value)))
    run.charts, run.further = _charts(figures, run.about)
    run.games = _games(folder, run.problems)
    return run


def _figures(entries: Sequence[Mapping[str, Any]]) -> dict[str, list[tuple[float, float]]]:
    """Updates and values of every numeric figure, in order; of a value logged twice the later one counts."""
    figures: dict[str, dict[float, float]] = {}
    for entry in entries:
        for name, value in entry.items():
            if name != "step" and isinstance(value, int | float) and not isinstance(value, bool):
                figures.setdefault(name, {})[_float(entry["step"])] = _float(value)
    return {name: sorted(values.items()) for name, values in figures.items()}


def _float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:  # JSON has whole numbers of any size
        return math.inf


def _read_object(path: Path, problems: list[str]) -> dict[str, Any]:
    if not path.is_file():
        return {}
    try:
        data = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        problems.append(f"{path.name} could not be read: {error}")
        return {}
    if not isinstance(data, dict):
        problems.append(f"{path.name} could not be read: it holds no object")
        return {}
    return data


def _checked_match(data: dict[str, Any], problems: list[str]) -> dict[str, Any]:
    """The match at the end, if its figures are numbers."""
    if not data:
        return {}
    interval = data.get("interval_95")
    numbers = [data.get(name) for name in ("win_rate", "rounds", "wins_as_spy", "rounds_as_spy")]
    numbers += [data.get(name) for name in ("wins_as_civilians", "rounds_as_civilians")]
    numbers += interval if isinstance(interval, list) and len(interval) == 2 else [None]
    if all(isinstance(value, int | float) and math.isfinite(_float(value)) for value in numbers):
        return data
    problems.append(f"{EVALUATION_FILE} could not be read: it is not the result of a match")
    return {}


def _restarts(about: Mapping[str, Any]) -> list[int]:
    starts = about.get("starts")
    return [start for start in starts if isinstance(start, int) and start > 0] if isinstance(starts, list) else []


def _phases(figures: Mapping[str, Sequence[tuple[float, float]]]) -> tuple[list[Span], int]:
    """Stretches that trained clues, an update n reaching from n - 1 to n; and the number of changes."""
    trained = dict(figures.get("phase/clue", ()))
    spans: list[Span] = []
    for step, clue in trained.items():
        if clue != 1 or dict(figures.get("phase/decision", ())).get(step) == 1:
            continue
        if spans and spans[-1].end >= step - 1:
            spans[-1] = Span("clue", spans[-1].start, step)
        else:
            spans.append(Span("clue", max(step - 1, 0), step))
    return spans, sum(value == 1 for _, value in figures.get("phase/switched", ()))


def _charts(
    figures: Mapping[str, Sequence[tuple[float, float]]], about: Mapping[str, Any]
) -> tuple[list[Chart], list[Chart]]:
    left = {
        name: points
        for name, points in figures.items()
        if not _NOT_CHARTED.fullmatch(name) and any(drawable(value) for _, value in points)
    }
    charts = []
    for plan in _PLANS:
        lines = []
        for name in list(left):
            match = re.fullmatch(plan.wants, name)
            if match:
                label = next((group for group in match.groups() if group), name)
                lines.append(_line(label, name, left.pop(name), figures))
        if lines:
            thresholds = _thresholds(about) if plan.wants.startswith("phase/") else ()
            charts.append(Chart(plan.title, tuple(lines), plan.note, plan.share, thresholds))
    further = [Chart(_words(name), (_line(name, name, points, figures),)) for name, points in sorted(left.items())]
    return charts, further


def _line(
    label: str,
    name: str,
    points: Sequence[tuple[float, float]],
    figures: Mapping[str, Sequence[tuple[float, float]]],
) -> Line:
    ends = [dict(figures.get(f"{name}_{end}", ())) for end in ("low", "high")]
    low, high = (tuple(end.get(step, math.nan) for step, _ in points) if end else None for end in ends)
    return Line(_words(label), tuple(points), low, high)


def _words(name: str) -> str:
    words = name.removeprefix("eval_").replace("/", ", ").replace("_", " ")
    return re.sub(r"\bna\b", "n/a", words)


def _thresholds(about: Mapping[str, Any]) -> tuple[tuple[str, float], ...]:
    phases = about.get("phases")
    if not isinstance(phases, dict) or phases.get("schedule") != "adaptive":
        return ()
    levels = (
        ("to clue: accuracy at least this", phases.get("to_clue_accuracy")),
        ("to clue: n/a at most this", phases.get("to_clue_na_rate")),
        ("to decision: accuracy at most this", _complement(phases.get("to_decision_error"))),
        ("to decision: n/a at least this", phases.get("to_decision_na_rate")),
    )
    return tuple((name, float(level)) for name, level in levels if isinstance(level, int | float))


def _complement(value: Any) -> float | None:
    return 1 - value if isinstance(value, int | float) else None


def _games(folder: Path, problems: list[str]) -> list[tuple[str, Record]]:
    """A game of the first update that was written, one of the last, and one of the match at the end."""
    samples = sample_files(folder)
    named = {f"Update {update}": samples[update] for update in sorted({min(samples), max(samples)})} if samples else {}
    if (folder / REPLAYS_FILE).is_file():
        named["Against the start, after training"] = folder / REPLAYS_FILE
    games = []
    for label, path in named.items():
        try:
            records = read_replays(path)
        except ReplayError as error:
            problems.append(str(error))
            records = error.records
        except OSError as error:
            problems.append(f"{path}: {error}")
            continue
        games += [(label, record) for record in records[:1]]
    return games
