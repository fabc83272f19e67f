"""Replays of games, as JSON lines and as web pages."""

from visionzero.replay.page import write_page
from visionzero.replay.record import Record, ReplayError, read_replays, record_episode, write_replays

__all__ = ["Record", "ReplayError", "read_replays", "record_episode", "write_page", "write_replays"]
