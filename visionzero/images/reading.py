"""Any image file, array or object as the RGB picture that a person would see."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from PIL import Image, ImageCms, ImageOps

DEFAULT_MAX_PIXELS = 80_000_000
"""Images of more pixels are refused before they are decoded; below the size at which Pillow itself starts to warn."""

_WHITE = (255, 255, 255, 255)
_EXTERNAL_DECODERS = {"EPS": "PostScript", "WMF": "Windows metafile"}
_FORMS = (
    "a path, the bytes of a file, a binary file object, a PIL image, a numpy array or a dict with 'bytes' and 'path'"
)


class UnreadableImage(ValueError):  # noqa: N818 - it names the image, not the mistake
    """An image that cannot be shown.

    Attributes:
        name: File, row or URL.
        reason: What is wrong with it.
    """

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(name, reason)
        self.name = name
        self.reason = reason

    def __str__(self) -> str:
        return f"cannot read {self.name}: {self.reason}"


def image_name(source: Any, default: str = "image") -> str:
    """What to call `source` in messages: its path where it has one, else `default`."""
    if isinstance(source, Mapping):
        source = source.get("path")
    elif hasattr(source, "read"):
        source = getattr(source, "name", None)
    elif isinstance(source, Image.Image):
        source = getattr(source, "filename", None)
    if isinstance(source, str | os.PathLike) and os.fspath(source):
        return os.fsdecode(source)
    return default


def is_image_like(source: Any) -> bool:
    """Whether `read_image` takes things of this type at all; says nothing about the contents."""
    forms = (str, os.PathLike, bytes, bytearray, memoryview, Image.Image, np.ndarray)
    return isinstance(source, forms) or hasattr(source, "read") or _is_encoded_dict(source)


def read_image(source: Any, *, name: str | None = None, max_pixels: int = DEFAULT_MAX_PIXELS) -> Image.Image:
    """Read any picture as RGB, upright, transparent parts on white, in sRGB.

    Animations give their first frame. 16-bit and floating-point pixels are scaled to 8 bits: 16-bit pixels by their full
    range; pixels of 32 bits by the smallest of the ranges [0, 1] (floating point only), [0, 255] and [0, 65535] that
    holds them all, or by their own minimum and maximum. Embedded colour profiles are applied; broken ones are ignored,
    as viewers do.

    Args:
        source: A path, the bytes of an image file, a binary file object (read from its position on), a PIL image (left
            unchanged), a numpy array, or a dict with `bytes` and `path` as `datasets` keeps encoded images. Arrays are
            height x width or height x width x 1, 3 (RGB) or 4 (RGBA), of bool, uint8, uint16, or floats in [0, 1].
        name: What to call the image in errors; the path where there is one by default.
        max_pixels: Largest width x height to decode. Above Pillow's own `Image.MAX_IMAGE_PIXELS` that limit counts too.

    Returns:
        A new RGB image without metadata; never `source` itself.

    Raises:
        UnreadableImage: The file is missing, broken, truncated, too large or no image, or the array is of another kind.
        TypeError: `source` is none of the above.
    """
    name = image_name(source) if name is None else name
    if isinstance(source, np.ndarray):
        _check_size(name, source.shape[1::-1], max_pixels)
        return _from_array(source, name)
    if isinstance(source, Image.Image):
        _check_size(name, source.size, max_pixels)
        with _explained(name):
            return _to_rgb(source)
    with _opened(source, name, max_pixels) as image, _explained(name):
        return _to_rgb(image)


def probe_image(source: Any, *, name: str | None = None, max_pixels: int = DEFAULT_MAX_PIXELS) -> tuple[int, int]:
    """Read only the header of an image file: cheap, and enough to tell images from other files.

    Args:
        source: A path, the bytes of a file, a binary file object or a dict with `bytes` and `path`.
        name: What to call the image in errors.
        max_pixels: Largest width x height to accept.

    Returns:
        Width and height as stored, that is before any rotation.

    Raises:
        UnreadableImage: The header cannot be read, or the image is too large.
        TypeError: `source` is none of the above.
    """
    with _opened(source, image_name(source) if name is None else name, max_pixels) as image:
        return image.size


def _is_encoded_dict(source: Any) -> bool:
    return isinstance(source, Mapping) and bool(source.keys() & {"bytes", "path"})


@contextmanager
def _explained(name: str) -> Iterator[None]:
    """Turn whatever a decoder raises into an `UnreadableImage`."""
    try:
        yield
    except UnreadableImage:
        raise
    # Pillow's decoders let errors of every kind through on damaged files: OSError, SyntaxError, struct.error, IndexError...
    except Exception as error:
        raise UnreadableImage(name, f"{error or type(error).__name__}") from error


@contextmanager
def _opened(source: Any, name: str, max_pixels: int) -> Iterator[Image.Image]:
    """Open an encoded image, check its header, and close what was opened here."""
    with _stream(source, name) as stream, _explained(name):
        try:
            image = Image.open(stream)
        except Image.UnidentifiedImageError:
            stream.seek(0)
            reason = "not an image in any format that Pillow knows" if stream.read(1) else "the file is empty"
            raise UnreadableImage(name, reason) from None
        except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
            raise UnreadableImage(name, f"too large for Pillow's Image.MAX_IMAGE_PIXELS: {error}") from None
        with image:
            if image.format in _EXTERNAL_DECODERS:
                form = _EXTERNAL_DECODERS[image.format]
                raise UnreadableImage(name, f"{form} needs another program to draw it; convert it to PNG first")
            _check_size(name, image.size, max_pixels)
            yield image


@contextmanager
def _stream(source: Any, name: str) -> Iterator[BinaryIO]:
    if _is_encoded_dict(source):
        source = source["path"] if source.get("bytes") is None else source["bytes"]
        if source is None:
            raise UnreadableImage(name, "the row holds neither bytes nor a path")
    if isinstance(source, str | os.PathLike):
        with ExitStack() as stack:
            try:
                stream = stack.enter_context(Path(source).open("rb"))
            # ValueError: a path with a null character.
            except (OSError, ValueError) as error:
                raise UnreadableImage(name, getattr(error, "strerror", None) or str(error)) from error
            yield stream
    elif isinstance(source, bytes | bytearray | memoryview):
        yield io.BytesIO(source)
    elif hasattr(source, "read"):
        content = source.read()
        if not isinstance(content, bytes):
            raise TypeError(f"{name} must be opened in binary mode, its read() gives {type(content).__name__}")
        yield io.BytesIO(content)
    else:
        raise TypeError(f"an image must be {_FORMS}; got {type(source).__name__}")


def _check_size(name: str, size: tuple[int, ...], max_pixels: int) -> None:
    if len(size) == 2:
        width, height = size
        if width < 1 or height < 1:
            raise UnreadableImage(name, f"has no pixels: {width} x {height}")
        if width * height > max_pixels:
            raise UnreadableImage(
                name, f"{width} x {height} = {width * height:,} pixels, more than max_pixels = {max_pixels:,}"
            )


def _to_rgb(image: Image.Image) -> Image.Image:
    # Reading the orientation of some formats needs the pixels first, so loading comes before everything.
    image.load()
    upright = _upright(image)
    if upright.mode.startswith("I;16"):
        samples = np.asarray(upright).astype(np.float64)
        transparent = image.info.get("transparency")
        if isinstance(transparent, int):
            samples[samples == transparent] = 65535.0
        rgb = _from_samples(samples, 65535.0)
    elif upright.mode in ("I", "F"):
        samples = np.asarray(upright).astype(np.float64)
        sixteen_bits = upright.mode == "I" and image.format == "PNG"
        rgb = _from_samples(samples, 65535.0 if sixteen_bits else _range_of(samples, upright.mode == "F"))
    elif upright.has_transparency_data:
        rgb = _in_srgb(_on_white(upright), image.info.get("icc_profile"))
    elif upright.mode in ("CMYK", "L", "RGB"):
        rgb = _in_srgb(upright, image.info.get("icc_profile"))
    elif upright.mode == "P":
        rgb = _in_srgb(upright.convert("RGB"), image.info.get("icc_profile"))
    else:
        rgb = upright.convert("RGB")
    if rgb is image or rgb is upright:
        rgb = rgb.copy()
    # Metadata would mislead whoever reads it next: the rotation is done, the profile applied.
    rgb.info = {}
    return rgb


def _upright(image: Image.Image) -> Image.Image:
    try:
        return ImageOps.exif_transpose(image) or image
    # Damaged EXIF says nothing about the pixels; viewers show such files as they are stored.
    except Exception:
        return image


def _on_white(image: Image.Image) -> Image.Image:
    if image.mode == "La":
        image = image.convert("LA")
    rgba = image.convert("RGBA")
    return Image.alpha_composite(Image.new("RGBA", rgba.size, _WHITE), rgba).convert("RGB")


def _in_srgb(image: Image.Image, profile: Any) -> Image.Image:
    """Apply an embedded colour profile to an L, RGB or CMYK image."""
    if isinstance(profile, bytes) and profile:
        try:
            transform = _srgb_transform(profile, image.mode)
            return image.convert("RGB") if transform is None else ImageCms.applyTransform(image, transform) or image
        except (ImageCms.PyCMSError, OSError, ValueError, TypeError):
            pass
    return image.convert("RGB")


@lru_cache(maxsize=16)
def _srgb_transform(profile: bytes, mode: str) -> ImageCms.ImageCmsTransform | None:
    """The way from `profile` to sRGB, or None when it is sRGB already."""
    source = ImageCms.ImageCmsProfile(io.BytesIO(profile))
    if "sRGB" in ImageCms.getProfileDescription(source):
        return None
    return ImageCms.buildTransform(source, ImageCms.createProfile("sRGB"), mode, "RGB")


def _range_of(samples: np.ndarray, floats: bool) -> tuple[float, float] | float:
    finite = samples[np.isfinite(samples)]
    if finite.size == 0:
        return 1.0
    low, high = float(finite.min()), float(finite.max())
    for top in (1.0, 255.0, 65535.0) if floats else (255.0, 65535.0):
        if low >= 0 and high <= top:
            return top
    return low, high


def _from_samples(samples: np.ndarray, scale: tuple[float, float] | float) -> Image.Image:
    """Grey samples as RGB; `scale` is the value of white, or those of black and white."""
    low, high = scale if isinstance(scale, tuple) else (0.0, scale)
    # Halves before the subtraction, because the difference of two large floats can overflow.
    span = high / 2 - low / 2
    shares = (samples / 2 - low / 2) / span if span > 0 else np.zeros_like(samples)
    shares = np.nan_to_num(np.clip(shares, 0.0, 1.0), nan=0.0)
    return Image.fromarray(np.rint(shares * 255).astype(np.uint8)).convert("RGB")


def _from_array(array: np.ndarray, name: str) -> Image.Image:
    if array.ndim not in (2, 3) or (array.ndim == 3 and array.shape[2] not in (1, 3, 4)):
        hint = ""
        if array.ndim == 3 and array.shape[0] in (1, 3, 4):
            hint = "; it looks like channels first: use numpy.moveaxis(array, 0, -1)"
        elif array.ndim == 4:
            hint = "; give a batch as a list of images"
        raise UnreadableImage(
            name, f"an array must be height x width or height x width x 1, 3 or 4, got shape {array.shape}{hint}"
        )
    if array.dtype == np.bool_:
        pixels = array.astype(np.uint8) * np.uint8(255)
    elif array.dtype == np.uint8:
        pixels = array
    elif array.dtype == np.uint16:
        pixels = ((array.astype(np.uint32) + 128) // 257).astype(np.uint8)
    elif np.issubdtype(array.dtype, np.floating):
        low, high = float(np.min(array)), float(np.max(array))
        # Written so that NaN fails it too.
        if not (low >= 0 and high <= 1):
            raise UnreadableImage(name, f"floats must lie in [0, 1], got {low:g} to {high:g}; divide by 255?")
        pixels = np.rint(array.astype(np.float64) * 255).astype(np.uint8)
    else:
        raise UnreadableImage(name, f"an array must be bool, uint8, uint16 or floating point, got {array.dtype}")
    if pixels.ndim == 3 and pixels.shape[2] == 1:
        pixels = pixels[:, :, 0]
    image = Image.fromarray(np.ascontiguousarray(pixels))
    return _on_white(image) if image.mode == "RGBA" else image.convert("RGB")
