"""Self-play for vision-language models."""
