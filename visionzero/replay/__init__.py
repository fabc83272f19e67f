"""Replays of games, as JSON lines and as web pages."""
