"""A vision-language model small enough for a laptop's processor: a real Qwen2.5-VL, made from a config.

Everything about it is what its large relatives have (model class, processor class, chat template, image tokens), so
that whatever trains or plays it trains or plays them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import torch
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import (
    PreTrainedTokenizerFast,
    Qwen2_5_VLConfig,
    Qwen2_5_VLForConditionalGeneration,
    Qwen2_5_VLProcessor,
    Qwen2VLImageProcessor,
    Qwen2VLVideoProcessor,
)

CONTROL_TOKENS = (
    "<|endoftext|>",
    "<|im_start|>",
    "<|im_end|>",
    "<|vision_start|>",
    "<|vision_end|>",
    "<|image_pad|>",
    "<|video_pad|>",
)

CHAT_TEMPLATE = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' }}"
    "{% if message['content'] is string %}{{ message['content'] }}{% else %}"
    "{% for part in message['content'] %}"
    "{% if part['type'] == 'image' %}{{ '<|vision_start|><|image_pad|><|vision_end|>' }}"
    "{% elif part['type'] == 'text' %}{{ part['text'] }}{% endif %}"
    "{% endfor %}{% endif %}{{ '<|im_end|>\\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)


@dataclass(frozen=True, kw_only=True)
class TinyVLMShape:
    """How large the model is.

    Attributes:
        vocab_size: Tokens, the 256 bytes and the control tokens included.
        hidden_size: Width of the language model.
        num_layers: Layers of the language model.
        num_heads: Attention heads of the language model.
        vision_hidden_size: Width of the vision tower.
        vision_depth: Layers of the vision tower.
        vision_heads: Attention heads of the vision tower.
        patch_size: Pixels along a patch.
        merge_size: Patches along one image token.
        image_pixels: Images are resized to about this many pixels, in their own aspect ratio.
    """

    vocab_size: int = 1024
    hidden_size: int = 192
    num_layers: int = 4
    num_heads: int = 6
    vision_hidden_size: int = 96
    vision_depth: int = 4
    vision_heads: int = 3
    patch_size: int = 8
    merge_size: int = 2
    image_pixels: int = 160 * 128


def train_tokenizer(corpus: Iterable[str], vocab_size: int = TinyVLMShape.vocab_size) -> PreTrainedTokenizerFast:
    """A byte-level BPE tokenizer with Qwen's control tokens, trained on a corpus.

    Args:
        corpus: Texts like those that the model will read and write.
        vocab_size: Size of the vocabulary.

    Returns:
        The tokenizer; the same corpus gives the same one.
    """
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=[AddedToken(token, special=True, normalized=False) for token in CONTROL_TOKENS],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(corpus, trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        additional_special_tokens=list(CONTROL_TOKENS[1:]),
        padding_side="left",
        model_max_length=4096,
    )


def build_processor(tokenizer: PreTrainedTokenizerFast, shape: TinyVLMShape | None = None) -> Qwen2_5_VLProcessor:
    """Qwen2.5-VL's processor around a tokenizer, with the patches of `shape`."""
    shape = shape or TinyVLMShape()
    options = {
        "patch_size": shape.patch_size,
        "merge_size": shape.merge_size,
        "size": {"shortest_edge": shape.image_pixels, "longest_edge": shape.image_pixels},
    }
    return Qwen2_5_VLProcessor(
        image_processor=Qwen2VLImageProcessor(**options),
        tokenizer=tokenizer,
        video_processor=Qwen2VLVideoProcessor(**options),
        chat_template=CHAT_TEMPLATE,
    )


def build_model(
    tokenizer: PreTrainedTokenizerFast, shape: TinyVLMShape | None = None, seed: int = 0
) -> Qwen2_5_VLForConditionalGeneration:
    """A Qwen2.5-VL with random weights.

    Args:
        tokenizer: Made by `train_tokenizer`.
        shape: Sizes.
        seed: Seed of the weights; torch's global generator is left as it was.

    Returns:
        The model, in float32 on the CPU.
    """
    shape = shape or TinyVLMShape()
    ids = {token: tokenizer.convert_tokens_to_ids(token) for token in CONTROL_TOKENS}
    head_dim = shape.hidden_size // shape.num_heads
    # The three shares of the rotary dimensions (time, height, width) are Qwen's own: 1/4, 3/8, 3/8 of half a head.
    time_share = head_dim // 8
    space_share = (head_dim // 2 - time_share) // 2
    config = Qwen2_5_VLConfig(
        text_config={
            "vocab_size": len(tokenizer),
            "hidden_size": shape.hidden_size,
            "intermediate_size": 3 * shape.hidden_size,
            "num_hidden_layers": shape.num_layers,
            "num_attention_heads": shape.num_heads,
            "num_key_value_heads": shape.num_heads // 2,
            "max_position_embeddings": 4096,
            "max_window_layers": shape.num_layers,
            "rope_parameters": {
                "rope_type": "default",
                "rope_theta": 10_000.0,
                "mrope_section": [head_dim // 2 - 2 * space_share, space_share, space_share],
            },
            "bos_token_id": None,
            "eos_token_id": ids["<|im_end|>"],
            "pad_token_id": ids["<|endoftext|>"],
            "tie_word_embeddings": True,
        },
        vision_config={
            "depth": shape.vision_depth,
            "hidden_size": shape.vision_hidden_size,
            "intermediate_size": 3 * shape.vision_hidden_size,
            "num_heads": shape.vision_heads,
            "patch_size": shape.patch_size,
            "spatial_merge_size": shape.merge_size,
            "temporal_patch_size": 2,
            "window_size": 8 * shape.patch_size * shape.merge_size,
            "fullatt_block_indexes": [shape.vision_depth - 1],
            "out_hidden_size": shape.hidden_size,
        },
        image_token_id=ids["<|image_pad|>"],
        video_token_id=ids["<|video_pad|>"],
        vision_start_token_id=ids["<|vision_start|>"],
        vision_end_token_id=ids["<|vision_end|>"],
        tie_word_embeddings=True,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = Qwen2_5_VLForConditionalGeneration(config)
    model.generation_config.eos_token_id = [ids["<|im_end|>"], ids["<|endoftext|>"]]
    model.generation_config.pad_token_id = ids["<|endoftext|>"]
    return model.eval()


def tiny_vlm_path() -> Path:
    """The folder of the small model that ships with the package, trained on rendered scenes by `visionzero warmup`."""
    return Path(str(files("visionzero.assets").joinpath("tiny-vlm")))


def save_tiny_vlm(path: str | Path, corpus: Iterable[str], shape: TinyVLMShape | None = None, seed: int = 0) -> Path:
    """Make a model with random weights and its processor, and save both in the layout of the hub.

    Args:
        path: Folder; made if missing.
        corpus: Texts for the tokenizer, see `train_tokenizer`.
        shape: Sizes.
        seed: Seed of the weights.

    Returns:
        The folder, ready for `AutoProcessor.from_pretrained` and `AutoModelForImageTextToText.from_pretrained`.
    """
    shape = shape or TinyVLMShape()
    tokenizer = train_tokenizer(corpus, shape.vocab_size)
    build_processor(tokenizer, shape).save_pretrained(path)
    build_model(tokenizer, shape, seed).save_pretrained(path)
    return Path(path)
