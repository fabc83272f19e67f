from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from visionzero.envs import ENV_IDS
from visionzero.envs.observation import MAX_ACTION_CHARS, STAGES
from visionzero.envs.rendering import FRAME_SIZE

PAGE = (Path(__file__).parents[1] / "docs" / "environments.md").read_text(encoding="utf-8")


def test_every_snippet_of_the_page_runs_in_the_order_of_the_page(capsys):
    snippets = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert len(snippets) == 4
    names: dict[str, Any] = {}
    for snippet in snippets:
        exec(compile(snippet, "docs/environments.md", "exec"), names)
    assert "Votes received" in capsys.readouterr().out


def test_the_page_has_the_ids_and_the_numbers_of_the_code():
    assert all(f"`{env_id}`" in PAGE for env_id in ENV_IDS)
    assert f"{MAX_ACTION_CHARS:,} characters" in PAGE
    assert f"{FRAME_SIZE[0]} x {FRAME_SIZE[1]}" in PAGE
    assert ", ".join(f"{index} {stage}" for index, stage in enumerate(STAGES)) in PAGE
