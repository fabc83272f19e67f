"""The phase controller on metric sequences worked out by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from visionzero.training.phases import PhaseConfig, PhaseController, PhaseState

RATES = st.floats(0, 1)


def controller(**options) -> PhaseController:
    return PhaseController(PhaseConfig(**options))


def phases(control: PhaseController, metrics) -> list[str]:
    return [control.update(accuracy, na_rate) for accuracy, na_rate in metrics]


def test_training_starts_in_the_decision_phase():
    assert controller().phase == "decision"


def test_the_averages_follow_equations_7_and_8():
    control = controller(ema_decay=0.5, patience=None)
    control.update(1.0, 0.2)  # acc 0.5 * 0 + 0.5 * 1.0, na 0.5 * 0 + 0.5 * 0.2
    control.update(0.5, 0.4)  # acc 0.5 * 0.5 + 0.5 * 0.5, na 0.5 * 0.1 + 0.5 * 0.4
    assert control.accuracy == pytest.approx(0.5)
    assert control.na_rate == pytest.approx(0.25)


def test_bias_correction_divides_by_one_minus_rho_to_the_t():
    control = controller(ema_bias_correction=True, patience=None)
    control.update(0.8, 0.3)
    assert control.accuracy == pytest.approx(0.8)
    assert control.na_rate == pytest.approx(0.3)
    control.update(0.4, 0.1)
    # raw: 0.95 * 0.04 + 0.05 * 0.4 = 0.058, and 1 - 0.95**2 = 0.0975
    assert control.accuracy == pytest.approx(0.058 / 0.0975)


def test_without_bias_correction_a_perfect_player_needs_45_updates_to_switch():
    control = controller(patience=None)
    history = phases(control, [(1.0, 0.0)] * 45)
    assert history[:44] == ["decision"] * 44
    assert history[44] == "clue"  # 1 - 0.95**45 = 0.9006 is the first average of at least 0.9


def test_a_phase_lasts_at_least_min_updates():
    control = controller(ema_decay=0.0, min_updates=5)
    assert phases(control, [(1.0, 0.0)] * 5) == ["decision"] * 4 + ["clue"]
    # now everything speaks for going back, but the clue phase has its own five updates to make
    assert phases(control, [(0.0, 1.0)] * 5) == ["clue"] * 4 + ["decision"]


def test_decision_gives_way_only_when_accuracy_is_high_and_na_is_low():
    options = {"ema_decay": 0.0, "min_updates": 1, "patience": None}
    assert controller(**options).update(0.9, 0.1) == "clue"
    assert controller(**options).update(0.89, 0.1) == "decision"
    assert controller(**options).update(0.9, 0.11) == "decision"


def test_clue_gives_way_when_error_or_na_is_high():
    options = {"ema_decay": 0.0, "min_updates": 1, "patience": None}
    for accuracy, na_rate, expected in [
        (0.6, 0.0, "decision"),
        (0.61, 0.0, "clue"),
        (1.0, 0.5, "decision"),
        (1.0, 0.49, "clue"),
    ]:
        control = controller(**options)
        control.state = PhaseState(phase="clue")
        assert control.update(accuracy, na_rate) == expected


def test_between_the_thresholds_the_controller_stays_where_it_is():
    """Hysteresis: an accuracy of 0.75 neither starts a clue phase nor ends one."""
    options = {"ema_decay": 0.0, "min_updates": 1, "patience": None}
    control = controller(**options)
    assert phases(control, [(0.75, 0.2)] * 30) == ["decision"] * 30
    control.state = PhaseState(phase="clue")
    assert phases(control, [(0.75, 0.2)] * 30) == ["clue"] * 30


def test_patience_forces_a_switch_and_none_turns_it_off():
    middling = [(0.75, 0.2)] * 41
    control = controller(ema_decay=0.0, patience=20)
    assert phases(control, middling) == ["decision"] * 19 + ["clue"] * 20 + ["decision"] * 2
    assert set(phases(controller(ema_decay=0.0, patience=None), middling)) == {"decision"}


def test_a_cycle_switches_by_count_alone():
    control = controller(schedule="cycle", cycle_updates=2)
    assert [control.phase, *phases(control, [(0.0, 0.0)] * 5)] == [
        "decision",
        "decision",
        "clue",
        "clue",
        "decision",
        "decision",
    ]


@pytest.mark.parametrize("schedule", ["clue", "decision", "both"])
def test_a_fixed_schedule_never_switches(schedule):
    control = controller(schedule=schedule)
    assert {control.phase, *phases(control, [(1.0, 0.0), (0.0, 1.0)] * 30)} == {schedule}


@given(st.lists(st.tuples(RATES, RATES), max_size=80), st.integers(0, 80))
def test_a_saved_controller_goes_on_as_if_it_had_not_stopped(metrics, cut):
    whole = controller()
    expected = phases(whole, metrics)
    first = controller()
    start = phases(first, metrics[:cut])
    second = controller()
    second.load_state_dict(first.state_dict())
    assert start + phases(second, metrics[cut:]) == expected
    assert second.state == whole.state


@given(st.lists(st.tuples(RATES, RATES), min_size=1, max_size=100))
def test_dwell_time_is_never_below_min_updates_nor_above_patience(metrics):
    control = controller(min_updates=3, patience=7)
    history = phases(control, metrics)
    lengths, run = [], 1
    for before, after in zip(["decision", *history], history, strict=False):
        if before == after:
            run += 1
        else:
            lengths.append(run)
            run = 1
    assert all(3 <= length <= 7 for length in lengths)
    assert run <= 7


@pytest.mark.parametrize(
    "options",
    [
        {"schedule": "never"},
        {"ema_decay": 1.0},
        {"to_clue_accuracy": 1.5},
        {"min_updates": 0},
        {"patience": 2, "min_updates": 5},
        {"cycle_updates": 3},
        {"schedule": "cycle", "cycle_updates": 0},
        {"schedule": "clue", "to_clue_accuracy": 0.8},
        {"schedule": "cycle", "patience": None},
    ],
)
def test_options_out_of_range_or_without_effect_are_errors(options):
    with pytest.raises(ValueError, match=r"must be|has no effect"):
        PhaseConfig(**options)


@pytest.mark.parametrize("metrics", [(1.1, 0.0), (0.5, -0.1), (float("nan"), 0.0)])
def test_metrics_that_are_no_shares_are_errors(metrics):
    with pytest.raises(ValueError, match=r"must be in \[0, 1\]"):
        controller().update(*metrics)


@pytest.mark.parametrize("state", [{"phase": "warmup"}, {"stage": "clue"}, {}])
def test_a_foreign_state_is_refused(state):
    with pytest.raises(ValueError, match="phase"):
        controller().load_state_dict(state)


@pytest.mark.parametrize(("saved", "schedule"), [("decision", "clue"), ("clue", "both"), ("both", "adaptive")])
def test_a_state_in_a_phase_that_the_schedule_never_trains_is_refused(saved, schedule):
    control = controller(schedule=schedule)
    with pytest.raises(ValueError, match="never trains"):
        control.load_state_dict({"phase": saved})
