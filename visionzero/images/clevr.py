"""CLEVR scenes as boards: rendered when they are asked for, or read from folders."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from visionzero.games.game import derive_seed
from visionzero.images.cache import BoardCache
from visionzero.images.clevr_generate import ClevrGenerated, generate_clevr
from visionzero.images.clevr_geometry import REFERENCE_SIZE
from visionzero.images.clevr_layout import (
    Scene,
    SceneError,
    ScenesRead,
    check_scene,
    read_json,
    read_scenes,
    write_scenes,
)
from visionzero.images.clevr_render import SAMPLES, check_samples, render_cached, render_scene
from visionzero.images.clevr_scene import (
    check_num_objects,
    check_size,
    edit_scene,
    numbered_edit,
    numbered_scene,
    sample_scene,
)
from visionzero.images.folders import walk
from visionzero.images.reading import UnreadableImage, probe_image, read_image
from visionzero.images.source import EditedView, ImagePair, ImageSource, SkippedImage

__all__ = [
    "ClevrFolder",
    "ClevrGenerated",
    "ClevrSource",
    "SceneError",
    "ScenesRead",
    "edit_scene",
    "generate_clevr",
    "read_clevr_pairs",
    "read_scenes",
    "render_scene",
    "sample_scene",
    "write_scenes",
]

_IMAGES_IN_MEMORY = 256
_ORIGINAL, _MODIFIED = "_original.png", "_modified.png"


class ClevrSource(ImageSource):
    """CLEVR scenes that are sampled and rendered when they are asked for, and kept on disk from then on.

    Board `i` depends on `seed`, `i` and the settings only, not on `num_scenes` or on the boards asked for before. Its edited
    view, two objects with another shape and colour, is rendered when somebody asks for it.

    Args:
        num_scenes: How many boards there are.
        seed: Which series of scenes.
        size: Width and height of the images in pixels; not higher than wide.
        samples: Rays a pixel; see `clevr_render.check_samples`.
        num_objects: Fewest and most objects in a scene, 2 to 10.
        cache_dir: Where to keep rendered images; see `clevr_render.cache_folder` for the default.

    Raises:
        ValueError: A setting is out of range.
    """

    kind = "clevr"

    def __init__(
        self,
        num_scenes: int = 200,
        seed: int = 0,
        size: tuple[int, int] = REFERENCE_SIZE,
        samples: int = SAMPLES,
        num_objects: tuple[int, int] = (4, 6),
        cache_dir: str | Path | None = None,
    ) -> None:
        if num_scenes < 1:
            raise ValueError(f"num_scenes must be at least 1, got {num_scenes}")
        self.name = f"clevr-{seed}"
        self.skipped = []
        self.seed = seed
        self.size = check_size(size)
        self.samples = check_samples(samples)
        self.num_objects = check_num_objects(num_objects, least=2)
        self.cache_dir = None if cache_dir is None else Path(cache_dir)
        self._num_scenes = num_scenes
        self._cache = BoardCache(_IMAGES_IN_MEMORY)

    def __len__(self) -> int:
        return self._num_scenes

    def scene(self, index: int) -> Scene:
        """The scene graph of board `index`, without rendering anything."""
        return numbered_scene(self.seed, index, num_objects=self.num_objects, size=self.size)

    def pair(self, index: int) -> ImagePair:
        """The board at `index`; rendered now unless the cache has it.

        Raises:
            OSError: The cache cannot be written to.
        """
        board = self._cache.get(index)
        if board is not None:
            return board
        scene = self.scene(index)
        image = render_cached(scene, self.size, self.samples, self.cache_dir)
        edit = partial(self._edit, index, scene)
        board = ImagePair(image, kind="clevr", name=f"{self.name}-{index:06d}", scene=scene, edit=edit)
        return self._cache.keep(index, board, images=2)

    def _edit(self, index: int, scene: Scene) -> EditedView:
        edited = numbered_edit(scene, self.seed, index)
        return EditedView(render_cached(edited, self.size, self.samples, self.cache_dir), edited)

    @staticmethod
    def from_folder(path: str | Path) -> ClevrFolder:
        """Boards from a folder of finished CLEVR images.

        Args:
            path: A folder that `generate_clevr` made, one in the layout of the released Vision-Zero set (see
                `read_clevr_pairs`), or one in CLEVR's layout: images at any depth, and their scenes in `scenes.json`, in
                `scenes/*.json` or in `*.json`. In CLEVR's layout the edited views are rendered when somebody asks for them.

        Raises:
            FileNotFoundError: There is no such folder.
            SceneError: A folder in CLEVR's layout holds no scene that can be read.
            EmptySource: There is not one usable board.
        """
        root = _existing_folder(path)
        return read_clevr_pairs(root) if _pairs_root(root) else _read_clevr_layout(root)


@dataclass(frozen=True)
class _Board:
    """A board that has not been read yet."""

    name: str
    image: Path
    scene: Scene | None
    edited_image: Path | None = None
    edited_scene: Scene | None = None


class ClevrFolder(ImageSource):
    """Boards from finished CLEVR images; made by `ClevrSource.from_folder` and `read_clevr_pairs`.

    A file that turns out to be broken when it is decoded is recorded in `skipped`, once, and its index gives the next
    readable board.
    """

    kind = "clevr"

    def __init__(self, name: str, boards: Sequence[_Board], skipped: Sequence[SkippedImage]) -> None:
        self.name = name
        self.skipped = []
        for skip in skipped:
            self.skip(skip.name, skip.reason)
        self._boards = boards
        self._broken: set[int] = set()
        self._cache = BoardCache(_IMAGES_IN_MEMORY)
        self.pair(0)  # a source without a readable board is an error here, not in the middle of a run

    def __len__(self) -> int:
        return len(self._boards)

    def pair(self, index: int) -> ImagePair:
        """The board at `index`, or the next one that can be read.

        Raises:
            EmptySource: Every file has become unreadable since the source was made.
        """
        return self.first_readable(index, self._read, "board")

    def _read(self, index: int) -> ImagePair | None:
        kept = self._cache.get(index)
        if kept is not None or index in self._broken:
            return kept
        board = self._boards[index]
        try:
            civilian = read_image(board.image, name=str(board.image))
            edit: Callable[[], EditedView] | None = None
            if board.edited_image is not None:
                edited = read_image(board.edited_image, name=str(board.edited_image))
                edit = partial(EditedView, edited, board.edited_scene)
            elif board.scene is not None:
                edit = partial(_rendered_edit, board.name, board.scene, civilian.size)
        except UnreadableImage as error:
            self._broken.add(index)
            self.skip(error.name, error.reason)
            return None
        pair = ImagePair(civilian, kind="clevr", name=board.name, scene=board.scene, edit=edit)
        return self._cache.keep(index, pair, images=2)


def _rendered_edit(name: str, scene: Scene, size: tuple[int, int]) -> EditedView:
    """The edited view of a stored image that has none, rendered from its scene."""
    edited = edit_scene(scene, np.random.default_rng(derive_seed("clevr edit", name)))
    return EditedView(render_cached(edited, size, SAMPLES), edited)


def read_clevr_pairs(path: str | Path) -> ClevrFolder:
    """Boards from a folder in the layout of the released Vision-Zero CLEVR set, which is also `generate_clevr`'s.

    `replacement_images/NAME_original.png` is what the civilians see, `NAME_modified.png` the edited view. Where
    `replacement_scenes/NAME_comparison.json` exists, its `original_scene` is the scene of the board, and
    `modification.replaced_objects` (`index` and `replacement`) turn it into the scene of the edited view; the file and each
    of these keys may be missing. A name without its partner is no board but a named skip; so is a scene that is malformed,
    while its images stay a board.

    Args:
        path: The folder that holds `replacement_images`, or the one that holds it under `output/`.

    Raises:
        FileNotFoundError: There is no such folder, or no `replacement_images` in it.
        EmptySource: There is not one usable pair.
    """
    folder = _existing_folder(path)
    root = _pairs_root(folder)
    if root is None:
        raise FileNotFoundError(f"no folder replacement_images in {folder} or in its folder output")
    images = root / "replacement_images"
    names = {file.name for file in images.iterdir() if not file.name.startswith(".")}
    boards: list[_Board] = []
    skipped: list[SkippedImage] = []
    for name in sorted(names):
        for ending, other in ((_ORIGINAL, _MODIFIED), (_MODIFIED, _ORIGINAL)):
            if name.endswith(ending) and name.removesuffix(ending) + other not in names:
                skipped.append(
                    SkippedImage(str(images / name), f"its partner {name.removesuffix(ending)}{other} is missing")
                )
        base = name.removesuffix(_ORIGINAL)
        if base == name or base + _MODIFIED not in names:
            continue
        original, modified = images / name, images / (base + _MODIFIED)
        try:
            probe_image(original, name=str(original))
            probe_image(modified, name=str(modified))
        except UnreadableImage as error:
            skipped.append(SkippedImage(error.name, error.reason))
            continue
        scene, edited = _read_comparison(root / "replacement_scenes" / f"{base}_comparison.json", skipped)
        boards.append(_Board(base, original, scene, modified, edited))
    return ClevrFolder(str(folder), boards, skipped)


def _pairs_root(folder: Path) -> Path | None:
    return next((root for root in (folder, folder / "output") if (root / "replacement_images").is_dir()), None)


def _existing_folder(path: str | Path) -> Path:
    folder = Path(path).expanduser()
    if not folder.is_dir():
        raise FileNotFoundError(f"no such folder: {path}")
    return folder


def _read_comparison(path: Path, skipped: list[SkippedImage]) -> tuple[Scene | None, Scene | None]:
    """The scenes of a pair, as far as the file has them."""
    if not path.is_file():
        return None, None
    scene = None
    try:
        content = read_json(path)
        if not isinstance(content, Mapping):
            raise SceneError("not a JSON object")
        if content.get("original_scene") is None:
            return None, None
        check_scene(content["original_scene"], placed=False)
        scene = content["original_scene"]
        modification = content.get("modification")
        if modification is None:
            return scene, None
        edited = _modified_scene(scene, modification)
        check_scene(edited, placed=False)
    except SceneError as error:
        skipped.append(SkippedImage(str(path), str(error)))
        return scene, None
    return scene, edited


def _modified_scene(scene: Scene, modification: Any) -> Scene:
    replaced = modification.get("replaced_objects") if isinstance(modification, Mapping) else None
    if not isinstance(replaced, list):
        raise SceneError("modification.replaced_objects must be a list")
    objects = list(scene["objects"])
    for place, change in enumerate(replaced):
        where = f"modification.replaced_objects[{place}]"
        if not isinstance(change, Mapping) or not isinstance(change.get("replacement"), Mapping):
            raise SceneError(f"{where} must have an index and a replacement, both as in objects")
        index = change.get("index")
        if isinstance(index, bool) or not isinstance(index, int) or not 0 <= index < len(objects):
            raise SceneError(f"{where}.index must be one of 0 to {len(objects) - 1}, got {index!r}")
        objects[index] = {**objects[index], **change["replacement"]}
    return {**scene, "objects": objects, "modification": modification}


def _read_clevr_layout(root: Path) -> ClevrFolder:
    scenes, skipped = read_scenes(_scenes_path(root))
    images: dict[str, list[str]] = {}
    for file in walk(root, skipped):
        if not file.endswith(".json"):
            images.setdefault(file.rpartition("/")[2], []).append(file)
    boards: list[_Board] = []
    for number, scene in enumerate(scenes):
        filename = scene.get("image_filename")
        found = images.pop(filename, []) if isinstance(filename, str) else []
        name = filename if isinstance(filename, str) else f"scene {number}"
        if len(found) == 1:
            try:
                size = probe_image(root / found[0], name=found[0])
                if len(scene["objects"]) < 2:
                    raise ValueError("two objects must change for the edited view, but the scene has one")
                check_size(size)
            except UnreadableImage as error:
                skipped.append(SkippedImage(name, error.reason))
            except ValueError as error:
                skipped.append(SkippedImage(name, str(error)))
            else:
                boards.append(_Board(name, root / found[0], scene))
        elif found:
            skipped.append(SkippedImage(name, f"its name fits several images: {', '.join(found)}"))
        else:
            skipped.append(SkippedImage(name, "there is no image of that name"))
    skipped.extend(
        SkippedImage(file, "there is no scene for this image")
        for files in images.values()
        for file in files
        if file.lower().endswith((".png", ".jpg", ".jpeg"))
    )
    return ClevrFolder(str(root), boards, skipped)


def _scenes_path(root: Path) -> Path:
    for candidate in (root / "scenes.json", root / "scenes"):
        if candidate.exists():
            return candidate
    return root
