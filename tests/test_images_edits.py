"""The edited view differs visibly from the original in one place, and nowhere else."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from PIL import Image

from visionzero.images.edits import MAX_CHANGED, MIN_CHANGED, VISIBLE, blank_image, edit_photo

PHOTOS = sorted((Path(__file__).parent.parent / "assets" / "photos").glob("*.jpg"))


def shares(before: Image.Image, after: Image.Image) -> tuple[float, float]:
    """Share of the pixels that changed visibly, and of those that changed at all."""
    moved = np.abs(np.asarray(before).astype(int) - np.asarray(after).astype(int)).max(-1)
    return float((moved >= VISIBLE).mean()), float((moved > 0).mean())


def test_the_blank_image_is_white_rgb() -> None:
    image = blank_image((5, 3))
    assert (image.mode, image.size, image.getextrema()) == ("RGB", (5, 3), ((255, 255),) * 3)


@pytest.mark.parametrize("path", PHOTOS, ids=lambda path: path.stem)
def test_an_edited_photo_is_visibly_and_locally_different(path: Path) -> None:
    photo = Image.open(path).convert("RGB")
    for seed in range(3):
        edited = edit_photo(photo, np.random.default_rng(seed))
        visible, changed = shares(photo, edited)
        assert (edited.mode, edited.size) == ("RGB", photo.size)
        assert visible >= MIN_CHANGED
        assert changed <= MAX_CHANGED


def test_the_change_stays_in_one_part_of_the_picture() -> None:
    photo = Image.open(PHOTOS[0]).convert("RGB")
    moved = np.any(np.asarray(photo) != np.asarray(edit_photo(photo)), axis=-1)
    rows, columns = np.flatnonzero(moved.any(1)), np.flatnonzero(moved.any(0))
    box = (rows[-1] - rows[0] + 1) * (columns[-1] - columns[0] + 1)
    assert box < 0.7 * moved.size


def test_without_a_generator_the_pixels_are_the_seed() -> None:
    photo = Image.open(PHOTOS[0]).convert("RGB")
    other = photo.copy()
    other.putpixel((0, 0), (1, 2, 3))
    first, again = edit_photo(photo), edit_photo(photo.copy())
    assert first.tobytes() == again.tobytes()
    assert first.tobytes() != edit_photo(other).tobytes()


def test_the_generator_decides_and_the_global_one_is_left_alone() -> None:
    photo = Image.open(PHOTOS[2]).convert("RGB")
    before = str(np.random.get_state(legacy=False))  # noqa: NPY002 - to see that nobody touched it
    edits = {edit_photo(photo, np.random.default_rng(seed)).tobytes() for seed in (0, 0, 1, 2, 3)}
    assert 2 <= len(edits) <= 4
    assert str(np.random.get_state(legacy=False)) == before  # noqa: NPY002


def test_the_original_is_not_touched() -> None:
    photo = Image.open(PHOTOS[0]).convert("RGB")
    before = photo.tobytes()
    edit_photo(photo)
    assert photo.tobytes() == before


@pytest.mark.parametrize("size", [(1, 1), (2, 1), (1, 7), (3, 3), (20_000, 30), (30, 20_000), (640, 480)])
@pytest.mark.parametrize("colour", [(255, 255, 255), (0, 0, 0), (200, 40, 40), (46, 12, 255)])
def test_a_plain_surface_of_any_shape_changes_visibly(size: tuple[int, int], colour: tuple[int, int, int]) -> None:
    image = Image.new("RGB", size, colour)
    visible, changed = shares(image, edit_photo(image))
    assert visible >= MIN_CHANGED
    if size[0] * size[1] >= 100:
        assert changed <= MAX_CHANGED


@settings(max_examples=60, deadline=None)
@given(
    arrays(np.uint8, st.tuples(st.integers(1, 40), st.integers(1, 40), st.just(3))),
    st.integers(0, 2**32),
)
def test_any_pixels_change_visibly_and_locally(pixels: np.ndarray, seed: int) -> None:
    image = Image.fromarray(pixels)
    edited = edit_photo(image, np.random.default_rng(seed))
    visible, changed = shares(image, edited)
    assert edited.size == image.size
    assert visible >= min(MIN_CHANGED, 1 / (image.width * image.height))
    if image.width * image.height >= 100:
        assert changed <= MAX_CHANGED


def test_a_thing_on_a_plain_ground_is_what_changes() -> None:
    image = Image.new("RGB", (200, 200), (230, 230, 230))
    image.paste((200, 30, 30), (60, 70, 110, 120))
    untouched_corner = (150, 150, 200, 200)
    recoloured = 0
    for seed in range(6):
        edited = edit_photo(image, np.random.default_rng(seed))
        if edited.crop((70, 80, 100, 110)).tobytes() != image.crop((70, 80, 100, 110)).tobytes():
            recoloured += 1
            assert edited.crop(untouched_corner).tobytes() == image.crop(untouched_corner).tobytes()
    assert recoloured >= 2


def test_another_mode_is_an_error() -> None:
    with pytest.raises(ValueError, match="RGB image, got mode 'L'"):
        edit_photo(Image.new("L", (4, 4)))
