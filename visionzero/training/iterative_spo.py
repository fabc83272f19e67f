"""Iterative-SPO: self-play on the clue stage and RLVR on the decision stage, in turn (Algorithm 1)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar

import torch
from peft import PeftConfig
from transformers import PreTrainedModel, ProcessorMixin, TrainerCallback

from visionzero.games import SpyConfig, SpyGame, SpyTurn, derive_seed
from visionzero.images import load_images
from visionzero.images.sampler import BoardSampler
from visionzero.replay.record import write_replays
from visionzero.rollout import Episode, rollout
from visionzero.training.advantages import RoleBaselines, group_advantages
from visionzero.training.metrics_file import MetricsFileCallback
from visionzero.training.phases import Phase, PhaseConfig, PhaseController, PhaseSchedule
from visionzero.training.run_files import sample_file
from visionzero.training.turn_config import TurnConfig, option
from visionzero.training.turn_trainer import TrainedTurn, TurnTrainer

_STAGES: dict[Phase, tuple[str, ...]] = {
    "clue": ("clue",),
    "decision": ("decision",),
    "both": ("clue", "decision"),
}

_REPORTED = ("games_per_update", "games_per_pair", "learning_rate", "beta_clue", "beta_decision", "use_role_advantage",
             "baseline_decay", "temperature", "max_completion_length", "seed")  # fmt: skip
"""Options that a report names."""
_SAMPLE_GAMES = 2


@dataclass
class IterativeSPOConfig(TurnConfig):
    """Options of `IterativeSPOTrainer`; the defaults are the paper's where it names them.

    Raises:
        ValueError: A value is out of range, or an option would have no effect.
    """

    games_per_pair: int = option(1, "Games in a row on the same images.")
    phase_schedule: PhaseSchedule = option("adaptive", "When to switch: adaptive, cycle, clue, decision or both.")
    ema_decay: float = option(0.95, "rho, decay of the moving averages that decide about phases (eq. 7, 8).")
    ema_bias_correction: bool = option(False, "Divide the moving averages by 1 - rho^t.")
    to_clue_accuracy: float = option(0.9, "Decision gives way to clue at this average accuracy or above (eq. 9),")
    to_clue_na_rate: float = option(0.1, "and at this average n/a rate or below.")
    to_decision_error: float = option(0.4, "Clue gives way to decision at this average error or above (eq. 10),")
    to_decision_na_rate: float = option(0.5, "or at this average n/a rate or above.")
    min_phase_updates: int = option(5, "K_min, updates in a phase before it can end.")
    phase_patience: int | None = option(20, "P, updates without a switch that force one; none for never.")
    cycle_updates: int | None = option(None, "Length of a phase with phase_schedule=cycle; 5 if not given.")
    use_role_advantage: bool = option(True, "Subtract the role's baseline from clue rewards (eq. 2).")
    baseline_decay: float | None = option(None, "alpha, decay of the role baselines; 0.95 if not given.")
    beta_clue: float | None = option(None, "tau_clue, KL weight in the clue phase; beta if not given.")
    beta_decision: float | None = option(None, "tau_dec, KL weight in the decision phase; beta if not given.")
    group_eps: float = option(1e-4, "eps in the group normalisation of decision rewards (eq. 5).")
    replay_steps: int | None = option(
        None, "Write two games to replays/ at the first update, every so many, and at the last; none for never."
    )

    def __post_init__(self) -> None:
        if self.games_per_pair < 1:
            raise ValueError(f"games_per_pair must be >= 1, got {self.games_per_pair}")
        if self.group_eps < 0:
            raise ValueError(f"group_eps must be >= 0, got {self.group_eps}")
        if self.replay_steps is not None and self.replay_steps < 1:
            raise ValueError(f"replay_steps must be >= 1 or None, got {self.replay_steps}")
        if self.baseline_decay is not None and not self.use_role_advantage:
            raise ValueError(f"baseline_decay={self.baseline_decay} has no effect with use_role_advantage=False")
        self.phases()
        RoleBaselines(self.alpha)
        self._refuse_options_of_other_stages()
        self._settle_kl_weights()
        super().__post_init__()

    @property
    def alpha(self) -> float:
        """Decay of the role baselines."""
        return 0.95 if self.baseline_decay is None else self.baseline_decay

    def _refuse_options_of_other_stages(self) -> None:
        of_the_other = {
            "clue": ("group_eps",),
            "decision": ("use_role_advantage", "baseline_decay"),
        }.get(self.phase_schedule, ())
        defaults = {f.name: f.default for f in fields(self)}
        for name in of_the_other:
            if getattr(self, name) != defaults[name]:
                raise ValueError(f"{name} has no effect with phase_schedule={self.phase_schedule!r}")

    def _settle_kl_weights(self) -> None:
        """Fill in the weights of both stages, and set `beta` to the larger one."""
        named = {"clue": self.beta_clue, "decision": self.beta_decision}
        filled = {stage: self.beta if weight is None else weight for stage, weight in named.items()}
        if min(filled.values()) < 0:
            raise ValueError(f"KL weights must be >= 0, got {filled}")
        if self.phase_schedule in named:
            trained, other = filled.pop(self.phase_schedule), next(iter(filled.values()))
            if other not in (trained, self.beta):
                other_name = next(iter(filled))
                raise ValueError(f"beta_{other_name} has no effect with phase_schedule={self.phase_schedule!r}")
            filled = dict.fromkeys(named, trained)
        elif self.phase_schedule == "both" and filled["clue"] != filled["decision"]:
            raise ValueError(f"phase_schedule='both' has one KL weight, beta, for both stages; got {filled}")
        # TRL loads a reference model only for a KL weight that is not 0.
        largest = max(filled.values())
        if None not in named.values() and self.beta not in (largest, TurnConfig.beta):
            raise ValueError(f"beta={self.beta} has no effect beside beta_clue and beta_decision")
        self.beta_clue, self.beta_decision, self.beta = filled["clue"], filled["decision"], largest

    def phases(self) -> PhaseConfig:
        """The options of the phase controller."""
        return PhaseConfig(
            schedule=self.phase_schedule,
            ema_decay=self.ema_decay,
            ema_bias_correction=self.ema_bias_correction,
            to_clue_accuracy=self.to_clue_accuracy,
            to_clue_na_rate=self.to_clue_na_rate,
            to_decision_error=self.to_decision_error,
            to_decision_na_rate=self.to_decision_na_rate,
            min_updates=self.min_phase_updates,
            patience=self.phase_patience,
            cycle_updates=self.cycle_updates,
        )


class IterativeSPOTrainer(TurnTrainer):
    """Trains a vision-language model by playing Who Is the Spy? against itself.

    Every update plays `games_per_update` games with the current policy in all seats. In a decision phase the votes are
    trained, with group-normalised verifiable rewards (eq. 4 to 6); in a clue phase the clues are, with the zero-sum
    reward and the role baselines (eq. 1 to 3). What the other stage said carries no gradient. After the update the
    phase controller takes in the share of convicted spies and of n/a votes, and may switch (eq. 7 to 10).

    Args:
        model: A model, or what `from_pretrained` loads.
        args: Options.
        images: Boards: whatever `load_images` takes, or an `ImageSource`.
        game_config: Rules of the games.
        processing_class: The model's processor; loaded from where the model came from if None.
        callbacks: Further callbacks.
        optimizers: Optimiser and scheduler, instead of those that `args` name.
        peft_config: Train an adapter instead of all weights; the reference policy is the model without it.

    Attributes:
        controller: The phase controller.
        baselines: The role baselines.
        sampler: Draws the boards of this process.
        episodes: The games of the last update, on this process.

    Raises:
        ValueError: The reference policy cannot be loaded, or an option does not fit.
    """

    _tag_names: ClassVar = ["visionzero", "iterative-spo"]
    _name = "Iterative-SPO"
    _paper: ClassVar = {
        "title": "Vision-Zero: Scalable VLM Self-Evolution via Multi-Agent Self-Play",
        "id": "2509.25541",
    }

    def __init__(
        self,
        model: str | PreTrainedModel,
        args: IterativeSPOConfig,
        images: Any,
        game_config: SpyConfig | None = None,
        processing_class: ProcessorMixin | None = None,
        callbacks: list[TrainerCallback] | None = None,
        optimizers: tuple[torch.optim.Optimizer | None, torch.optim.lr_scheduler.LambdaLR | None] = (None, None),
        peft_config: PeftConfig | None = None,
    ) -> None:
        source = load_images(images)
        rules = game_config or SpyConfig()
        about = {
            "trainer": self._name,
            "model": model if isinstance(model, str) else model.name_or_path,
            "adapter": peft_config is not None,
            "images": source.name,
            "rules": asdict(rules),
            "phases": asdict(args.phases()),
            "options": {name: getattr(args, name) for name in _REPORTED},
        }
        super().__init__(
            model,
            args=args,
            processing_class=processing_class,
            callbacks=[*(callbacks or []), MetricsFileCallback(about)],
            optimizers=optimizers,
            peft_config=peft_config,
            num_updates=-(-len(source) * args.games_per_pair // args.games_per_update),
        )
        self.game_config = rules
        self.controller = PhaseController(args.phases())
        self.baselines = RoleBaselines(args.alpha)
        self.sampler = BoardSampler(source, seed=args.seed)
        self.sampler.shard(self.accelerator.process_index, self.accelerator.num_processes)
        self.episodes: list[Episode[SpyGame]] = []
        self._games_dealt = 0

    def play_update(self) -> list[TrainedTurn]:
        """Play the games of one update, move baselines and controller, and return the turns of the phase."""
        self.policy.forget()
        phase = self.controller.phase
        self.beta = self.args.beta_decision if phase == "decision" else self.args.beta_clue
        self.episodes = self._play()
        self._write_replays()
        figures = _Figures(self.episodes)
        totals = self.accelerator.reduce(figures.totals.to(self.accelerator.device), reduction="sum").cpu()
        means = figures.means(totals)
        trained = _STAGES[phase]
        if "clue" in trained and self.args.use_role_advantage:
            self.baselines.update({role: means[f"seat_reward/{role}"] for role in ("spy", "civilian")})
        rows = [row for episode in self.episodes for row in self._rows_of(episode, trained)]
        accuracy, na_rate = means["game/civilian_win_rate"], means["game/na_rate"]
        self.controller.update(accuracy, na_rate)
        self.log_games(
            {
                **means,
                "phase/clue": float("clue" in trained),
                "phase/decision": float("decision" in trained),
                "phase/accuracy_ema": self.controller.accuracy,
                "phase/na_ema": self.controller.na_rate,
                "phase/switched": float(self.controller.phase != phase),
                **{f"baseline/{role}": value for role, value in self.baselines.values.items()},
            }
        )
        return rows

    def _play(self) -> list[Episode[SpyGame]]:
        """The games of one update on this process, all of them finished; a game that fails is dealt again."""
        wanted = self.args.games_per_update // self.accelerator.num_processes
        episodes: list[Episode[SpyGame]] = []
        failed = 0
        while len(episodes) < wanted:
            played = rollout([self._deal() for _ in range(wanted - len(episodes))], self.policy)
            broken = [episode for episode in played if episode.error is not None]
            failed += len(broken)
            if failed > wanted:
                raise RuntimeError(f"{failed} games of one update failed") from broken[-1].error
            episodes += [episode for episode in played if episode.error is None]
        self.log_games({"game/failed": failed})
        return episodes

    def _write_replays(self) -> None:
        """Write games of this update, if it is one of those that `replay_steps` names."""
        every, update = self.args.replay_steps, self.state.global_step + 1
        if every is None or not self.is_world_process_zero():
            return
        if update == 1 or update % every == 0 or update == self.state.max_steps:
            write_replays(sample_file(self.args.output_dir, update), self.episodes[:_SAMPLE_GAMES])

    def _deal(self) -> SpyGame:
        if self._games_dealt % self.args.games_per_pair == 0:
            self._pair = self.sampler.draw()
        seed = derive_seed(self.args.seed, "game", self.accelerator.process_index, self._games_dealt)
        self._games_dealt += 1
        return SpyGame(self._pair, self.game_config, seed=seed)

    def _rows_of(self, episode: Episode[SpyGame], stages: Sequence[str]) -> list[TrainedTurn]:
        """The turns of one game that the phase trains, with their advantages."""
        outcome = episode.game.outcome
        turns = [played.turn for played in episode.game.history if played.turn.stage in stages]
        clues = [turn for turn in turns if turn.stage == "clue"]
        votes = [turn for turn in turns if turn.stage == "decision"]
        clue_rewards = [outcome.rewards[turn] for turn in clues]
        if self.args.use_role_advantage:
            advantages = self.baselines.advantages(clue_rewards, [turn.role for turn in clues])
        else:
            advantages = clue_rewards
        advantages = advantages + group_advantages([outcome.rewards[turn] for turn in votes], self.args.group_eps)
        return [
            TrainedTurn(turn, self.policy.chats[turn], episode.replies[turn], outcome.rewards[turn], advantage)
            for turn, advantage in zip([*clues, *votes], advantages, strict=True)
        ]

    def state_dict(self) -> dict[str, Any]:
        """Phase controller, baselines, position among the boards, and the rules they belong to."""
        return {
            "controller": self.controller.state_dict(),
            "baselines": dict(self.baselines.values),
            "sampler": self.sampler.state_dict(),
            "games_dealt": self._games_dealt,
            "game_config": asdict(self.game_config),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from a state that `state_dict` gave.

        Raises:
            ValueError: The state belongs to other rules or other images.
        """
        ours = asdict(self.game_config)
        changed = [key for key, value in state["game_config"].items() if ours.get(key) != value]
        if changed:
            was = {key: state["game_config"][key] for key in changed}
            raise ValueError(f"the checkpoint was made with other rules ({was}); resume with the same, or start anew")
        self.controller.load_state_dict(state["controller"])
        self.baselines.values = dict(state["baselines"])
        self.sampler.load_state_dict(state["sampler"])
        self._games_dealt = state["games_dealt"]
        if self._games_dealt % self.args.games_per_pair:
            self._pair = self.sampler.current


class _Figures:
    """Sums and counts over a process's games, so that means over all processes can be formed."""

    def __init__(self, episodes: Sequence[Episode[SpyGame]]) -> None:
        values: dict[str, list[float]] = defaultdict(list)
        for episode in episodes:
            game, outcome = episode.game, episode.game.outcome
            for seat, reward in enumerate(outcome.seat_rewards):
                values[f"seat_reward/{'spy' if seat == game.spy_seat else 'civilian'}"].append(reward)
            values["game/civilian_win_rate"].append(outcome.metrics["civilians_win"])
            for name in ("na_rate", "right_vote_rate", "invalid_vote_rate", "unreadable_clue_rate"):
                values[f"game/{name}"].append(outcome.metrics[name])
            for turn, reply in episode.replies.items():
                assert isinstance(turn, SpyTurn)
                place = f"{turn.stage}/{turn.role}"
                values[f"length/{place}"].append(len(reply.completion_ids))
                values[f"reward/{place}"].append(outcome.rewards[turn])
                values[f"truncated/{turn.stage}"].append(float(reply.truncated))
        self._names = sorted(values)
        self.totals = torch.tensor(
            [[sum(values[name]), len(values[name])] for name in self._names], dtype=torch.float64
        )

    def means(self, totals: torch.Tensor) -> dict[str, float]:
        """Means by name, from sums and counts, shape (figures, 2), in the order of `totals`."""
        return {name: float(total / count) for name, (total, count) in zip(self._names, totals, strict=True)}
