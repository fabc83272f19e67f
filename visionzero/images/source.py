"""What a board of the game is, and what a collection of them is."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, get_args

from PIL import Image

logger = logging.getLogger(__name__)

ImageKind = Literal["clevr", "charts", "photos"]
"""What an image shows; decides how the prompts speak of it."""

IMAGE_KINDS: tuple[str, ...] = get_args(ImageKind)


@dataclass(frozen=True, eq=False)
class EditedView:
    """The same picture with something changed.

    Attributes:
        image: RGB image.
        scene: Scene graph or chart table of the edited picture, in the layout of `ImagePair.scene`; None if unknown.
    """

    image: Image.Image
    scene: Mapping[str, Any] | None = None


@dataclass(frozen=True, eq=False)
class ImagePair:
    """The images of one game: what the civilians see, and what a spy may see instead.

    Attributes:
        civilian: RGB image of any size.
        kind: What it shows.
        name: Where it comes from, for error messages and replays.
        scene: What is known about the picture: for CLEVR the scene graph (CLEVR scene JSON: `{"objects": [{"shape",
            "color", "size", "material", "pixel_coords"}, ...]}`), for charts `{"type", "title", "labels", "values"}`,
            None for photos. Scripted players read it; no model ever does.
        edit: Makes the edited view. Called at most once, and only when somebody asks for it.
    """

    civilian: Image.Image
    kind: ImageKind = "photos"
    name: str = "image"
    scene: Mapping[str, Any] | None = None
    edit: Callable[[], EditedView] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if self.kind not in IMAGE_KINDS:
            raise ValueError(f"kind must be one of {', '.join(IMAGE_KINDS)}, got {self.kind!r}")
        if not isinstance(self.civilian, Image.Image):
            raise TypeError(f"civilian must be a PIL image, got {type(self.civilian).__name__}")
        if self.civilian.mode != "RGB":
            raise ValueError(f"civilian must be an RGB image, got mode {self.civilian.mode!r}; read_image converts it")

    @cached_property
    def edited(self) -> EditedView:
        """The edited view, made by `edit` or, without one, by `edits.edit_photo` seeded with the image's own pixels."""
        if self.edit is not None:
            return self.edit()
        from visionzero.images.edits import edit_photo

        return EditedView(edit_photo(self.civilian))


@dataclass(frozen=True)
class SkippedImage:
    """An image that a source could not use.

    Attributes:
        name: File, row or URL.
        reason: What was wrong with it.
    """

    name: str
    reason: str


class EmptySource(ValueError):  # noqa: N818 - it names the source, not the mistake
    """A source in which no image can be read."""


class ImageSource(Sequence[ImagePair]):
    """A fixed, ordered collection of boards. `source[i]` is the same board in every process.

    Subclasses set the attributes and implement `__len__` and `pair`.

    Attributes:
        name: Short name for logs.
        kind: What its images show.
        skipped: Images that were left out, with reasons; grows while images are decoded.
    """

    name: str
    kind: ImageKind
    skipped: list[SkippedImage]

    def pair(self, index: int) -> ImagePair:
        """The board at `index`, 0 <= index < len(self)."""
        raise NotImplementedError

    def first_readable(
        self, index: int, read: Callable[[int], ImagePair | None], what: str, ignored: int = 0
    ) -> ImagePair:
        """The board at `index`, or the next one that can be read; after the last comes the first.

        Args:
            index: Where to start, 0 <= index < len(self).
            read: Gives the board at an index, or None where it cannot be read, which it records in `skipped` itself.
            what: What the source should hold, for the message: "image", "board".
            ignored: How many other files there are, for the message.

        Raises:
            EmptySource: No board can be read; the message names what was skipped.
        """
        for step in range(len(self)):
            board = read((index + step) % len(self))
            if board is not None:
                return board
        raise EmptySource(emptiness(self.name, what, self.skipped, ignored))

    def __getitem__(self, index: int) -> ImagePair:  # type: ignore[override]
        size = len(self)
        if not -size <= index < size:
            raise IndexError(f"image {index} of {self.name}, which has {size}")
        return self.pair(int(index) % size)

    def __iter__(self) -> Iterator[ImagePair]:
        return (self[index] for index in range(len(self)))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {len(self)} {self.kind})"

    def skip(self, name: str, reason: str) -> None:
        """Record that an image is left out, and say so in the log."""
        self.skipped.append(SkippedImage(name, reason))
        logger.warning("skipped %s: %s", name, reason)


def emptiness(name: str, what: str, skipped: Sequence[SkippedImage], ignored: int = 0) -> str:
    """What to say about a source in which nothing can be read."""
    message = f"{name} has no {what} that can be used"
    if ignored:
        message += f" ({ignored} other files)"
    if skipped:
        shown = "; ".join(f"{skip.name}: {skip.reason}" for skip in skipped[:5])
        message += f"; skipped {len(skipped)}: {shown}{'; ...' if len(skipped) > 5 else ''}"
    return message
