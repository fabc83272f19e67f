"""Renders CLEVR scenes into a folder on all cores; an interrupted run goes on where it stopped."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from tqdm import tqdm

from visionzero.images.clevr_geometry import REFERENCE_SIZE
from visionzero.images.clevr_layout import Scene, SceneError, read_json, write_json, write_scenes, write_whole
from visionzero.images.clevr_render import (
    RENDERER_VERSION,
    SAMPLES,
    check_samples,
    finished_image,
    png_bytes,
    render_scene,
    set_threads,
)
from visionzero.images.clevr_scene import check_num_objects, check_size, numbered_edit, numbered_scene

_SETTINGS = "settings.json"


@dataclass(frozen=True)
class ClevrGenerated:
    """What a run of `generate_clevr` did.

    Attributes:
        folder: Where the images are.
        rendered: How many scenes were rendered.
        kept: How many were there already.
    """

    folder: Path
    rendered: int
    kept: int


@dataclass(frozen=True)
class _Settings:
    """Everything that decides what a folder holds, apart from how many scenes."""

    seed: int
    size: tuple[int, int]
    samples: int
    num_objects: tuple[int, int]
    edited: bool

    def as_json(self) -> dict[str, Any]:
        return {
            **{name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()},
            "renderer": f"{RENDERER_VERSION}, mitsuba {version('mitsuba')}",
        }


class _Finished(NamedTuple):
    number: int
    scene: Scene
    was_there: bool


def generate_clevr(
    out: str | Path,
    num_scenes: int,
    *,
    seed: int = 0,
    size: tuple[int, int] = REFERENCE_SIZE,
    samples: int = SAMPLES,
    num_objects: tuple[int, int] = (4, 6),
    edited: bool = True,
    workers: int | None = None,
    progress: bool = True,
) -> ClevrGenerated:
    """Render CLEVR scenes, with or without edited views, into a folder.

    Scene `i` is the one of `ClevrSource(seed=seed)[i]` with the same settings, whatever `num_scenes` and `workers` are.
    Finished images are kept, so that an interrupted run can be repeated and a folder extended. The folder gets
    `scenes.json` in the CLEVR layout and `settings.json`; and with edited views `replacement_images/NAME_original.png`,
    `replacement_images/NAME_modified.png` and `replacement_scenes/NAME_comparison.json` as the released Vision-Zero set
    has them, without them `images/NAME.png`. `ClevrSource.from_folder` reads both.

    Worker processes are started afresh (spawn), so a script that calls this needs `if __name__ == "__main__":`.

    Args:
        out: Folder to write to; made if it does not exist.
        num_scenes: How many scenes the folder shall have.
        seed: Which series of scenes.
        size: Width and height of the images in pixels.
        samples: Rays a pixel; see `clevr_render.check_samples`.
        num_objects: Fewest and most objects in a scene.
        edited: Whether to render an edited view of every scene.
        workers: Processes with one core each; all cores by default. 1 renders in this process.
        progress: Whether to show a progress bar.

    Returns:
        What was done.

    Raises:
        ValueError: A setting is out of range, or the folder holds images that were made with other settings.
        OSError: The folder cannot be written to.
    """
    if num_scenes < 1:
        raise ValueError(f"num_scenes must be at least 1, got {num_scenes}")
    if workers is not None and workers < 1:
        raise ValueError(f"workers must be at least 1, got {workers}")
    settings = _Settings(
        seed=seed,
        size=check_size(size),
        samples=check_samples(samples),
        num_objects=check_num_objects(num_objects, least=2 if edited else 1),
        edited=edited,
    )
    folder = Path(out).expanduser()
    _claim(folder, settings)
    scenes: list[Scene | None] = [None] * num_scenes
    kept = 0
    processes = min(num_scenes, workers or _cores())
    with tqdm(total=num_scenes, desc="CLEVR scenes", unit="scene", disable=not progress) as bar:
        for finished in _finish_all(folder, settings, num_scenes, processes):
            scenes[finished.number] = finished.scene
            kept += finished.was_there
            bar.update()
    write_scenes([scene for scene in scenes if scene is not None], folder / "scenes.json", info=settings.as_json())
    return ClevrGenerated(folder, rendered=num_scenes - kept, kept=kept)


def _cores() -> int:
    # Containers and job schedulers often grant fewer cores than the machine has.
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _claim(folder: Path, settings: _Settings) -> None:
    """Make sure that whatever the folder holds was made with the same settings."""
    path = folder / _SETTINGS
    wanted = settings.as_json()
    if path.exists():
        try:
            found = read_json(path)
        except SceneError as error:
            raise ValueError(f"{path} is {error}; choose an empty folder") from None
        if not isinstance(found, dict):
            raise ValueError(f"{path} holds no settings; choose an empty folder")
        differing = [key for key in wanted if found.get(key) != wanted[key]]
        if differing:
            shown = ", ".join(f"{key} {found.get(key)!r} instead of {wanted[key]!r}" for key in differing)
            raise ValueError(f"{folder} was made with {shown}; choose another folder or the same settings")
        return
    taken = [name for name in ("images", "replacement_images", "scenes.json") if (folder / name).exists()]
    if taken:
        raise ValueError(f"{folder} holds {', '.join(taken)} from elsewhere; choose an empty folder")
    write_json(wanted, path)


def _finish_all(folder: Path, settings: _Settings, num_scenes: int, processes: int) -> Iterator[_Finished]:
    """Finish all scenes, in any order."""
    if processes == 1:
        before = set_threads(1)
        try:
            for index in range(num_scenes):
                yield _finish(folder, settings, index)
        finally:
            set_threads(before)
        return
    pool = ProcessPoolExecutor(
        processes,
        mp_context=multiprocessing.get_context("spawn"),
        # One scene a core is faster than one scene on all of them.
        initializer=set_threads,
        initargs=(1,),
    )
    try:
        waiting = {pool.submit(_finish, folder, settings, index) for index in range(num_scenes)}
        for future in as_completed(waiting):
            yield future.result()
            waiting.discard(future)
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _finish(folder: Path, settings: _Settings, index: int) -> _Finished:
    """Make whatever is missing of one scene."""
    name = f"CLEVR_REPLACEMENT_replacement_{index:06d}" if settings.edited else f"CLEVR_new_{index:06d}"
    original = f"{name}_original.png" if settings.edited else f"{name}.png"
    scene = numbered_scene(
        settings.seed, index, num_objects=settings.num_objects, size=settings.size, image_filename=original
    )
    if not settings.edited:
        return _Finished(index, scene, _finish_image(folder / "images" / original, scene, settings))
    edited = numbered_edit(scene, settings.seed, index)
    comparison = folder / "replacement_scenes" / f"{name}_comparison.json"
    was_there = comparison.exists()
    if not was_there:
        write_json({"original_scene": scene, "modification": edited["modification"]}, comparison)
    images = folder / "replacement_images"
    was_there &= _finish_image(images / original, scene, settings)
    was_there &= _finish_image(images / f"{name}_modified.png", edited, settings)
    return _Finished(index, scene, was_there)


def _finish_image(path: Path, scene: Scene, settings: _Settings) -> bool:
    """Render an image unless it is there."""
    if finished_image(path, settings.size) is not None:
        return True
    write_whole(png_bytes(render_scene(scene, settings.size, settings.samples)), path)
    return False
