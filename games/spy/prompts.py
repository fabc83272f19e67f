"""What the seats of a spy game are shown, from the Jinja templates in `prompts/`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import jinja2
import jinja2.meta

from visionzero.games.game import Message

PROMPT_SETS = ("paper", "compact")
"""The sets that come with the package."""

PROMPT_VARIABLES = frozenset(
    ("what", "kind", "role", "player", "round", "num_rounds", "num_players", "spy_view", "points", "clues", "own")
)
"""What a template may use; `docs/game.md` says what each of them is."""

_WHAT = {"clevr": "scene", "charts": "chart", "photos": "photo"}
_BUILT_IN = Path(__file__).parent / "prompts"
# Control tokens of chat models look like <|im_end|>, </s>, <image>, [INST], [/IMG]; "a <= b", "< 5" and "[1, 2]" do not.
_MARKUP = re.compile(r"<(?=[^\s=<])|\[(?=/?[A-Za-z][A-Za-z_0-9]{0,63}\])")
_SURROGATE = re.compile(r"[\ud800-\udfff]")


def inert(text: str) -> str:
    """What a player said, as it may stand in a prompt: chat markup is broken up, the rest is kept.

    A space goes between the bracket and the name of everything that looks like a control token, so that
    `<|im_end|>` becomes `< |im_end|>`, which no tokenizer takes for the token. Lone surrogates become U+FFFD.

    Args:
        text: Any text.

    Returns:
        The text, in which no tokenizer finds a control token that starts with `<` or `[`.
    """
    return _SURROGATE.sub("\ufffd", _MARKUP.sub(lambda bracket: bracket.group() + " ", text))


def _folder(prompts: str) -> Path:
    return _BUILT_IN / prompts if prompts in PROMPT_SETS else Path(prompts)


@lru_cache(maxsize=32)
def _environment(prompts: str) -> jinja2.Environment:
    """Where the templates of a prompt set are found; what it includes and does not have is the paper set's."""
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader([_folder(prompts).resolve(), _BUILT_IN / "paper"]),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # chats are plain text; what players say enters as values, never as template code
    )


def check_prompts(prompts: str, templates: Sequence[str]) -> None:
    """Make sure that a prompt set can be rendered.

    Args:
        prompts: Prompt set, see `SpyConfig.prompts`.
        templates: Names of the templates that it must have itself.

    Raises:
        ValueError: There is no such set, or a template is missing, is no valid Jinja, or uses an unknown variable.
    """
    if not isinstance(prompts, str) or not (prompts in PROMPT_SETS or Path(prompts).is_dir()):
        raise ValueError(f"prompts must be {' or '.join(PROMPT_SETS)} or an existing folder, got {prompts!r}")
    for name in templates:
        path = _folder(prompts) / name
        if not path.is_file():
            raise ValueError(f"the prompts folder {prompts!r} has no {name}; it needs {' and '.join(templates)}")
        try:
            parsed = _environment(prompts).parse(path.read_text(encoding="utf-8"))
        except jinja2.TemplateSyntaxError as error:
            raise ValueError(f"{path}, line {error.lineno}: {error.message}") from error
        unknown = jinja2.meta.find_undeclared_variables(parsed) - PROMPT_VARIABLES
        if unknown:
            known = ", ".join(sorted(PROMPT_VARIABLES))
            raise ValueError(f"{path} uses the unknown {', '.join(sorted(unknown))}; templates know {known}")


def render_messages(prompts: str, template: str, image: Any, **values: Any) -> tuple[Message, ...]:
    """One user message: the seat's image, then the rendered template.

    Args:
        prompts: Prompt set, see `SpyConfig.prompts`.
        template: `"clue.j2"`, `"vote.j2"` or `"observer.j2"`.
        image: The PIL image that the seat sees.
        **values: The template's variables but `what`, which `kind` decides. The texts in `clues` and `own` reach the
            template inert.

    Returns:
        The chat, in the transformers/TRL format.
    """
    values["clues"] = [clue if clue.text is None else replace(clue, text=inert(clue.text)) for clue in values["clues"]]
    values["own"] = [inert(text) for text in values["own"]]
    text = _environment(prompts).get_template(template).render(what=_WHAT[values["kind"]], **values).strip()
    content = [{"type": "image", "image": image}, {"type": "text", "text": text}]
    return ({"role": "user", "content": content},)
