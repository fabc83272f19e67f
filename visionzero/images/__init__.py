"""Where the boards of the games come from: rendered scenes, charts, and any photos."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from visionzero.images.source import EditedView, EmptySource, ImageKind, ImagePair, ImageSource, SkippedImage

if TYPE_CHECKING:
    from visionzero.images.charts import ChartSource
    from visionzero.images.clevr import ClevrSource
    from visionzero.images.edits import blank_image, edit_photo
    from visionzero.images.mixing import MixedSource
    from visionzero.images.photos import PhotoSource
    from visionzero.images.reading import UnreadableImage, read_image
    from visionzero.images.registry import image_names, load_images, mix_images, register_images
    from visionzero.images.sampler import BoardSampler
    from visionzero.images.tables import ChartTable

# Rendering, charts and data sets are heavy; each is imported when its first name is used.
_WHERE = {
    "BoardSampler": "sampler",
    "ChartSource": "charts",
    "ChartTable": "tables",
    "ClevrSource": "clevr",
    "MixedSource": "mixing",
    "PhotoSource": "photos",
    "UnreadableImage": "reading",
    "blank_image": "edits",
    "edit_photo": "edits",
    "image_names": "registry",
    "load_images": "registry",
    "mix_images": "registry",
    "read_image": "reading",
    "register_images": "registry",
}

__all__ = [
    "BoardSampler",
    "ChartSource",
    "ChartTable",
    "ClevrSource",
    "EditedView",
    "EmptySource",
    "ImageKind",
    "ImagePair",
    "ImageSource",
    "MixedSource",
    "PhotoSource",
    "SkippedImage",
    "UnreadableImage",
    "blank_image",
    "edit_photo",
    "image_names",
    "load_images",
    "mix_images",
    "read_image",
    "register_images",
]


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
