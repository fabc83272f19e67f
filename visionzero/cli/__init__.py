"""The command line: play, train, eval, replay, images."""

from __future__ import annotations

from visionzero.cli.app import main

__all__ = ["main"]
