"""Training with self-play."""
