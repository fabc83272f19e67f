"""Opponents in training: who they are, what they say, and what they leave alone."""

import numpy as np
import pytest
import torch
from peft import LoraConfig
from PIL import Image
from transformers import AutoModelForImageTextToText, AutoProcessor

from visionzero.games import SpyGame
from visionzero.images import load_images
from visionzero.players.model import ModelPlayer
from visionzero.training.iterative_spo import IterativeSPOConfig, IterativeSPOTrainer
from visionzero.training.opponents import StartPlayer

LORA = LoraConfig(r=4, target_modules=["q_proj", "v_proj"])


@pytest.fixture(scope="module")
def boards():
    """Seven pictures."""
    rng = np.random.default_rng(0)
    return load_images([Image.fromarray(rng.integers(0, 256, (60, 80, 3), dtype=np.uint8)) for _ in range(7)])


@pytest.fixture
def make_trainer(tiny_vlm_path, small_rules, boards, tmp_path):
    def make(rules=small_rules, peft_config=None, model=None, **options):
        defaults = {
            "output_dir": str(tmp_path / "run"),
            "per_device_train_batch_size": 64,
            "games_per_update": 4,
            "max_completion_length": 6,
            "max_steps": 4,
            "learning_rate": 1e-2,
            "warmup_steps": 0,
            "phase_schedule": "clue",
            "save_strategy": "no",
            "report_to": "none",
            "use_cpu": True,
            "bf16": False,
            "gradient_checkpointing": False,
            "disable_tqdm": True,
        }
        args = IterativeSPOConfig(**{**defaults, **options})
        return IterativeSPOTrainer(model or str(tiny_vlm_path), args, boards, rules, peft_config=peft_config)

    return make


@pytest.fixture
def turns(boards, small_rules):
    """The first turns of five games."""
    return [SpyGame(boards[i], small_rules, seed=i).pending()[0] for i in range(5)]


def move_weights(trainer):
    """Change every trained weight, as updates would."""
    with torch.no_grad():
        for parameter in trainer.model.parameters():
            if parameter.requires_grad:
                parameter.add_(0.5)


def policy_weights(trainer):
    return {name: parameter.detach().clone() for name, parameter in trainer.model.named_parameters()}


@pytest.mark.parametrize("adapter", [None, LORA], ids=["whole", "lora"])
@pytest.mark.parametrize("beta", [0.0, 0.04])
def test_the_start_says_what_the_untrained_model_says_however_far_the_policy_has_moved(
    make_trainer, tiny_vlm_path, turns, beta, adapter
):
    trainer = make_trainer(beta=beta, peft_config=adapter, temperature=0.7)
    start = StartPlayer(trainer, seed=3)
    move_weights(trainer)
    untrained = ModelPlayer(
        AutoModelForImageTextToText.from_pretrained(tiny_vlm_path).eval(),
        AutoProcessor.from_pretrained(tiny_vlm_path, padding_side="left"),
        seed=3,
        temperature=0.7,
        max_new_tokens=6,
    )
    assert start.reply(turns) == untrained.reply(turns)
    moved = ModelPlayer(trainer.model, trainer.encoder.processor, seed=3, temperature=0.7, max_new_tokens=6)
    assert start.reply(turns) != moved.reply(turns)


@pytest.mark.parametrize("adapter", [None, LORA], ids=["whole", "lora"])
@pytest.mark.parametrize("beta", [0.0, 0.04])
def test_the_start_leaves_the_policy_and_the_random_generators_as_they_were(make_trainer, turns, beta, adapter):
    trainer = make_trainer(beta=beta, peft_config=adapter)
    start = StartPlayer(trainer)
    move_weights(trainer)
    trainer.model.train()
    before, generator = policy_weights(trainer), torch.get_rng_state()
    trains = {name for name, parameter in trainer.model.named_parameters() if parameter.requires_grad}
    start.reply(turns)
    for name, weight in policy_weights(trainer).items():
        assert torch.equal(weight, before[name]), name
    assert {name for name, parameter in trainer.model.named_parameters() if parameter.requires_grad} == trains
    assert torch.equal(torch.get_rng_state(), generator)
    assert trainer.model.training


def test_a_model_that_was_changed_since_it_was_loaded_is_the_start_as_it_is(make_trainer, tiny_vlm_path, turns):
    changed = AutoModelForImageTextToText.from_pretrained(tiny_vlm_path)
    with torch.no_grad():
        changed.lm_head.weight.mul_(-1)
    trainer = make_trainer(model=changed, beta=0.0)
    start = StartPlayer(trainer)
    now = ModelPlayer(trainer.model, trainer.encoder.processor, seed=start._options["seed"], max_new_tokens=6)
    expected = now.reply(turns)
    move_weights(trainer)
    assert start.reply(turns) == expected


def test_a_start_player_that_is_made_too_late_is_an_error(make_trainer):
    trainer = make_trainer(beta=0.0)
    trainer.state.global_step = 3
    with pytest.raises(RuntimeError, match="gone after 3 updates"):
        StartPlayer(trainer)


def test_the_start_samples_with_another_seed_and_other_options_if_asked(make_trainer, turns):
    trainer = make_trainer()
    replies = StartPlayer(trainer, seed=1).reply(turns)
    assert replies != StartPlayer(trainer, seed=2).reply(turns)
    assert max(len(reply.completion_ids) for reply in StartPlayer(trainer, max_new_tokens=3).reply(turns)) == 3


def test_sampling_that_a_player_cannot_copy_is_an_error(make_trainer):
    with pytest.raises(ValueError, match="generation_kwargs"):
        StartPlayer(make_trainer(generation_kwargs={"num_beams": 2}))


def test_weights_in_parts_cannot_be_swapped(make_trainer):
    trainer = make_trainer()
    trainer.is_fsdp_enabled = True
    with pytest.raises(NotImplementedError, match="FSDP"):
        StartPlayer(trainer)
