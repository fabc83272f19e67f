"""Iterative-SPO on a small real model: what is trained, with what gradient, and what a checkpoint holds."""

import dataclasses
import json

import numpy as np
import pytest
import torch
from PIL import Image

from visionzero.games import SpyConfig
from visionzero.images import load_images
from visionzero.training.iterative_spo import IterativeSPOConfig, IterativeSPOTrainer
from visionzero.training.metrics_file import read_metrics
from visionzero.training.turn_trainer import STATE_FILE, last_checkpoint


@pytest.fixture(scope="module")
def boards():
    """Pictures of different sizes, so that batches mix image grids."""
    rng = np.random.default_rng(0)
    images = [rng.integers(0, 256, (60 + 30 * (i % 3), 80 + 20 * (i % 2), 3), dtype=np.uint8) for i in range(7)]
    return load_images([Image.fromarray(image) for image in images])


@pytest.fixture
def make_trainer(tiny_vlm_path, small_rules, boards, tmp_path):
    def make(rules=small_rules, images=boards, peft_config=None, **options):
        defaults = {
            "output_dir": str(tmp_path / "run"),
            "per_device_train_batch_size": 5,
            "games_per_update": 3,
            "max_completion_length": 6,
            "max_steps": 4,
            "learning_rate": 1e-2,
            "warmup_steps": 0,
            "phase_schedule": "cycle",
            "cycle_updates": 1,
            "save_strategy": "no",
            "report_to": "none",
            "use_cpu": True,
            "bf16": False,
            "gradient_checkpointing": False,
            "disable_tqdm": True,
        }
        defaults.update(options)
        if defaults["phase_schedule"] != "cycle":
            defaults.pop("cycle_updates")
        args = IterativeSPOConfig(**defaults)
        return IterativeSPOTrainer(str(tiny_vlm_path), args, images, rules, peft_config=peft_config)

    return make


def weights(trainer):
    return {name: parameter.detach().clone() for name, parameter in trainer.model.named_parameters()}


def spread_advantages(rows):
    """The rows with made-up advantages: a random model's own votes are all alike."""
    return [dataclasses.replace(row, advantage=(-1) ** i * (1 + i / 10)) for i, row in enumerate(rows)]


def gradients_of(trainer, rows):
    trainer.play_update = lambda: rows
    trainer.create_optimizer()
    trainer.model.zero_grad()
    trainer.training_step(trainer.model, None)
    return {name: p.grad.clone() for name, p in trainer.model.named_parameters() if p.grad is not None}


def test_a_run_trains_both_phases_and_logs_what_happened(make_trainer):
    trainer = make_trainer(max_steps=4)
    before = weights(trainer)
    trainer.train()
    lines = [line for line in read_metrics(trainer.args.output_dir) if "phase/clue" in line]
    assert [line["phase/decision"] for line in lines] == [1, 0, 1, 0]
    assert [line["phase/clue"] for line in lines] == [0, 1, 0, 1]
    for key in (
        "phase/accuracy_ema",
        "phase/na_ema",
        "game/civilian_win_rate",
        "game/na_rate",
        "game/invalid_vote_rate",
        "game/unreadable_clue_rate",
        "length/clue/spy",
        "length/clue/civilian",
        "length/decision/civilian",
        "reward/clue/spy",
        "reward/decision/civilian",
        "baseline/spy",
        "baseline/civilian",
        "kl",
        "entropy",
        "grad_norm",
    ):
        assert all(line[key] is not None for line in lines), key
    assert any(not torch.equal(before[name], after) for name, after in weights(trainer).items())


@pytest.mark.parametrize(
    ("schedule", "stages"), [("clue", {"clue"}), ("decision", {"decision"}), ("both", {"clue", "decision"})]
)
def test_only_the_stage_of_the_phase_is_trained(make_trainer, schedule, stages):
    trainer = make_trainer(phase_schedule=schedule)
    rows = trainer.play_update()
    assert {row.turn.stage for row in rows} == stages
    per_game = {"clue": 3, "decision": 2}
    assert len(rows) == 3 * sum(per_game[stage] for stage in stages)


def test_no_gradient_reaches_the_clues_in_a_decision_phase(make_trainer):
    """All votes of a random model are unreadable, so every group has advantage 0: what is left must be nothing."""
    trainer = make_trainer(phase_schedule="decision", beta=0.0)
    rows = trainer.play_update()
    assert {row.advantage for row in rows} == {0.0}
    assert all(torch.count_nonzero(gradient) == 0 for gradient in gradients_of(trainer, rows).values())


def test_the_gradient_is_that_of_the_advantage_weighted_log_likelihood(make_trainer):
    trainer = make_trainer(phase_schedule="both", beta=0.0)
    rows = spread_advantages(trainer.play_update())
    ours = gradients_of(trainer, rows)

    model = trainer.model
    model.zero_grad()
    for row in rows:
        inputs = trainer.encoder.encode([row.chat])
        completion = torch.tensor([row.reply.completion_ids])
        inputs["input_ids"] = torch.cat([inputs["input_ids"], completion], dim=1)
        inputs["attention_mask"] = torch.ones_like(inputs["input_ids"])
        inputs["mm_token_type_ids"] = torch.cat([inputs["mm_token_type_ids"], torch.zeros_like(completion)], dim=1)
        logits = model(**inputs).logits[:, -completion.shape[1] - 1 : -1]
        log_likelihood = logits.log_softmax(-1).gather(-1, completion.unsqueeze(-1)).mean()
        (-row.advantage * log_likelihood / len(rows)).backward()
    for name, parameter in model.named_parameters():
        if parameter.grad is not None:
            torch.testing.assert_close(ours[name], parameter.grad, rtol=1e-3, atol=2e-5, msg=name)


def test_the_size_of_micro_batches_does_not_change_the_gradient(make_trainer):
    whole = make_trainer(phase_schedule="both", per_device_train_batch_size=64)
    rows = spread_advantages(whole.play_update())
    expected = gradients_of(whole, rows)
    assert expected
    for size in (1, 4):
        parts = make_trainer(phase_schedule="both", per_device_train_batch_size=size)
        for name, gradient in gradients_of(parts, rows).items():
            torch.testing.assert_close(gradient, expected[name], rtol=1e-3, atol=2e-5, msg=name)


@pytest.mark.parametrize("loss_type", ["dr_grpo", "dapo", "cispo"])
def test_micro_batches_do_not_change_the_gradient_of_other_losses(make_trainer, loss_type):
    options = {"phase_schedule": "both", "loss_type": loss_type}
    whole = make_trainer(per_device_train_batch_size=64, **options)
    rows = spread_advantages(whole.play_update())
    expected = gradients_of(whole, rows)
    for name, gradient in gradients_of(make_trainer(per_device_train_batch_size=4, **options), rows).items():
        torch.testing.assert_close(gradient, expected[name], rtol=1e-3, atol=2e-5, msg=name)


def test_cispo_and_dapo_have_one_gradient_where_the_ratio_is_1(make_trainer):
    options = {"phase_schedule": "both", "beta": 0.0}
    dapo = make_trainer(loss_type="dapo", **options)
    rows = spread_advantages(dapo.play_update())
    expected = gradients_of(dapo, rows)
    for name, gradient in gradients_of(make_trainer(loss_type="cispo", **options), rows).items():
        torch.testing.assert_close(gradient, expected[name], rtol=1e-3, atol=2e-5, msg=name)


@pytest.mark.parametrize("loss_type", ["grpo", "dr_grpo", "dapo", "cispo"])
def test_the_loss_of_a_mixture_of_experts_counts_once_an_update(make_trainer, monkeypatch, loss_type):
    from trl import GRPOTrainer

    trainer = make_trainer(phase_schedule="both", per_device_train_batch_size=4, loss_type=loss_type)
    batches = trainer._micro_batches(trainer._score(trainer.play_update()))
    assert len(batches) > 1
    trainer.router_aux_loss_coef = 0.25
    monkeypatch.setattr(GRPOTrainer, "_compute_loss", lambda self, model, inputs: self.router_aux_loss_coef)
    assert sum(trainer._compute_loss(trainer.model, batch) for batch in batches) == pytest.approx(0.25)
    assert trainer.router_aux_loss_coef == 0.25


@pytest.mark.parametrize("loss_type", ["grpo", "dapo"])
def test_an_update_of_truncated_answers_alone_is_no_update(make_trainer, loss_type):
    trainer = make_trainer(
        phase_schedule="both", mask_truncated_completions=True, max_completion_length=1, loss_type=loss_type
    )
    rows = spread_advantages(trainer.play_update())
    assert all(row.reply.truncated for row in rows)
    assert all(torch.count_nonzero(gradient) == 0 for gradient in gradients_of(trainer, rows).values())


def test_truncated_answers_have_no_part_in_the_gradient(make_trainer):
    options = {"phase_schedule": "both", "max_completion_length": 40, "loss_type": "dapo", "beta": 0.0}
    trainer = make_trainer(mask_truncated_completions=True, **options)
    rows = spread_advantages(trainer.play_update())
    whole = [row for row in rows if not row.reply.truncated]
    assert 0 < len(whole) < len(rows)
    expected = gradients_of(make_trainer(**options), whole)
    for name, gradient in gradients_of(trainer, rows).items():
        torch.testing.assert_close(gradient, expected[name], rtol=1e-3, atol=2e-5, msg=name)


def test_answers_are_sampled_without_dropout(make_trainer, monkeypatch):
    trainer = make_trainer(phase_schedule="decision")
    trainer.model.train()
    modes = []
    generate = type(trainer.model).generate
    monkeypatch.setattr(
        type(trainer.model),
        "generate",
        lambda self, *args, **kwargs: modes.append(self.training) or generate(self, *args, **kwargs),
    )
    trainer.play_update()
    assert set(modes) == {False}
    assert trainer.model.training


def test_a_processor_that_pads_on_the_right_is_refused(tiny_vlm_path, boards, small_rules, tmp_path):
    from transformers import AutoProcessor

    args = IterativeSPOConfig(output_dir=str(tmp_path), use_cpu=True, bf16=False, gradient_checkpointing=False)
    processor = AutoProcessor.from_pretrained(tiny_vlm_path, padding_side="right")
    with pytest.raises(ValueError, match="pad on the left"):
        IterativeSPOTrainer(str(tiny_vlm_path), args, boards, small_rules, processing_class=processor)


def test_no_checkpoint_goes_before_its_successor_is_whole(make_trainer, tmp_path, monkeypatch):
    trainer = make_trainer(max_steps=3, save_strategy="steps", save_steps=1, save_total_limit=1)
    kept = []
    state_dict = trainer.state_dict
    monkeypatch.setattr(trainer, "state_dict", lambda: kept.append(last_checkpoint(tmp_path / "run")) or state_dict())
    trainer.train()
    names = [path and path.name for path in kept]
    assert names == [None, "checkpoint-1", "checkpoint-2"]
    assert [path.name for path in (tmp_path / "run").glob("checkpoint-*")] == ["checkpoint-3"]


def test_a_checkpoint_without_an_optimiser_is_none_to_go_on_from(make_trainer, tmp_path):
    make_trainer(max_steps=1, save_strategy="steps", save_steps=1, save_only_model=True).train()
    assert (tmp_path / "run" / "checkpoint-1").is_dir()
    assert last_checkpoint(tmp_path / "run") is None
    with pytest.raises(FileNotFoundError, match="save_only_model"):
        make_trainer().train(resume_from_checkpoint=str(tmp_path / "run" / "checkpoint-1"))


def test_the_scored_tokens_are_the_sampled_ones_with_their_end_of_turn(make_trainer):
    trainer = make_trainer(phase_schedule="both", max_completion_length=100)
    rows = trainer.play_update()
    batch = trainer._score(rows)
    for row, ids, mask in zip(rows, batch["completion_ids"], batch["completion_mask"], strict=True):
        assert tuple(ids[mask.bool()].tolist()) == row.reply.completion_ids
    assert any(not row.reply.truncated for row in rows)
    for row in rows:
        assert row.reply.truncated == (row.reply.completion_ids[-1] not in trainer.eos_token_ids)


@pytest.mark.parametrize(("name", "value"), [("min_new_tokens", 6), ("no_repeat_ngram_size", 1), ("top_k", 1)])
def test_the_models_own_generation_config_has_no_part_in_the_sampling(make_trainer, name, value):
    def sampled(trainer):
        torch.manual_seed(0)
        return [row.reply.completion_ids for row in trainer.play_update()]

    other = make_trainer(phase_schedule="both", max_completion_length=40)
    setattr(other.model.generation_config, name, value)
    assert sampled(other) == sampled(make_trainer(phase_schedule="both", max_completion_length=40))


def test_clue_rows_carry_the_seats_reward_minus_its_roles_baseline(make_trainer):
    trainer = make_trainer(phase_schedule="clue", baseline_decay=0.5)
    trainer.baselines.values = {"spy": 0.2, "civilian": -0.1}
    rows = trainer.play_update()
    # a random model's votes are unreadable: seat rewards are 0, so baselines halve, and what is left of an unreadable
    # clue's reward is the format penalty
    assert trainer.baselines.values == pytest.approx({"spy": 0.1, "civilian": -0.05})
    for row in rows:
        assert row.reward == pytest.approx(-0.1)
        assert row.advantage == pytest.approx(-0.2 if row.turn.role == "spy" else -0.05)


def test_without_role_advantage_the_reward_is_the_advantage(make_trainer):
    trainer = make_trainer(phase_schedule="clue", use_role_advantage=False)
    trainer.baselines.values = {"spy": 0.2, "civilian": -0.1}
    assert all(row.advantage == row.reward for row in trainer.play_update())


def test_baselines_move_in_clue_phases_only(make_trainer):
    trainer = make_trainer(phase_schedule="decision")
    trainer.baselines.values = {"spy": 0.2, "civilian": -0.1}
    trainer.play_update()
    assert trainer.baselines.values == {"spy": 0.2, "civilian": -0.1}


def test_the_kl_weight_is_that_of_the_phase(make_trainer):
    trainer = make_trainer(beta_clue=0.0, beta_decision=0.3)
    betas = []
    for _ in range(2):
        rows = trainer.play_update()
        betas.append((rows[0].turn.stage, trainer.beta))
    assert betas == [("decision", 0.3), ("clue", 0.0)]


def test_the_same_seed_gives_the_same_run(make_trainer):
    first, second = make_trainer(max_steps=2), make_trainer(max_steps=2)
    first.train()
    second.train()
    for name, weight in weights(first).items():
        assert torch.equal(weight, weights(second)[name]), name


def test_a_resumed_run_is_the_run_that_was_not_stopped(make_trainer, tmp_path):
    options = {"max_steps": 5, "save_strategy": "steps", "save_steps": 3, "games_per_pair": 2, "games_per_update": 3}
    whole = make_trainer(output_dir=str(tmp_path / "whole"), **options)
    whole.train()
    checkpoint = tmp_path / "whole" / "checkpoint-3"
    state = json.loads((checkpoint / STATE_FILE).read_text())
    assert state["controller"]["updates"] == 3
    resumed = make_trainer(output_dir=str(tmp_path / "resumed"), **options)
    resumed.train(resume_from_checkpoint=str(checkpoint))
    for name, weight in weights(whole).items():
        assert torch.equal(weight, weights(resumed)[name]), name
    assert resumed.state_dict() == whole.state_dict()
    lines = {line["step"]: line for line in read_metrics(tmp_path / "whole") if "kl" in line}
    for line in read_metrics(tmp_path / "resumed"):
        if "kl" in line:
            ours = {key: value for key, value in line.items() if "/" in key or key in ("loss", "kl", "grad_norm")}
            assert ours == {key: lines[line["step"]][key] for key in ours}


def test_a_checkpoint_of_other_rules_is_refused(make_trainer, tmp_path):
    make_trainer(max_steps=1, save_strategy="steps", save_steps=1).train()
    other = make_trainer(rules=SpyConfig(num_civilians=3, clue_rounds=1, prompts="compact", own_reasoning_memory=False))
    with pytest.raises(ValueError, match="other rules"):
        other.train(resume_from_checkpoint=str(tmp_path / "run" / "checkpoint-1"))


def test_a_folder_that_is_no_checkpoint_of_ours_is_refused(make_trainer, tmp_path):
    trainer = make_trainer(max_steps=1, save_strategy="steps", save_steps=1)
    trainer.train()
    (tmp_path / "run" / "checkpoint-1" / STATE_FILE).unlink()
    with pytest.raises(FileNotFoundError, match=STATE_FILE):
        make_trainer().train(resume_from_checkpoint=str(tmp_path / "run" / "checkpoint-1"))


def test_lora_trains_the_adapter_alone_and_plain_peft_loads_it(make_trainer, tiny_vlm_path, tmp_path):
    from peft import LoraConfig, PeftModel
    from transformers import AutoModelForImageTextToText

    trainer = make_trainer(max_steps=2, peft_config=LoraConfig(r=4, target_modules=["q_proj", "v_proj"]))
    before = weights(trainer)
    trainer.train()
    changed = {name for name, weight in weights(trainer).items() if not torch.equal(weight, before[name])}
    assert changed
    assert all("lora_" in name for name in changed)
    trainer.save_model(str(tmp_path / "adapter"))
    base = AutoModelForImageTextToText.from_pretrained(tiny_vlm_path)
    loaded = dict(PeftModel.from_pretrained(base, tmp_path / "adapter").named_parameters())
    for name in changed:
        assert torch.equal(loaded[name], weights(trainer)[name])


def test_a_game_that_fails_is_dealt_again_and_counted(make_trainer, monkeypatch):
    from visionzero.games import SpyGame

    trainer = make_trainer(phase_schedule="decision")
    real, failures = SpyGame.submit, iter([True])
    monkeypatch.setattr(
        SpyGame, "submit", lambda game, turn, text: 1 / 0 if next(failures, False) else real(game, turn, text)
    )
    assert len(trainer.play_update()) == 3 * 2
    assert trainer._metrics["train"]["game/failed"] == [1.0]


def test_a_game_that_always_fails_ends_the_run(make_trainer, monkeypatch):
    from visionzero.games import SpyGame

    trainer = make_trainer()
    monkeypatch.setattr(SpyGame, "submit", lambda game, turn, text: 1 / 0)
    with pytest.raises(RuntimeError, match="games of one update failed"):
        trainer.play_update()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"gradient_accumulation_steps": 4}, "no effect"),
        ({"num_generations": 4}, "no effect"),
        ({"num_iterations": 2}, "no effect"),
        ({"scale_rewards": "none"}, "no effect"),
        ({"log_completions": True}, "no effect"),
        ({"epsilon": 0.1}, "no effect"),
        ({"eval_strategy": "steps", "eval_steps": 5}, "no effect"),
        ({"load_best_model_at_end": True}, "no effect"),
        ({"dataloader_num_workers": 2}, "no effect"),
        ({"loss_type": "dapo", "entropy_coef": 0.1}, "entropy"),
        ({"baseline_decay": 0.9, "use_role_advantage": False}, "no effect"),
        ({"phase_schedule": "clue", "phase_patience": 7}, "no effect"),
        ({"average_tokens_across_devices": False}, "no effect"),
        ({"include_num_input_tokens_seen": "all"}, "no effect"),
        ({"include_for_metrics": ["inputs"]}, "no effect"),
        ({"max_steps": 3, "num_train_epochs": 2}, "no effect"),
        ({"hub_model_id": "me/mine"}, "no effect without push_to_hub"),
        ({"entropy_target": 0.3}, "no effect without use_adaptive_entropy"),
        ({"vllm_gpu_memory_utilization": 0.5}, "no effect without use_vllm"),
        ({"use_vllm": True, "vllm_server_port": 1}, "no effect without vllm_mode='server'"),
        ({"sync_ref_model": True}, "frozen start"),
        ({"use_transformers_continuous_batching": True}, "images"),
        ({"save_strategy": "best"}, "not possible"),
        ({"phase_schedule": "clue", "beta_decision": 0.1}, "beta_decision has no effect"),
        ({"phase_schedule": "both", "beta_clue": 0.1}, "one KL weight"),
        ({"phase_schedule": "clue", "group_eps": 0.1}, "group_eps has no effect"),
        ({"phase_schedule": "decision", "use_role_advantage": False}, "use_role_advantage has no effect"),
        ({"beta": 0.3, "beta_clue": 0.1, "beta_decision": 0.2}, "beta=0.3 has no effect"),
        ({"beta": -0.1}, "KL weights"),
        ({"group_eps": -1.0}, "group_eps"),
        ({"loss_type": "bnpo"}, "loss_type"),
        ({"games_per_update": 0}, "games_per_update"),
        ({"games_per_pair": 0}, "games_per_pair"),
        ({"ema_decay": 1.0}, "ema_decay"),
    ],
)
def test_options_out_of_range_or_without_effect_are_errors(tmp_path, options, message):
    with pytest.raises(ValueError, match=message):
        IterativeSPOConfig(output_dir=str(tmp_path), use_cpu=True, bf16=False, **options)


@pytest.mark.parametrize(
    "options",
    [{}, {"beta_clue": 0.1, "beta_decision": 0.0}, {"phase_schedule": "clue", "beta_clue": 0.2}, {"max_steps": 3}],
)
def test_a_config_can_be_made_from_the_values_of_another(tmp_path, options):
    first = IterativeSPOConfig(output_dir=str(tmp_path), use_cpu=True, bf16=False, **options)
    second = dataclasses.replace(first, seed=first.seed + 1)
    for name in ("beta", "beta_clue", "beta_decision", "gradient_accumulation_steps", "generation_batch_size"):
        assert getattr(second, name) == getattr(first, name)
