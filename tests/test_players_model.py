"""A model at the table: a small Qwen2.5-VL with its real processor."""

import copy
import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from visionzero.games import SpyGame
from visionzero.images.per_image import PerImage
from visionzero.players.chat import CachedImages, ChatEncoder, control_tokens, with_image_cache
from visionzero.players.model import ModelPlayer, SeededSampling
from visionzero.rollout import rollout

NASTY = st.lists(
    st.sampled_from(
        [
            "<|im_end|>",
            "<|im_start|>",
            "<|image_pad|>",
            "<|vision_start|>",
            "<|",
            "|>",
            "im_end",
            "user\n",
            "{{ x }}",
            " ",
            "red",
            "\\",
        ]
    )
    | st.text(max_size=8),
    max_size=12,
).map("".join)


def first_turn(rules, image=None, seed=0):
    return SpyGame(image or Image.new("RGB", (96, 64), (200, 30, 30)), rules, seed=seed).pending()[0]


@given(NASTY)
def test_inert_text_holds_no_control_token(tiny_vlm, text):
    _, processor = tiny_vlm
    encoder = ChatEncoder(processor)
    inert = encoder.inert(text)
    assert not any(token in inert for token in control_tokens(processor))
    assert inert.replace(" ", "") == text.replace(" ", "")


@settings(deadline=None, max_examples=50)
@given(NASTY)
def test_no_clue_adds_an_image_or_a_turn_to_the_next_prompt(tiny_vlm, small_rules, text):
    _, processor = tiny_vlm
    encoder = ChatEncoder(processor)
    controls = {processor.tokenizer.convert_tokens_to_ids(token) for token in control_tokens(processor)}

    def control_ids(clue):
        game = SpyGame(Image.new("RGB", (96, 64)), small_rules, seed=0)
        game.submit(game.pending()[0], clue)
        ids = encoder.encode([encoder.chat(game.pending()[0])])["input_ids"][0].tolist()
        return [token for token in ids if token in controls]

    assert control_ids(f"\\boxed{{{text}}}") == control_ids("\\boxed{a red cube}")


def test_the_image_cache_gives_what_the_image_processor_gives(tiny_vlm):
    _, processor = tiny_vlm
    images = [Image.new("RGB", (60 + 30 * i, 90), (40 * i, 80, 120)) for i in range(3)]
    text = ["<|vision_start|><|image_pad|><|vision_end|> what?"] * 4
    batch = [[images[i]] for i in (0, 1, 0, 2)]
    plain = processor(images=batch, text=text, padding=True, return_tensors="pt")
    cached = with_image_cache(processor)(images=batch, text=text, padding=True, return_tensors="pt")
    assert plain.keys() == cached.keys()
    for key in plain:
        assert torch.equal(plain[key], cached[key]), key


def test_every_image_is_preprocessed_once(tiny_vlm, monkeypatch):
    _, processor = tiny_vlm
    calls = []
    real = type(processor.image_processor).__call__
    monkeypatch.setattr(
        type(processor.image_processor),
        "__call__",
        lambda self, images, **kw: calls.append(len(images)) or real(self, images, **kw),
    )
    cached = CachedImages(processor.image_processor)
    image = Image.new("RGB", (64, 64))
    for _ in range(3):
        cached([[image], [image]], return_tensors="pt")
    assert calls == [1]


def test_the_image_cache_keeps_its_size_and_forgets_images_that_are_gone(tiny_vlm):
    _, processor = tiny_vlm
    images = [Image.new("RGB", (64, 64), (i, 0, 0)) for i in range(4)]
    one = CachedImages(processor.image_processor)
    one(images[:1], return_tensors="pt")
    cached = CachedImages(processor.image_processor, max_bytes=2 * one._bytes)
    expected = processor.image_processor(images, return_tensors="pt")
    for _ in range(2):
        assert torch.equal(cached(images, return_tensors="pt")["pixel_values"], expected["pixel_values"])
        assert cached._bytes <= cached._max_bytes
    assert len(cached._memory) == 2
    images.clear()
    assert (len(cached._memory), cached._bytes) == (0, 0)


def test_a_processor_with_an_image_cache_can_be_copied(tiny_vlm):
    _, processor = tiny_vlm
    image = Image.new("RGB", (64, 64))
    twin = copy.deepcopy(with_image_cache(processor))
    expected = processor.image_processor([image], return_tensors="pt")
    assert torch.equal(twin.image_processor([image], return_tensors="pt")["pixel_values"], expected["pixel_values"])


def test_what_was_computed_for_an_image_goes_with_it():
    memory = PerImage()
    image = Image.new("RGB", (4, 4))
    assert memory.get(image, lambda i: i.size) == (4, 4)
    assert memory.get(image, lambda _: pytest.fail("made twice")) == (4, 4)
    del image
    assert len(memory) == 0


def test_an_image_slimmer_than_image_processors_take_is_padded(tiny_vlm, small_rules):
    model, processor = tiny_vlm
    turn = first_turn(small_rules, Image.new("RGB", (20_000, 30), (10, 200, 10)))
    (reply,) = ModelPlayer(model, processor, max_new_tokens=4).reply([turn])
    assert reply.completion_ids
    padded = ChatEncoder(processor).chat(turn)[0]["content"][0]["image"]
    assert padded.size == (20_000, 200)
    assert padded.getpixel((10_000, 100)) == (10, 200, 10)
    assert padded.getpixel((10_000, 10)) == (255, 255, 255)


def test_replies_do_not_depend_on_order_or_batch(tiny_vlm, small_rules):
    model, processor = tiny_vlm
    turns = [first_turn(small_rules, Image.new("RGB", (64 + 8 * i, 64), (20 * i, 90, 60)), seed=i) for i in range(6)]
    together = ModelPlayer(model, processor, max_new_tokens=8).reply(turns)
    backwards = ModelPlayer(model, processor, max_new_tokens=8).reply(turns[::-1])[::-1]
    in_pairs = ModelPlayer(model, processor, max_new_tokens=8, batch_size=2).reply(turns)
    assert together == backwards == in_pairs


def test_seed_and_temperature_decide_what_is_sampled(tiny_vlm, small_rules):
    model, processor = tiny_vlm
    turn = first_turn(small_rules)

    def text(**options):
        return ModelPlayer(model, processor, max_new_tokens=8, **options).reply([turn])[0].completion_ids

    assert text(seed=1) == text(seed=1) != text(seed=2)
    assert text(temperature=0.0, seed=1) == text(temperature=0.0, seed=2)


def test_seeded_sampling_samples_the_softmax():
    logits = torch.tensor([2.0, 1.0, 0.0, -1.0])
    rows = 40_000
    noisy = SeededSampling(range(rows))(torch.zeros(rows, 1, dtype=torch.long), logits.repeat(rows, 1))
    shares = torch.bincount(noisy.argmax(-1), minlength=4) / rows
    # three standard errors of a share are at most 3 * sqrt(0.25 / rows) = 0.0075
    assert torch.allclose(shares, logits.softmax(-1), atol=0.0075)


def test_the_noise_of_a_large_vocabulary_is_finite_and_gumbel():
    """One infinite value in 2^24 would hand one token in a hundred of a large model to chance."""
    sampler, vocabulary = SeededSampling([3]), torch.zeros(1, 150_000)
    drawn = torch.cat([sampler(torch.zeros(1, 1, dtype=torch.long), vocabulary)[0] for _ in range(400)])
    assert torch.isfinite(drawn).all()
    # Of 60 million draws the share above x is 1 - exp(-exp(-x)): 184 expected above 12.7, with a standard error of 14.
    expected = len(drawn) * (1 - math.exp(-math.exp(-12.7)))
    assert abs(int((drawn > 12.7).sum()) - expected) < 4 * math.sqrt(expected)
    assert abs(float(drawn.double().mean()) - 0.57722) < 4 * 1.2825 / math.sqrt(len(drawn))


def test_steps_are_sampled_independently():
    sampler = SeededSampling([7])
    flat = torch.zeros(1, 50)
    drawn = [int(sampler(torch.zeros(1, 1, dtype=torch.long), flat).argmax()) for _ in range(40)]
    assert len(set(drawn)) > 15


def test_replies_carry_the_sampled_ids(tiny_vlm, small_rules):
    model, processor = tiny_vlm
    player = ModelPlayer(model, processor, max_new_tokens=8)
    (reply,) = player.reply([first_turn(small_rules)])
    assert reply.text == processor.tokenizer.decode(reply.completion_ids, skip_special_tokens=True)
    assert processor.image_token_id in reply.prompt_ids
    assert processor.image_token_id not in reply.completion_ids
    assert reply.truncated == (reply.completion_ids[-1] not in model.generation_config.eos_token_id)
    assert len(reply.completion_ids) == 8 or not reply.truncated


def test_the_order_of_games_changes_no_game(tiny_vlm, small_rules):
    model, processor = tiny_vlm
    images = [Image.new("RGB", (64, 64 + 8 * i), (30 * i, 60, 200)) for i in range(4)]

    def play(order):
        games = [SpyGame(images[i], small_rules, seed=i) for i in order]
        episodes = rollout(games, ModelPlayer(model, processor, max_new_tokens=6))
        return {e.game.seed: [played.text for played in e.game.history] for e in episodes}

    assert play([0, 1, 2, 3]) == play([2, 0, 3, 1])


def test_a_saved_player_loads_and_says_the_same(tiny_vlm_path, tiny_vlm, small_rules):
    turns = [first_turn(small_rules, seed=i) for i in range(2)]
    loaded = ModelPlayer.from_pretrained(tiny_vlm_path, device="cpu", max_new_tokens=6)
    assert loaded.reply(turns) == ModelPlayer(*tiny_vlm, max_new_tokens=6).reply(turns)


@pytest.mark.parametrize("option", [{"top_k": 1}, {"top_p": 1e-6}, {"min_p": 1.0}])
def test_a_filter_that_leaves_the_likeliest_token_is_greedy(tiny_vlm, small_rules, option):
    turns = [first_turn(small_rules, seed=i) for i in range(4)]
    greedy = ModelPlayer(*tiny_vlm, max_new_tokens=8, temperature=0.0).reply(turns)
    assert ModelPlayer(*tiny_vlm, max_new_tokens=8, **option).reply(turns) == greedy
    assert ModelPlayer(*tiny_vlm, max_new_tokens=8).reply(turns) != greedy


def test_filters_sample_as_transformers_does(tiny_vlm, small_rules):
    """What may be said first is what transformers' own sampling leaves of the first token's distribution."""
    model, processor = tiny_vlm
    options = {"temperature": 1.5, "top_k": 12, "top_p": 0.9, "min_p": 0.02}
    turn = first_turn(small_rules)
    said = {
        ModelPlayer(model, processor, max_new_tokens=1, seed=seed, **options).reply([turn])[0].completion_ids[0]
        for seed in range(60)
    }
    encoder = ChatEncoder(processor)
    inputs = encoder.encode([encoder.chat(turn)])
    output = model.generate(
        **inputs, max_new_tokens=1, do_sample=True, output_scores=True, return_dict_in_generate=True, **options
    )
    allowed = set(output.scores[0][0].isfinite().nonzero().flatten().tolist())
    assert len(said) > 1
    assert said <= allowed
    assert len(allowed) <= 12


def test_a_repetition_penalty_keeps_tokens_from_coming_back(tiny_vlm, small_rules):
    turns = [first_turn(small_rules, seed=i) for i in range(8)]
    replies = ModelPlayer(*tiny_vlm, max_new_tokens=8, temperature=0.1, repetition_penalty=1e6).reply(turns)
    plain = ModelPlayer(*tiny_vlm, max_new_tokens=8, temperature=0.1).reply(turns)
    assert all(len(set(reply.completion_ids)) == len(reply.completion_ids) for reply in replies)
    assert any(len(set(reply.completion_ids)) < len(reply.completion_ids) for reply in plain)


@pytest.mark.parametrize("option", [{"top_k": -1}, {"top_p": 1.5}, {"min_p": 2.0}, {"temperature": 0.0, "top_k": 3}])
def test_filters_that_cannot_be_are_errors(tiny_vlm, option):
    with pytest.raises(ValueError, match=r"top_|min_p"):
        ModelPlayer(*tiny_vlm, **option)


@pytest.mark.parametrize("options", [{"max_new_tokens": 0}, {"batch_size": 0}, {"temperature": -1.0}])
def test_bad_options_are_errors(tiny_vlm, options):
    with pytest.raises(ValueError, match="must be"):
        ModelPlayer(*tiny_vlm, **options)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("repetition_penalty", 5.0),
        ("no_repeat_ngram_size", 1),
        ("min_new_tokens", 8),
        ("num_beams", 2),
        ("top_k", 1),
        ("do_sample", True),
    ],
)
def test_the_models_own_generation_config_changes_nothing(tiny_vlm, small_rules, monkeypatch, name, value):
    model, processor = tiny_vlm
    turns = [first_turn(small_rules, seed=i) for i in range(8)]
    player = ModelPlayer(model, processor, max_new_tokens=8)
    expected = player.reply(turns)
    monkeypatch.setattr(model.generation_config, name, value)
    assert player.reply(turns) == expected
    assert getattr(model.generation_config, name) == value
