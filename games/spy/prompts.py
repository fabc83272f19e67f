"""What the seats of a spy game are shown, from the Jinja templates in `prompts/`."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import jinja2

from visionzero.games.game import Message

_WHAT = {"clevr": "scene", "charts": "chart", "photos": "photo"}


@lru_cache(maxsize=32)
def _template(prompts: str, name: str) -> jinja2.Template:
    """The template `name` of a prompt set; sets are `"paper"`, `"compact"` or a folder of the user's own."""
    folder = Path(__file__).parent / "prompts"
    own = Path(prompts)
    loaders: list[jinja2.BaseLoader] = [jinja2.FileSystemLoader(folder)]
    if prompts in ("paper", "compact"):
        name = f"{prompts}/{name}"
    else:
        loaders.insert(0, jinja2.FileSystemLoader(own))
    environment = jinja2.Environment(
        loader=jinja2.ChoiceLoader(loaders),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # chats are plain text; what players say enters as values, never as template code
    )
    return environment.get_template(name)


def render_messages(prompts: str, template: str, image: Any, **values: Any) -> tuple[Message, ...]:
    """One user message: the seat's image, then the rendered template.

    Args:
        prompts: Prompt set, see `SpyConfig.prompts`.
        template: `"clue.j2"`, `"vote.j2"` or `"observer.j2"`.
        image: The PIL image that the seat sees.
        **values: The template's variables; `kind` also decides what the image is called.

    Returns:
        The chat, in the transformers/TRL format.
    """
    text = _template(prompts, template).render(what=_WHAT[values["kind"]], **values).strip()
    content = [{"type": "image", "image": image}, {"type": "text", "text": text}]
    return ({"role": "user", "content": content},)
