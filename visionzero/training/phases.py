"""Which stage is trained when: the phase controller of Iterative-SPO (eq. 7 to 10 and Algorithm 1)."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Literal, get_args

Phase = Literal["clue", "decision", "both"]
PhaseSchedule = Literal["adaptive", "cycle", "clue", "decision", "both"]


@dataclass(frozen=True, kw_only=True)
class PhaseConfig:
    """When to switch.

    Attributes:
        schedule: `"adaptive"`: the paper's rule. `"cycle"`: switch every `cycle_updates` updates, decision first.
            `"clue"`, `"decision"`, `"both"`: never switch.
        ema_decay: rho, decay of both moving averages (eq. 7).
        ema_bias_correction: Divide the averages by `1 - rho^t`, so that their start at 0 does not count. Without it, and
            with rho = 0.95, even a perfect player needs 45 updates to reach an average of 0.9.
        to_clue_accuracy: Decision gives way to clue at this average accuracy or above,
        to_clue_na_rate: and at this average n/a rate or below (eq. 9).
        to_decision_error: Clue gives way to decision at this average error (1 - accuracy) or above,
        to_decision_na_rate: or at this average n/a rate or above (eq. 10).
        min_updates: K_min, updates in a phase before it can end.
        patience: P, updates without a switch that force one; None for never.
        cycle_updates: Length of a phase of the cycle; 5 if None; only with `schedule="cycle"`.

    Raises:
        ValueError: A value is out of range, or an option would have no effect.
    """

    schedule: PhaseSchedule = "adaptive"
    ema_decay: float = 0.95
    ema_bias_correction: bool = False
    to_clue_accuracy: float = 0.9
    to_clue_na_rate: float = 0.1
    to_decision_error: float = 0.4
    to_decision_na_rate: float = 0.5
    min_updates: int = 5
    patience: int | None = 20
    cycle_updates: int | None = None

    def __post_init__(self) -> None:
        if self.schedule not in get_args(PhaseSchedule):
            raise ValueError(f"schedule must be one of {', '.join(get_args(PhaseSchedule))}, got {self.schedule!r}")
        if not 0 <= self.ema_decay < 1:
            raise ValueError(f"ema_decay must be in [0, 1), got {self.ema_decay}")
        for name in ("to_clue_accuracy", "to_clue_na_rate", "to_decision_error", "to_decision_na_rate"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} must be in [0, 1], got {getattr(self, name)}")
        if self.min_updates < 1 or (self.cycle_updates is not None and self.cycle_updates < 1):
            raise ValueError("min_updates and cycle_updates must be >= 1")
        if self.cycle_updates is not None and self.schedule != "cycle":
            raise ValueError(f"cycle_updates has no effect with schedule={self.schedule!r}")
        if self.schedule != "adaptive":
            for option in fields(self):
                adaptive = option.name.startswith("to_") or option.name in ("min_updates", "patience")
                if adaptive and getattr(self, option.name) != option.default:
                    raise ValueError(f"{option.name} has no effect with schedule={self.schedule!r}")
        if self.patience is not None and self.patience < self.min_updates:
            raise ValueError(f"patience must be at least min_updates ({self.min_updates}) or None, got {self.patience}")


@dataclass(frozen=True, kw_only=True)
class PhaseState:
    """Where the controller stands; plain data, part of every checkpoint.

    Attributes:
        phase: The stage that the next update trains.
        updates_in_phase: Updates made in it so far.
        updates: Updates made in all.
        accuracy: The raw moving average of the accuracy, from 0.
        na_rate: The raw moving average of the n/a rate, from 0.
    """

    phase: Phase
    updates_in_phase: int = 0
    updates: int = 0
    accuracy: float = 0.0
    na_rate: float = 0.0


@dataclass
class PhaseController:
    """Metrics in, phase out.

    Attributes:
        config: When to switch.
        state: Where it stands.
    """

    config: PhaseConfig = field(default_factory=PhaseConfig)
    state: PhaseState = field(init=False)

    def __post_init__(self) -> None:
        fixed = self.config.schedule in ("clue", "both")
        self.state = PhaseState(phase=self.config.schedule if fixed else "decision")  # type: ignore[arg-type]

    @property
    def phase(self) -> Phase:
        """The stage that the next update trains; training starts in the decision phase (Algorithm 1)."""
        return self.state.phase

    @property
    def accuracy(self) -> float:
        """Moving average of the accuracy, bias-corrected if the config says so."""
        return self._corrected(self.state.accuracy)

    @property
    def na_rate(self) -> float:
        """Moving average of the n/a rate, bias-corrected if the config says so."""
        return self._corrected(self.state.na_rate)

    def _corrected(self, average: float) -> float:
        if not self.config.ema_bias_correction or self.state.updates == 0:
            return average
        return average / (1 - self.config.ema_decay**self.state.updates)

    def update(self, accuracy: float, na_rate: float) -> Phase:
        """Take in the metrics of one update, and decide the next phase.

            acc_ema <- rho * acc_ema + (1 - rho) * acc        (eq. 7)
            na_ema  <- rho * na_ema  + (1 - rho) * na         (eq. 8)

        Args:
            accuracy: Share of the update's games whose plurality vote is the spy.
            na_rate: Share of the update's votes that are n/a.

        Returns:
            The phase of the next update.

        Raises:
            ValueError: A metric is not in [0, 1].
        """
        for name, value in (("accuracy", accuracy), ("na_rate", na_rate)):
            if not 0 <= value <= 1:
                raise ValueError(f"{name} must be in [0, 1], got {value}")
        rho = self.config.ema_decay
        self.state = replace(
            self.state,
            accuracy=rho * self.state.accuracy + (1 - rho) * accuracy,
            na_rate=rho * self.state.na_rate + (1 - rho) * na_rate,
            updates=self.state.updates + 1,
            updates_in_phase=self.state.updates_in_phase + 1,
        )
        if self._should_switch():
            other: Phase = "clue" if self.state.phase == "decision" else "decision"
            self.state = replace(self.state, phase=other, updates_in_phase=0)
        return self.state.phase

    def _should_switch(self) -> bool:
        config, state = self.config, self.state
        if config.schedule == "cycle":
            return state.updates_in_phase >= (config.cycle_updates or 5)
        if config.schedule != "adaptive" or state.updates_in_phase < config.min_updates:
            return False
        if config.patience is not None and state.updates_in_phase >= config.patience:
            return True
        if state.phase == "decision":
            return self.accuracy >= config.to_clue_accuracy and self.na_rate <= config.to_clue_na_rate
        return 1 - self.accuracy >= config.to_decision_error or self.na_rate >= config.to_decision_na_rate

    def state_dict(self) -> dict[str, Any]:
        """The state as plain data."""
        return asdict(self.state)

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from a state that `state_dict` gave.

        Raises:
            ValueError: The state holds other keys, a phase that there is not, or one that the schedule never trains.
        """
        try:
            loaded = PhaseState(**state)
        except TypeError as error:
            raise ValueError(f"not a phase controller's state: {state!r}") from error
        if loaded.phase not in get_args(Phase):
            raise ValueError(f"phase must be one of {', '.join(get_args(Phase))}, got {loaded.phase!r}")
        schedule = self.config.schedule
        possible = (schedule,) if schedule in get_args(Phase) else ("clue", "decision")
        if loaded.phase not in possible:
            raise ValueError(
                f"the state is in phase {loaded.phase!r}, which schedule={schedule!r} never trains; go on with the "
                "schedule that it was saved with"
            )
        self.state = loaded
