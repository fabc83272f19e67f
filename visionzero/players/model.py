"""A vision-language model at the table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from transformers import (
    AutoModelForImageTextToText,
    AutoProcessor,
    GenerationConfig,
    LogitsProcessor,
    LogitsProcessorList,
    MinPLogitsWarper,
    PreTrainedModel,
    ProcessorMixin,
    TemperatureLogitsWarper,
    TopKLogitsWarper,
    TopPLogitsWarper,
)

from visionzero.games.game import Turn, derive_seed
from visionzero.players.base import Player, Reply, batches_by_length
from visionzero.players.chat import ChatEncoder

_GOLDEN = -7046029254386353131  # 0x9E3779B97F4A7C15 as a signed 64-bit integer
_MIX_1 = -4658895280553007687  # 0xBF58476D1CE4E5B9
_MIX_2 = -7723592293110705685  # 0x94D049BB133111EB


@contextmanager
def only_generation_config(model: Any, config: GenerationConfig) -> Iterator[None]:
    """Let `generate` follow `config` alone.

    transformers fills what a config leaves open from the model's own generation config: minimum lengths, n-gram bans,
    beams. What is sampled would then not be what is scored.

    Args:
        model: The model; adapters around it are looked through.
        config: The law of sampling, put in place of the model's own.
    """
    target = model.get_base_model() if hasattr(model, "get_base_model") else model
    own, target.generation_config = target.generation_config, config
    try:
        yield
    finally:
        target.generation_config = own


class SeededSampling(LogitsProcessor):
    """Makes greedy search sample: adds Gumbel noise that depends on a row's own seed, the step and the token.

    The argmax of `scores + Gumbel noise` is a sample of the scores' softmax. The noise is a hash, so a row's sample
    does not depend on its place in the batch, on the device, or on any generator's state.

    Args:
        seeds: One seed a row.
    """

    def __init__(self, seeds: Sequence[int]) -> None:
        self._seeds = torch.tensor(list(seeds), dtype=torch.int64)
        self._step = 0

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """Return noisy scores, shape (rows, vocabulary)."""
        rows = self._seeds.to(scores.device).unsqueeze(1)
        tokens = torch.arange(scores.shape[1], device=scores.device, dtype=torch.int64).unsqueeze(0)
        state = rows + _GOLDEN * (self._step * scores.shape[1] + tokens + 1)
        self._step += 1
        state = (state ^ ((state >> 30) & (2**34 - 1))) * _MIX_1
        state = (state ^ ((state >> 27) & (2**37 - 1))) * _MIX_2
        state = state ^ ((state >> 31) & (2**33 - 1))
        uniform = (((state >> 11) & (2**53 - 1)).to(torch.float32) + 0.5) * 2.0**-53
        # Large noise comes from a uniform number near 0, where floats lie close together. Near 1 they round to 1 itself,
        # whose noise is infinite: that end is cut, where it only keeps very unlikely losers from losing harder.
        exponential = -torch.log1p(-uniform.clamp(max=1 - 2.0**-24))
        return scores.float() - torch.log(exponential)


class ModelPlayer(Player):
    """Answers turns with a vision-language model, many at a time.

    What it says depends on its seed and the turn, not on which other turns are answered in the same batch (up to
    floating-point differences between batch shapes).

    Args:
        model: A model of the `AutoModelForImageTextToText` family.
        processor: Its processor.
        name: Short name.
        max_new_tokens: Longest answer, in tokens.
        temperature: 0 for greedy answers.
        top_p: Sample among the likeliest tokens that together have this probability, in (0, 1].
        top_k: Sample among this many likeliest tokens; 0 for all.
        min_p: Sample among tokens at least this share as likely as the likeliest; None for all.
        repetition_penalty: Divides the (positive) logits of tokens that have been said; 1 for none.
        batch_size: Most turns in one `generate` call.
        seed: Mixed with every turn's own seed.

    Raises:
        ValueError: An option is out of range.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        processor: ProcessorMixin,
        *,
        name: str = "model",
        max_new_tokens: int = 256,
        temperature: float = 1.0,
        top_p: float = 1.0,
        top_k: int = 0,
        min_p: float | None = None,
        repetition_penalty: float = 1.0,
        batch_size: int = 64,
        seed: int = 0,
    ) -> None:
        if max_new_tokens < 1 or batch_size < 1:
            raise ValueError(f"max_new_tokens and batch_size must be >= 1, got {max_new_tokens} and {batch_size}")
        if not 0 <= temperature < float("inf"):
            raise ValueError(f"temperature must be a number >= 0, got {temperature}")
        if temperature == 0 and (top_p, top_k, min_p) != (1.0, 0, None):
            raise ValueError("top_p, top_k and min_p have no effect on greedy answers, at temperature 0")
        self.model = model
        self.name = name
        self.max_new_tokens = max_new_tokens
        self.temperature = temperature
        self.batch_size = batch_size
        self.seed = seed
        # In the order in which transformers applies them; each says itself what is out of range.
        self._filters: list[LogitsProcessor] = []
        if temperature > 0:
            self._filters.append(TemperatureLogitsWarper(float(temperature)))
            self._filters += [TopKLogitsWarper(top_k)] if top_k else []
            self._filters += [TopPLogitsWarper(float(top_p))] if top_p != 1 else []
            self._filters += [MinPLogitsWarper(float(min_p))] if min_p is not None else []
        self._encoder = ChatEncoder(processor)
        tokenizer = processor.tokenizer
        eos = model.generation_config.eos_token_id
        eos = [eos] if isinstance(eos, int) else list(eos or [])
        if tokenizer.eos_token_id is not None and tokenizer.eos_token_id not in eos:
            eos.append(tokenizer.eos_token_id)
        self._eos = set(eos)
        pad = tokenizer.pad_token_id if tokenizer.pad_token_id is not None else tokenizer.eos_token_id
        self._generation = GenerationConfig(
            max_new_tokens=max_new_tokens,
            do_sample=False,
            repetition_penalty=repetition_penalty,
            eos_token_id=sorted(self._eos),
            pad_token_id=pad,
            suppress_tokens=_image_token_ids(model),
        )

    @classmethod
    def from_pretrained(cls, path: str | Path, *, device: str | None = None, **options: Any) -> ModelPlayer:
        """Load a player from a folder or a hub id.

        Args:
            path: What `AutoProcessor` and `AutoModelForImageTextToText` load.
            device: Where to put the model; a GPU if there is one, else the CPU.
            **options: Passed on to `ModelPlayer`; `name` is the last part of the path by default.

        Returns:
            The player.
        """
        if device is None:
            device = "cuda" if torch.cuda.is_available() else "cpu"
        model = AutoModelForImageTextToText.from_pretrained(path, dtype="auto").to(device).eval()
        processor = AutoProcessor.from_pretrained(path, padding_side="left")
        options.setdefault("name", Path(path).name)
        return cls(model, processor, **options)

    def reply(self, turns: Sequence[Turn]) -> list[Reply]:
        """Answer turns in batches of turns with prompts of similar length."""
        replies: dict[int, Reply] = {}
        for rows in batches_by_length(turns, self.batch_size):
            chats = [self._encoder.chat(turns[i]) for i in rows]
            answers = self._generate(chats, [derive_seed(self.seed, turns[i].seed) for i in rows])
            replies.update(zip(rows, answers, strict=True))
        return [replies[i] for i in range(len(turns))]

    @torch.no_grad()
    def _generate(self, chats: list[list[dict[str, Any]]], seeds: list[int]) -> list[Reply]:
        inputs = {
            key: value.to(self.model.device) if isinstance(value, torch.Tensor) else value
            for key, value in self._encoder.encode(chats).items()
        }
        processors = LogitsProcessorList(self._filters)
        if self.temperature > 0:
            processors.append(SeededSampling(seeds))
        with only_generation_config(self.model, self._generation):
            output = self.model.generate(**inputs, generation_config=self._generation, logits_processor=processors)
        prompt_length = inputs["input_ids"].shape[1]
        prompts = [
            tuple(ids[mask.bool()].tolist())
            for ids, mask in zip(inputs["input_ids"].cpu(), inputs["attention_mask"].cpu(), strict=True)
        ]
        completions = [self._until_end(row) for row in output[:, prompt_length:].tolist()]
        texts = self._encoder.processor.tokenizer.batch_decode(completions, skip_special_tokens=True)
        return [
            Reply(text, prompt, tuple(ids), truncated=not ids or ids[-1] not in self._eos)
            for text, prompt, ids in zip(texts, prompts, completions, strict=True)
        ]

    def _until_end(self, ids: list[int]) -> list[int]:
        """The ids up to the first end-of-turn token, that token included."""
        for position, token in enumerate(ids):
            if token in self._eos:
                return ids[: position + 1]
        return ids


def _image_token_ids(model: PreTrainedModel) -> list[int] | None:
    """Placeholder tokens, which must never be sampled: nothing would stand behind them."""
    names = ("image_token_id", "image_token_index", "video_token_id", "video_token_index")
    ids = {getattr(model.config, name, None) for name in names}
    return sorted(token for token in ids if isinstance(token, int)) or None
