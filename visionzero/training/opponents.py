"""Whom the policy plays against besides itself: its frozen start."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch
from peft import PeftModel
from trl.trainer.utils import use_adapter

from visionzero.games.game import Turn, derive_seed
from visionzero.players.base import Player, Reply
from visionzero.players.model import ModelPlayer

if TYPE_CHECKING:
    from visionzero.training.turn_trainer import TurnTrainer


def trained_weights(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    """The parameters that training moves, by name; with an adapter, the adapter's alone.

    Args:
        model: The unwrapped policy.

    Returns:
        The parameters' own data, not copies.
    """
    return {name: parameter.data for name, parameter in model.named_parameters() if parameter.requires_grad}


@contextmanager
def swapped_in(model: torch.nn.Module, weights: Mapping[str, torch.Tensor]) -> Iterator[None]:
    """Let a model have other weights for a while. Nothing is copied, so afterwards its own are back to the last bit.

    Args:
        model: The unwrapped policy.
        weights: One tensor for each of its `trained_weights`, on the model's device and of its data type.

    Raises:
        ValueError: The names are not those of the model's trained parameters.
    """
    parameters = {name: parameter for name, parameter in model.named_parameters() if parameter.requires_grad}
    if parameters.keys() != weights.keys():
        different = sorted(parameters.keys() ^ weights.keys())
        raise ValueError(f"the weights are another model's: {len(different)} names differ, {different[0]!r} is one")
    own = {name: parameter.data for name, parameter in parameters.items()}
    try:
        for name, parameter in parameters.items():
            parameter.data = weights[name]
        yield
    finally:
        for name, parameter in parameters.items():
            parameter.data = own[name]


def sampling_options(trainer: TurnTrainer) -> dict[str, Any]:
    """What makes a `ModelPlayer` sample as the policy in training does.

    Args:
        trainer: The policy's trainer.

    Returns:
        Options of `ModelPlayer`: longest answer, batch size, temperature and filters.

    Raises:
        ValueError: The trainer has `generation_kwargs`, which a `ModelPlayer` does not know.
    """
    args = trainer.args
    if args.generation_kwargs:
        raise ValueError(
            f"generation_kwargs={args.generation_kwargs!r} is not possible where other players sample alike"
        )
    filters = {"top_p": 1.0, "top_k": 0, "min_p": None, "repetition_penalty": 1.0}
    return {
        "max_new_tokens": args.max_completion_length,
        "temperature": args.temperature,
        "batch_size": args.generation_rows,
        **{name: getattr(args, name) for name, off in filters.items() if getattr(args, name) != off},
    }


def refuse_sharded(trainer: TurnTrainer) -> None:
    """Say that a model whose weights are spread over the processes cannot have another's swapped in.

    Raises:
        NotImplementedError: The trainer runs with FSDP or DeepSpeed's ZeRO stage 3.
    """
    plugin = trainer.accelerator.state.deepspeed_plugin if trainer.is_deepspeed_enabled else None
    if trainer.is_fsdp_enabled or (plugin is not None and plugin.zero_stage == 3):
        engine = "FSDP" if trainer.is_fsdp_enabled else "DeepSpeed ZeRO-3"
        raise NotImplementedError(
            f"opponents cannot play while {engine} keeps every process's weights in parts; use DeepSpeed ZeRO-1 or 2, "
            "plain data parallelism, or play saved checkpoints with `visionzero eval`"
        )


class PastPlayer(Player):
    """The policy in training as it was, or as it is elsewhere: its own model with other weights swapped in.

    What it says depends on its seed, its weights and the turn alone; it uses no generator.

    Args:
        trainer: The policy's trainer.
        name: Short name.
        seed: Mixed with every turn's own seed.
        **options: Options of `ModelPlayer`, in place of those that make it sample as the policy does.

    Raises:
        NotImplementedError: The trainer runs with FSDP or DeepSpeed's ZeRO stage 3.
        ValueError: The trainer samples in a way that a `ModelPlayer` cannot.
    """

    def __init__(self, trainer: TurnTrainer, *, name: str, seed: int, **options: Any) -> None:
        refuse_sharded(trainer)
        self.name = name
        self._trainer = trainer
        self._options = {**sampling_options(trainer), "name": name, "seed": seed, **options}
        self._held: dict[str, torch.Tensor] | None = None

    def weights(self) -> Mapping[str, torch.Tensor]:
        """The weights that it plays with, anywhere."""
        raise NotImplementedError

    def forget(self) -> None:
        """Free the weights on the model's device; the next reply brings them back."""
        self._held = None

    def reply(self, turns: Sequence[Turn]) -> list[Reply]:
        """Answer turns; the policy's weights, mode and adapters are afterwards what they were."""
        model = self._trainer.accelerator.unwrap_model(self._trainer.model)
        if self._held is None:
            own = trained_weights(model)
            # Where they already are on the device and of the type, this copies nothing.
            self._held = {
                name: weight.to(own[name]) if name in own else weight for name, weight in self.weights().items()
            }
        with swapped_in(model, self._held):
            return self._reply_with(model, turns)

    def _reply_with(self, model: Any, turns: Sequence[Turn]) -> list[Reply]:
        was_training = model.training
        model.eval()
        try:
            return ModelPlayer(model, self._trainer.encoder.processor, **self._options).reply(turns)
        finally:
            model.train(was_training)


class StartPlayer(PastPlayer):
    """The frozen start: the policy before its first update, whichever checkpoint the training goes on from.

    With a KL term it is TRL's reference policy: the reference model, or for an adapter that was passed in, the adapter's
    first state. Without one it keeps the weights that the trainer was made with, on the host, and swaps them in. A fresh
    adapter changes nothing about the model that it adapts, so its first state is that model.

    Args:
        trainer: A trainer that has not begun to train or to load a checkpoint.
        seed: Mixed with every turn's own seed; follows from the trainer's by default.
        **options: Options of `ModelPlayer`, in place of those that make it sample as the policy does.

    Raises:
        RuntimeError: The trainer has made updates, or resumed from some, so its weights are not the start.
        NotImplementedError: The trainer runs with FSDP or DeepSpeed's ZeRO stage 3.
        ValueError: The trainer samples in a way that a `ModelPlayer` cannot.
    """

    def __init__(self, trainer: TurnTrainer, *, seed: int | None = None, **options: Any) -> None:
        seed = derive_seed(trainer.args.seed, "start") if seed is None else seed
        super().__init__(trainer, **{"name": "start", "seed": seed, **options})
        self._start: dict[str, torch.Tensor] = {}
        if trainer.ref_model is not None or self._reference_adapter() is not None:
            return
        if trainer.state.global_step:
            raise RuntimeError(
                f"the start is gone after {trainer.state.global_step} updates; make a StartPlayer before training begins"
            )
        model = trainer.accelerator.unwrap_model(trainer.model)
        self._start = {name: weight.to("cpu", copy=True) for name, weight in trained_weights(model).items()}

    def weights(self) -> Mapping[str, torch.Tensor]:
        """The weights that the trainer was made with; empty where the reference policy plays."""
        return self._start

    def reply(self, turns: Sequence[Turn]) -> list[Reply]:
        """Answer turns; the policy's weights, mode and adapters are afterwards what they were."""
        trainer = self._trainer
        if trainer.ref_model is not None:
            return self._reply_with(trainer.accelerator.unwrap_model(trainer.ref_model), turns)
        adapter = self._reference_adapter()
        if adapter is None:
            return super().reply(turns)
        model = trainer.accelerator.unwrap_model(trainer.model)
        with use_adapter(model, adapter):
            return self._reply_with(model, turns)

    def _reference_adapter(self) -> str | None:
        """TRL's name for the frozen copy of an adapter that was passed in, where there is one."""
        model: Any = self._trainer.accelerator.unwrap_model(self._trainer.model)
        return "ref" if isinstance(model, PeftModel) and "ref" in model.peft_config else None
