"""Loading a checkpoint's weights into a model that exists already."""

from __future__ import annotations

from transformers import PreTrainedModel


def load_weights(model: PreTrainedModel, path: str) -> None:
    """Load the weights of a checkpoint, all of them.

    `Trainer` reads the file's names as the module's. Several vision-language models are saved under other names
    (Qwen2.5-VL: `visual.*` for `model.visual.*`), and their weights would be left as they are, with a warning.

    Args:
        model: The model to fill.
        path: A folder that `save_pretrained` wrote.

    Raises:
        RuntimeError: A weight is missing, or there is one too many.
    """
    saved = type(model).from_pretrained(path, dtype=model.dtype)
    model.load_state_dict(saved.state_dict())
