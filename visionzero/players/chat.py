"""From a turn's chat to what a vision-language model reads.

What other players said is text inside the chat. Here, where the tokenizer is known, it loses the power to be anything
else: control tokens are broken up, so that no clue can open an image, a turn or an end of text.
"""

from __future__ import annotations

import copy
import re
import weakref
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import torch
from PIL import Image
from transformers import ProcessorMixin
from transformers.image_processing_utils import BatchFeature

from visionzero.games.game import Message, Turn
from visionzero.images.per_image import PerImage

MAX_ASPECT_RATIO = 100
"""Slimmer images are padded to this ratio with white: image processors refuse them (Qwen's from 200 on)."""


def control_tokens(processor: ProcessorMixin) -> list[str]:
    """Every text that the processor turns into a control token: special and added tokens, image placeholders.

    Args:
        processor: A processor with a tokenizer.

    Returns:
        The texts, longest first.
    """
    tokenizer = processor.tokenizer
    tokens = {str(token) for token in tokenizer.all_special_tokens}
    tokens.update(str(token) for token in getattr(tokenizer, "added_tokens_encoder", {}))
    for name in ("image_token", "video_token", "audio_token", "boi_token", "eoi_token", "fake_image_token"):
        token = getattr(processor, name, None)
        if isinstance(token, str):
            tokens.add(token)
    return sorted((token for token in tokens if token.strip()), key=lambda token: (-len(token), token))


class ChatEncoder:
    """Prepares chats for one processor.

    Args:
        processor: The model's own processor.

    Attributes:
        processor: A copy that preprocesses every distinct image once, as long as the image lives.
    """

    def __init__(self, processor: ProcessorMixin) -> None:
        self.processor = with_image_cache(processor)
        self._controls = re.compile("|".join(re.escape(token) for token in control_tokens(processor)))
        self._padded: PerImage[Image.Image] = PerImage()

    def inert(self, text: str) -> str:
        """The text with every control token broken up by a space after its first character.

        Args:
            text: Any text.

        Returns:
            A text that the tokenizer turns into ordinary tokens only.
        """
        while True:
            broken = self._controls.sub(lambda match: f"{match.group()[0]} {match.group()[1:]}", text)
            if broken == text:
                return text
            text = broken

    def chat(self, turn: Turn) -> list[Message]:
        """The turn's messages, inert, with images that every image processor accepts.

        Args:
            turn: A turn whose messages hold lists of text and image parts.

        Returns:
            New messages; the turn's own are not changed.
        """
        messages: list[Message] = []
        for message in turn.messages:
            content = message["content"]
            if isinstance(content, str):
                messages.append({**message, "content": [{"type": "text", "text": self.inert(content)}]})
                continue
            parts = [
                {"type": "image", "image": self._padded_image(part["image"])}
                if part["type"] == "image"
                else {**part, "text": self.inert(part["text"])}
                for part in content
            ]
            messages.append({**message, "content": parts})
        return messages

    def encode(self, chats: Sequence[list[Message]]) -> dict[str, Any]:
        """Tokenize chats for generation.

        Args:
            chats: Chats as `chat` returns them.

        Returns:
            The processor's tensors for the whole batch, prompts padded on the left.
        """
        return dict(
            self.processor.apply_chat_template(
                list(chats),
                add_generation_prompt=True,
                tokenize=True,
                return_dict=True,
                return_tensors="pt",
                processor_kwargs={"padding": True, "padding_side": "left"},
            )
        )

    def _padded_image(self, image: Image.Image) -> Image.Image:
        width, height = image.size
        if max(width, height) <= MAX_ASPECT_RATIO * min(width, height):
            return image
        return self._padded.get(image, _pad_to_aspect_ratio)


def _pad_to_aspect_ratio(image: Image.Image) -> Image.Image:
    width, height = image.size
    side = -(-max(width, height) // MAX_ASPECT_RATIO)
    canvas = Image.new("RGB", (max(width, side), max(height, side)), (255, 255, 255))
    canvas.paste(image, ((canvas.width - width) // 2, (canvas.height - height) // 2))
    return canvas


def with_image_cache(processor: ProcessorMixin) -> ProcessorMixin:
    """A copy of a processor whose image processor remembers what it made of every image object.

    Only outputs that are concatenated image by image are cached; a processor with other outputs works as before.

    Args:
        processor: Any processor; one that already has a cache is returned as it is.

    Returns:
        The copy, which shares everything but the image processor with the original.
    """
    if getattr(processor, "image_processor", None) is None or isinstance(processor.image_processor, CachedImages):
        return processor
    cached = copy.copy(processor)
    cached.image_processor = CachedImages(processor.image_processor)
    return cached


class CachedImages:
    """An image processor with a memory: pixels of an image that was seen before are not computed again.

    Args:
        image_processor: The image processor that does the work.
        max_bytes: Size of the memory; what was not used for longest is forgotten first.
    """

    def __init__(self, image_processor: Any, max_bytes: int = 2**30) -> None:
        self._image_processor = image_processor
        self._max_bytes = max_bytes
        self._bytes = 0
        self._memory: OrderedDict[tuple[int, str], tuple[weakref.ref[Image.Image], dict[str, torch.Tensor]]] = (
            OrderedDict()
        )

    def __getattr__(self, name: str) -> Any:
        if name == "_image_processor":  # copy and pickle ask before there is one
            raise AttributeError(name)
        return getattr(self._image_processor, name)

    def __call__(self, images: Any, **kwargs: Any) -> Any:
        """Process images; arguments and result are the wrapped image processor's."""
        flat = _flatten(images)
        if flat is None:
            return self._image_processor(images, **kwargs)
        options = repr(sorted(kwargs.items()))
        outputs = []
        for image in flat:
            output = self._remembered((id(image), options))
            if output is None:
                output = dict(self._image_processor([image], **{**kwargs, "return_tensors": "pt"}))
                if set(output) != {"pixel_values", "image_grid_thw"}:
                    return self._image_processor(images, **kwargs)
                self._remember((id(image), options), image, output)
            outputs.append(output)
        return BatchFeature({key: torch.cat([output[key] for output in outputs]) for key in outputs[0]})

    def _remembered(self, key: tuple[int, str]) -> dict[str, torch.Tensor] | None:
        if key not in self._memory:
            return None
        self._memory.move_to_end(key)
        return self._memory[key][1]

    def _remember(self, key: tuple[int, str], image: Image.Image, output: dict[str, torch.Tensor]) -> None:
        # The entry goes with its image, so a key, which is an address, never stands for another image.
        self._memory[key] = (weakref.ref(image, lambda _: self._forget(key)), output)
        self._bytes += _num_bytes(output)
        while self._bytes > self._max_bytes:
            self._forget(next(iter(self._memory)))

    def _forget(self, key: tuple[int, str]) -> None:
        entry = self._memory.pop(key, None)
        if entry is not None:
            self._bytes -= _num_bytes(entry[1])


def _num_bytes(output: dict[str, torch.Tensor]) -> int:
    return sum(tensor.nbytes for tensor in output.values())


def _flatten(images: Any) -> list[Image.Image] | None:
    """A flat list of the PIL images in a list or a list of lists; None for anything else."""
    flat: list[Image.Image] = []
    for item in images if isinstance(images, (list, tuple)) else [images]:
        if isinstance(item, Image.Image):
            flat.append(item)
        elif isinstance(item, (list, tuple)) and all(isinstance(image, Image.Image) for image in item):
            flat.extend(item)
        else:
            return None
    return flat or None
