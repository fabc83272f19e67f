"""Supervised warm-up: a small model learns to see, and the forms of the game, before it plays."""
