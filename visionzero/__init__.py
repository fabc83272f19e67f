"""Self-play for vision-language models. Importing it registers the gymnasium environments."""

from importlib.metadata import version

from visionzero import envs

__all__ = ["__version__", "envs"]

__version__ = version("visionzero")
