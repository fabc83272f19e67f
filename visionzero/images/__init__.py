"""Where the boards of the games come from: rendered scenes, charts, and any photos."""

from visionzero.images.source import EditedView, ImageKind, ImagePair, ImageSource, SkippedImage

__all__ = ["EditedView", "ImageKind", "ImagePair", "ImageSource", "SkippedImage"]
